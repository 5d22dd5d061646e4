package estimate

import (
	"slices"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/topologies"
)

// detours is the load of links when every packet to another group of a Dragonfly goes over
// a third one, all third groups alike.
type detours struct {
	*spread
	groups *topologies.Groups
	always bool // every packet takes one; else a share, such that the links are loaded evenly
	hosts  int
	loads  []float64 // as spread.loads
}

// newDetours returns nil for a plan whose routing keeps to minimal paths.
func newDetours(s *spread) *detours {
	hosts := s.plan.Hosts()
	if len(s.plan.Nodes) == hosts || s.plan.Switch(hosts) == nil {
		return nil
	}
	f := &s.plan.Switch(hosts).Forward
	if f.Groups == nil {
		return nil
	}
	policy, _ := forward.Lookup(f.Routing)
	return &detours{spread: s, groups: f.Groups, always: policy.Detours, hosts: hosts, loads: make([]float64, len(s.loads))}
}

// walk adds the bytes of a demand, and returns how many links it has visited. Of several
// ports it takes the first, as all pairs of groups have alike links.
func (d *detours) walk(one *demand) (steps int) {
	g := d.groups
	source, target := g.OfHost[one.source], g.OfHost[one.destination]
	from, to := g.OfRouter[source], g.OfRouter[target]
	if from == to || g.Count < 3 {
		return d.spread.walk(one, d.loads)
	}
	share := one.bytes / float64(g.Count-2)
	for group := range int32(g.Count) {
		if group == from || group == to {
			continue
		}
		for at, entered := int(source), false; at != int(target); steps++ {
			entered = entered || g.OfRouter[at] == group
			routes := &d.plan.Switch(d.hosts + at).Forward.Routes
			route := routes.ToPod(int(group))
			if entered {
				route = routes.Route(int(one.destination))
			}
			ports := routes.Ports(route)
			if len(ports) == 0 {
				break
			}
			next := d.adjacency[d.hosts+at][ports[0]]
			d.loads[d.direction(next.Link, d.hosts+at)] += d.seconds(next.Link, share)
			at = next.Peer.Node - d.hosts
		}
	}
	return steps
}

// mix makes the loads of minimal paths those of the routing policy: of detours alone, or
// of that share of detours, in quarters, with which the most loaded link has the least.
// It returns how much more they are in all, as a share of the minimal ones.
func (d *detours) mix(minimal []float64) (more float64) {
	sum := func(loads []float64) (all float64) {
		for _, load := range loads {
			all += load
		}
		return all
	}
	before := sum(minimal)
	if before == 0 {
		return 0
	}
	mixed := func(share float64) []float64 {
		loads := make([]float64, len(minimal))
		for i := range loads {
			loads[i] = (1-share)*minimal[i] + share*d.loads[i]
		}
		return loads
	}
	best := mixed(1)
	if !d.always {
		for _, share := range []float64{0.75, 0.5, 0.25, 0} {
			if loads := mixed(share); slices.Max(loads) <= slices.Max(best) {
				best = loads
			}
		}
	}
	copy(minimal, best)
	return sum(best)/before - 1
}
