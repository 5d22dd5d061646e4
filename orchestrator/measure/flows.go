package measure

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Measured is what the sender of a transfer saw in the measuring window.
type Measured struct {
	New, Retransmitted int64 // data packets
	Acks, Samples      int64
	Cwnd, RTT          Distribution // kB and µs
}

// flowSums is what the senders have measured, by flow; nil where a sender saw nothing.
type flowSums []*Measured

// Consume implements metrics.Consumer.
func (c flowSums) Consume(b *metrics.Batch) {
	for i := range b.FlowMeasurements {
		m := &b.FlowMeasurements[i]
		c[m.Flow] = &Measured{m.New, m.Retransmitted, m.Acks, m.Samples, distributionOf(&m.Cwnd, bytesPerKB), distributionOf(&m.RTT, perMicrosecond)}
	}
}

// ofMeasured returns the entries of the statistics of a quantity of transfers.
func ofMeasured(quantity string, of func(m *Measured) *Distribution) (entries []FlowScalar) {
	for _, s := range statistics {
		entries = append(entries, FlowScalar{Name: quantity + "." + s.name, Of: func(r *Run, f *metrics.Flow) (float64, bool) {
			m := r.measured(f)
			if m == nil || !of(m).Any {
				return 0, false
			}
			return s.of(of(m)), true
		}})
	}
	return entries
}

// measured returns what the sender of a transfer saw, nil if nothing.
func (r *Run) measured(f *metrics.Flow) *Measured { return r.Measured[f.Info.Flow] }

func retransmitShare(r *Run, f *metrics.Flow) (float64, bool) {
	m := r.measured(f)
	if m == nil || m.New+m.Retransmitted == 0 {
		return 0, false
	}
	return float64(m.Retransmitted) / float64(m.New+m.Retransmitted), true
}

func retransmitShareOfAll(r *Run) (float64, bool) {
	var again, all int64
	for _, m := range r.Measured {
		if m != nil {
			again, all = again+m.Retransmitted, all+m.New+m.Retransmitted
		}
	}
	return float64(again) / float64(all), all > 0
}

func samplesPerAck(r *Run, f *metrics.Flow) (float64, bool) {
	m := r.measured(f)
	if m == nil || m.Acks == 0 || r.Plan.CSIG == nil {
		return 0, false
	}
	return float64(m.Samples) / float64(m.Acks), true
}

// slowdown returns the completion time of a transfer over that on an idle fabric. One that
// stopped early has none.
func slowdown(r *Run, f *metrics.Flow) (float64, bool) {
	if f.Sender.Done == units.Never || f.Sender.Stopped {
		return 0, false
	}
	if r.idle == nil {
		r.idle = r.Plan.IdleFCTs()
	}
	return float64(f.Sender.Done.Sub(f.Sender.Start)) / float64(r.idle[f.Info.Flow]), true
}

// percentile returns the function for the least of ascending values that a share of them
// does not exceed.
func percentile(share float64) func(sorted []float64) float64 {
	return func(sorted []float64) float64 {
		rank := int(math.Ceil(share * float64(len(sorted))))
		return sorted[max(rank, 1)-1]
	}
}

// jain begins the names of the fairness of groups of flows.
const jain = "jain"

// fairnessNames declares the metrics of addFairness.
func fairnessNames(s *subjects) []family {
	var groups []string
	for _, g := range s.Plan.Groups {
		groups = append(groups, g.Name)
	}
	if s.Plan.Transfers == 0 {
		return []family{
			{Parts: []*part{Words(jain), Words(groups...)}},
			{Parts: []*part{Words(jain), Words(plan.AllTransfers)}, Lacks: lacksTransfers},
		}
	}
	return []family{{Parts: []*part{Words(jain), Words(groups...)}}}
}

// addFairness adds Jain's index of each group: the square of the sum of the flows'
// goodputs, over their number times the sum of the squares. Flows without a goodput do
// not count; a group of which no flow got anything has no index.
func addFairness(e *emitter, r *Run) {
	for _, g := range r.Plan.Groups {
		var n, sum, squares float64
		for _, flow := range g.Flows {
			f := &r.Flows[flow]
			if goodput, ok := meanRate(r, f, f.Receiver.MeasuredPayload); ok {
				n, sum, squares = n+1, sum+goodput, squares+float64(goodput*goodput)
			}
		}
		if sum > 0 {
			e.of(jain, g.Name, sum*sum/(n*squares), ofRun)
		}
	}
}

// bottleneckShare begins the names of the shares of samples that name a port.
const bottleneckShare = "bottleneck_share"
