package measure

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu"
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
	for _, n := range r.Nodes {
		if f := r.Plan.ForeignNode(int(n.Node)); f == nil || !f.Kernel {
			continue
		}
		var sent, marked int64
		for i := range n.Ports {
			sent, marked = sent+n.Ports[i].TxPackets, marked+n.Ports[i].MarkedPackets
		}
		did := ""
		for _, c := range n.Drops {
			if c.Packets > 0 {
				did += fmt.Sprintf(", %d dropped (%s)", c.Packets, c.Name)
			}
		}
		for _, c := range n.Tags {
			if c.Packets > 0 {
				did += fmt.Sprintf(", %d tags %s", c.Packets, c.Name)
			}
		}
		notes = append(notes, fmt.Sprintf("%s forwarded %d frames in the kernel: %d marked%s", n.Name, sent, marked, did))
	}
	return notes
}
