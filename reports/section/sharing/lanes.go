package sharing

import (
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/words"
)

// What the drawing of lanes shows.
const (
	laneSpan       = 5.5       // iterations of the slowest job of a group
	mostWhole      = 1.25      // of that: runs up to so long are one drawing
	mostLanes      = 8         // jobs
	mostGroups     = 8         // groups
	leastGap       = 1.0 / 480 // of a drawing: between two bars that are not joined
	leastIteration = 1.0 / 120 // of a drawing: an iteration that has bars of its own
)

// Kinds of spans.
const (
	together = iota
	quiet
	communicating
)

// lanes draws when jobs that share links communicate: of each variant the first iterations
// and the last ones, on axes of equal scale. It is nil without iterations.
func (s *Section) lanes() *chart.Figure {
	f := &chart.Figure{ID: "lanes", Title: "Iterations of jobs that share links", Columns: 2,
		Caption: "A lane for each job: solid while a collective of it is under way, pale while it computes or waits for its slot, with the numbers of iterations. Iterations too short to be drawn are one bar, the darker the more of the time they communicate. " +
			"Behind the lanes it is shaded where jobs that share a link communicate together. On the left the first iterations, on the right the last ones before a job ends.",
		Legend: []chart.Key{chart.FillKey("not communicating", chart.Action(0)), chart.FillKey("communicating", chart.Soft), {Name: "together with another job", Fills: []chart.Paint{chart.Bad}, Shade: 0.25}}}
	groups := s.running()
	shown := first(groups, mostGroups)
	spans, whole := map[string]float64{}, map[string]float64{} // of a group in all variants: what a drawing shows, and the whole run
	for _, g := range shown {
		key := g.Jobs[0].Name
		for k := range g.Jobs {
			spans[key] = max(spans[key], laneSpan*g.Jobs[k].MedianUS)
		}
		from, to := g.together()
		whole[key] = max(whole[key], to-from)
	}
	for _, g := range shown {
		from, to := g.together()
		span, all := spans[g.Jobs[0].Name], whole[g.Jobs[0].Name]
		if !(span > 0) {
			continue
		}
		subtitle := phrases.Seed(&s.reading.Facts, g.Variant)
		if more := len(g.Jobs) - mostLanes; more > 0 {
			subtitle = strings.TrimPrefix(subtitle+fmt.Sprintf("; the first %d of %d jobs", mostLanes, len(g.Jobs)), "; ")
		}
		halves := []laneDrawing{{from: from, title: "first iterations"}, {from: to - span, title: "last iterations"}}
		if all <= span*mostWhole {
			span, halves = all, []laneDrawing{{from: from, title: "all iterations"}}
		}
		for _, d := range halves {
			d.group, d.to, d.title = g, d.from+span, s.title(g)+", "+d.title
			f.Panels = append(f.Panels, chart.Panel{Title: d.title, Subtitle: subtitle, Variant: g.Variant, Chart: d.gantt()})
		}
	}
	f.Caption += phrases.LeftOut(len(groups), len(shown))
	return drawn(f)
}

// together returns when the first iteration of a group begins, and when the first of its jobs
// has ended.
func (g *Group) together() (from, to float64) {
	from, to = math.Inf(1), math.Inf(1)
	for k := range g.Jobs {
		if all := g.Jobs[k].Iterations; len(all) > 0 {
			from, to = min(from, all[0].BeginUS), min(to, all[len(all)-1].EndUS)
		}
	}
	return from, to
}

// laneDrawing is a group from one time to another.
type laneDrawing struct {
	group    *Group
	from, to float64
	title    string
	unit     words.Scale
}

func (d *laneDrawing) gantt() *chart.Gantt {
	d.unit = words.ScaleFor(d.to, words.Delays)
	c := &chart.Gantt{Name: d.title, Desc: "When each job computes and communicates.",
		X:     chart.Scaling{Name: "Time", Unit: d.unit.Unit, Min: d.from * d.unit.Factor, Max: d.to * d.unit.Factor},
		Kinds: []chart.SpanKind{together: {Name: "together with another job", Paint: chart.Bad, Opacity: 0.25, Place: chart.Behind}, quiet: {Name: "not communicating", Paint: chart.Action(0), Place: chart.Bold}, communicating: {Name: "communicating", Paint: chart.Soft, Place: chart.Bold}}}
	for i := range d.group.Jobs[:min(len(d.group.Jobs), mostLanes)] {
		j := &d.group.Jobs[i]
		lane := chart.Lane{Name: j.Name}
		var shared [][]float64
		for k := range j.Iterations {
			shared = append(shared, j.Iterations[k].Shared...)
		}
		for _, s := range d.joined(shared) {
			lane.Spans = append(lane.Spans, d.span(together, s[0], s[1], "together with another job: "+words.Span(s[1]-s[0])))
		}
		lane.Spans = append(lane.Spans, d.iterations(j)...)
		c.Lanes = append(c.Lanes, lane)
	}
	return c
}

func (d *laneDrawing) span(kind int, from, to float64, tip string) chart.Span {
	return chart.Span{Kind: kind, From: from * d.unit.Factor, To: to * d.unit.Factor, Tip: tip}
}

// joined returns the spans of the drawing, ascending ones, with those joined between which
// there is next to nothing, so that their number is bounded.
func (d *laneDrawing) joined(spans [][]float64) (all [][]float64) {
	for _, s := range spans {
		n := len(all)
		switch {
		case s[1] <= d.from || s[0] >= d.to:
		case n > 0 && s[0]-all[n-1][1] < leastGap*(d.to-d.from):
			all[n-1][1] = max(all[n-1][1], s[1])
		default:
			all = append(all, []float64{s[0], s[1]})
		}
	}
	return all
}

// iterations draws the iterations of a job. Short ones that follow each other are one bar.
func (d *laneDrawing) iterations(j *Job) (all []chart.Span) {
	name, least := words.Clipped(j.Name), leastIteration*(d.to-d.from)
	for k := 0; k < len(j.Iterations); k++ {
		it := &j.Iterations[k]
		if it.EndUS <= d.from || it.BeginUS >= d.to {
			continue
		}
		if it.EndUS-it.BeginUS < least {
			n, block := d.block(j, k)
			all, k = append(all, block...), k+n-1
			continue
		}
		about := fmt.Sprintf("%s, iteration %d: %s", name, it.Step, words.Span(it.EndUS-it.BeginUS))
		if !it.Alone {
			about += ", " + words.Percent(it.Overlap) + " of its communication together with others"
		}
		whole := d.span(quiet, it.BeginUS, it.EndUS, about)
		whole.Text = fmt.Sprint(it.Step)
		all = append(all, whole)
		for _, s := range d.joined(it.Phases) {
			all = append(all, d.span(communicating, s[0], s[1], about))
		}
	}
	return all
}

// block draws short iterations, from the k-th on, as one bar and returns how many: until it is
// wide enough to be seen.
func (d *laneDrawing) block(j *Job, k int) (n int, bars []chart.Span) {
	first, busy, end, least := &j.Iterations[k], 0.0, 0.0, leastIteration*(d.to-d.from)
	for _, it := range j.Iterations[k:] {
		if n > 0 && (end-first.BeginUS >= least || it.EndUS-it.BeginUS >= least || it.BeginUS >= d.to) {
			break
		}
		for _, s := range it.Phases {
			busy += s[1] - s[0]
		}
		end = it.EndUS
		n++
	}
	share := 0.0
	if end > first.BeginUS {
		share = busy / (end - first.BeginUS)
	}
	about := fmt.Sprintf("%s, %d iterations from %d on: %s of the time communicating", words.Clipped(j.Name), n, first.Step, words.Percent(share))
	bars = []chart.Span{d.span(quiet, first.BeginUS, end, about)}
	if share > 0 {
		dark := d.span(communicating, first.BeginUS, end, about)
		dark.Opacity = share
		bars = append(bars, dark)
	}
	return n, bars
}
