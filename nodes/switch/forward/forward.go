// Package forward is where a switch sends a packet: its forwarding table, from the
// destination host to the set of egress ports on shortest paths, and the routing
// policies that choose among these ports or leave the shortest paths, one file each,
// with the table that names them. It holds no packet. The dataplane asks it about
// every packet, and tells it how long its queues are.
package forward

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Config is the forwarding of a switch: plain data.
type Config struct {
	Routes topologies.Routes
	Seed   uint64 // of the ECMP hash; every switch has its own
	// Routing is of Table. No name is ecmp.
	Routing algorithm.Choice
	// Router is the number of the switch among switches, Groups what the routers of a
	// Dragonfly share. They are for policies with NeedsGroups; nil elsewhere.
	Router int32
	Groups *topologies.Groups
	// Weights are for wcmp; nil elsewhere.
	Weights *Weights
}

// Policy chooses the egress ports of one switch. It belongs to one goroutine.
type Policy interface {
	// Forward returns the egress port for p, whose Ingress is the port through which
	// it came in; ok is false without a route. It may edit the way that p carries
	// (wire.Packet.SetVia) and nothing else of it.
	Forward(p *wire.Packet) (port int, ok bool)
}

// Switch is what a policy may know of its switch at construction.
type Switch struct {
	ECMP *ECMP // the shortest paths; it may get other routes later
	// Queued returns the wire bytes that wait at an egress port now.
	Queued func(port int) units.Size
	Random *rand.Rand // of the policy alone
	// FromHost reports whether a port leads to a host: this is then the first switch of
	// the packets that come in there.
	FromHost func(port int) bool
	// Router and Groups are those of Config. Groups is nil unless the policy needs it.
	Router int32
	Groups *topologies.Groups
	// Weights are those of Config, which a policy does not change. nil: all are alike.
	Weights *Weights
}

// Algorithm is an entry of the table.
type Algorithm struct {
	algorithm.Spec
	// NeedsGroups says that the policy is for Dragonflies alone.
	NeedsGroups bool
	// Hashes says that a hash of the flow chooses among shortest paths, all alike; Detours
	// that every packet to another group leaves them.
	Hashes, Detours bool
	// Build returns the policy of a switch. The reader's parameters are of their kinds
	// and checked; Build calls Fail for one whose value makes no sense at this switch.
	Build func(s Switch, r *algorithm.Reader) Policy
}

// New returns a policy with the given parameters. An *algorithm.ParamError names
// the one whose value makes no sense.
func (a Algorithm) New(s Switch, params algorithm.Values) (Policy, error) {
	return algorithm.Build(a.Spec, params, func(r *algorithm.Reader) Policy { return a.Build(s, r) })
}

// Table is every algorithm.
var Table = algorithm.Table[Algorithm]{
	ecmp,
	adaptive,
	minimal,
	valiant,
	ugal,
	wcmp,
}

// Default is the name of the policy that a Config without a name has.
const Default = "ecmp"

// Lookup returns the entry of the policy that a Config names.
func Lookup(choice algorithm.Choice) (a Algorithm, ok bool) {
	return Table.Lookup(cmp.Or(choice.Name, Default))
}

// New returns the routing policy that a Config names. It is nil if ECMP alone decides:
// the switch then asks s.ECMP itself, without a call through an interface.
func New(choice algorithm.Choice, s Switch) (Policy, error) {
	a, ok := Lookup(choice)
	if !ok {
		return nil, fmt.Errorf("routing: unknown algorithm %q", choice.Name)
	}
	policy, err := a.New(s, choice.Params)
	if err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	if policy == Policy(s.ECMP) {
		return nil, nil
	}
	return policy, nil
}

var ecmp = Algorithm{
	Spec: algorithm.Spec{
		Name: Default,
		Doc:  "shortest paths; a hash of the 5-tuple, with a seed per switch, chooses among equal ones",
	},
	Hashes: true,
	Build:  func(s Switch, _ *algorithm.Reader) Policy { return s.ECMP },
}

// ECMP forwards on shortest paths, by a hash of the 5-tuple where there are several.
type ECMP struct {
	routes topologies.Routes
	seed   uint64
}

// NewECMP returns the forwarding table of cfg, whose Routes must not change afterwards.
func NewECMP(cfg Config) ECMP { return ECMP{cfg.Routes, cfg.Seed} }

// Forward implements Policy.
func (t *ECMP) Forward(p *wire.Packet) (port int, ok bool) {
	return t.along(p, t.routes.Route(p.DestinationHost()))
}

// along returns the port of a route that the hash of p chooses.
func (t *ECMP) along(p *wire.Packet, route topologies.Route) (port int, ok bool) {
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

// Ports returns the ports of the shortest paths of a packet, ascending; none without a
// route. The slice belongs to t.
func (t *ECMP) Ports(p *wire.Packet) []uint16 { return t.routes.To(p.DestinationHost()) }

// Free reports whether a policy may choose another port for p than ECMP does: it is
// data of the transport, whose receiver puts packets into order. Control packets and
// raw frames keep to ECMP.
func Free(p *wire.Packet) bool { return p.Queues() && p.Kind() != wire.Raw }

// among returns one of n, evenly, by a hash or a random number.
func among(hash uint64, n int) int {
	i, _ := bits.Mul64(hash, uint64(n))
	return int(i)
}
