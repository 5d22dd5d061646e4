package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
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

// signalMetric is the name of the metrics of a type, and how many units of the tags' values
// one of the metric has.
type signalMetric struct {
	name string
	unit float64
}

// metricOf returns the metric of a known type.
func metricOf(t csig.Type) signalMetric {
	s := t.Definition()
	m := signalMetric{"csig_" + strings.ReplaceAll(s.Name, "-", "_"), 1}
	if t == csig.ABWC {
		m.name = "csig_abwc"
	}
	switch s.Unit {
	case csig.Bytes:
		return signalMetric{m.name + "_kb", float64(units.KB)}
	case csig.BytesPerSecond:
		return signalMetric{m.name + "_gbps", float64(units.Gbps) / 8}
	case csig.Nanoseconds:
		return signalMetric{m.name + "_us", float64(units.Microsecond / units.Nanosecond)}
	case csig.PPM:
		m.unit = 1e6
	}
	return m
}

// signalWords returns the names of the metrics of all types, and of the types.
func signalWords() (metrics, types []string) {
	for _, t := range csig.KnownTypes() {
		metrics, types = append(metrics, metricOf(t).name), append(types, t.String())
	}
	return metrics, types
}

// portName returns the name of the port that a locator stands for.
func (c *signalSums) portName(locator int32) string {
	if locator == unknownLocator {
		return unknownPort
	}
	return c.names[uint32(locator)]
}

// signalNames declares the metrics of signalSums.
func signalNames(s *subjects) []family {
	metrics, types := signalWords()
	ports := []string{unknownPort}
	for _, name := range s.Plan.PortNames() {
		ports = append(ports, name)
	}
	slices.Sort(ports)
	raw, flows, named, ofRaw := s.Raw, s.Flows, Words(ports...), cmp.Or(noCSIG(s.Plan), noRaw(s.Plan))
	if ofRaw != "" {
		raw = AnyWord()
	}
	untagged := noCSIG(s.Plan)
	if untagged != "" {
		named = AnyWord()
	}
	return []family{
		{Parts: []*part{Words(metrics...), Words("mean", "min", "max"), flows}, Lacks: untagged},
		{Parts: []*part{Words("samples"), s.Raw}, Lacks: untagged},
		{Parts: []*part{Words("abw_gbps"), raw}, Lacks: ofRaw},
		{Parts: []*part{Words(bottleneckShare), Words(types...), named}, Lacks: untagged},
		{Parts: []*part{Words(bottleneckShare), flows, Words(types...), named}, Lacks: untagged},
	}
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
			e.of("samples", name, float64(signals.samples), ofFlow)
		}
		for t := range signals.types {
			s := &signals.types[t]
			if s.samples == 0 {
				continue
			}
			metric := metricOf(csig.Type(t))
			mean := float64(s.points) / float64(s.samples)
			e.of(metric.name+".mean", name, mean/metric.unit, ofFlow)
			e.of(metric.name+".min", name, float64(s.least)/metric.unit, ofFlow)
			e.of(metric.name+".max", name, float64(s.most)/metric.unit, ofFlow)
			if ofPrograms && csig.Type(t) == csig.ABW {
				e.of("abw_gbps", name, mean/metric.unit, ofFlow)
			}
			share := bottleneckShare + "." + csig.Type(t).String()
			for _, l := range s.named {
				port := c.portName(l.locator)
				e.named(share, name+"."+port, fmt.Sprintf("%s.%s.%v.%s", bottleneckShare, name, csig.Type(t), port),
					float64(l.samples)/float64(s.samples), kind)
				all[t].named = addLocator(all[t].named, l.locator, l.samples)
			}
			all[t].samples += s.samples
		}
	}
	for t := range all {
		for _, l := range all[t].named {
			e.of(bottleneckShare+"."+csig.Type(t).String(), c.portName(l.locator), float64(l.samples)/float64(all[t].samples), ofPort)
		}
	}
}
