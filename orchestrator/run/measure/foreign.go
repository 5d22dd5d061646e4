package measure

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/kernel"
	"github.com/csiglab/csiglab/topologies"
)

// foreignNodes says what the neighbours of each foreign node have sent to it and got from it.
func foreignNodes(r *Run, _ *Records) (notes []string) {
	if len(r.Plan.Foreign) == 0 {
		return nil
	}
	counts := make(map[topologies.End]emu.PortCount, len(r.Outcome.Ports))
	for _, c := range r.Outcome.Ports {
		counts[topologies.End{Node: c.Node, Port: c.Port}] = c
	}
	adjacency := r.Plan.Graph.Adjacency()
	for i := range r.Plan.Foreign {
		f := &r.Plan.Foreign[i]
		if f.Kernel {
			continue // kernelSwitches
		}
		var to, from int64
		var tagged emu.Tagged
		for _, a := range adjacency[f.Node] {
			c := counts[a.Peer]
			if c.Foreign == nil { // another foreign node
				continue
			}
			to, from = to+c.Sent, from+c.Received
			tagged.Sent, tagged.Received = tagged.Sent+c.Foreign.Sent, tagged.Received+c.Foreign.Received
		}
		notes = append(notes, fmt.Sprintf("%s is a foreign node, whose queues and losses are not known: it was sent %d frames, %d of them with a CSIG tag, and sent %d, %d of them with one",
			r.Plan.Graph.Nodes[f.Node].Name, to, tagged.Sent, from, tagged.Received))
	}
	return notes
}

// kernelSwitches says what each switch in the kernel has done.
func kernelSwitches(r *Run, _ *Records) (notes []string) {
	for _, k := range r.Outcome.Kernel {
		var sum kernel.Totals
		tags := map[string]int64{}
		for _, p := range k.Ports {
			sum.Packets, sum.Bytes = sum.Packets+p.Packets, sum.Bytes+p.Bytes
			sum.DroppedPackets, sum.Marked = sum.DroppedPackets+p.DroppedPackets, sum.Marked+p.Marked
			for _, c := range p.Tags {
				tags[c.Name] += c.Packets
			}
		}
		did := ""
		for _, c := range k.Ports[0].Tags { // their order
			if n := tags[c.Name]; n > 0 {
				did += fmt.Sprintf(", %d tags %s", n, c.Name)
			}
		}
		if k.Unrouted > 0 {
			did += fmt.Sprintf(", %d frames had no route", k.Unrouted)
		}
		notes = append(notes, fmt.Sprintf("%s forwarded in the kernel: %d frames, %d dropped, %d marked%s",
			r.Plan.Graph.Nodes[k.Node].Name, sum.Packets, sum.DroppedPackets, sum.Marked, did))
	}
	return notes
}
