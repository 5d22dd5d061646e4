package measure

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Run is what a scalar metric is computed from.
type Run struct {
	Plan    *plan.Plan
	Outcome *backend.Outcome
	Nodes   []metrics.NodeTotals // in node order
	Flows   []metrics.Flow       // as Plan.Flows
	FCTs    []float64            // of the Completing that have completed, in µs, ascending
	// Measured is what the senders of transfers saw in the measuring window, as
	// Plan.Flows; nil where a sender saw nothing.
	Measured []*Measured

	idle      []units.Duration // FCTs on an idle fabric, when they are needed
	slowdowns []float64        // ascending; when they are needed
}

// transfers returns the flows of the workload's transfers.
func (r *Run) transfers() []metrics.Flow { return r.Flows[:r.Plan.Transfers] }

// completing returns the flows that are complete at some time: transfers that are no
// connections of jobs.
func (r *Run) completing() []metrics.Flow { return r.Flows[:r.Plan.Completing()] }

// Scalar is a metric with one number for each run.
type Scalar struct {
	Name string
	// Lacks returns why no run of a plan has the metric, as "variant x has no such
	// metric: …"; "" if runs can have it. nil: every plan's runs can have it.
	Lacks func(p *plan.Plan) string
	// Of returns the metric, and whether the run has it.
	Of func(r *Run) (value float64, ok bool)
}

// Scalars is the table of the scalar metrics of a run. A new metric is an entry. It
// is changed before runs are measured, if at all.
var Scalars = []Scalar{
	always("cpu_seconds", func(r *Run) float64 { return r.Outcome.CPU.Seconds() }),
	always("model_ms", func(r *Run) float64 { return units.Duration(r.Outcome.End).Seconds() * 1e3 }),
	always("flows.incomplete", incomplete),

	ofTransfers("packets.new", newPackets),
	ofTransfers("packets.retransmitted", retransmitted),
	ofTransfers("packets.timeouts", func(f *metrics.Flow) int64 { return f.Sender.Timeouts }),
	ofTransfers("packets.probes", func(f *metrics.Flow) int64 { return f.Sender.Probes }),
	ofTransfers("packets.acks", func(f *metrics.Flow) int64 { return f.Receiver.AcksSent }),
	ofTransfers("packets.nacks", func(f *metrics.Flow) int64 { return f.Receiver.NacksSent }),
	ofTransfers("packets.returned", func(f *metrics.Flow) int64 { return f.Sender.Returned }),
	ofTransfers("packets.out_of_sequence", func(f *metrics.Flow) int64 { return f.Receiver.OutOfSequence }),
	ofTransfers("packets.credits", func(f *metrics.Flow) int64 { return f.Receiver.CreditsSent }),
	ofTransfers("packets.credit_requests", func(f *metrics.Flow) int64 { return f.Sender.Requests }),
	ofTransfers("packets.cnps", func(f *metrics.Flow) int64 { return f.Receiver.CNPsSent }),
	always("data_packets", func(r *Run) float64 { return sum(r, newPackets) + sum(r, retransmitted) }),

	ofFCTs("fct_us.min", slices.Min[[]float64]),
	ofFCTs("fct_us.max", slices.Max[[]float64]),
	ofFCTs("fct_us.mean", mean),
	ofFCTs("fct_us.p99", percentile(0.99)),
	ofFCTs("fct_us.p50", percentile(0.5)),
	ofFCTs("fct_us.p95", percentile(0.95)),
	ofFCTs("fct_us.p999", percentile(0.999)),

	ofSlowdowns("slowdown.mean", mean),
	ofSlowdowns("slowdown.p50", percentile(0.5)),
	ofSlowdowns("slowdown.p95", percentile(0.95)),
	ofSlowdowns("slowdown.p99", percentile(0.99)),
	ofSlowdowns("slowdown.max", slices.Max[[]float64]),

	ofCollector("postcards", func(r *Run) (n int64) {
		for i := range r.Nodes[r.Plan.Hosts():] {
			n += r.Nodes[r.Plan.Hosts()+i].Postcards
		}
		return n
	}),
	ofCollector("postcards.received", func(r *Run) (n int64) {
		for i := range r.Nodes[:r.Plan.Hosts()] {
			n += r.Nodes[i].Taken
		}
		return n
	}),
	ofCollector("weights.set", func(r *Run) (n int64) {
		for i := range r.Nodes[r.Plan.Hosts():] {
			n += r.Nodes[r.Plan.Hosts()+i].Taken
		}
		return n
	}),

	{Name: "retransmit_share", Lacks: noTransfers, Of: retransmitShareOfAll},
	{Name: "flows.gave_up", Lacks: noFaults, Of: func(r *Run) (float64, bool) {
		return sum(r, func(f *metrics.Flow) int64 {
			if f.Sender.GaveUp {
				return 1
			}
			return 0
		}), len(r.Plan.Faults) > 0
	}},

	always("trims", func(r *Run) float64 { return ofPorts(r, func(p *metrics.PortTotals) int64 { return p.TrimmedPackets }) }),
	always("marks", func(r *Run) float64 { return ofPorts(r, func(p *metrics.PortTotals) int64 { return p.MarkedPackets }) }),
	always("drops", drops),
}

// FlowScalar is a metric with one number for each flow. Its name in a run is Name, a
// dot and the flow's name.
type FlowScalar struct {
	Name  string
	Lacks func(p *plan.Plan) string // as that of Scalar
	// Of returns the metric, and whether the flow has it.
	Of func(r *Run, f *metrics.Flow) (value float64, ok bool)
}

// completionScalars is the table of the metrics of each transfer that has a completion
// time. Connections of jobs have none.
var completionScalars = []FlowScalar{
	{Name: "fct_us", Of: func(_ *Run, f *metrics.Flow) (float64, bool) {
		return f.Sender.Done.Sub(f.Sender.Start).Microseconds(), f.Sender.Done != units.Never
	}},
	{Name: "fct_rx_us", Of: func(_ *Run, f *metrics.Flow) (float64, bool) {
		return f.Receiver.Done.Sub(f.Sender.Start).Microseconds(), f.Receiver.Done != units.Never && f.Sender.Start != units.Never
	}},
	{Name: "slowdown", Of: slowdown},
}

// TransferScalars is the table of the metrics of each transfer.
var TransferScalars = slices.Concat([]FlowScalar{
	ofTagged("samples", func(s *metrics.SenderTotals) int64 { return s.Samples }),
	ofTagged("samples_fresh", func(s *metrics.SenderTotals) int64 { return s.FreshSamples }),
	{Name: "base_rtt_us", Of: func(_ *Run, f *metrics.Flow) (float64, bool) { return f.Sender.BaseRTT.Microseconds(), true }},
	{Name: "retransmit_share", Of: retransmitShare},
	{Name: "samples_per_ack", Lacks: noCSIG, Of: samplesPerAck},
},
	ofMeasured("cwnd_kb", func(m *Measured) *Distribution { return &m.Cwnd }),
	ofMeasured("rtt_us", func(m *Measured) *Distribution { return &m.RTT }),
)

// flowScalars is the table of the metrics of each flow: a transfer, or the flow
// between two hosts with programs.
var flowScalars = []FlowScalar{
	{Name: "rate_gbps", Of: func(r *Run, f *metrics.Flow) (float64, bool) { return meanRate(r, f, f.Receiver.MeasuredWire) }},
	{Name: "goodput_gbps", Of: func(r *Run, f *metrics.Flow) (float64, bool) { return meanRate(r, f, f.Receiver.MeasuredPayload) }},
	{Name: "samples_untouched", Lacks: noCSIG, Of: func(r *Run, f *metrics.Flow) (float64, bool) {
		return float64(f.Sender.Untouched + f.Receiver.Untouched), r.Plan.CSIG != nil
	}},
}

// ofTagged is a count of the CSIG samples of a transfer. A run without CSIG does not
// have it.
func ofTagged(name string, count func(*metrics.SenderTotals) int64) FlowScalar {
	return FlowScalar{Name: name, Lacks: noCSIG, Of: func(r *Run, f *metrics.Flow) (float64, bool) {
		return float64(count(&f.Sender)), r.Plan.CSIG != nil
	}}
}

// scalarNames declares the metrics of the table Scalars.
func scalarNames(s *subjects) []family {
	var families []family
	for _, one := range Scalars {
		families = append(families, family{Parts: []*part{Words(one.Name)}, Lacks: lacks(one.Lacks, s.Plan)})
	}
	return families
}

// flowNames declares the metrics of the tables TransferScalars and flowScalars.
func flowNames(s *subjects) []family {
	var families []family
	add := func(table []FlowScalar, flows *part) {
		for _, one := range table {
			families = append(families, family{Parts: []*part{Words(one.Name), flows}, Lacks: lacks(one.Lacks, s.Plan)})
		}
	}
	add(completionScalars, s.Completes)
	add(TransferScalars, s.Transfers)
	add(flowScalars, s.Flows)
	return families
}

func lacks(of func(*plan.Plan) string, p *plan.Plan) string {
	if of == nil {
		return ""
	}
	return of(p)
}

// newRun returns what scalar metrics are computed from.
func newRun(p *plan.Plan, out *backend.Outcome, records *Records) *Run {
	nodes := records.Nodes()
	r := &Run{Plan: p, Outcome: out, Nodes: nodes, Flows: metrics.Flows(p.Flows, nodes), Measured: records.flows}
	for _, f := range r.completing() {
		if f.Sender.Done != units.Never {
			r.FCTs = append(r.FCTs, f.Sender.Done.Sub(f.Sender.Start).Microseconds())
		}
	}
	slices.Sort(r.FCTs)
	return r
}

// addScalars adds the metrics of the tables.
func (r *Run) addScalars(e *emitter) {
	add := func(table []FlowScalar, flows []metrics.Flow) {
		for i := range flows {
			for _, s := range table {
				if value, ok := s.Of(r, &flows[i]); ok {
					e.of(s.Name, flows[i].Info.Name, value, ofFlow)
				}
			}
		}
	}
	add(completionScalars, r.completing())
	add(TransferScalars, r.transfers())
	add(flowScalars, r.Flows)
	for _, s := range Scalars {
		if value, ok := s.Of(r); ok {
			e.run(s.Name, value)
		}
	}
}

// always is a metric that every run has.
func always(name string, of func(*Run) float64) Scalar {
	return Scalar{Name: name, Of: func(r *Run) (float64, bool) { return of(r), true }}
}

// ofTransfers is a sum over the transfers. A run without transfers does not have it.
func ofTransfers(name string, count func(*metrics.Flow) int64) Scalar {
	return Scalar{Name: name, Lacks: noTransfers, Of: func(r *Run) (float64, bool) { return sum(r, count), r.Plan.Transfers > 0 }}
}

// ofFCTs is a statistic of the flow completion times. A run without any does not have
// it.
func ofFCTs(name string, of func(sorted []float64) float64) Scalar {
	return Scalar{Name: name, Lacks: noComplete, Of: func(r *Run) (float64, bool) {
		if len(r.FCTs) == 0 {
			return 0, false
		}
		return of(r.FCTs), true
	}}
}

// ofSlowdowns is a statistic of the slowdowns of the transfers that have completed. A run
// without any does not have it.
func ofSlowdowns(name string, of func(sorted []float64) float64) Scalar {
	return Scalar{Name: name, Lacks: noComplete, Of: func(r *Run) (float64, bool) {
		if len(r.FCTs) == 0 {
			return 0, false
		}
		if r.slowdowns == nil {
			transfers := r.completing()
			for i := range transfers {
				if s, ok := slowdown(r, &transfers[i]); ok {
					r.slowdowns = append(r.slowdowns, s)
				}
			}
			slices.Sort(r.slowdowns)
		}
		return of(r.slowdowns), true
	}}
}

func newPackets(f *metrics.Flow) int64    { return f.Sender.NewPackets }
func retransmitted(f *metrics.Flow) int64 { return f.Sender.Retransmitted }

// sum returns the sum of a count over the transfers.
func sum(r *Run, count func(*metrics.Flow) int64) (total float64) {
	transfers := r.transfers()
	for i := range transfers {
		total += float64(count(&transfers[i]))
	}
	return total
}

// ofPorts returns the sum of a count over the ports of all nodes.
func ofPorts(r *Run, count func(*metrics.PortTotals) int64) (total float64) {
	for _, n := range r.Nodes {
		for i := range n.Ports {
			total += float64(count(&n.Ports[i]))
		}
	}
	return total
}

func drops(r *Run) (total float64) {
	for _, n := range r.Nodes {
		for _, d := range n.Drops {
			total += float64(d.Packets)
		}
	}
	return total
}

func incomplete(r *Run) float64 { return float64(len(r.completing()) - len(r.FCTs)) }

func mean(values []float64) float64 {
	var total float64
	for _, v := range values {
		total += v
	}
	return total / float64(len(values))
}

// meanRate returns the mean rate of a flow over the part of the measuring window in which the
// flow exists: from its start to its last byte, or to the end of the run.
func meanRate(r *Run, f *metrics.Flow, bytes int64) (gbps float64, ok bool) {
	from := max(r.Plan.Measure.From, f.Sender.Start)
	to := min(r.Plan.Measure.To, f.Receiver.Done, r.Outcome.End)
	if from == units.Never || to <= from {
		return 0, false
	}
	return float64(bytes) * 8 / to.Sub(from).Seconds() / float64(units.Gbps), true
}

// ofCollector returns a metric of runs with a collector.
func ofCollector(name string, of func(r *Run) int64) Scalar {
	has := func(p *plan.Plan) bool {
		for i := range p.Nodes[:p.Hosts()] {
			if h := p.Nodes[i].Host; h != nil && h.Collector != nil {
				return true
			}
		}
		return false
	}
	return Scalar{
		Name: name,
		Lacks: func(p *plan.Plan) string {
			if has(p) {
				return ""
			}
			return "it has no csig.collector"
		},
		Of: func(r *Run) (float64, bool) { return float64(of(r)), has(r.Plan) },
	}
}
