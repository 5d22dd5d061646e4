package orchestrator

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// check is one test of a run's trustworthiness.
type check struct {
	name   string
	ok     bool
	detail string
}

// conservation checks that nothing came from nowhere or went nowhere: at every
// port, on every link, and for every flow. A violation is a bug of csiglab.
func conservation(p *Plan, out *outcome) check {
	c := check{name: "conservation"}
	problem := checkPorts(p, out.results)
	var inNetwork int64
	if problem == "" {
		inNetwork, problem = checkLinks(p, out)
	}
	if problem == "" {
		problem = checkFlows(p, out, inNetwork)
	}
	if c.ok = problem == ""; c.ok {
		c.detail = fmt.Sprintf("ports, links and %d flows add up", len(p.Flows))
	} else {
		c.detail = problem
	}
	return c
}

// checkPorts: in = out + dropped + queued, in packets, and in bytes with what
// trimming cut.
func checkPorts(p *Plan, results []metrics.NodeTotals) string {
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
			if int(r.Node) >= len(p.Hosts) {
				if limit := int64(p.Switches[int(r.Node)-len(p.Hosts)].Buffer.Data); t.QueueMax > limit {
					return fmt.Sprintf("port %s:%d: queue of %d bytes, the limit is %d", r.Name, t.Port, t.QueueMax, limit)
				}
			}
		}
	}
	return ""
}

// checkLinks: what one end sent, the other received, or is in flight when the
// run was cut off. It returns the packets still inside the network.
func checkLinks(p *Plan, out *outcome) (inNetwork int64, problem string) {
	at := func(e topologies.End) metrics.PortTotals { return out.results[e.Node].Ports[e.Port] }
	for id, l := range p.Graph.Links {
		for _, d := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			flying := at(d[0]).TxPackets - at(d[1]).RxPackets
			if flying < 0 || flying > 0 && out.drained {
				return 0, fmt.Sprintf("link %s: %s sent %d packets, %s received %d", p.Graph.LinkName(id),
					p.Graph.Nodes[d[0].Node].Name, at(d[0]).TxPackets, p.Graph.Nodes[d[1].Node].Name, at(d[1]).RxPackets)
			}
			inNetwork += flying
		}
	}
	for _, r := range out.results[len(p.Hosts):] {
		var in, enqueued int64
		for _, t := range r.Ports {
			in += t.RxPackets
			enqueued += t.EnqueuedPackets
			inNetwork += t.QueuedPackets
		}
		inside := in - enqueued - undelivered(r)
		if inside < 0 || inside > 0 && out.drained {
			return 0, fmt.Sprintf("switch %s: %d packets in, %d to a port", r.Name, in, enqueued)
		}
		inNetwork += inside
	}
	return inNetwork, ""
}

// undelivered counts the packets that a node dropped before a port had them.
func undelivered(r metrics.NodeTotals) (n int64) {
	for _, d := range r.Drops {
		n += d.Packets
	}
	for _, t := range r.Ports {
		n -= t.DroppedPackets
	}
	return n
}

// checkFlows: transmissions = delivered whole + delivered trimmed + dropped + in
// flight. Drops are not counted by flow, so with drops or a cut-off run the sum
// over all flows is checked to lie within them.
func checkFlows(p *Plan, out *outcome, inNetwork int64) string {
	var missing, dropped int64
	for i, r := range out.results {
		if i < len(p.Hosts) { // what finds no room at a host's port was not sent
			dropped += undelivered(r)
			continue
		}
		for _, d := range r.Drops {
			dropped += d.Packets
		}
	}
	for _, f := range flowStates(p, out.results) {
		sent := f.sender.NewPackets + f.sender.Retransmitted
		got := f.receiver.DeliveredWhole + f.receiver.DeliveredTrimmed
		if sent < got || sent > got+dropped+inNetwork {
			return fmt.Sprintf("flow %s: %d transmissions, %d delivered, at most %d dropped and %d in the network",
				f.info.Name, sent, got, dropped, inNetwork)
		}
		missing += sent - got
		whole := f.receiver.DeliveredWhole - f.receiver.Duplicates
		if f.receiver.Done != units.Never && (whole != f.info.Packets || f.receiver.PayloadBytes != int64(f.info.Size)) {
			return fmt.Sprintf("flow %s: complete with %d of %d packets and %d of %d bytes",
				f.info.Name, whole, f.info.Packets, f.receiver.PayloadBytes, int64(f.info.Size))
		}
	}
	if missing > dropped+inNetwork {
		return fmt.Sprintf("flows: %d transmissions not delivered, %d dropped, %d in the network", missing, dropped, inNetwork)
	}
	return ""
}

// complete checks that a run that was not cut off finished its transfers.
func complete(p *Plan, out *outcome) check {
	c := check{name: "completion", ok: true}
	if !out.drained {
		c.detail = fmt.Sprintf("the run was ended at %v", out.end)
		return c
	}
	for _, f := range flowStates(p, out.results)[:len(p.Workload.Transfers)] {
		if f.sender.Done == units.Never {
			c.ok = false
			c.detail = fmt.Sprintf("flow %s did not complete, and nothing is left to do", f.info.Name)
			return c
		}
	}
	c.detail = fmt.Sprintf("all %d transfers completed", len(p.Workload.Transfers))
	return c
}
