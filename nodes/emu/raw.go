package emu

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
)

// programBacklog is how many frames of programs a node keeps that it has read and
// has had no time for: a burst, and no more memory than a run can spare for those
// who send without end.
const programBacklog = 16 * netio.Slots

// acceptProgram takes in a frame of a host's programs, which is due as soon as it
// has been read.
func (n *Node) acceptProgram(port *portState, f netio.Frame) {
	if port.waiting == programBacklog {
		port.missed++
		return
	}
	p := n.pool.Get()
	if err := p.ParseForeign(f.Data, n.cfg.Format); err != nil {
		n.pool.Put(p)
		n.foreign++
		return
	}
	if p.Payload != nil {
		p.Payload = append(n.buffer(), p.Payload...)
	}
	port.read++
	port.waiting++
	n.arrive(max(n.present, n.now), f.Port, port.read, p)
}

// departProgram makes a frame of a packet for a host's programs, as it is.
func (n *Node) departProgram(d node.Departure) error {
	if len(d.Packet.Payload) != d.Packet.PayloadLen {
		return n.failed(fmt.Errorf("port %d: %v: %w", d.Port, d.Packet, errNoPayload))
	}
	n.outbox.addRaw(d)
	if n.outbox.full() {
		return n.flush()
	}
	return nil
}

// count notes that a frame of a link has been read in real time, when those before
// it may be lost, or come later.
func (p *portState) count(sequence int64) {
	if sequence <= p.read {
		p.missed--
		return
	}
	p.missed += sequence - p.read - 1
	p.read = sequence
}

// unread returns how many frames of programs were lost because the node had no time
// for them, or their length no place: what found no room in the Conn, less what links
// have lost, or here.
func (n *Node) unread() (int64, error) {
	if n.programs() < 0 {
		return 0, nil
	}
	drops, err := n.conn.Drops()
	if err != nil {
		return 0, n.failed(err)
	}
	var here int64
	for i := range n.ports {
		if p := &n.ports[i]; p.Application {
			here += p.missed
		} else {
			drops -= p.missed
		}
	}
	return max(drops, 0) + here, nil
}

// programs returns the port that leads to programs, -1 without one.
func (n *Node) programs() int {
	return slices.IndexFunc(n.cfg.Ports, func(p Port) bool { return p.Application })
}

// withoutPrograms refuses a node whose programs send when they like: model time
// that does not follow the clock would not wait for them.
func (n *Node) withoutPrograms() error {
	if port := n.programs(); port >= 0 {
		return fmt.Errorf("emu: node %s: port %d leads to programs, which need real time", n.cfg.Name, port)
	}
	return nil
}
