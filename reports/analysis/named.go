package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Named is a port, or the ports that share a locator, that CSIG samples named as the
// bottleneck.
type Named struct {
	Group                // the flows whose samples these are
	Signal string        `json:"signal"`
	Ports  []string      `json:"ports"`  // one; several when they share the locator; none when no hop wrote the tags
	Shares []*NamedShare `json:"shares"` // by variant; nil when no sample of the flows has the signal
}

// NamedShare is how often samples named a port in one variant.
type NamedShare struct {
	Share   float64 `json:"share"`   // of the flows' samples of the signal in the measuring window, median over the seeds
	Samples float64 `json:"samples"` // median over the seeds
	Seeds   Spread  `json:"seeds"`   // range of the share
}

// leastNamed is the share of the samples from which a port is listed.
const leastNamed = 0.01

// sampled is what samples are counted by.
type sampled struct {
	group   int
	signal  string
	variant int
	locator int32 // ofAll: of all locators
}

const ofAll = -1

// namedKey identifies a Named. Names of ports have no blanks.
type namedKey struct {
	group         int
	signal, ports string
}

// readNamed counts the samples of all runs by the ports that they named, and those of
// some flows apart.
func readNamed(f *runfolder.Folder, t *totals, groups []Group, group map[string]int, of samplesOf) ([]Named, error) {
	m := &f.Manifest
	ports, variant := make([]map[int32][]string, len(m.Variants)), map[string]int{}
	for i, v := range m.Variants {
		ports[i], variant[v.Name] = portsByLocator(v.Locators), i
	}
	counts := map[sampled]map[uint64]int64{} // samples by seed
	add := func(key sampled, seed uint64, n int64) {
		if counts[key] == nil {
			counts[key] = map[uint64]int64{}
		}
		counts[key][seed] += n
	}
	for r, err := range f.Signals() {
		if err != nil {
			return nil, err
		}
		at, ok := group[r.FlowName]
		v, known := variant[r.Variant]
		if !ok || !known || !inWindow(m, r.StartUS) {
			continue
		}
		of.add(&r)
		add(sampled{at, r.Type, v, r.Locator}, r.Seed, r.Samples)
		add(sampled{at, r.Type, v, ofAll}, r.Seed, r.Samples)
	}
	all, index := []Named{}, map[namedKey]int{}
	for key, bySeed := range counts {
		if key.locator == ofAll {
			continue
		}
		totals := counts[sampled{key.group, key.signal, key.variant, ofAll}]
		var shares, samples []float64
		for _, seed := range t.seeds[m.Variants[key.variant].Name] {
			if total := totals[seed]; total > 0 {
				shares, samples = append(shares, float64(bySeed[seed])/float64(total)), append(samples, float64(bySeed[seed]))
			}
		}
		share := &NamedShare{runfolder.Median(shares), runfolder.Median(samples), spreadOf(shares)}
		names := portsOf(ports[key.variant], key.locator)
		k := namedKey{key.group, key.signal, strings.Join(names, " ")}
		i, known := index[k]
		if !known {
			i = len(all)
			index[k] = i
			all = append(all, Named{Group: groups[key.group], Signal: key.signal, Ports: names, Shares: make([]*NamedShare, len(m.Variants))})
		}
		all[i].Shares[key.variant] = share
	}
	// A variant with samples of the flows that name other ports named this one never.
	for i := range all {
		for k := range m.Variants {
			at := slices.Index(groups, all[i].Group)
			if seeds := counts[sampled{at, all[i].Signal, k, ofAll}]; all[i].Shares[k] == nil && len(seeds) > 0 {
				all[i].Shares[k] = &NamedShare{Seeds: Spread{Count: len(seeds)}}
			}
		}
	}
	all = slices.DeleteFunc(all, func(n Named) bool {
		return !slices.ContainsFunc(n.Shares, func(s *NamedShare) bool { return s != nil && s.Share >= leastNamed })
	})
	slices.SortFunc(all, func(a, b Named) int {
		return cmp.Or(cmp.Compare(slices.Index(groups, a.Group), slices.Index(groups, b.Group)), cmp.Compare(a.Signal, b.Signal),
			cmp.Compare(b.most(), a.most()), slices.Compare(a.Ports, b.Ports))
	})
	return all, nil
}

// most returns the greatest share of the variants.
func (n *Named) most() (share float64) {
	for _, s := range n.Shares {
		if s != nil {
			share = max(share, s.Share)
		}
	}
	return share
}

// portsByLocator returns the ports of each locator. It is nil without a table.
func portsByLocator(t *runfolder.LocatorTable) map[int32][]string {
	if t == nil {
		return nil
	}
	ports := make(map[int32][]string, len(t.Locators))
	for _, l := range t.Locators {
		ports[l.Locator] = l.Ports
	}
	return ports
}

// portsOf returns the ports that a locator stands for: none when no hop wrote the
// tag.
func portsOf(ports map[int32][]string, locator int32) []string {
	if locator == 0 {
		return []string{}
	}
	if names, ok := ports[locator]; ok {
		return names
	}
	return []string{"unknown port"}
}

// maxNamed bounds the lines of the chart of named ports; the rest is one line more.
const maxNamed = 5

// namedOverTime collects which ports the samples of all flows named, as shares of the
// samples of each point.
func namedOverTime(s *Scope) Collector {
	ports := portsByLocator(s.Variant.Locators)
	counts := map[int32]*track{}
	var all track
	return Collector{
		Signal: func(r runfolder.SignalRow) {
			if _, ok := s.Group(r.FlowName); !ok {
				return
			}
			of := counts[r.Locator]
			if of == nil {
				of = &track{}
				counts[r.Locator] = of
			}
			point := s.Point(r.StartUS)
			of.add(point, float64(r.Samples))
			all.add(point, float64(r.Samples))
		},
		Panels: func() []Panel {
			locators := make([]int32, 0, len(counts))
			for l := range counts {
				locators = append(locators, l)
			}
			slices.SortFunc(locators, func(a, b int32) int {
				return cmp.Or(cmp.Compare(counts[b].total(), counts[a].total()), cmp.Compare(a, b))
			})
			line := func(names []string, share func(point int) float64) Line {
				l := Line{Ports: names, First: all.first, Values: make(Values, len(all.sums))}
				for i := range l.Values {
					l.Values[i] = math.NaN()
					if n := all.sums[i]; n > 0 {
						l.Values[i] = 100 * share(all.first+i) / n
					}
				}
				return l
			}
			shown := locators[:min(maxNamed, len(locators))]
			if len(locators) == maxNamed+1 {
				shown = locators // a line for one more rather than for "others"
			}
			var lines []Line
			for _, l := range shown {
				names := portsOf(ports, l)
				if len(names) == 0 {
					names = []string{noPort}
				}
				lines = append(lines, line(names, counts[l].at))
			}
			if rest := locators[len(shown):]; len(rest) > 0 {
				lines = append(lines, line([]string{OtherPorts}, func(point int) (sum float64) {
					for _, l := range rest {
						sum += counts[l].at(point)
					}
					return sum
				}))
			}
			return panelOf(lines)
		},
	}
}

// Names in Line.Ports that are no ports.
const (
	noPort     = "no hop wrote it"
	OtherPorts = "other ports"
)

// total returns the sum of all points.
func (t *track) total() (sum float64) {
	for _, v := range t.sums {
		sum += v
	}
	return sum
}
