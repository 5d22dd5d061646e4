package measure

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
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

// ofMeasured computes the statistics of a quantity of a transfer.
func ofMeasured(of func(m *Measured) *Distribution) func(*Run, *metrics.Flow, Set) {
	return func(r *Run, f *metrics.Flow, set Set) {
		m := r.measured(f)
		if m == nil || !of(m).Any {
			return
		}
		for _, s := range statistics {
			set(s.of(of(m)), s.name)
		}
	}
}

// measured returns what the sender of a transfer saw, nil if nothing.
func (r *Run) measured(f *metrics.Flow) *Measured { return r.Measured[f.Info.Flow] }

func retransmitShare(r *Run, f *metrics.Flow, set Set) {
	if m := r.measured(f); m != nil {
		set(float64(m.Retransmitted) / float64(m.New+m.Retransmitted)) // without packets none
	}
}

func retransmitShareOfAll(r *Run, set Set) {
	var again, all int64
	for _, m := range r.Measured {
		if m != nil {
			again, all = again+m.Retransmitted, all+m.New+m.Retransmitted
		}
	}
	set(float64(again) / float64(all)) // without packets none
}

func samplesPerAck(r *Run, f *metrics.Flow, set Set) {
	if m := r.measured(f); m != nil {
		set(float64(m.Samples) / float64(m.Acks)) // without ACKs none
	}
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

// fairnessMetrics are of each group of flows. A plan without transfers has groups of other
// flows, but not that of all transfers.
var fairnessMetrics = Group{Title: "Fairness", Entries: []*Entry{jain}}

var jain = &Entry{Form: "jain.<group>", Words: []*words{{of: func(s *subjects) (names []string) {
	for _, g := range s.Plan.Groups {
		names = append(names, g.Name)
	}
	return names
}}}, Better: meaning.Higher, Absent: "no flow of the group got anything in the measuring window",
	Lacking: func(s *subjects) []lacking {
		if needTransfers.has(s.Plan) {
			return nil
		}
		return []lacking{{plan.AllTransfers, needTransfers.lacks}}
	},
	Doc: "Jain's index over the goodputs of the flows of a group in the measuring window (`goodput_gbps`): the square of their sum, over their number times the sum of their squares ([Jain et al.](references.md#fairness-index)). It is 1 if all get the same, and 1/n if one of n flows gets everything. Flows without a goodput, which never started, do not count; a group that got nothing at all has no index"}

// addFairness adds the index of each group.
func addFairness(e *emitter, r *Run) {
	for _, g := range r.Plan.Groups {
		var n, sum, squares float64
		for _, flow := range g.Flows {
			f := &r.Flows[flow]
			if goodput, ok := meanRate(r, f, f.Receiver.MeasuredPayload); ok {
				n, sum, squares = n+1, sum+goodput, squares+float64(goodput*goodput)
			}
		}
		e.set(jain, sum*sum/(n*squares), g.Name) // without goodput none
	}
}
