// Package forward is a switch's forwarding table: destination host to the set of
// egress ports on shortest paths, and ECMP among them over the 5-tuple.
package forward

import (
	"math/bits"

	"github.com/csiglab/csiglab/nodes/wire"
)

// Config is a forwarding table: plain data.
type Config struct {
	Group []uint16   // by host: index into Ports
	Ports [][]uint16 // egress ports of a group, ascending; empty: unreachable
	Seed  uint64     // of the ECMP hash; every switch has its own
}

// Table forwards packets. It is immutable.
type Table struct{ cfg Config }

// NewTable returns the table of cfg, which must not change afterwards.
func NewTable(cfg Config) Table { return Table{cfg} }

// Lookup returns the egress port for p; ok is false without a route.
func (t *Table) Lookup(p *wire.Packet) (port int, ok bool) {
	host := p.DestinationHost()
	if host < 0 || host >= len(t.cfg.Group) {
		return 0, false
	}
	ports := t.cfg.Ports[t.cfg.Group[host]]
	switch len(ports) {
	case 0:
		return 0, false
	case 1:
		return int(ports[0]), true
	}
	i, _ := bits.Mul64(p.Hash(t.cfg.Seed), uint64(len(ports)))
	return int(ports[i]), true
}
