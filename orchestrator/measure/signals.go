package measure

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// signalSums adds up the CSIG samples of each flow.
type signalSums struct {
	plan *plan.Plan
	sums map[int32]*flowSignals // by flow
}

type flowSignals struct {
	samples int64 // of the whole run
	types   [csig.Types]signalSum
}

// signalSum is the samples of one type in the measuring window.
type signalSum struct {
	samples, points int64
	least, most     int64
	named           map[uint16]int64 // by locator; of flows between programs
}

func newSignalSums(p *plan.Plan) *signalSums {
	return &signalSums{plan: p, sums: map[int32]*flowSignals{}}
}

// Consume implements metrics.Consumer.
func (c *signalSums) Consume(b *metrics.Batch) {
	for i := range b.Signals {
		w := &b.Signals[i]
		if csig.Type(w.Type) >= csig.Types {
			continue
		}
		flow := c.sums[w.Flow]
		if flow == nil {
			flow = &flowSignals{}
			c.sums[w.Flow] = flow
		}
		flow.samples += w.Samples
		if w.Start < c.plan.Measure.From || w.Start >= c.plan.Measure.To {
			continue
		}
		flow.types[w.Type].add(w, int(w.Flow) >= c.plan.Transfers)
	}
}

func (s *signalSum) add(w *metrics.SignalWindow, named bool) {
	if s.samples == 0 {
		s.least, s.most = w.PointMin, w.PointMax
	}
	s.least, s.most = min(s.least, w.PointMin), max(s.most, w.PointMax)
	s.samples += w.Samples
	s.points += w.PointSum
	if !named {
		return
	}
	if s.named == nil {
		s.named = map[uint16]int64{}
	}
	s.named[w.Locator] += w.Samples
}

// signalMetrics are the names of the metrics of each type, and the unit of the tags'
// values in that of the metric.
var signalMetrics = [csig.Types]struct {
	name string
	unit float64
}{
	csig.ABW:   {"csig_abw_gbps", float64(units.Gbps) / 8},
	csig.ABWC:  {"csig_abwc", 1e6},
	csig.Delay: {"csig_delay_us", 1e3},
	csig.NQD:   {"csig_nqd", 1e6},
}

// signalNames declares the metrics of signalSums.
func signalNames(s *Subjects) []Family {
	var metrics, types, ports []string
	for t, m := range signalMetrics {
		metrics, types = append(metrics, m.name), append(types, csig.Type(t).String())
	}
	for _, name := range s.Plan.PortNames() {
		ports = append(ports, name)
	}
	slices.Sort(ports)
	raw, named, ofRaw := s.Raw, Words(ports...), cmp.Or(noCSIG(s.Plan), noRaw(s.Plan))
	if ofRaw != "" {
		raw, named = AnyWord(), AnyWord()
	}
	return []Family{
		{Parts: []*Part{Words(metrics...), Words("mean", "min", "max"), s.Flows}, Lacks: noCSIG(s.Plan)},
		{Parts: []*Part{Words("samples"), s.Raw}, Lacks: noCSIG(s.Plan)},
		{Parts: []*Part{Words("abw_gbps"), raw}, Lacks: ofRaw},
		{Parts: []*Part{Words("bottleneck_share"), raw, Words(types...), named}, Lacks: ofRaw},
	}
}

// measure adds the number of samples of each flow, the mean and the extremes of each
// type in the measuring window, and of flows between programs the share of samples
// that name each port.
func (c *signalSums) measure(m map[string]float64) {
	ports := c.plan.PortNames()
	// order: each flow has metrics of its own
	for flow, signals := range c.sums {
		name, ofPrograms := c.plan.Flows[flow].Name, int(flow) >= c.plan.Transfers
		if ofPrograms {
			m["samples."+name] = float64(signals.samples)
		}
		for t := range signals.types {
			s, metric := &signals.types[t], signalMetrics[t]
			if s.samples == 0 {
				continue
			}
			mean := float64(s.points) / float64(s.samples)
			m[metric.name+".mean."+name] = mean / metric.unit
			m[metric.name+".min."+name] = float64(s.least) / metric.unit
			m[metric.name+".max."+name] = float64(s.most) / metric.unit
			for locator, n := range s.named {
				m[fmt.Sprintf("bottleneck_share.%s.%v.%s", name, csig.Type(t), ports[locator])] = float64(n) / float64(s.samples)
			}
			if ofPrograms && csig.Type(t) == csig.ABW {
				m["abw_gbps."+name] = mean / metric.unit
			}
		}
	}
}
