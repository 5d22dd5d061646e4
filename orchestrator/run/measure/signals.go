package measure

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// signalSums adds up the CSIG samples of each flow.
type signalSums struct {
	plan  *plan.Plan
	names map[uint32]string // of plan.PortNames
	same  map[uint32]uint32 // locators of the second format, by the first one with their name
	flows []*flowSignals    // by flow; nil: it has no samples
}

type flowSignals struct {
	samples int64 // of the whole run
	types   [csig.Types]signalSum
}

// signalSum is the samples of one type in the measuring window.
type signalSum struct {
	samples, points int64
	least, most     int64
	named           []locatorSum // by locator, ascending
}

// locatorSum is the samples with one locator, or with any of those that stand for no
// port.
type locatorSum struct {
	locator int32 // or unknownLocator
	samples int64
}

// unknownLocator takes the place of locators that stand for no port, as those of forged
// or damaged tags may. unknownPort is their name in metrics: a metric for each would
// have a name that the plan does not tell.
const (
	unknownLocator = -1
	unknownPort    = "unknown"
)

func newSignalSums(p *plan.Plan) *signalSums {
	c := &signalSums{plan: p, names: p.PortNames(), flows: make([]*flowSignals, len(p.Flows))}
	if p.Second == nil {
		return c
	}
	first := map[string]uint32{c.names[0]: 0}
	for _, l := range p.Locators.Locators {
		first[c.names[l.Locator]] = l.Locator
	}
	c.same = map[uint32]uint32{}
	for locator, name := range c.names {
		if of, ok := first[name]; ok && locator >= metrics.SecondFormat {
			c.same[locator] = of
		}
	}
	return c
}

// Consume implements metrics.Consumer.
func (c *signalSums) Consume(b *metrics.Batch) {
	for i := range b.Signals {
		w := &b.Signals[i]
		if !csig.Type(w.Type).Known() {
			continue
		}
		flow := c.flows[w.Flow]
		if flow == nil {
			flow = &flowSignals{}
			c.flows[w.Flow] = flow
		}
		flow.samples += w.Samples
		if c.plan.Measure.Contains(w.Start) {
			locator := int32(w.Locator)
			if _, ok := c.names[w.Locator]; !ok {
				locator = unknownLocator
			} else if first, ok := c.same[w.Locator]; ok {
				locator = int32(first)
			}
			flow.types[w.Type].add(w, locator)
		}
	}
}

func (s *signalSum) add(w *metrics.SignalWindow, locator int32) {
	if s.samples == 0 {
		s.least, s.most = w.PointMin, w.PointMax
	}
	s.least, s.most = min(s.least, w.PointMin), max(s.most, w.PointMax)
	s.samples += w.Samples
	s.points += w.PointSum
	s.named = addLocator(s.named, locator, w.Samples)
}

// addLocator adds samples to those of a locator.
func addLocator(sums []locatorSum, locator int32, samples int64) []locatorSum {
	i, found := slices.BinarySearchFunc(sums, locator, func(s locatorSum, l int32) int { return cmp.Compare(s.locator, l) })
	if !found {
		sums = slices.Insert(sums, i, locatorSum{locator: locator})
	}
	sums[i].samples += samples
	return sums
}

// quantity is the name of what the metrics of a type of signal are of, and how many units of
// the tags' values one of the metrics has.
type quantity struct {
	name string
	unit float64
}

// quantityOf returns the quantity of a known type.
func quantityOf(t csig.Type) quantity {
	s := t.Definition()
	name, unit := strings.ReplaceAll(s.Name, "-", "_"), meaning.SignalUnits[s.Unit.String()]
	if t == csig.ABWC {
		name = "abwc"
	}
	return quantity{name + unit.Suffix, unit.Per}
}

// signalMetrics are of the CSIG samples that flows got.
var signalMetrics = Group{Title: "CSIG samples", Entries: []*Entry{signalPoints, bottleneckOfAll, bottleneck},
	More: "`csig_<signal>` is `csig_delay_us`, `csig_abw_gbps`, `csig_abwc` or `csig_nqd`. Types of [modules](../how-to/extend.md#signals) have the unit of their values: kB, Gb/s, µs, or a share."}

var (
	signalPoints = &Entry{Form: "csig_<signal>.<statistic>.<flow>", Packets: true, Words: []*words{quantityNames, named("mean", "min", "max"), flowNames}, Needs: tagged, Absent: noSamples,
		Doc: "the flow's samples of one type that came in the measuring window, by the points that their codes stand for (`csig.decode`)"}
	rawBandwidth = &Entry{Form: "abw_gbps.<flow>", Packets: true, Words: []*words{rawNames}, Absent: noSamples,
		Needs: []*need{needCSIG, {"programs or generators", func(p *plan.Plan) bool { return len(p.Pairs) > 0 }, "it has no programs and no generators"}},
		Doc:   "mean of the available bandwidths that tags brought"}
	bottleneckOfAll = &Entry{Form: "bottleneck_share.<signal>.<port>", Packets: true, Words: []*words{typeNames, locatorNames}, Share: true, Needs: tagged, Absent: noneNames,
		Doc: "of the samples of this signal in the measuring window, of all flows together, those that name the port: `tor0-agg0`; `locator-9` for a locator that several ports share, one of them and no name of a port; `none` where no hop wrote a value; `unknown` for a locator that no port has, of a forged or damaged tag"}
	bottleneck = &Entry{Form: "bottleneck_share.<flow>.<signal>.<port>", Packets: true, Words: []*words{flowNames, typeNames, locatorNames}, Share: true, Needs: tagged, Absent: noneNames,
		Doc: "as `bottleneck_share.<signal>.<port>`, of the samples of the flow alone"}
)

// Reasons why runs lack metrics of samples.
const (
	noSamples = "no sample of it came in the measuring window"
	noneNames = "no sample in the measuring window names it"
)

// Words of signals.
var (
	quantityNames = &words{of: func(*subjects) (names []string) {
		for _, t := range csig.KnownTypes() {
			names = append(names, quantityOf(t).name)
		}
		return names
	}}
	typeNames = &words{of: func(*subjects) (names []string) {
		for _, t := range csig.KnownTypes() {
			names = append(names, t.String())
		}
		return names
	}}
	locatorNames = &words{of: func(s *subjects) []string { // without CSIG they are not known
		if !needCSIG.has(s.Plan) {
			return nil
		}
		names := append(slices.Collect(maps.Values(s.Plan.PortNames())), unknownPort)
		slices.Sort(names)
		return names
	}}
	rawNames = &words{of: func(s *subjects) []string { // of flows of raw frames, which may have tags
		if !needCSIG.has(s.Plan) {
			return nil
		}
		return s.flows[s.Plan.Transfers:]
	}}
)

// portName returns the name of the port that a locator stands for.
func (c *signalSums) portName(locator int32) string {
	if locator == unknownLocator {
		return unknownPort
	}
	return c.names[uint32(locator)]
}

// measure adds the number of samples of each flow, the mean and the extremes of each
// type in the measuring window, and the share of samples that name each port: of each
// flow, and of all flows together.
func (c *signalSums) measure(e *emitter) {
	var all [csig.Types]signalSum
	for flow, signals := range c.flows {
		if signals == nil {
			continue
		}
		name, ofPrograms, kind := c.plan.Flows[flow].Name, flow >= c.plan.Transfers, ofFlowAndPort
		if ofPrograms {
			kind = ofFlow // few flows: no limit of its own
			e.set(samplesOfFlow, float64(signals.samples), name)
		}
		for t := range signals.types {
			s := &signals.types[t]
			if s.samples == 0 {
				continue
			}
			of, signal := quantityOf(csig.Type(t)), csig.Type(t).String()
			mean := float64(s.points) / float64(s.samples) / of.unit
			e.set(signalPoints, mean, of.name, "mean", name)
			e.set(signalPoints, float64(s.least)/of.unit, of.name, "min", name)
			e.set(signalPoints, float64(s.most)/of.unit, of.name, "max", name)
			if ofPrograms && csig.Type(t) == csig.ABW {
				e.set(rawBandwidth, mean, name)
			}
			for _, l := range s.named {
				e.setOf(kind, bottleneck, float64(l.samples)/float64(s.samples), name, signal, c.portName(l.locator))
				all[t].named = addLocator(all[t].named, l.locator, l.samples)
			}
			all[t].samples += s.samples
		}
	}
	for t := range all {
		for _, l := range all[t].named {
			e.set(bottleneckOfAll, float64(l.samples)/float64(all[t].samples), csig.Type(t).String(), c.portName(l.locator))
		}
	}
}
