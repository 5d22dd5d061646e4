package emu

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
)

// RawBacklog is how many raw frames a node keeps at most that it has read and has
// had no time for: a burst, within memory that a run can spare for programs that
// send without end.
const RawBacklog = 16 * netio.Slots

// acceptRaw takes in a raw frame of a host's programs, which is due as soon as it
// has been read.
func (n *Node) acceptRaw(port *portState, f netio.Frame) {
	if port.waiting == RawBacklog {
		port.missed++
		return
	}
	p := n.pool.Get()
	if err := p.ParseRaw(f.Data, n.cfg.Format); err != nil {
		n.pool.Put(p)
		n.runts++
		return
	}
	if p.Payload != nil {
		p.Payload = append(n.buffer(), p.Payload...)
	}
	port.read++
	port.waiting++
	n.arrive(max(n.present, n.now), f.Port, port.read, p)
}

// departRaw makes a frame of a packet for a host's programs, as it is.
func (n *Node) departRaw(d node.Departure) error {
	if len(d.Packet.Payload) != d.Packet.PayloadLen {
		return n.failed(fmt.Errorf("port %d: %v: %w", d.Port, d.Packet, errNoPayload))
	}
	n.outbox.addRaw(d)
	if n.outbox.full() {
		return n.Flush()
	}
	return nil
}

// Unread returns how many raw frames were lost because the node had no time for
// them, or because they were too long for a slot of its Conn: the frames that the
// Conn dropped, without those of links, and the frames beyond RawBacklog.
func (n *Node) Unread() (int64, error) {
	if n.Application() < 0 {
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

// Application returns the port that leads to the host's programs, -1 without one.
// Raw frames from it are due when they are read.
func (n *Node) Application() int {
	return slices.IndexFunc(n.cfg.Ports, func(p Port) bool { return p.Application })
}
