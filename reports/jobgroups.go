package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// What the charts and the table of jobs that share links show at most.
const (
	mostIterations = 300 // of a job
	mostPanels     = 12  // of a chart
	mostPairs      = 4   // of a group
	mostNamed      = 3   // jobs in the title of a panel
	mostLinks      = 2   // in a row of the table
)

// jobGroups lists jobs that share links: their iterations by variant, the speed-ups, and
// what was predicted of both.
func jobGroups(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Variant"}, {Name: "Job"}, {Name: "Shared links"}, {Name: "Iteration p50", Number: true}, {Name: "predicted", Number: true}, {Name: "settled is off by", Number: true}, {Name: "alone", Number: true},
		{Name: "Speed-up p50", Number: true}, {Name: "predicted", Number: true}, {Name: "Overlap, first to last"}, {Name: "Apart from iteration", Number: true}, {Name: "Law"}}}
	for i := range r.JobGroups {
		g := &r.JobGroups[i]
		for k := range g.Jobs {
			j := &g.Jobs[k]
			t.Rows = append(t.Rows, append([]cell{{Text: g.Variant}, {Text: j.Name}}, sharedJob(j)...))
		}
		t.Note = "Jobs that may send through the same ports. Predicted: by the plan and the fluid model, for ideal sharing under the variant's law; alone: with the network for itself. Settled: the mean of the second half of the iterations, which is what the model predicts. " +
			"Speed-up: iterations of variant " + g.Base + " over these, by their medians; the range is over the seeds. " +
			"Overlap: the share of the communication in which another job that shares a link communicates too. Apart: from this iteration on it stays below 5 %. The JSON form has means too."
	}
	t.bound("jobs", "the JSON form of this report")
	return t
}

func sharedJob(j *analysis.SharedJob) []cell {
	time := func(us float64) cell {
		if us <= 0 {
			return cell{Text: none}
		}
		return cell{Text: span(us)}
	}
	links, speed, predicted, overlap, apart := none, none, none, none, none
	if n := len(j.Links); n > 0 {
		links = strings.Join(j.Links[:min(n, mostLinks)], ", ")
		if n > mostLinks {
			links += fmt.Sprintf(" and %d more", n-mostLinks)
		}
	}
	if n := len(j.SpeedUps); n > 0 {
		speed = fmt.Sprintf("%.2f", j.SpeedUp())
		if n > 1 {
			speed += fmt.Sprintf(" (%.2f–%.2f)", slices.Min(j.SpeedUps), slices.Max(j.SpeedUps))
		}
	}
	if j.PredictedSpeedUp > 0 {
		predicted = fmt.Sprintf("%.2f", j.PredictedSpeedUp)
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
	return []cell{{Text: links}, time(j.MedianUS), time(fluid), {Text: against}, time(alone), {Text: speed}, {Text: predicted}, {Text: overlap}, {Text: apart}, {Text: law}}
}

// jobCharts draws how the phases of jobs that share links move apart, and how long their
// iterations take.
func jobCharts(r *analysis.Result) (charts []Chart) {
	for _, c := range []Chart{overlaps(r), phaseDifferences(r), iterationTimes(r)} {
		if len(c.Panels) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

// overlaps draws the overlap of each job by iteration.
func overlaps(r *analysis.Result) Chart {
	c := Chart{ID: "overlap", Title: "Overlap of jobs that share links", Caption: "The share of the communication of each iteration in which another job that shares a link communicates too. A line has a gap where no such job runs."}
	names := jobNames(r)
	groups := slices.DeleteFunc(groupsOf(r), func(g *analysis.JobGroup) bool {
		return !slices.ContainsFunc(g.Jobs, func(j analysis.SharedJob) bool { return len(j.Iterations) > 0 })
	})
	shown := shownGroups(groups, mostPanels)
	cut, jobs := false, 0
	for _, g := range shown {
		p := Panel{Title: groupTitle(r, g), Subtitle: seedNote(r, g.Variant), XLabel: "Iteration", YLabel: "Overlap (%)", YMax: 100, counts: true}
		for k := range g.Jobs[:min(len(g.Jobs), analysis.MaxGroups)] {
			j := &g.Jobs[k]
			line := Line{Name: j.Name, Style: manyStyle(slices.Index(names, j.Name))}
			for _, it := range j.Iterations[:min(mostIterations, len(j.Iterations))] {
				share := 100 * it.Overlap
				if it.Alone || len(it.Phases) == 0 {
					share = math.NaN()
				}
				line.X, line.Y = append(line.X, float64(it.Step)), append(line.Y, share)
				p.XMax = max(p.XMax, float64(it.Step))
			}
			cut = cut || len(j.Iterations) > mostIterations
			p.Lines = append(p.Lines, line)
			c.key(Key{Name: j.Name, Style: line.Style})
		}
		jobs = max(jobs, len(g.Jobs))
		c.Panels = append(c.Panels, p)
	}
	if jobs > analysis.MaxGroups {
		c.Caption += fmt.Sprintf(" The first %d jobs of a group.", analysis.MaxGroups)
	}
	c.Caption += firstIterations(cut) + leftOut(len(groups), len(shown))
	return c
}

// phaseDifferences draws the phase differences of pairs, each with its recurrence.
func phaseDifferences(r *analysis.Result) Chart {
	c := Chart{ID: "phases", Title: "Phase difference of jobs of equal period", Caption: "How much later the second job of a pair begins to communicate than the first, by iteration of the first, modulo the period of an iteration."}
	groups := slices.DeleteFunc(groupsOf(r), func(g *analysis.JobGroup) bool { return len(g.Pairs) == 0 })
	var names []string // of pairs, whichever is ahead
	for _, g := range groups {
		for i := range g.Pairs {
			if name := pairName(&g.Pairs[i]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	shown := shownGroups(groups, mostPanels)
	cut, pairs, bounds, recurrence := false, 0, false, false
	for _, g := range shown {
		p := phasePanel(g, names)
		p.Title = groupTitle(r, g)
		if note := seedNote(r, g.Variant); note != "" {
			p.Subtitle = strings.TrimSuffix(note+"; "+p.Subtitle, "; ")
		}
		for _, l := range p.Lines {
			c.key(Key{Name: l.Name, Style: l.Style})
			recurrence = recurrence || l.Style >= styleModel
		}
		bounds = bounds || len(p.Marks) > 0
		pairs = max(pairs, len(g.Pairs)+g.PairsLeftOut)
		cut = cut || slices.ContainsFunc(g.Pairs, func(p analysis.JobPair) bool { return len(p.Steps) > mostIterations })
		c.Panels = append(c.Panels, p)
	}
	if bounds {
		c.Caption += " The line across: the least difference with which phases are apart; a second one, where the axis goes so far, the greatest."
	}
	if recurrence {
		c.Caption += " Dashed and thin: the published recurrence, what ideal sharing under the weights makes of the first measured difference."
	}
	if pairs > mostPairs {
		c.Caption += fmt.Sprintf(" The first %d pairs of a group.", mostPairs)
	}
	c.Caption += firstIterations(cut) + leftOut(len(groups), len(shown))
	return c
}

// firstIterations says that charts do not show all iterations.
func firstIterations(cut bool) string {
	if !cut {
		return ""
	}
	return fmt.Sprintf(" The first %d iterations.", mostIterations)
}

// key adds an entry to the legend, once.
func (c *Chart) key(k Key) {
	if !slices.Contains(c.Legend, k) {
		c.Legend = append(c.Legend, k)
	}
}

func groupsOf(r *analysis.Result) (all []*analysis.JobGroup) {
	for i := range r.JobGroups {
		all = append(all, &r.JobGroups[i])
	}
	return all
}

// jobNames returns the names of all jobs that share links, each once. Its place in them
// gives a job the same style in all panels.
func jobNames(r *analysis.Result) (names []string) {
	for _, g := range groupsOf(r) {
		for k := range g.Jobs {
			if name := g.Jobs[k].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// shownGroups returns so many of the groups: all variants of the first group, with the one
// that speed-ups are of among them, then those of the next.
func shownGroups(groups []*analysis.JobGroup, most int) (shown []*analysis.JobGroup) {
	var keys []string
	of := map[string][]*analysis.JobGroup{}
	for _, g := range groups {
		key := strings.Join(groupNames(g), "\n")
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], g)
	}
	for _, key := range keys {
		list := of[key]
		if left := most - len(shown); len(list) > left {
			base := slices.IndexFunc(list, func(g *analysis.JobGroup) bool { return g.Variant == g.Base })
			if base >= left && left > 0 {
				list = slices.Concat(list[:left-1], list[base:base+1])
			}
			list = list[:left]
		}
		shown = append(shown, list...)
	}
	return shown
}

// groupTitle names a variant and, where it has several groups, the jobs.
func groupTitle(r *analysis.Result, g *analysis.JobGroup) string {
	title := clipped(g.Variant)
	if countGroups(r, g.Variant) < 2 {
		return title
	}
	names := groupNames(g)
	title += ": " + clipped(strings.Join(names[:min(len(names), mostNamed)], ", "))
	if more := len(names) - mostNamed; more > 0 {
		title += fmt.Sprintf(" and %d more", more)
	}
	return title
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

// pairName names a pair, whichever of its jobs is ahead.
func pairName(p *analysis.JobPair) string { return min(p.A, p.B) + "\n" + max(p.A, p.B) }

// phasePanel draws the pairs of a group, of which there is at least one. names are those of
// all pairs.
func phasePanel(g *analysis.JobGroup, names []string) Panel {
	low, high := 0.0, 0.0
	for i := range g.Pairs[:min(len(g.Pairs), mostPairs)] {
		pair := &g.Pairs[i]
		for _, d := range pair.DifferenceUS[:min(mostIterations, len(pair.Steps))] {
			if !math.IsNaN(d) {
				low, high = min(low, d), max(high, d)
			}
		}
	}
	from, to := apartBounds(g.Pairs[:min(len(g.Pairs), mostPairs)])
	upper := high > 0.6*to // or the axis goes on to where nothing is
	if high = max(high, from); upper {
		high = max(high, to)
	}
	unit := scaleFor(max(high, -low), scalesOfDelays)
	p := Panel{XLabel: "Iteration", YLabel: "Phase difference (" + unit.unit + ")", YMin: low * unit.factor, YMax: high * unit.factor, counts: true}
	for i := range g.Pairs[:min(len(g.Pairs), mostPairs)] {
		pair := &g.Pairs[i]
		n := min(mostIterations, len(pair.Steps))
		style := manyStyle(slices.Index(names, pairName(pair)))
		name := pair.B + " after " + pair.A
		p.Lines = append(p.Lines, phaseLine(name, style, pair.PeriodUS, pair.Steps[:n], pair.DifferenceUS[:n]))
		if pair.RecurrenceUS != nil {
			by := "growing weights"
			if pair.Ratio > 0 {
				by = fmt.Sprintf("weights %.3g : 1", pair.Ratio)
			}
			p.Lines = append(p.Lines, phaseLine(name+": recurrence for "+by, styleModel+style, pair.PeriodUS, pair.Steps[:n], pair.RecurrenceUS[:n]))
		}
		if n > 0 {
			p.XMax = max(p.XMax, pair.Steps[n-1])
		}
	}
	for i := range p.Lines {
		unit.apply(p.Lines[i].Y)
	}
	if to > 0 {
		p.Marks = append(p.Marks, Mark{"apart", from * unit.factor})
		p.Subtitle = fmt.Sprintf("apart from %s to %s", span(from), span(to))
		if upper {
			p.Marks = append(p.Marks, Mark{"apart below", to * unit.factor})
		}
	}
	return p
}

// phaseLine returns a line of differences, with a gap where they jump by a period.
func phaseLine(name string, style int, period float64, steps []float64, us analysis.Values) Line {
	line := Line{Name: name, Style: style}
	for k, step := range steps {
		if k > 0 && math.Abs(us[k]-us[k-1]) > period/2 {
			line.X, line.Y = append(line.X, step), append(line.Y, math.NaN())
		}
		line.X, line.Y = append(line.X, step), append(line.Y, us[k])
	}
	return line
}

// apartBounds returns the differences between which phases are apart, 0 and 0 if the pairs do
// not have the same.
func apartBounds(pairs []analysis.JobPair) (from, to float64) {
	near := func(x, y float64) bool { return math.Abs(x-y) <= 0.02*y }
	first := &pairs[0]
	for i := range pairs {
		if p := &pairs[i]; !near(p.ApartUS, first.ApartUS) || !near(p.ApartToUS, first.ApartToUS) {
			return 0, 0
		}
	}
	return first.ApartUS, first.ApartToUS
}

// iterationTimes draws the distributions of iteration times: of each job a panel with its
// variants. Jobs of a group have the same axis.
func iterationTimes(r *analysis.Result) Chart {
	c := Chart{ID: "iterations", Title: "Iteration times of jobs that share links", Caption: "The share of the iterations of all seeds that take at most this long."}
	longest := map[string]float64{} // of the jobs in the groups of a job
	var names []string
	for _, g := range groupsOf(r) {
		most := 0.0
		for k := range g.Jobs {
			if n := len(g.Jobs[k].TimesUS); n > 0 {
				most = max(most, g.Jobs[k].TimesUS[n-1])
				if !slices.Contains(names, g.Jobs[k].Name) {
					names = append(names, g.Jobs[k].Name)
				}
			}
		}
		for k := range g.Jobs {
			longest[g.Jobs[k].Name] = max(longest[g.Jobs[k].Name], most)
		}
	}
	shown := names[:min(len(names), mostPanels)]
	for _, name := range shown {
		unit := scaleFor(longest[name], scalesOfDelays)
		p := Panel{Title: clipped(name), XLabel: "Iteration time (" + unit.unit + ")", YLabel: "Iterations (%)", XMax: longest[name] * unit.factor * 1.02, YMax: 100}
		for v := range r.Variants[:min(len(r.Variants), analysis.MaxGroups)] {
			variant := r.Variants[v].Name
			for _, g := range groupsOf(r) {
				at := slices.IndexFunc(g.Jobs, func(j analysis.SharedJob) bool { return j.Name == name })
				if g.Variant != variant || at < 0 || len(g.Jobs[at].TimesUS) == 0 {
					continue
				}
				p.Lines = append(p.Lines, stepsOf(&g.Jobs[at], Line{Name: variant, Style: v}, unit))
				c.key(Key{Name: variant, Style: v})
			}
		}
		c.Panels = append(c.Panels, p)
	}
	if len(r.Variants) > analysis.MaxGroups {
		c.Caption += fmt.Sprintf(" The first %d variants.", analysis.MaxGroups)
	}
	c.Caption += leftOut(len(names), len(shown))
	return c
}

// stepsOf adds the distribution of a job's iteration times to a line: it steps up at each
// time to the share of the iterations that take at most as long.
func stepsOf(j *analysis.SharedJob, line Line, unit scale) Line {
	share := 0.0
	for k, us := range j.TimesUS {
		next := 100 * float64(analysis.Rank(k, len(j.TimesUS), j.Times)) / float64(j.Times)
		line.X, line.Y = append(line.X, us*unit.factor, us*unit.factor), append(line.Y, share, next)
		share = next
	}
	return line
}
