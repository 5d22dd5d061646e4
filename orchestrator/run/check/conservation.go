// Package check holds the tests of a run's trustworthiness, over its plan, its
// outcome and the totals of its nodes: conservation of packets, bytes and flows, completion, frames against
// what interfaces counted, the ends of programs, and how well a run kept real time.
package check

import (
	"cmp"
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Conservation checks that no packet appears or vanishes: at every port, on every
// link, and for every flow. A violation is a bug of csiglab.
func Conservation(p *plan.Plan, out *backend.Outcome, nodes []metrics.NodeTotals) runfolder.Check {
	var fluid *metrics.NodeTotals
	if p.Fluid != nil {
		fluid = &nodes[len(p.Nodes)]
		if problem := checkFluid(p, fluid, jobsDone(nodes)); problem != "" {
			return failed("conservation", problem)
		}
		if p.NoPackets() {
			return passed("conservation", "the bytes of %d flows add up", len(p.Flows))
		}
		nodes = nodes[:len(p.Nodes)]
	}
	problem := checkPorts(p, nodes)
	var inNetwork int64
	if problem == "" {
		inNetwork, problem = checkLinks(p, out.Drained, nodes)
	}
	if problem == "" {
		problem = checkFlows(p, nodes, fluid, inNetwork)
	}
	if problem != "" {
		return failed("conservation", problem)
	}
	return passed("conservation", "ports, links and %d flows add up", len(p.Flows))
}

// checkFluid checks of flows that are no packets that no byte appears or vanishes: what the rates of a
// flow add up to is what its messages have, and all of it if the flow is complete and has no packets.
// whole is the jobs that are done.
func checkFluid(p *plan.Plan, fluid *metrics.NodeTotals, whole map[int32]bool) string {
	for i := range fluid.Senders {
		s, r := &fluid.Senders[i], &fluid.Receivers[i]
		info := &p.Flows[s.Flow]
		sent, got, want := s.PayloadBytes, r.PayloadBytes, int64(info.Size)
		complete := r.Done != units.Never && (info.Messages == 0 || whole[info.Job]) && p.Fluid.Flows[s.Flow].Packets == 0
		off := max(sent-got, got-sent)
		if rounding := 1 + sent/1e9; off > rounding || sent > want || complete && sent != want {
			return fmt.Sprintf("flow %s: messages of %d of %d bytes have left, at rates that add up to %d", info.Name, sent, want, got)
		}
	}
	return ""
}

func passed(name, format string, args ...any) runfolder.Check {
	return runfolder.Check{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)}
}

func failed(name, detail string) runfolder.Check {
	return runfolder.Check{Name: name, Detail: detail}
}

// checkPorts checks in = out + dropped + queued, in packets, and in bytes including
// the bytes that trimming cut.
func checkPorts(p *plan.Plan, results []metrics.NodeTotals) string {
	for _, r := range results {
		for _, t := range r.Ports {
			if t.EnqueuedPackets != t.TxPackets+t.DroppedPackets+t.QueuedPackets {
				return fmt.Sprintf("port %s:%d: %d packets in, %d out + %d dropped + %d queued",
					r.Name, t.Port, t.EnqueuedPackets, t.TxPackets, t.DroppedPackets, t.QueuedPackets)
			}
			if t.EnqueuedBytes != t.TxBytes+t.DroppedBytes+t.CutBytes+t.QueuedBytes {
				return fmt.Sprintf("port %s:%d: %d bytes in, %d out + %d dropped + %d cut + %d queued",
					r.Name, t.Port, t.EnqueuedBytes, t.TxBytes, t.DroppedBytes, t.CutBytes, t.QueuedBytes)
			}
			if s := p.Switch(int(r.Node)); s != nil && s.Classes == nil && t.QueueMax > int64(s.Ports[t.Port].Buffer.Longest()) {
				return fmt.Sprintf("port %s:%d: queue of %d bytes, the limit is %d", r.Name, t.Port, t.QueueMax, int64(s.Ports[t.Port].Buffer.Longest()))
			}
		}
	}
	return ""
}

// checkLinks checks that the packets that one end sent were received by the other, or
// are in flight if the run was cut off. It returns the packets still inside the
// network.
func checkLinks(p *plan.Plan, drained bool, nodes []metrics.NodeTotals) (inNetwork int64, problem string) {
	at := func(e topologies.End) metrics.PortTotals { return nodes[e.Node].Ports[e.Port] }
	for id, l := range p.Graph.Links {
		if p.ForeignNode(l.A.Node) != nil || p.ForeignNode(l.B.Node) != nil {
			continue // the other end counts nothing
		}
		for _, d := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			flying := at(d[0]).TxPackets - at(d[1]).RxPackets
			if flying < 0 || flying > 0 && drained {
				return 0, fmt.Sprintf("link %s: %s sent %d packets, %s received %d", p.Links[id].Name,
					p.Graph.Nodes[d[0].Node].Name, at(d[0]).TxPackets, p.Graph.Nodes[d[1].Node].Name, at(d[1]).RxPackets)
			}
			inNetwork += flying
		}
	}
	for i, r := range nodes[p.Hosts():] {
		if p.ForeignNode(p.Hosts()+i) != nil {
			continue
		}
		in, enqueued := r.Made, int64(0)
		for _, t := range r.Ports {
			in += t.RxPackets - t.PausesReceived // switches forward no pause frames
			enqueued += t.EnqueuedPackets - t.PausesSent
			inNetwork += t.QueuedPackets
		}
		inside := in - r.Taken - enqueued - undelivered(r)
		if inside < 0 || inside > 0 && drained {
			return 0, fmt.Sprintf("switch %s: %d packets in, %d to a port", r.Name, in, enqueued)
		}
		inNetwork += inside
	}
	return inNetwork, ""
}

// undelivered counts the packets that a node dropped before they reached a port.
func undelivered(r metrics.NodeTotals) (n int64) {
	for _, d := range r.Drops {
		n += d.Packets
	}
	for _, t := range r.Ports {
		n -= t.DroppedPackets
	}
	return n
}

// checkFlows checks transmissions = delivered whole + delivered trimmed + dropped + in
// flight. Drops are not counted by flow, so with drops or a cut-off run the sum
// over all flows is checked to lie within them. fluid has messages that are no packets; nil: none.
func checkFlows(p *plan.Plan, nodes []metrics.NodeTotals, fluid *metrics.NodeTotals, inNetwork int64) string {
	var missing, dropped int64
	for i, r := range nodes {
		if i < p.Hosts() { // a packet that a full host port drops was not sent
			dropped += undelivered(r)
			continue
		}
		for _, d := range r.Drops {
			dropped += d.Packets
		}
	}
	whole, flowing := jobsDone(nodes), map[int32]int64{} // bytes of a flow that are no packets
	if fluid != nil {
		for i := range fluid.Senders {
			flowing[fluid.Senders[i].Flow] = fluid.Senders[i].PayloadBytes
		}
	}
	for id, f := range metrics.Flows(p.Flows, nodes) {
		beside := flowing[int32(id)]
		if beside == int64(f.Info.Size) && fluid != nil || len(p.Foreign) > 0 {
			continue // of what foreign nodes lose or repeat, nothing is known
		}
		sent := f.Sender.NewPackets + f.Sender.Retransmitted
		got := f.Receiver.DeliveredWhole + f.Receiver.DeliveredTrimmed
		if sent < got || sent > got+dropped+inNetwork {
			return fmt.Sprintf("flow %s: %d transmissions, %d delivered, at most %d dropped and %d in the network",
				f.Info.Name, sent, got, dropped, inNetwork)
		}
		missing += sent - got
		packets := f.Receiver.DeliveredWhole - f.Receiver.Duplicates - f.Receiver.OutOfSequence
		if f.Receiver.Done == units.Never || f.Info.Messages > 0 && f.Sender.Done == units.Never {
			if f.Info.Messages > 0 && whole[f.Info.Job] {
				return fmt.Sprintf("flow %s: its job is done, %d of %d packets and %d of %d bytes have arrived", f.Info.Name, packets, f.Info.Packets, f.Receiver.PayloadBytes, int64(f.Info.Size))
			}
			continue // of a connection the receiver has what it knows of
		}
		want, bytes := f.Sender.NewPackets, f.Sender.PayloadBytes
		if f.Info.Messages == 0 && !f.Sender.Stopped || f.Info.Messages > 0 && whole[f.Info.Job] {
			bytes = int64(f.Info.Size) - beside
			if beside == 0 {
				want = f.Info.Packets
			}
		}
		if packets != want || f.Receiver.PayloadBytes != bytes {
			return fmt.Sprintf("flow %s: complete with %d of %d packets and %d of %d bytes", f.Info.Name, packets, want, f.Receiver.PayloadBytes, bytes)
		}
	}
	if missing > dropped+inNetwork {
		return fmt.Sprintf("flows: %d transmissions not delivered, %d dropped, %d in the network", missing, dropped, inNetwork)
	}
	return ""
}

// Lossless checks that no packet of a lossless class was dropped for want of headroom, and
// that shared memory was never beyond its size. A fault that drops packets drops pause frames
// too: the headroom of a run with one may not suffice.
func Lossless(p *plan.Plan, nodes []metrics.NodeTotals) runfolder.Check {
	const name = "lossless"
	allowed := "" // node whose drops faults may explain
	for _, r := range nodes {
		if m := r.Memory; m.SharedMax > m.SharedSize {
			return failed(name, fmt.Sprintf("%s: %d bytes in a shared memory of %d", r.Name, m.SharedMax, m.SharedSize))
		}
		for _, d := range r.Drops {
			switch {
			case d.Name != dataplane.DropHeadroom || d.Packets == 0:
			case p.FaultsDrop():
				allowed = cmp.Or(allowed, r.Name)
			default:
				return failed(name, fmt.Sprintf("%s dropped %d packets of a lossless class, for which there was no headroom; links.pfc.headroom is too small", r.Name, d.Packets))
			}
		}
	}
	if allowed != "" {
		return passed(name, "%s dropped packets of a lossless class, for which there was no headroom: faults may have dropped pause frames", allowed)
	}
	return passed(name, "no packet of a lossless class was dropped")
}

// jobsDone returns for each job whether the programs of all its ranks are complete.
func jobsDone(nodes []metrics.NodeTotals) map[int32]bool {
	done := map[int32]bool{}
	for _, n := range nodes {
		for _, j := range n.Jobs {
			before, seen := done[j.Job]
			done[j.Job] = j.Done && (before || !seen)
		}
	}
	return done
}

// jobWaits returns the first node that has not played its part of a job to the end, and what
// a rank there waits for; "" if all jobs are done.
func jobWaits(p *plan.Plan, nodes []metrics.NodeTotals) string {
	for _, n := range nodes {
		for _, j := range n.Jobs {
			if !j.Done {
				return fmt.Sprintf("job %s did not end: at %s %s", p.Jobs[j.Job].Name, n.Name, j.Waits)
			}
		}
	}
	return ""
}

// Completion checks that a run that was not cut off finished its transfers and jobs.
func Completion(p *plan.Plan, out *backend.Outcome, nodes []metrics.NodeTotals) runfolder.Check {
	const name = "completion"
	if !out.Drained {
		return passed(name, "the run was ended at %v", out.End)
	}
	open, transfers := 0, p.Completing()
	for _, f := range metrics.Flows(p.Flows, nodes)[:transfers] {
		switch {
		case f.Sender.Done != units.Never:
		case p.Strands():
			open++
		default:
			return failed(name, fmt.Sprintf("flow %s did not complete, and nothing is left to do", f.Info.Name))
		}
	}
	waits := jobWaits(p, nodes)
	switch {
	case waits != "" && !p.Strands():
		return failed(name, waits+", and nothing is left to do")
	case waits != "":
		return passed(name, "%d of %d transfers completed; %s; faults that do not end left messages no way", transfers-open, transfers, waits)
	case open > 0:
		return passed(name, "%d of %d transfers completed; faults that do not end left the others no way", transfers-open, transfers)
	case len(p.Jobs) > 0:
		return passed(name, "all %d transfers and %d jobs completed", transfers, len(p.Jobs))
	}
	return passed(name, "all %d transfers completed", transfers)
}

// Parity checks that every node of a run has the trace that it has in virtual time.
func Parity(nodes, virtual []metrics.NodeTotals) runfolder.Check {
	const name = "parity"
	for i := range nodes {
		if got, want := nodes[i], virtual[i]; got.TraceHash != want.TraceHash {
			return failed(name, fmt.Sprintf("the trace of %s differs from the virtual run's (%d events against %d)", got.Name, got.Events, want.Events))
		}
	}
	return passed(name, "all %d nodes have the trace of a virtual run", len(nodes))
}
