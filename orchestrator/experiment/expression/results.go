package expression

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Results are the metrics of an experiment's runs, which expectations are about.
type Results struct {
	runs    map[string][]Run
	medians medianLookup
	seeds   []seedLookup
	uneven  error // why there is nothing to compute by seed
}

// NewResults returns the metrics of every variant's runs, which are in the order of the
// seeds, the same in each.
func NewResults(runs map[string][]Run, why Why) *Results {
	r := &Results{runs: runs, medians: medianLookup{runs: runs, why: why, known: map[string]median{}, names: map[string][]string{}}}
	variants := slices.Sorted(maps.Keys(runs))
	for i, v := range variants {
		if len(runs[v]) != len(runs[variants[0]]) {
			r.uneven = fmt.Errorf("variant %s has %d runs, %s has %d", variants[0], len(runs[variants[0]]), v, len(runs[v]))
			return r
		}
		for k, run := range runs[v] {
			if i == 0 {
				where := fmt.Sprintf(" in seed %d", run.Seed)
				r.seeds = append(r.seeds, seedLookup{run.Seed, &runLookup{runs: map[string]map[string]float64{}, where: where, why: why}})
			}
			r.seeds[k].lookup.(*runLookup).runs[v] = run.Metrics
		}
	}
	if len(r.seeds) == 0 {
		r.uneven = errors.New("there are no runs")
	}
	return r
}

// medianLookup has the medians over the seeds of metrics that every run of a variant
// has.
type medianLookup struct {
	runs  map[string][]Run
	why   Why
	known map[string]median   // by variant and name, with a zero byte between
	names map[string][]string // of a variant's metrics that a run has, sorted
}

type median struct {
	value float64
	lacks string
}

func (l *medianLookup) metric(variant, name string) (v float64, lacks string) {
	key := variant + "\x00" + name
	if m, ok := l.known[key]; ok {
		return m.value, m.lacks
	}
	var values []float64
	var without []string
	for _, r := range l.runs[variant] {
		if v, ok := r.Metrics[name]; ok {
			values = append(values, v)
			continue
		}
		without = append(without, fmt.Sprint(r.Seed))
	}
	m := median{value: runfolder.Median(values)}
	if len(without) > 0 || len(values) == 0 {
		m = median{lacks: fmt.Sprintf("there is no %s%s%s", of(variant, name), inSeeds(without, len(values) == 0), l.why.text(name))}
	}
	l.known[key] = m
	return m.value, m.lacks
}

// inSeeds returns a text for the seeds that lack something, all or not.
func inSeeds(seeds []string, all bool) string {
	switch {
	case all && len(seeds) != 1:
		return " in any seed"
	case len(seeds) == 1:
		return " in seed " + seeds[0]
	case len(seeds) > maxListed:
		return fmt.Sprintf(" in seeds %s and %d more", strings.Join(seeds[:maxListed], ", "), len(seeds)-maxListed)
	}
	return " in seeds " + strings.Join(seeds, ", ")
}

func (l *medianLookup) match(variant, pattern string) (values []float64, names, partial []string) {
	if l.names[variant] == nil {
		union := map[string]float64{}
		for _, r := range l.runs[variant] {
			maps.Copy(union, r.Metrics)
		}
		l.names[variant] = slices.Sorted(maps.Keys(union))
	}
	for _, name := range matching(l.names[variant], pattern) {
		if v, lacks := l.metric(variant, name); lacks == "" {
			values, names = append(values, v), append(names, name)
		} else {
			partial = append(partial, name)
		}
	}
	return values, names, partial
}

// matching returns the names that match a pattern. all is sorted.
func matching(all []string, pattern string) (names []string) {
	prefix := wildcard.Prefix(pattern)
	first, _ := slices.BinarySearch(all, prefix)
	for _, name := range all[first:] {
		if !strings.HasPrefix(name, prefix) {
			break
		}
		if wildcard.Match(pattern, name) {
			names = append(names, name)
		}
	}
	return names
}

// runLookup has the metrics of one run of each variant. where is a text for messages.
type runLookup struct {
	runs  map[string]map[string]float64 // by variant; "" in derived metrics
	where string
	why   Why
	// names are those of a variant's metrics, sorted, and found what patterns match of them.
	names map[string][]string
	found map[mention]matched
}

// mention is a pattern and the variant whose metrics it is about.
type mention struct{ variant, pattern string }

// matched is the metrics that match a pattern.
type matched struct {
	values []float64
	names  []string
}

// add adds a metric to the only variant, "".
func (l *runLookup) add(name string, value float64) {
	_, had := l.runs[""][name]
	l.runs[""][name] = value
	if all := l.names[""]; all != nil && !had {
		at, _ := slices.BinarySearch(all, name)
		l.names[""] = slices.Insert(all, at, name)
	}
	for m := range l.found {
		if wildcard.Match(m.pattern, name) {
			delete(l.found, m)
		}
	}
}

func (l *runLookup) metric(variant, name string) (v float64, lacks string) {
	if v, ok := l.runs[variant][name]; ok {
		return v, ""
	}
	return 0, "there is no " + of(variant, name) + l.where + l.why.text(name)
}

func (l *runLookup) match(variant, pattern string) (values []float64, names, _ []string) {
	key := mention{variant, pattern}
	if m, ok := l.found[key]; ok {
		return m.values, m.names, nil
	}
	if l.found == nil {
		l.names, l.found = map[string][]string{}, map[mention]matched{}
	}
	metrics := l.runs[variant]
	if l.names[variant] == nil {
		l.names[variant] = slices.Sorted(maps.Keys(metrics))
	}
	names = matching(l.names[variant], pattern)
	for _, name := range names {
		values = append(values, metrics[name])
	}
	l.found[key] = matched{values, names}
	return values, names, nil
}

// of names a metric of a variant.
func of(variant, name string) string {
	if variant == "" {
		return name
	}
	return name + " of variant " + variant
}

// Why returns why a run lacks a metric, "" if there is nothing to say; nil says nothing.
type Why func(metric string) string

// text returns the end of a message.
func (w Why) text(metric string) string {
	if w == nil {
		return ""
	}
	if why := w(metric); why != "" {
		return " (" + why + ")"
	}
	return ""
}
