// Package node is the contract between a machine (a host or a switch) and the
// driver that gives it packets and time. The Stepper is the half of a driver
// that every clock shares: it keeps the canonical order within a node and
// records the trace. Package sim drives many Steppers in virtual time, package
// emu one per real node.
package node

import (
	"math/bits"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Machine is a protocol core: plain Go without goroutine, socket or clock. It
// emits its records into a metrics.Sink while the run goes on.
//
// At one instant a driver makes its calls in this order: Transmit for ports that
// become free, ascending; Receive, ascending by (port, link sequence);
// HandleTimeout. After every call it drains Transmit: each port that is free and
// in Ready, ascending. A port that was sending is free again from its turn to become
// free.
type Machine interface {
	// Receive takes a packet whose last bit arrived on port at now. The machine
	// owns it from then on.
	Receive(now units.Time, port int, p *wire.Packet)
	// Transmit is called when port is free. ok is false when the port has
	// nothing to send now, and the port is then no longer in Ready. Otherwise
	// the packet, which the driver owns from then on, begins to leave at now and
	// its last bit leaves at departs.
	Transmit(now units.Time, port int) (p *wire.Packet, departs units.Time, ok bool)
	// HandleTimeout says that NextTimeout has come. An early or stale call
	// changes nothing.
	HandleTimeout(now units.Time)
	// NextTimeout is the machine's next deadline, or units.Never.
	NextTimeout() units.Time
	// Ready is the set of ports that may have something to send. The machine
	// owns it and keeps it current; a driver only reads it.
	Ready() PortSet
	// Profile is the fingerprint of the machine's CSIG domain (csig.Domain.Profile),
	// 0 without CSIG. Machines of one fabric with different fingerprints would read
	// each other's tags wrongly.
	Profile() uint32
	// Close closes the machine's windows at end and emits its totals into the sink
	// that it got at its construction. It is the last call.
	Close(end units.Time)
}

// Toucher is a machine that can read ahead what its next calls need: a driver that runs
// many machines in turns calls Touch before a machine's turn, so that the memory of the
// machine comes into the cache side by side, where it would be waited for piece by piece.
// Touch changes nothing. The sum that it returns means nothing; the driver keeps it, so
// that the compiler keeps the reads.
type Toucher interface {
	Touch() (sum int64)
}

// PortSet is a set of ports; bit p%64 of word p/64 is port p.
type PortSet []uint64

// NewPortSet returns an empty set with room for n ports.
func NewPortSet(n int) PortSet { return make(PortSet, (n+63)/64) }

// Add puts port into the set.
func (s PortSet) Add(port int) { s[port>>6] |= 1 << (port & 63) }

// Remove takes port out of the set.
func (s PortSet) Remove(port int) { s[port>>6] &^= 1 << (port & 63) }

// Has reports whether port is in the set.
func (s PortSet) Has(port int) bool { return s[port>>6]>>(port&63)&1 != 0 }

// NextWithout returns the smallest port of the set that is not less than port and not
// in other, a set of the same size, or -1.
func (s PortSet) NextWithout(other PortSet, port int) int {
	w := port >> 6
	if w >= len(s) {
		return -1
	}
	if rest := s[w] &^ other[w] >> (port & 63); rest != 0 {
		return port + bits.TrailingZeros64(rest)
	}
	for w++; w < len(s); w++ {
		if rest := s[w] &^ other[w]; rest != 0 {
			return w<<6 + bits.TrailingZeros64(rest)
		}
	}
	return -1
}
