// Package forward is a switch's forwarding table: destination host to the set of
// egress ports on shortest paths, and ECMP among them over the 5-tuple.
package forward

import (
	"math/bits"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
)

// Config is a forwarding table: plain data.
type Config struct {
	Routes topologies.Routes
	Seed   uint64 // of the ECMP hash; every switch has its own
}

// Table forwards packets. It is immutable, and switches may share what its routes share.
type Table struct {
	routes topologies.Routes
	seed   uint64
}

// NewTable returns the table of cfg, which must not change afterwards.
func NewTable(cfg Config) Table { return Table{cfg.Routes, cfg.Seed} }

// Lookup returns the egress port for p; ok is false without a route.
func (t *Table) Lookup(p *wire.Packet) (port int, ok bool) {
	route := t.routes.Route(p.DestinationHost())
	switch {
	case route.IsPort():
		return int(route), true
	case route == topologies.NoRoute:
		return 0, false
	}
	book := t.routes.Book
	group := book.Groups[route.Group()]
	i, _ := bits.Mul64(p.Hash(t.seed), uint64(group.Count))
	return int(book.Ports[uint64(group.First)+i]), true
}
