package emu

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// RawBacklog is how many raw frames a node keeps at most that it has read and has
// had no time for: a burst, within memory that a run can spare for programs that
// send without end.
const RawBacklog = 16 * netio.Slots

// raw reports whether frames of a port have no trailer: what is at the other end is no node of
// csiglab.
func (p *Port) raw() bool { return p.Application || p.Foreign }

// acceptRaw takes in a frame of a host's programs, which is due as soon as it has been read, or
// of a foreign node.
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
	at := max(n.present, n.now)
	if port.Foreign {
		port.received++
		port.exchange.Received.add(p, p.Payload)
		if port.Gateway != [6]byte{} {
			p.AddressHosts()
		}
		at = at.Add(port.crossing(p))
	}
	n.arrive(at, f.Port, port.read, p)
}

// Way is what a way through the fabric takes, between idle ports.
type Way struct {
	Delay   units.Duration // of its links and switches
	PerByte units.Duration // of the links, to serialise a byte
}

// crossing returns how long after it was sent a frame of a foreign node arrives.
func (p *Port) crossing(packet *wire.Packet) units.Duration {
	if host := packet.SourceHost(); host >= 0 && host < len(p.Ways) {
		return p.Ways[host].Delay + p.Ways[host].PerByte*units.Duration(packet.Size)
	}
	return 2 * p.Delay
}

// departRaw makes a frame of a packet for a host's programs, as it is, or for a foreign node.
func (n *Node) departRaw(port *portState, d node.Departure) error {
	payload := d.Packet.Payload
	if payload == nil && n.cfg.Host { // the rest of a frame that the machine has made
		payload = zeros[:d.Packet.PayloadLen]
	}
	if len(payload) != d.Packet.PayloadLen {
		return n.failed(fmt.Errorf("port %d: %v: %w", d.Port, d.Packet, errNoPayload))
	}
	if port.Foreign {
		port.sent++
		port.exchange.Sent.add(d.Packet, payload)
		if port.Gateway != [6]byte{} {
			d.Packet.SetMACs(port.Gateway, wire.MAC(n.cfg.Node, d.Port))
		}
	}
	n.outbox.addRaw(d, payload)
	if port.Foreign && n.taps != nil {
		n.spoolSent(d)
	}
	if n.outbox.full() {
		return n.Flush()
	}
	return nil
}

// Unread returns how many raw frames were lost because the node had no time for
// them, or because they were too long for a slot of its Conn: the frames that the
// Conn dropped, without those of links, and the frames beyond RawBacklog.
func (n *Node) Unread() (int64, error) {
	if !n.Wakes() {
		return 0, nil
	}
	drops, err := n.conn.Drops()
	if err != nil {
		return 0, n.failed(err)
	}
	var here int64
	for i := range n.ports {
		if p := &n.ports[i]; p.raw() {
			here += p.missed
		} else {
			drops -= p.missed
		}
	}
	return max(drops, 0) + here, nil
}

// Wakes reports whether frames are due when they are read: some port leads to programs or to a
// foreign node.
func (n *Node) Wakes() bool {
	return slices.ContainsFunc(n.cfg.Ports, func(p Port) bool { return p.raw() })
}

// Application returns the port that leads to the host's programs, -1 without one.
// Raw frames from it are due when they are read.
func (n *Node) Application() int {
	return slices.IndexFunc(n.cfg.Ports, func(p Port) bool { return p.Application })
}
