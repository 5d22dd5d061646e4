package forward

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
)

// detours leads packets of a Dragonfly over an intermediate place, a group or a router.
// The first router of a packet writes the place into it (wire.Packet.Via); the routers on
// the way send it towards the place, and the first one that is there takes it out, so
// that the rest of the path is minimal. Both parts lead closer to their ends with each
// hop: the path has no loop.
type detours struct {
	Switch
	group    int32 // of this router
	byRouter bool
	byFlow   bool
}

// via is the parameter that says what the intermediate place is.
var via = algorithm.Param{
	Name: "via", Kind: algorithm.Enum, Values: []string{"group", "router"}, Default: "group",
	Doc: "what the packets that leave the minimal path go through: any router of a random group, or a random router of it",
}

func newDetours(s Switch, r *algorithm.Reader) detours {
	d := detours{Switch: s, byRouter: r.Text("via") == "router", byFlow: r.Text("per") == "flow"}
	if s.Groups != nil {
		d.group = s.Groups.OfRouter[s.Router]
	}
	return d
}

// place is where a packet may go through.
type place struct {
	group  int
	router int32 // -1: any of the group
	way    uint16
}

// random returns a place in a random group other than those of this router and of the
// destination. It draws by random numbers, or by a hash of the packet. ok is false for a
// packet that stays in its group, which takes the minimal path as in BookSim, for one to
// nowhere, and where there are no other groups.
func (d *detours) random(p *wire.Packet) (at place, to int32, ok bool) {
	g := d.Groups
	host := p.DestinationHost()
	if uint(host) >= uint(len(g.OfHost)) || g.Count < 3 {
		return place{}, 0, false
	}
	to = g.OfHost[host]
	target := g.OfRouter[to]
	if target == d.group {
		return place{}, 0, false
	}
	draw := d.draw(p, 1)
	at.group = among(draw, g.Count-2)
	for _, other := range [2]int32{min(target, d.group), max(target, d.group)} {
		if at.group >= int(other) {
			at.group++
		}
	}
	at.router, at.way = -1, uint16(at.group)+1
	if d.byRouter {
		at.router = g.Member(at.group, among(d.draw(p, 2), g.Members(at.group)))
		at.way = uint16(at.router) + 1
	}
	return at, to, true
}

// draw returns a random number, or a hash of the packet's flow and of which draw it is.
func (d *detours) draw(p *wire.Packet, which uint64) uint64 {
	if d.byFlow {
		return wire.Mix(p.Hash(d.ECMP.seed), which)
	}
	return d.Random.Uint64()
}

// towards returns the route to a place, NoRoute where it is here.
func (d *detours) towards(at place) topologies.Route {
	switch {
	case at.router == d.Router:
		return topologies.NoRoute
	case at.router >= 0:
		return d.ECMP.routes.Route(int(d.Groups.HostOf[at.router]))
	}
	return d.ECMP.routes.ToPod(at.group)
}

// onward forwards a packet that has passed its first router.
func (d *detours) onward(p *wire.Packet) (port int, ok bool) {
	if p.Kind() == wire.Raw {
		return d.ECMP.Forward(p)
	}
	if way := p.Via(); way != 0 {
		at := place{group: int(way) - 1, router: -1}
		if d.byRouter {
			at.router = int32(way) - 1
		}
		if port, ok = d.along(p, d.towards(at)); ok {
			return port, true
		}
		p.SetVia(0) // it is there, or there is no way
	}
	return d.minimal(p)
}

// minimal forwards a packet on a minimal path.
func (d *detours) minimal(p *wire.Packet) (port int, ok bool) {
	return d.along(p, d.ECMP.routes.Route(p.DestinationHost()))
}

// along returns a port of a route: of several by the hash of ECMP, or a random one for
// each packet that is free.
func (d *detours) along(p *wire.Packet, route topologies.Route) (port int, ok bool) {
	if d.byFlow || route.IsPort() || route == topologies.NoRoute || !Free(p) {
		return d.ECMP.along(p, route)
	}
	ports := d.ECMP.routes.Ports(route)
	return int(ports[among(d.Random.Uint64(), len(ports))]), true
}

// first reports whether this router decides the way of a packet: it is its first one. A
// way that the host has written is none.
func (d *detours) first(p *wire.Packet) bool {
	if !Free(p) || !d.FromHost(int(p.Ingress)) {
		return false
	}
	if p.Via() != 0 {
		p.SetVia(0)
	}
	return true
}
