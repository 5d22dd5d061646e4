package sharing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// What charts show at most.
const (
	mostIterations = 300 // of a job
	mostPanels     = 12  // of a chart
	mostPairs      = 4   // of a group
	mostNamed      = 3   // jobs in the title of a panel
)

// overlaps draws the overlap of each job by iteration, nil without jobs that have any.
func (s *Section) overlaps() *chart.Figure {
	f := &chart.Figure{ID: "overlap", Title: "Overlap of jobs that share links", Columns: 2, Caption: "The share of the communication of each iteration in which another job that shares a link communicates too. A line has a gap where no such job runs."}
	names, groups := s.names(), s.running()
	shown := first(groups, mostPanels)
	cut, jobs := false, 0
	for _, g := range shown {
		c := &chart.Lines{Name: s.title(g), X: chart.Scaling{Name: "Iteration", Counts: true}, Y: chart.Scaling{Name: "Overlap", Unit: "%", Max: 100}}
		for k := range g.Jobs[:min(len(g.Jobs), series.MaxGroups)] {
			j := &g.Jobs[k]
			line := chart.Line{Name: j.Name, Look: s.look(names, j.Name)}
			for _, it := range j.Iterations[:min(mostIterations, len(j.Iterations))] {
				share := 100 * it.Overlap
				if it.Alone || len(it.Phases) == 0 {
					share = math.NaN()
				}
				line.X, line.Y = append(line.X, float64(it.Step)), append(line.Y, share)
				c.X.Max = max(c.X.Max, float64(it.Step))
			}
			cut = cut || len(j.Iterations) > mostIterations
			c.Lines = append(c.Lines, line)
			addKey(f, line.Name, line.Look)
		}
		jobs = max(jobs, len(g.Jobs))
		f.Panels = append(f.Panels, chart.Panel{Title: c.Name, Subtitle: phrases.Seed(&s.reading.Facts, g.Variant), Variant: g.Variant, Chart: c})
	}
	if jobs > series.MaxGroups {
		f.Caption += fmt.Sprintf(" The first %d jobs of a group.", series.MaxGroups)
	}
	f.Caption += firstIterations(cut) + phrases.LeftOut(len(groups), len(shown))
	return drawn(f)
}

// look returns the look of the line of a job, or of a pair of jobs, by its place among all names.
func (s *Section) look(names []string, name string) chart.Look {
	return chart.Beside(len(s.reading.Variants), slices.Index(names, name))
}

// drawn returns the figure, nil if it has no panel.
func drawn(f *chart.Figure) *chart.Figure {
	if len(f.Panels) == 0 {
		return nil
	}
	return f
}

// differences draws the phase differences of pairs, each with its recurrence; nil without.
func (s *Section) differences() *chart.Figure {
	f := &chart.Figure{ID: "phases", Title: "Phase difference of jobs of equal period", Columns: 2, Caption: "How much later the second job of a pair begins to communicate than the first, by iteration of the first, modulo the period of an iteration."}
	groups := slices.DeleteFunc(s.all(), func(g *Group) bool { return len(g.Pairs) == 0 })
	var names []string // of pairs, whichever is ahead
	for _, g := range groups {
		for i := range g.Pairs {
			if name := g.Pairs[i].name(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	shown := first(groups, mostPanels)
	cut, pairs, bounds, recurrence := false, 0, false, false
	for _, g := range shown {
		c, subtitle := s.differencesOf(g, names)
		c.Name = s.title(g)
		if note := phrases.Seed(&s.reading.Facts, g.Variant); note != "" {
			subtitle = strings.TrimSuffix(note+"; "+subtitle, "; ")
		}
		for _, l := range c.Lines {
			addKey(f, l.Name, l.Look)
		}
		bounds = bounds || len(c.Levels) > 0
		pairs = max(pairs, len(g.Pairs)+g.PairsLeftOut)
		for i := range g.Pairs {
			cut = cut || len(g.Pairs[i].Steps) > mostIterations
			recurrence = recurrence || i < mostPairs && g.Pairs[i].RecurrenceUS != nil
		}
		f.Panels = append(f.Panels, chart.Panel{Title: c.Name, Subtitle: subtitle, Variant: g.Variant, Chart: c})
	}
	if bounds {
		f.Caption += " The line across: the least difference with which phases are apart; a second one, where the axis goes so far, the greatest."
	}
	if recurrence {
		f.Caption += " Dashed and thin: the published recurrence, what ideal sharing under the weights makes of the first measured difference."
	}
	if pairs > mostPairs {
		f.Caption += fmt.Sprintf(" The first %d pairs of a group.", mostPairs)
	}
	f.Caption += firstIterations(cut) + phrases.LeftOut(len(groups), len(shown))
	return drawn(f)
}

// firstIterations says that charts do not show all iterations.
func firstIterations(cut bool) string {
	if !cut {
		return ""
	}
	return fmt.Sprintf(" The first %d iterations.", mostIterations)
}

// addKey adds an entry to the legend, once.
func addKey(f *chart.Figure, name string, look chart.Look) {
	if !slices.ContainsFunc(f.Legend, func(k chart.Key) bool { return k.Name == name }) {
		f.Legend = append(f.Legend, chart.LineKey(name, look))
	}
}

func (s *Section) all() (all []*Group) {
	for i := range s.Groups {
		all = append(all, &s.Groups[i])
	}
	return all
}

// running returns the groups in which some job has ended an iteration.
func (s *Section) running() []*Group {
	return slices.DeleteFunc(s.all(), func(g *Group) bool {
		return !slices.ContainsFunc(g.Jobs, func(j Job) bool { return len(j.Iterations) > 0 })
	})
}

// names returns the names of all jobs that share links, each once. Its place in them gives a
// job the same look in all panels.
func (s *Section) names() (names []string) {
	for i := range s.Groups {
		for _, name := range s.Groups[i].names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// first returns so many of the groups: all variants of the first group, with the one that
// speed-ups are of among them, then those of the next.
func first(groups []*Group, most int) (shown []*Group) {
	var keys []string
	of := map[string][]*Group{}
	for _, g := range groups {
		key := strings.Join(g.names(), "\n")
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], g)
	}
	for _, key := range keys {
		list := of[key]
		if left := most - len(shown); len(list) > left {
			base := slices.IndexFunc(list, func(g *Group) bool { return g.Variant == g.Base })
			if base >= left && left > 0 {
				list = slices.Concat(list[:left-1], list[base:base+1])
			}
			list = list[:left]
		}
		shown = append(shown, list...)
	}
	return shown
}

// title names a variant and, where it has several groups, the jobs.
func (s *Section) title(g *Group) string {
	title, groups := words.Clipped(g.Variant), 0
	for i := range s.Groups {
		if s.Groups[i].Variant == g.Variant {
			groups++
		}
	}
	if groups < 2 {
		return title
	}
	names := g.names()
	title += ": " + words.Clipped(strings.Join(names[:min(len(names), mostNamed)], ", "))
	if more := len(names) - mostNamed; more > 0 {
		title += fmt.Sprintf(" and %d more", more)
	}
	return title
}

func (g *Group) names() (names []string) {
	for i := range g.Jobs {
		names = append(names, g.Jobs[i].Name)
	}
	return names
}

// name names a pair, whichever of its jobs is ahead.
func (p *Pair) name() string { return min(p.A, p.B) + "\n" + max(p.A, p.B) }

// differencesOf draws the pairs of a group, of which there is at least one. names are those of
// all pairs. It returns from which difference on phases are apart, in words, too.
func (s *Section) differencesOf(g *Group, names []string) (c *chart.Lines, apart string) {
	pairs := g.Pairs[:min(len(g.Pairs), mostPairs)]
	low, high := 0.0, 0.0
	for i := range pairs {
		for _, d := range pairs[i].DifferenceUS[:min(mostIterations, len(pairs[i].Steps))] {
			if !math.IsNaN(d) {
				low, high = min(low, d), max(high, d)
			}
		}
	}
	from, to := apartBounds(pairs)
	upper := high > 0.6*to // or the axis goes on to where nothing is
	if high = max(high, from); upper {
		high = max(high, to)
	}
	unit := words.ScaleFor(max(high, -low), words.Delays)
	c = &chart.Lines{X: chart.Scaling{Name: "Iteration", Counts: true}, Y: chart.Scaling{Name: "Phase difference", Unit: unit.Unit, Min: low * unit.Factor, Max: high * unit.Factor}}
	for i := range pairs {
		p := &pairs[i]
		n := min(mostIterations, len(p.Steps))
		look, name := s.look(names, p.name()), p.B+" after "+p.A
		c.Lines = append(c.Lines, p.line(name, look, p.DifferenceUS[:n], unit))
		if p.RecurrenceUS != nil {
			by := "growing weights"
			if p.Ratio > 0 {
				by = fmt.Sprintf("weights %.3g : 1", p.Ratio)
			}
			c.Lines = append(c.Lines, p.line(name+": recurrence for "+by, look.Model(), p.RecurrenceUS[:n], unit))
		}
		if n > 0 {
			c.X.Max = max(c.X.Max, p.Steps[n-1])
		}
	}
	if !(to > 0) {
		return c, ""
	}
	c.Levels = append(c.Levels, chart.LevelMark{Name: "apart", Y: from * unit.Factor})
	if upper {
		c.Levels = append(c.Levels, chart.LevelMark{Name: "apart below", Y: to * unit.Factor})
	}
	return c, fmt.Sprintf("apart from %s to %s", words.Span(from), words.Span(to))
}

// line returns a line of differences, with a gap where they jump by a period.
func (p *Pair) line(name string, look chart.Look, us reading.Values, unit words.Scale) chart.Line {
	line := chart.Line{Name: name, Look: look}
	for k := range us {
		if k > 0 && math.Abs(us[k]-us[k-1]) > p.PeriodUS/2 {
			line.X, line.Y = append(line.X, p.Steps[k]), append(line.Y, math.NaN())
		}
		line.X, line.Y = append(line.X, p.Steps[k]), append(line.Y, us[k]*unit.Factor)
	}
	return line
}

// apartBounds returns the differences between which phases are apart, 0 and 0 if the pairs do
// not have the same.
func apartBounds(pairs []Pair) (from, to float64) {
	first := &pairs[0]
	for i := range pairs {
		if p := &pairs[i]; !near(p.ApartUS, first.ApartUS) || !near(p.ApartToUS, first.ApartToUS) {
			return 0, 0
		}
	}
	return first.ApartUS, first.ApartToUS
}

// times draws the distributions of iteration times: of each job a panel with its variants.
// Jobs of a group have the same axis. It is nil without iterations.
func (s *Section) times() *chart.Figure {
	f := &chart.Figure{ID: "iterations", Title: "Iteration times of jobs that share links", Columns: 2, Caption: "The share of the iterations of all seeds that take at most this long."}
	longest := map[string]float64{} // of the jobs in the groups of a job
	var names []string
	for i := range s.Groups {
		g, most := &s.Groups[i], 0.0
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
	variants := s.reading.Variants
	shown := names[:min(len(names), mostPanels)]
	for _, name := range shown {
		unit := words.ScaleFor(longest[name], words.Delays)
		c := &chart.Lines{Name: words.Clipped(name), X: chart.Scaling{Name: "Iteration time", Unit: unit.Unit, Max: longest[name] * unit.Factor * 1.02}, Y: chart.Scaling{Name: "Iterations", Unit: "%", Max: 100}}
		for v := range variants[:min(len(variants), series.MaxGroups)] {
			for i := range s.Groups {
				g := &s.Groups[i]
				at := slices.Index(g.names(), name)
				if g.Variant != variants[v].Name || at < 0 || len(g.Jobs[at].TimesUS) == 0 {
					continue
				}
				line := g.Jobs[at].line(unit)
				line.Name, line.Look = g.Variant, chart.Nth(v)
				c.Lines = append(c.Lines, line)
				addKey(f, line.Name, line.Look)
			}
		}
		f.Panels = append(f.Panels, chart.Panel{Title: c.Name, Chart: c})
	}
	if len(variants) > series.MaxGroups {
		f.Caption += fmt.Sprintf(" The first %d variants.", series.MaxGroups)
	}
	f.Caption += phrases.LeftOut(len(names), len(shown))
	return drawn(f)
}

// line returns the distribution of a job's iteration times: it steps up at each time to the
// share of the iterations that take at most as long.
func (j *Job) line(unit words.Scale) (line chart.Line) {
	share := 0.0
	for k, us := range j.TimesUS {
		next := 100 * float64(series.Rank(k, len(j.TimesUS), j.Times)) / float64(j.Times)
		line.X, line.Y = append(line.X, us*unit.Factor, us*unit.Factor), append(line.Y, share, next)
		share = next
	}
	return line
}
