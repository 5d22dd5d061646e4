package fit

import (
	"fmt"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/words"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Bounds of the picture.
const (
	mostLinks   = 6
	colours     = 8
	legend      = 24 // jobs
	mostPeriods = 60 // begins of periods on a ring
)

// Picture draws the unified circle of each shared link, when all jobs start together and
// with the start offsets: a ring for each job, clockwise from the top, on which it
// communicates where it is coloured.
func (r *Result) Picture() (*chart.Figure, error) {
	f := &chart.Figure{ID: "circle", Title: "Unified circle: " + r.verdict(), Columns: 2,
		Caption: "One turn is the least common multiple of the periods, from the top clockwise. Each ring is a job, in the order of the legend from outside; " +
			"it communicates where the ring is coloured, and a line across it is where a period begins. The ring around all is where they want more than the link has.",
	}
	drawn, colour := 0, make([]int, len(r.Jobs))
	for i := range colour {
		colour[i] = -1
	}
	for i := range r.links {
		jobs := r.links[i].Jobs
		if len(jobs) < 2 {
			continue
		}
		if drawn++; drawn > mostLinks {
			continue
		}
		for _, j := range jobs {
			if colour[j] < 0 {
				colour[j] = j % colours
			}
		}
		l := &r.Links[i]
		of := ""
		if len(r.links) > 1 {
			of = words.PlainText(l.Name) + ": "
		}
		after := fmt.Sprintf("Score %.4f", l.With)
		if l.Carries {
			after += ", the link carries all"
		}
		f.Panels = append(f.Panels,
			chart.Panel{Title: of + "all start at 0", Subtitle: fmt.Sprintf("Score %.4f", l.Zero), Chart: r.wheel(i, make([]units.Duration, len(r.Jobs)))},
			chart.Panel{Title: of + "with the start offsets", Subtitle: after, Chart: r.wheel(i, r.plan.Starts)})
	}
	if drawn == 0 {
		return nil, fmt.Errorf("nothing to draw: no link is shared")
	}
	if drawn > mostLinks {
		f.Caption += fmt.Sprintf(" %d more shared links are not drawn.", drawn-mostLinks)
	}
	for j := range r.Jobs {
		if colour[j] < 0 {
			continue
		}
		if len(f.Legend) == legend {
			f.Caption += fmt.Sprintf(" The legend has the first %d jobs.", legend)
			break
		}
		f.Legend = append(f.Legend, chart.FillKey(r.legendOf(j), chart.Flow(colour[j])))
	}
	f.Legend = append(f.Legend, chart.FillKey("more than the link has", chart.Bad))
	return f, nil
}

// verdict is the answer in a word or two.
func (r *Result) verdict() string {
	switch {
	case r.Compatible:
		return "compatible"
	case r.Fits == circle.NotKnown.String():
		return "not known"
	}
	return "not compatible"
}

func (r *Result) legendOf(j int) string {
	p := &r.profiles[j]
	bursts := ""
	if n := len(p.Bursts); n > 1 {
		bursts = fmt.Sprintf(" in %d bursts", n)
	}
	return words.PlainText(words.Shortened(r.Jobs[j].Name, 40)) +
		fmt.Sprintf(": %s of %s%s, starts at %v", digits(p.Communicate(), 0), digits(p.Period, 0), bursts, r.Jobs[j].Start)
}

// wheel is the circle of a link, with start offsets.
func (r *Result) wheel(link int, starts []units.Duration) *chart.Wheel {
	l, perimeter := &r.links[link], r.plan.Links[link].Perimeter
	scale := words.ScaleFor(perimeter.Microseconds(), words.Delays)
	in := func(d units.Duration) float64 { return d.Microseconds() * scale.Factor }
	w := &chart.Wheel{Name: words.PlainText(r.Links[link].Name), Desc: "unified circle", Unit: scale.Unit, Turn: in(perimeter), Note: "one turn"}
	for _, j := range l.Jobs {
		job := &r.profiles[j]
		ring := chart.Ring{Name: words.PlainText(r.Jobs[j].Name), Paint: chart.Flow(j % colours)}
		for _, a := range circle.Arcs(job, starts[j], perimeter) {
			ring.Arcs = append(ring.Arcs, chart.Arc{From: in(a.At), Length: in(a.Length)})
		}
		for at := units.Duration(0); perimeter/job.Period <= mostPeriods && at < perimeter; at += job.Period {
			ring.Marks = append(ring.Marks, in(at+starts[j]))
		}
		w.Rings = append(w.Rings, ring)
	}
	for _, over := range circle.Overloads(r.profiles, l, starts, perimeter) {
		w.Over = append(w.Over, chart.Arc{From: in(over.From), Length: in(over.Length())})
	}
	return w
}
