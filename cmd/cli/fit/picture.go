package fit

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/svg"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Measures of the picture, in user units.
const (
	side      = 344.0 // of a panel
	middle    = side / 2
	outermost = 122.0 // radius of the rings
	innermost = 42.0
	overWidth = 7.0 // of the ring that shows where a link has too little
	mostLinks = 6
	colours   = 8
	legend    = 24 // jobs
)

// Picture draws the unified circle of each shared link, when all jobs start together and
// with the start offsets: a ring for each job, clockwise from the top, on which it
// communicates where it is coloured.
func (r *Result) Picture() (*svg.Drawing, error) {
	f := reports.FigureOf{
		Title: "Unified circle: " + r.verdict(), Columns: 2,
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
			of = reports.PlainText(l.Name) + ": "
		}
		after := fmt.Sprintf("Score %.4f", l.With)
		if l.Carries {
			after += ", the link carries all"
		}
		f.Panels = append(f.Panels,
			reports.FigurePanel{Title: of + "all start at 0", Subtitle: fmt.Sprintf("Score %.4f", l.Zero), SVG: r.panel(i, make([]units.Duration, len(r.Jobs)))},
			reports.FigurePanel{Title: of + "with the start offsets", Subtitle: after, SVG: r.panel(i, r.plan.Starts)})
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
		f.Legend = append(f.Legend, reports.FigureKey{Colour: flow(colour[j]), Name: r.legendOf(j)})
	}
	f.Legend = append(f.Legend, reports.FigureKey{Colour: "--bad", Name: "more than the link has"})
	return f.Drawing(svg.Light)
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

func flow(colour int) string { return fmt.Sprintf("--flow-%d", colour) }

func (r *Result) legendOf(j int) string {
	p := &r.profiles[j]
	bursts := ""
	if n := len(p.Bursts); n > 1 {
		bursts = fmt.Sprintf(" in %d bursts", n)
	}
	return reports.PlainText(reports.Shortened(r.Jobs[j].Name, 40)) +
		fmt.Sprintf(": %s of %s%s, starts at %v", digits(p.Communicate(), 0), digits(p.Period, 0), bursts, r.Jobs[j].Start)
}

// panel draws the circle of a link, with start offsets.
func (r *Result) panel(link int, starts []units.Duration) template.HTML {
	l, perimeter := &r.links[link], r.plan.Links[link].Perimeter
	p := reports.NewPen(side, side)
	turn := func(d units.Duration) float64 { return 2 * math.Pi * float64(d) / float64(perimeter) }
	width := (outermost - innermost) / float64(len(l.Jobs))
	gap := min(3, width/4)
	for i, j := range l.Jobs {
		outer := outermost - float64(i)*width
		inner := outer - width + gap
		p.Put(`<path d="%s" style="fill:var(--grid);fill-opacity:.55;stroke:none"/>`, sector(inner, outer, 0, 2*math.Pi))
		job := &r.profiles[j]
		for _, a := range circle.Arcs(job, starts[j], perimeter) {
			p.Put(`<path d="%s" style="fill:var(%s);stroke:none"><title>%s: %s from %s</title></path>`, sector(inner, outer, turn(a.At), turn(a.Length)),
				flow(j%colours), html.EscapeString(reports.PlainText(r.Jobs[j].Name)), digits(a.Length, 0), digits(a.At, 0))
		}
		if perimeter/job.Period <= mostPeriods {
			for at := units.Duration(0); at < perimeter; at += job.Period {
				x, y := around(1, turn(at+starts[j]))
				p.Put(`<path d="M%.1f %.1fL%.1f %.1f" style="fill:none;stroke:var(--ink);stroke-width:1.2px"/>`, middle+(x-middle)*inner, middle+(y-middle)*inner, middle+(x-middle)*outer, middle+(y-middle)*outer)
			}
		}
	}
	for _, over := range circle.Overloads(r.profiles, l, starts, perimeter) {
		p.Put(`<path d="%s" style="fill:var(--bad);stroke:none"/>`, sector(outermost+3, outermost+3+overWidth, turn(over.From), turn(over.Length())))
	}
	step := tick(perimeter)
	for at := units.Duration(0); at == 0 || at+step*3/5 <= perimeter; at += step { // none beside the first
		x, y := around(outermost+3+overWidth+4, turn(at))
		fx, fy := around(outermost+3+overWidth, turn(at))
		p.Put(`<path d="M%.1f %.1fL%.1f %.1f" style="fill:none;stroke:var(--axis)"/>`, fx, fy, x, y)
		x, y = around(outermost+3+overWidth+8, turn(at))
		anchor := "middle"
		switch {
		case x > middle+8:
			anchor = "start"
		case x < middle-8:
			anchor = "end"
		}
		if anchor == "middle" { // above or below, not beside
			y += math.Copysign(3, y-middle)
		}
		p.Put(`<text x="%.1f" y="%.1f" style="fill:var(--soft);font-size:11px;text-anchor:%s;dominant-baseline:central">%s</text>`, x, y, anchor, digits(at, 0))
	}
	p.Put(`<text x="%v" y="%v" style="fill:var(--ink);font-size:14px;font-weight:bold;text-anchor:middle;dominant-baseline:central">%s</text>`, middle, middle-7, digits(perimeter, 0))
	p.Put(`<text x="%v" y="%v" style="fill:var(--soft);font-size:11px;text-anchor:middle;dominant-baseline:central">one turn</text>`, middle, middle+9)
	return p.SVG(r.Links[link].Name, "unified circle")
}

// mostPeriods is up to how many begins of periods are drawn.
const mostPeriods = 60

// around returns a place at a radius, at an angle from the top clockwise.
func around(radius, angle float64) (x, y float64) {
	sin, cos := math.Sincos(angle)
	return middle + radius*sin, middle - radius*cos
}

// sector returns the path of a piece of a ring.
func sector(inner, outer, from, angle float64) string {
	angle = min(angle, 2*math.Pi)
	parts := max(1, int(math.Ceil(angle/(math.Pi/2)))) // an arc of SVG is less than a turn
	var path strings.Builder
	x, y := around(outer, from)
	fmt.Fprintf(&path, "M%.2f %.2f", x, y)
	for i := 1; i <= parts; i++ {
		x, y = around(outer, from+angle*float64(i)/float64(parts))
		fmt.Fprintf(&path, "A%.2f %.2f 0 0 1 %.2f %.2f", outer, outer, x, y)
	}
	x, y = around(inner, from+angle)
	fmt.Fprintf(&path, "L%.2f %.2f", x, y)
	for i := parts - 1; i >= 0; i-- {
		x, y = around(inner, from+angle*float64(i)/float64(parts))
		fmt.Fprintf(&path, "A%.2f %.2f 0 0 0 %.2f %.2f", inner, inner, x, y)
	}
	return path.String() + "Z"
}

// tick returns the time between two ticks of a circle: 1, 2 or 5 times a power of ten, with
// twelve ticks at most.
func tick(perimeter units.Duration) units.Duration {
	for unit := units.Duration(1); ; unit *= 10 {
		for _, k := range []units.Duration{1, 2, 5} {
			if step := k * unit; perimeter/step < 12 {
				return step
			}
		}
	}
}
