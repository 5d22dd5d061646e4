// Package whatif says what one changed value of an experiment means for the links and ranks of a
// recorded run, so that its records can predict the run with the change; and which change takes
// away what a run lost its time to. It runs nothing and reads no records.
package whatif

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Change is what a second experiment has different from the first one.
type Change struct {
	Rates    map[string]float64           // by link: its rate as a multiple of the first one's
	Computes map[string]map[int32]float64 // by job and rank: its computes likewise
	// Unknown is why no prediction exists: something else differs. "": nothing does.
	Unknown string
}

// Empty reports whether the two do not differ.
func (c *Change) Empty() bool { return len(c.Rates)+len(c.Computes) == 0 && c.Unknown == "" }

// Between returns what the variant of a has different in that of b. Errors are those of plans, of
// b if a has been run.
func Between(a, b *experiment.Experiment) (*Change, error) {
	c := &Change{Rates: map[string]float64{}, Computes: map[string]map[int32]float64{}}
	like := *b // but for what a prediction knows
	like.Topology, like.Links.Rates = a.Topology, a.Links.Rates
	like.Seeds, like.Expect, like.Robust, like.Published = a.Seeds, a.Expect, a.Robust, a.Published
	like.Faults = a.Faults
	if len(a.Jobs) == len(b.Jobs) {
		like.Jobs = slices.Clone(b.Jobs)
		for i := range like.Jobs {
			like.Jobs[i].Stragglers = a.Jobs[i].Stragglers
		}
	}
	first, err := a.Marshal()
	if err != nil {
		return nil, err
	}
	second, err := like.Marshal()
	if err != nil {
		return nil, err
	}
	was, err := plan.Compile(a, a.Seeds[0])
	if err != nil {
		return nil, err
	}
	is, err := plan.Compile(b, b.Seeds[0])
	if err != nil {
		return nil, err
	}
	switch {
	case !bytes.Equal(first, second):
		c.Unknown = "records do not say what follows from another " + differs(first, second)
	case !c.rates(a, b, was.Graph, is.Graph):
		c.Unknown = "the fabric has other nodes, links or delays"
	case !c.faults(a, b):
		c.Unknown = "faults that do not last for the whole run, or are not of kind rate, differ"
	case !c.stragglers(a, b):
		c.Unknown = "pauses of ranks differ"
	}
	return c, nil
}

// differs returns the path of the first value that differs between the texts of two experiments.
func differs(a, b []byte) string {
	first, second := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	var path []string // keys that enclose a line
	var depth []int
	for i := range max(len(first), len(second)) {
		one, other := "", ""
		if i < len(first) {
			one = first[i]
		}
		if i < len(second) {
			other = second[i]
		}
		line := cmp.Or(one, other)
		text := strings.TrimLeft(line, " -")
		key, _, _ := strings.Cut(text, ":")
		for len(depth) > 0 && depth[len(depth)-1] >= len(line)-len(text) {
			path, depth = path[:len(path)-1], depth[:len(depth)-1]
		}
		path, depth = append(path, key), append(depth, len(line)-len(text))
		if one != other {
			break
		}
	}
	return strings.Join(path, ".")
}

// rates enters the links with other rates. It reports whether the graphs are equal otherwise.
func (c *Change) rates(a, b *experiment.Experiment, was, is *topologies.Graph) bool {
	if len(was.Links) != len(is.Links) || !slices.Equal(was.Nodes, is.Nodes) {
		return false
	}
	names, before, after := was.LinkNames(), left(a.Faults, was), left(b.Faults, is)
	for i := range was.Links {
		one, other := was.Links[i], is.Links[i]
		if one.Rate != other.Rate {
			c.Rates[names[i]] = float64(other.Rate) / float64(one.Rate)
		}
		if other.Rate = one.Rate; one != other {
			return false
		}
		if before[i] != after[i] || one.Rate != is.Links[i].Rate {
			c.Rates[names[i]] = float64(after[i]) / float64(before[i])
		}
	}
	return true
}

// whole reports whether a fault takes a share of the rate of links for the whole run.
func whole(f *experiment.Fault) bool {
	return f.Kind == experiment.LinkRate && f.At == 0 && f.End() == 0 && f.Random == 0 && f.Direction == experiment.FaultDirections[0]
}

// linksOf returns the ids of the links of a pattern.
func linksOf(g *topologies.Graph, pattern string) []int {
	return g.FindLinks(func(name string) bool { return wildcard.Match(pattern, name) })
}

// left returns the rates that faults leave of the links' for the whole run.
func left(faults []experiment.Fault, g *topologies.Graph) []units.Rate {
	least := make([]units.Rate, len(g.Links))
	for id, l := range g.Links {
		least[id] = l.Rate
	}
	for i := range faults {
		if f := &faults[i]; whole(f) {
			for _, id := range linksOf(g, f.Links) {
				least[id] = min(least[id], cmp.Or(f.Rate, units.Rate(f.Share*float64(g.Links[id].Rate))))
			}
		}
	}
	return least
}

// faults reports whether no other faults differ than those of rates.
func (c *Change) faults(a, b *experiment.Experiment) bool {
	others := func(faults []experiment.Fault) []experiment.Fault {
		return slices.DeleteFunc(slices.Clone(faults), func(f experiment.Fault) bool { return whole(&f) })
	}
	return slices.Equal(others(a.Faults), others(b.Faults))
}

// stragglers enters the ranks that compute for another time. It reports whether nothing else of
// stragglers differs.
func (c *Change) stragglers(a, b *experiment.Experiment) bool {
	for i := range a.Jobs {
		slow := func(j *experiment.Job) map[int32]float64 {
			of := map[int32]float64{}
			for _, s := range j.Stragglers {
				if s.Slow > 0 {
					of[int32(s.Rank)] = s.Slow
				}
			}
			return of
		}
		pauses := func(j *experiment.Job) []experiment.Straggler {
			return slices.DeleteFunc(slices.Clone(j.Stragglers), func(s experiment.Straggler) bool { return s.Slow > 0 })
		}
		if !slices.Equal(pauses(&a.Jobs[i]), pauses(&b.Jobs[i])) {
			return false
		}
		was, is, name := slow(&a.Jobs[i]), slow(&b.Jobs[i]), a.Jobs[i].Name
		for _, of := range []map[int32]float64{was, is} {
			for rank := range of {
				if was[rank] == is[rank] {
					continue
				}
				if c.Computes[name] == nil {
					c.Computes[name] = map[int32]float64{}
				}
				c.Computes[name][rank] = (1 + is[rank]) / (1 + was[rank])
			}
		}
	}
	return true
}

// Faster returns the override, as PATH=VALUE, that gives the links of a pattern, which have one
// rate, so many times this rate; "" if there is no such link or it would be too fast.
func Faster(e *experiment.Experiment, links string, times int) (string, error) {
	p, err := plan.Compile(e, e.Seeds[0])
	if err != nil {
		return "", err
	}
	ids := linksOf(p.Graph, links)
	if len(ids) == 0 || p.Graph.Links[ids[0]].Rate > topologies.MaxRate/units.Rate(times) {
		return "", nil
	}
	var items []string
	for _, one := range e.Links.Rates {
		items = append(items, fmt.Sprintf(`{links: "%s", rate: %v}`, one.Links, one.Rate))
	}
	items = append(items, fmt.Sprintf(`{links: "%s", rate: %v}`, links, p.Graph.Links[ids[0]].Rate*units.Rate(times)))
	return "links.rates=[" + strings.Join(items, ", ") + "]", nil
}

// Hasten returns the override that has a rank of a job compute like the others, and "" if the
// experiment does not make it slow.
func Hasten(e *experiment.Experiment, job string, rank int32) string {
	i := slices.IndexFunc(e.Jobs, func(j experiment.Job) bool { return j.Name == job })
	if i < 0 {
		return ""
	}
	var items []string
	found := false
	for _, s := range e.Jobs[i].Stragglers {
		switch {
		case s.Rank == int(rank) && s.Slow > 0:
			found = true
		case s.Slow > 0:
			items = append(items, fmt.Sprintf("{rank: %d, slow: %g}", s.Rank, s.Slow))
		default:
			items = append(items, fmt.Sprintf("{rank: %d, pause: %v, step: %d}", s.Rank, s.Pause, s.Step))
		}
	}
	if !found {
		return ""
	}
	return fmt.Sprintf("jobs.%d.stragglers=[%s]", i, strings.Join(items, ", "))
}
