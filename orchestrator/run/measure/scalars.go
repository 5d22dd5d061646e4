package measure

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/machine"
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

	idle []units.Duration // FCTs on an idle fabric, when they are needed
}

// transfers returns the flows of the workload's transfers.
func (r *Run) transfers() []metrics.Flow { return r.Flows[:r.Plan.Transfers] }

// completing returns the flows that are complete at some time: transfers that are no
// connections of jobs.
func (r *Run) completing() []metrics.Flow { return r.Flows[:r.Plan.Completing()] }

// Runs has the metrics of whole runs. Most new metrics are entries of it.
var Runs = Group{Title: "Runs", Entries: []*Entry{
	constant,
	{Form: "cpu_seconds", Better: meaning.Lower, Machine: true, Run: always(func(r *Run) float64 { return r.Outcome.CPU.Seconds() }),
		Doc: "CPU time of the event loop with its records; the one metric that differs from run to run"},
	{Form: "model_ms", Run: always(func(r *Run) float64 { return units.Duration(r.Outcome.End).Seconds() * 1e3 }),
		Doc: "model time at the end"},
	{Form: "flows.incomplete", Better: meaning.Lower, Run: always(incomplete),
		Doc: "transfers that did not complete; connections of jobs never do, and are left out"},

	{Form: "packets.new", Packets: true, Needs: transfers, Run: ofTransfers(newPackets),
		Doc: "data packets sent for the first time"},
	{Form: "packets.retransmitted", Packets: true, Better: meaning.Lower, Needs: transfers, Run: ofTransfers(retransmitted),
		Doc: "data packets sent again"},
	{Form: "packets.timeouts", Packets: true, Better: meaning.Lower, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Sender.Timeouts }),
		Doc: "data packets given up for lost by a retransmission timeout"},
	{Form: "packets.probes", Packets: true, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Sender.Probes }),
		Doc: "probes sent to fetch CSIG samples (`csig.init: probe/INTERVAL`)"},
	{Form: "packets.acks", Packets: true, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Receiver.AcksSent }),
		Doc: "ACKs sent by receivers"},
	{Form: "packets.nacks", Packets: true, Better: meaning.Lower, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Receiver.NacksSent }),
		Doc: "NACKs sent by receivers: for trimmed packets, and with `hosts.recovery: go_back_n` for packets behind a hole"},
	{Form: "packets.returned", Packets: true, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Sender.Returned }),
		Doc: "data packets that a switch returned to their senders because the port was down (`csig.port_down: notify`)"},
	{Form: "packets.out_of_sequence", Packets: true, Better: meaning.Lower, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Receiver.OutOfSequence }),
		Doc: "data packets that came whole behind a hole, which `hosts.recovery: go_back_n` throws away"},
	{Form: "packets.credits", Packets: true, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Receiver.CreditsSent }),
		Doc: "credit packets sent by receivers, with `hosts.credits` or `hosts.cc: rccc`"},
	{Form: "packets.credit_requests", Packets: true, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Sender.Requests }),
		Doc: "packets sent to ask for credit by flows that had none and no data packet to say so"},
	{Form: "packets.cnps", Packets: true, Needs: transfers, Run: ofTransfers(func(f *metrics.Flow) int64 { return f.Receiver.CNPsSent }),
		Doc: "congestion notification packets sent by receivers of marked packets, where the congestion control asks for them"},
	{Form: "data_packets", Packets: true, Run: always(func(r *Run) float64 { return sum(r, newPackets) + sum(r, retransmitted) }),
		Doc: "data packets sent, for the first time and again"},

	{Form: "fct_us.<statistic>", Words: []*words{namesOf(fctStatistics)}, Better: meaning.Lower, Needs: completing, Absent: noCompletion,
		Run: func(r *Run, set Set) { emitAll(set, fctStatistics, r.FCTs) },
		Doc: "completion times of the flows that completed, exact"},
	{Form: "slowdown.<statistic>", Words: []*words{namesOf(slowdownStatistics)}, Better: meaning.Lower, Needs: completing, Absent: noSlowdown,
		Run: func(r *Run, set Set) { emitAll(set, slowdownStatistics, slowdowns(r)) },
		Doc: "slowdowns of the flows that completed, exact"},

	{Form: "postcards", Packets: true, Needs: collector, Run: ofNodes(ofSwitches, func(n *metrics.NodeTotals) int64 { return n.Postcards }),
		Doc: "samples that switches sent to the collector"},
	{Form: "postcards.received", Packets: true, Needs: collector, Run: ofNodes(ofHosts, func(n *metrics.NodeTotals) int64 { return n.Taken }),
		Doc: "samples of switches that the collector received"},
	{Form: "weights.set", Packets: true, Needs: collector, Run: ofNodes(ofSwitches, func(n *metrics.NodeTotals) int64 { return n.Taken }),
		Doc: "settings of weights that switches received from the collector"},

	{Form: "retransmit_share", Packets: true, Better: meaning.Lower, Share: true, Needs: transfers, Absent: noDataSent, Run: retransmitShareOfAll,
		Doc: "data packets sent again, of all data packets that transfers sent in the measuring window"},
	{Form: "flows.gave_up", Packets: true, Better: meaning.Lower, Needs: []*need{needFaults}, Run: ofTransfers(func(f *metrics.Flow) int64 {
		if f.Sender.GaveUp {
			return 1
		}
		return 0
	}), Doc: "flows that gave up after a [fault](../how-to/faults.md#hosts-that-cannot-be-reached) left them no way"},

	{Form: "trims", Packets: true, Better: meaning.Lower, Run: ofPorts(func(p *metrics.PortTotals) int64 { return p.TrimmedPackets }),
		Doc: "packets trimmed by switches"},
	{Form: "marks", Packets: true, Run: ofPorts(func(p *metrics.PortTotals) int64 { return p.MarkedPackets }),
		Doc: "packets marked CE by switches"},
	{Form: "drops", Packets: true, Better: meaning.Lower, Run: always(drops),
		Doc: "packets dropped anywhere, for whatever reason"},
}}

// constant is the figures of the congestion control that follow from the plan.
var constant = &Entry{Form: "<constant>", Packets: true, Words: []*words{{of: func(s *subjects) (names []string) {
	for _, c := range s.Plan.Constants {
		names = append(names, c.Name)
	}
	return names
}}}, Doc: "figures of the congestion control: `target_qdelay_us` is the queueing delay that nscc aims for, `base_target_us` the base target of swift, and `line_rate_target_us` the target of poseidon for a flow at line rate"}

// Reasons why runs lack metrics of flows.
const (
	noCompletion  = "a flow that does not complete has none"
	noSlowdown    = "a flow that does not complete, or that stops early, has none"
	noDataSent    = "no data packet was sent in the measuring window"
	noACK         = "no ACK came in the measuring window"
	noRate        = "the measuring window ends before the flow begins"
	noFlowSamples = "no sample came"
)

var (
	transfers  = []*need{needTransfers}
	completing = []*need{needTransfers, {"ones that complete", func(p *plan.Plan) bool { return p.Completing() > 0 }, "its flows are connections of jobs, which have no completion time"}}
	tagged     = []*need{needCSIG}
	collector  = []*need{{"csig.collector", func(p *plan.Plan) bool {
		return slices.ContainsFunc(p.Nodes[:p.Hosts()], func(n machine.Spec) bool { return n.Host != nil && n.Host.Collector != nil })
	}, "it has no csig.collector"}}
)

// completionMetrics are of each transfer that has a completion time. Connections of jobs have
// none.
var completionMetrics = Group{Title: "Flows", Words: []*words{completeNames}, Flows: (*Run).completing, Entries: []*Entry{
	{Form: "fct_us.<flow>", Better: meaning.Lower, Absent: noCompletion, Flow: func(_ *Run, f *metrics.Flow, set Set) {
		if f.Sender.Done != units.Never {
			set(f.Sender.Done.Sub(f.Sender.Start).Microseconds())
		}
	}, Doc: "flow completion time: from the flow's start, jitter included, to the ACK that completes it, at the sender"},
	{Form: "fct_rx_us.<flow>", Better: meaning.Lower, Absent: noCompletion, Flow: func(_ *Run, f *metrics.Flow, set Set) {
		if f.Receiver.Done != units.Never && f.Sender.Start != units.Never {
			set(f.Receiver.Done.Sub(f.Sender.Start).Microseconds())
		}
	}, Doc: "as `fct_us`, to the last byte at the receiver"},
	{Form: "slowdown.<flow>", Better: meaning.Lower, Absent: noSlowdown, Flow: func(r *Run, f *metrics.Flow, set Set) {
		if value, ok := slowdown(r, f); ok {
			set(value)
		}
	}, Doc: "completion time over that of the flow alone on an [idle fabric](#slowdown)"},
}}

// Transfers has the metrics of each transfer.
var Transfers = Group{Words: []*words{transferNames}, Flows: (*Run).transfers, Entries: []*Entry{
	samplesOfFlow,
	{Form: "samples_fresh.<flow>", Packets: true, Unit: "samples", Needs: tagged, Flow: func(_ *Run, f *metrics.Flow, set Set) { set(float64(f.Sender.FreshSamples)) },
		Doc: "of the samples, those of packets sent no earlier than that of any sample before; the others came late, and replaced no newer one"},
	{Form: "base_rtt_us.<flow>", Packets: true, Flow: func(_ *Run, f *metrics.Flow, set Set) { set(f.Sender.BaseRTT.Microseconds()) },
		Doc: "least RTT that the sender's CC knew at the end; the network RTT where it learned of none"},
	{Form: "retransmit_share.<flow>", Packets: true, Better: meaning.Lower, Share: true, Absent: noDataSent, Flow: retransmitShare,
		Doc: "data packets sent again, of all data packets that the flow sent in the measuring window"},
	{Form: "samples_per_ack.<flow>", Packets: true, Unit: "samples", Needs: tagged, Absent: noACK, Flow: samplesPerAck,
		Doc: "CSIG samples that reached the sender in the measuring window, those of trimmed packets not counted, over the ACKs that did. With probes it may exceed 1"},
	{Form: "cwnd_kb.<statistic>.<flow>", Packets: true, Words: []*words{statisticNames, transferNames}, Absent: noACK, Flow: ofMeasured(func(m *Measured) *Distribution { return &m.Cwnd }),
		Doc: "the sender's window after each ACK that came in the measuring window"},
	{Form: "rtt_us.<statistic>.<flow>", Packets: true, Words: []*words{statisticNames, transferNames}, Better: meaning.Lower, Absent: "no ACK that measures it came in the measuring window",
		Flow: ofMeasured(func(m *Measured) *Distribution { return &m.RTT }),
		Doc:  "RTTs that the ACKs measured that came in the measuring window; an ACK of which it is not known which transmission it answers measures none"},
}}

// samplesOfFlow is of transfers, and by signalSums of programs.
var samplesOfFlow = &Entry{Form: "samples.<flow>", Packets: true, Words: []*words{flowNames}, Unit: "samples", Needs: tagged, Absent: noFlowSamples,
	Flow: func(_ *Run, f *metrics.Flow, set Set) { set(float64(f.Sender.Samples)) },
	Doc:  "CSIG samples that reached the sender, those of trimmed packets not counted; of programs those that reached the receiver"}

// flowMetrics are of each flow: a transfer, or the flow between two hosts with programs.
var flowMetrics = Group{Words: []*words{flowNames}, Flows: func(r *Run) []metrics.Flow { return r.Flows }, Entries: []*Entry{
	{Form: "rate_gbps.<flow>", Better: meaning.Higher, Absent: noRate, Flow: func(r *Run, f *metrics.Flow, set Set) {
		if rate, ok := meanRate(r, f, f.Receiver.MeasuredWire); ok {
			set(rate)
		}
	}, Doc: "wire rate at the receiver, headers included, over the part of the measuring window in which the flow exists: distinct packets that arrived whole. Of programs and generators it counts every packet that arrived"},
	{Form: "goodput_gbps.<flow>", Better: meaning.Higher, Absent: noRate, Flow: func(r *Run, f *metrics.Flow, set Set) {
		if rate, ok := meanRate(r, f, f.Receiver.MeasuredPayload); ok {
			set(rate)
		}
	}, Doc: "payload of the same packets; of programs and generators all bytes behind the Ethernet header"},
	{Form: "samples_untouched.<flow>", Packets: true, Unit: "tags", Needs: tagged, Flow: func(_ *Run, f *metrics.Flow, set Set) {
		set(float64(f.Sender.Untouched + f.Receiver.Untouched))
	}, Doc: "tags that came back, of programs those that reached the receiver, and that no hop had written. Where every hop of the path updates the type they are samples, of the best range, and counted there too; elsewhere they say nothing"},
}}

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

// addScalars adds the metrics that entries compute from flows, and then those from the run.
func (r *Run) addScalars(e *emitter) {
	var m *Entry
	var flow *metrics.Flow
	set := func(value float64, words ...string) {
		var all [2]string
		e.set(m, value, append(append(all[:0], words...), flow.Info.Name)...)
	}
	for _, g := range Catalogue {
		if g.Flows == nil {
			continue
		}
		flows := g.Flows(r)
		entries := slices.DeleteFunc(slices.Clone(g.Entries), func(m *Entry) bool { return m.Flow == nil || m.lacks(r.Plan) != "" })
		for i := range flows {
			flow = &flows[i]
			for _, m = range entries {
				m.Flow(r, flow, set)
			}
		}
	}
	for _, g := range Catalogue {
		for _, m := range g.Entries {
			if m.Run != nil && m.lacks(r.Plan) == "" {
				m.Run(r, func(value float64, words ...string) { e.set(m, value, words...) })
			}
		}
	}
}

// always is a metric that every run has, if its plan can have it.
func always(of func(*Run) float64) func(*Run, Set) {
	return func(r *Run, set Set) { set(of(r)) }
}

// ofTransfers is a sum over the transfers.
func ofTransfers(count func(*metrics.Flow) int64) func(*Run, Set) {
	return func(r *Run, set Set) { set(sum(r, count)) }
}

// slowdowns returns those of the transfers that have completed, ascending.
func slowdowns(r *Run) (all []float64) {
	transfers := r.completing()
	for i := range transfers {
		if s, ok := slowdown(r, &transfers[i]); ok {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
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

// ofPorts is a sum over the ports of all nodes.
func ofPorts(count func(*metrics.PortTotals) int64) func(*Run, Set) {
	return always(func(r *Run) (total float64) {
		for _, n := range r.Nodes {
			for i := range n.Ports {
				total += float64(count(&n.Ports[i]))
			}
		}
		return total
	})
}

// ofNodes is a sum over hosts or switches.
func ofNodes(which func(r *Run) []metrics.NodeTotals, count func(*metrics.NodeTotals) int64) func(*Run, Set) {
	return always(func(r *Run) (total float64) {
		nodes := which(r)
		for i := range nodes {
			total += float64(count(&nodes[i]))
		}
		return total
	})
}

func ofHosts(r *Run) []metrics.NodeTotals    { return r.Nodes[:r.Plan.Hosts()] }
func ofSwitches(r *Run) []metrics.NodeTotals { return r.Nodes[r.Plan.Hosts():] }

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

// KeyMetrics are shown for every experiment, in this order and where a variant has them.
func KeyMetrics() []string {
	return []string{"fct_us.mean", "fct_us.p99", "fct_us.max", "target_qdelay_us", "trims", "drops", "packets.retransmitted"}
}
