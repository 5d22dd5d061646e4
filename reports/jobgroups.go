package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// mostIterations is how many iterations of a job charts show.
const mostIterations = 300

// jobGroups lists jobs that share links: their iterations by variant, the speed-ups, and
// what was predicted.
func jobGroups(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Job"}, {Name: "Iteration p50", Number: true}, {Name: "mean", Number: true}, {Name: "Speed-up p50", Number: true}, {Name: "mean", Number: true},
		{Name: "Overlap, first to last"}, {Name: "Apart from iteration", Number: true}, {Name: "Alone", Number: true}, {Name: "Fluid model", Number: true}, {Name: "settled against it", Number: true}, {Name: "Law"}}}
	for i := range r.JobGroups {
		g := &r.JobGroups[i]
		for k := range g.Jobs {
			j := &g.Jobs[k]
			t.Rows = append(t.Rows, append([]cell{{Text: g.Variant}, {Text: j.Name}}, sharedJob(j)...))
		}
		t.Note = "Jobs that may send through the same ports. Speed-up: iterations of variant " + g.Base + " over these, by their medians and by their means; the range is over the seeds. " +
			"Overlap: the share of the communication in which another job that shares a link communicates too. Apart: from this iteration on it stays below 5 %. " +
			"Alone and fluid model: by the plan, for ideal sharing under the variant's law. Settled against it: the mean of the second half of the iterations, which is what the model predicts."
	}
	t.bound("jobs", "the JSON form of this report")
	return t
}

func sharedJob(j *analysis.SharedJob) []cell {
	time := func(us float64) cell {
		if us <= 0 {
			return cell{Text: none}
		}
		return cell{Text: tenths(us, scalesOfDelays)}
	}
	speed, mean, overlap, apart := none, none, none, none
	if n := len(j.SpeedUps); n > 0 {
		speed, mean = fmt.Sprintf("%.2f", j.SpeedUp()), fmt.Sprintf("%.2f", j.MeanSpeedUp)
		if n > 1 {
			speed += fmt.Sprintf(" (%.2f–%.2f)", slices.Min(j.SpeedUps), slices.Max(j.SpeedUps))
		}
	}
	if j.OverlapFirst != nil && j.OverlapLast != nil {
		overlap = percent(*j.OverlapFirst) + " → " + percent(*j.OverlapLast)
	}
	if j.Apart != nil {
		apart = number(*j.Apart)
	}
	alone, fluid, against, law := 0.0, 0.0, none, none
	if p := j.Prediction; p != nil {
		alone, fluid = p.AloneUS, p.FluidUS
		if p.FluidUS > 0 && j.SettledUS > 0 {
			against = fmt.Sprintf("%+.1f %%", 100*(j.SettledUS/p.FluidUS-1))
		}
		if law = p.Law; law == "" {
			law = p.Reason
		}
	}
	return []cell{time(j.MedianUS), time(j.MeanUS), {Text: speed}, {Text: mean}, {Text: overlap}, {Text: apart}, time(alone), time(fluid), {Text: against}, {Text: law}}
}

// jobCharts draws how the phases of jobs that share links move apart, and how long their
// iterations take.
func jobCharts(r *analysis.Result) (charts []Chart) {
	overlap := Chart{ID: "overlap", Title: "Overlap of jobs that share links", Caption: "The share of the communication of each iteration in which another job that shares a link communicates too."}
	phases := Chart{ID: "phases", Title: "Phase difference of equal jobs", Caption: "How much later the second job of a pair begins to communicate than the first, by iteration of the first. The line across: from there on their phases are apart."}
	longest := 0.0
	for i := range r.JobGroups {
		for _, p := range r.JobGroups[i].Pairs {
			for _, d := range p.DifferenceUS[:min(mostIterations, len(p.DifferenceUS))] {
				longest = max(longest, d, p.ApartUS)
			}
		}
	}
	unit := scaleFor(longest, scalesOfDelays)
	cut := false
	for i := range r.JobGroups {
		g := &r.JobGroups[i]
		title := g.Variant
		if countGroups(r, g.Variant) > 1 {
			title += ": " + strings.Join(groupNames(g), ", ")
		}
		one := Panel{Title: title, Subtitle: seedNote(r, g.Variant), XLabel: "Iteration", YLabel: "Overlap (%)", YMax: 100}
		for k := range g.Jobs[:min(len(g.Jobs), analysis.MaxGroups)] {
			j := &g.Jobs[k]
			line := Line{Name: j.Name, Style: k}
			for _, it := range j.Iterations[:min(mostIterations, len(j.Iterations))] {
				line.X, line.Y = append(line.X, float64(it.Step)), append(line.Y, 100*it.Overlap)
				one.XMax = max(one.XMax, float64(it.Step))
			}
			cut = cut || len(j.Iterations) > mostIterations
			one.Lines = append(one.Lines, line)
			overlap.key(Key{Name: j.Name, Style: k})
		}
		if one.XMax > 0 {
			overlap.Panels = append(overlap.Panels, one)
		}
		if p := phasePanel(g, unit); p != nil {
			p.Title, p.Subtitle, p.YMax = title, one.Subtitle, longest*unit.factor
			for _, l := range p.Lines {
				phases.key(Key{Name: l.Name, Style: l.Style})
			}
			phases.Panels = append(phases.Panels, *p)
		}
	}
	for _, c := range []Chart{overlap, phases, iterationTimes(r)} {
		if cut && c.ID != "iterations" {
			c.Caption += fmt.Sprintf(" The first %d iterations.", mostIterations)
		}
		if len(c.Panels) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

// key adds an entry to the legend, once.
func (c *Chart) key(k Key) {
	if !slices.Contains(c.Legend, k) {
		c.Legend = append(c.Legend, k)
	}
}

func countGroups(r *analysis.Result, variant string) (n int) {
	for i := range r.JobGroups {
		if r.JobGroups[i].Variant == variant {
			n++
		}
	}
	return n
}

func groupNames(g *analysis.JobGroup) (names []string) {
	for i := range g.Jobs {
		names = append(names, g.Jobs[i].Name)
	}
	return names
}

// phasePanel draws the pairs of a group, each with its recurrence; nil without pairs.
func phasePanel(g *analysis.JobGroup, unit scale) *Panel {
	if len(g.Pairs) == 0 {
		return nil
	}
	p := &Panel{XLabel: "Iteration", YLabel: "Phase difference (" + unit.unit + ")"}
	for i := range g.Pairs[:min(len(g.Pairs), analysis.MaxGroups/2)] {
		pair := &g.Pairs[i]
		n := min(mostIterations, len(pair.Steps))
		add := func(name string, style int, values analysis.Values) {
			line := Line{Name: name, Style: style, X: slices.Clone(pair.Steps[:n]), Y: slices.Clone([]float64(values[:n]))}
			unit.apply(line.Y)
			for k, y := range line.Y {
				if y < 0 { // they have not parted yet: below the axis
					line.Y[k] = 0
				}
			}
			p.Lines = append(p.Lines, line)
		}
		name := min(pair.A, pair.B) + " and " + max(pair.A, pair.B)
		add(name, 2*i, pair.DifferenceUS)
		if pair.RecurrenceUS != nil {
			add("recurrence of "+name, 2*i+1, pair.RecurrenceUS)
		}
		p.XMax = max(p.XMax, pair.Steps[n-1])
		if pair.ApartUS > 0 && i == 0 {
			p.Marks = append(p.Marks, Mark{"apart", pair.ApartUS * unit.factor})
		}
	}
	return p
}

// iterationTimes draws the distributions of iteration times: of each job a panel with its
// variants.
func iterationTimes(r *analysis.Result) Chart {
	c := Chart{ID: "iterations", Title: "Iteration times of jobs that share links", Caption: "The share of the iterations of all seeds that take at most this long."}
	longest := 0.0
	var names []string
	for i := range r.JobGroups {
		for k := range r.JobGroups[i].Jobs {
			j := &r.JobGroups[i].Jobs[k]
			if n := len(j.TimesUS); n > 0 {
				longest = max(longest, j.TimesUS[n-1])
				if !slices.Contains(names, j.Name) {
					names = append(names, j.Name)
				}
			}
		}
	}
	unit := scaleFor(longest, scalesOfDelays)
	for _, name := range names {
		p := Panel{Title: name, XLabel: "Iteration time (" + unit.unit + ")", YLabel: "Iterations (%)", XMax: longest * unit.factor, YMax: 100}
		for v := range r.Variants[:min(len(r.Variants), analysis.MaxGroups)] {
			variant := r.Variants[v].Name
			for i := range r.JobGroups {
				g := &r.JobGroups[i]
				at := slices.IndexFunc(g.Jobs, func(j analysis.SharedJob) bool { return j.Name == name })
				if g.Variant != variant || at < 0 || len(g.Jobs[at].TimesUS) == 0 {
					continue
				}
				times := g.Jobs[at].TimesUS
				line := Line{Name: variant, Style: v}
				for k, us := range times {
					line.X, line.Y = append(line.X, us*unit.factor), append(line.Y, 100*float64(k)/float64(len(times)-1))
				}
				p.Lines = append(p.Lines, line)
				c.key(Key{Name: variant, Style: v})
			}
		}
		c.Panels = append(c.Panels, p)
	}
	return c
}
