// Package named shows which ports CSIG samples named as the bottleneck: as shares of the samples
// of each group of flows, and over time; and which locators several ports share, so that a tag
// does not say which of them wrote its signal.
package named

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
)

// Section is the section of named ports.
type Section struct {
	series.Charted
	Named    []Named
	Locators []SharedLocators

	r      *reading.Reading
	counts map[sampled]map[uint64]int64 // samples by seed
}

// Named is a port, or the ports that share a locator, that CSIG samples named as the
// bottleneck.
type Named struct {
	reading.Group          // the flows whose samples these are
	Signal        string   `json:"signal"`
	Ports         []string `json:"ports"`  // one; several when they share the locator; none when no hop wrote the tags
	Shares        []*Share `json:"shares"` // by variant; nil when no sample of the flows has the signal
}

// Share is how often samples named a port in one variant.
type Share struct {
	Share   float64        `json:"share"`   // of the flows' samples of the signal in the measuring window, median over the seeds
	Samples float64        `json:"samples"` // median over the seeds
	Seeds   reading.Spread `json:"seeds"`   // range of the share
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

// New returns the section of a folder.
func New(r *reading.Reading) section.Section {
	return &Section{Charted: series.NewCharted(r, overTime), r: r}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n == 1 {
		s.counts = map[sampled]map[uint64]int64{}
		variants := map[string]int{}
		for i, v := range s.r.Manifest.Variants {
			variants[v.Name] = i
		}
		p.Signals(func(row *runfolder.SignalRow) {
			group, shown := s.r.Group(row.FlowName)
			variant, known := variants[row.Variant]
			if shown && known && s.r.Measured(row.StartUS) {
				s.add(sampled{group, row.Type, variant, row.Locator}, row)
				s.add(sampled{group, row.Type, variant, ofAll}, row)
			}
		})
	}
	return s.Collection.Pass(n, p)
}

func (s *Section) add(key sampled, row *runfolder.SignalRow) {
	if s.counts[key] == nil {
		s.counts[key] = map[uint64]int64{}
	}
	s.counts[key][row.Seed] += row.Samples
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.Named, s.Locators = s.shares(), sharedLocators(s.r.Manifest)
	s.counts = nil
	return s.Charted.Settle()
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	return map[string]any{"charts": s.Charts, "named": s.Named, "locators": s.Locators}
}

// key identifies a Named. Names of ports have no blanks.
type key struct {
	group         int
	signal, ports string
}

// shares returns the ports that samples named, by group, signal and share.
func (s *Section) shares() []Named {
	m, groups := s.r.Manifest, s.r.Groups
	ports := make([]map[int32][]string, len(m.Variants))
	for i, v := range m.Variants {
		ports[i] = reading.PortsByLocator(v.Locators)
	}
	all, index := []Named{}, map[key]int{}
	for of, bySeed := range s.counts {
		if of.locator == ofAll {
			continue
		}
		totals := s.counts[sampled{of.group, of.signal, of.variant, ofAll}]
		var shares, samples []float64
		for _, seed := range s.r.Totals.Seeds[m.Variants[of.variant].Name] {
			if total := totals[seed]; total > 0 {
				shares, samples = append(shares, float64(bySeed[seed])/float64(total)), append(samples, float64(bySeed[seed]))
			}
		}
		names := reading.PortsOf(ports[of.variant], of.locator)
		k := key{of.group, of.signal, strings.Join(names, " ")}
		i, known := index[k]
		if !known {
			i = len(all)
			index[k] = i
			all = append(all, Named{Group: groups[of.group], Signal: of.signal, Ports: names, Shares: make([]*Share, len(m.Variants))})
		}
		all[i].Shares[of.variant] = &Share{runfolder.Median(shares), runfolder.Median(samples), reading.SpreadOf(shares)}
	}
	// A variant with samples of the flows that name other ports named this one never.
	for i := range all {
		for v := range m.Variants {
			at := slices.Index(groups, all[i].Group)
			if seeds := s.counts[sampled{at, all[i].Signal, v, ofAll}]; all[i].Shares[v] == nil && len(seeds) > 0 {
				all[i].Shares[v] = &Share{Seeds: reading.Spread{Count: len(seeds)}}
			}
		}
	}
	all = slices.DeleteFunc(all, func(n Named) bool {
		return !slices.ContainsFunc(n.Shares, func(s *Share) bool { return s != nil && s.Share >= leastNamed })
	})
	slices.SortFunc(all, func(a, b Named) int {
		return cmp.Or(cmp.Compare(slices.Index(groups, a.Group), slices.Index(groups, b.Group)), cmp.Compare(a.Signal, b.Signal),
			cmp.Compare(b.most(), a.most()), slices.Compare(a.Ports, b.Ports))
	})
	return all
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

// Bounds of the lines of the chart of named ports: of those that most samples name, and of those
// that a fault slowed. The rest is one line more.
const (
	maxNamed  = 5
	maxSlowed = 8
)

// noPort stands in Line.Ports for tags that no hop wrote.
const noPort = "no hop wrote it"

// overTime collects which ports the samples of all flows named, as shares of the samples of
// each point.
var overTime = series.Kind{ID: "named", Unit: "%", New: func(s *series.Scope) series.Collector {
	ports := reading.PortsByLocator(s.Of.Locators)
	counts := map[int32]*series.Track{}
	var all series.Track
	return series.Collector{
		Signal: func(r *runfolder.SignalRow) {
			if _, ok := s.Group(r.FlowName); !ok {
				return
			}
			of := counts[r.Locator]
			if of == nil {
				of = &series.Track{}
				counts[r.Locator] = of
			}
			point := s.Point(r.StartUS)
			of.Add(point, float64(r.Samples))
			all.Add(point, float64(r.Samples))
		},
		Panels: func() []series.Panel {
			slowed := reading.Slowed(s.Manifest, s.Run)
			isSlowed := func(l int32) bool {
				return slices.ContainsFunc(ports[l], func(port string) bool { return slowed[port] })
			}
			for l := range ports {
				if len(counts) > 0 && counts[l] == nil && isSlowed(l) {
					counts[l] = &series.Track{} // no sample names it, which its line says
				}
			}
			locators := slices.SortedFunc(maps.Keys(counts), func(a, b int32) int {
				return cmp.Or(cmp.Compare(counts[b].Total(), counts[a].Total()), cmp.Compare(a, b))
			})
			own := slices.DeleteFunc(slices.Clone(locators), func(l int32) bool { return !isSlowed(l) })
			line := func(names []string, share func(point int) float64) series.Line {
				l := series.Line{Ports: names, First: all.First, Values: make(reading.Values, len(all.Sums))}
				for i := range l.Values {
					l.Values[i] = math.NaN()
					if n := all.Sums[i]; n > 0 {
						l.Values[i] = 100 * share(all.First+i) / n
					}
				}
				return l
			}
			var lines []series.Line
			for _, l := range own[:min(maxSlowed, len(own))] {
				one := line(ports[l], counts[l].At)
				one.Slowed = true
				lines = append(lines, one)
			}
			locators = slices.DeleteFunc(locators, func(l int32) bool { return slices.Contains(own[:len(lines)], l) })
			shown := locators[:min(maxNamed, len(locators))]
			if len(locators) == maxNamed+1 {
				shown = locators // a line for one more rather than for "others"
			}
			for _, l := range shown {
				names := reading.PortsOf(ports, l)
				if len(names) == 0 {
					names = []string{noPort}
				}
				lines = append(lines, line(names, counts[l].At))
			}
			if rest := locators[len(shown):]; len(rest) > 0 {
				lines = append(lines, line([]string{series.OtherPorts}, func(point int) (sum float64) {
					for _, l := range rest {
						sum += counts[l].At(point)
					}
					return sum
				}))
			}
			return series.PanelOf(lines)
		},
	}
}}
