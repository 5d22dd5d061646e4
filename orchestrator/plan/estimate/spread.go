package estimate

import (
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// spread is the load of links, in seconds that they need for their bytes, when each
// packet may take each of the shortest paths.
type spread struct {
	plan      *plan.Plan
	adjacency [][]topologies.Adjacent
	loads     []float64 // by link and direction, s
	between   []demand
	sampled   bool // the loads between switches are of a sample of the flows
	// detour is how many more links between switches data takes than on minimal paths, as
	// a share of those.
	detour float64

	shares []float64 // by node: the bytes that are there
	next   []int32
	at     []int32
}

// demand is bytes between the switches of two hosts.
type demand struct {
	source, destination int32 // hosts
	bytes               float64
}

// mostSteps bounds the walk over links and flows. With more, a part of the flows stands
// for all.
const mostSteps = 3_000_000

func newSpread(p *plan.Plan, adjacency [][]topologies.Adjacent) *spread {
	return &spread{
		plan: p, adjacency: adjacency, loads: make([]float64, 2*len(p.Graph.Links)), shares: make([]float64, len(p.Nodes)),
		between: make([]demand, 0, len(p.Flows)),
	}
}

// direction returns the index in loads of a link from a node.
func (s *spread) direction(link, from int) int {
	if s.plan.Graph.Links[link].A.Node == from {
		return 2 * link
	}
	return 2*link + 1
}

func (s *spread) seconds(link int, bytes float64) float64 {
	return bytes * 8 / float64(s.plan.Graph.Links[link].Rate)
}

// offer adds bytes from a host to another.
func (s *spread) offer(source, destination int, bytes float64) {
	up, down := s.adjacency[source][0], s.adjacency[destination][0]
	s.loads[s.direction(up.Link, source)] += s.seconds(up.Link, bytes)
	s.loads[s.direction(down.Link, down.Peer.Node)] += s.seconds(down.Link, bytes)
	if up.Peer.Node != down.Peer.Node {
		s.between = append(s.between, demand{int32(source), int32(destination), bytes})
	}
}

// load returns the load of a host's link: from the host, or, if that is -1, towards it.
func (s *spread) load(up topologies.Adjacent, host int) float64 {
	if host < 0 {
		return s.loads[s.direction(up.Link, up.Peer.Node)]
	}
	return s.loads[s.direction(up.Link, host)]
}

// run spreads the bytes that were offered over the links between switches.
func (s *spread) run() {
	var all, walked float64
	for _, d := range s.between {
		all += d.bytes
	}
	inner := make([]float64, len(s.loads))
	d := newDetours(s)
	n, steps := len(s.between), 0
	const stride = 1_000_003 // prime, so that a part of the flows is from everywhere
	for i := 0; i < n && steps < mostSteps; i++ {
		one := &s.between[i*stride%n]
		if n%stride == 0 {
			one = &s.between[i]
		}
		steps += s.walk(one, inner)
		if d != nil {
			steps += d.walk(one)
		}
		walked += one.bytes
		s.sampled = i < n-1
	}
	if d != nil {
		s.detour = d.mix(inner)
	}
	for i, load := range inner {
		if load > 0 {
			s.loads[i] += load * all / walked
		}
	}
}

// walk adds the bytes of a demand to the links between switches, and returns how many
// links it has visited.
func (s *spread) walk(d *demand, inner []float64) (steps int) {
	first, last := s.adjacency[d.source][0].Peer.Node, s.adjacency[d.destination][0].Peer.Node
	s.at = append(s.at[:0], int32(first))
	s.shares[first] = d.bytes
	for len(s.at) > 0 {
		s.next = s.next[:0]
		for _, at := range s.at {
			bytes := s.shares[at]
			s.shares[at] = 0
			if int(at) == last {
				continue
			}
			ports := nextHops(s.plan, int(at), int(d.destination))
			for _, port := range ports {
				to := s.adjacency[at][port]
				share := bytes / float64(len(ports))
				inner[s.direction(to.Link, int(at))] += s.seconds(to.Link, share)
				if s.shares[to.Peer.Node] == 0 {
					s.next = append(s.next, int32(to.Peer.Node))
				}
				s.shares[to.Peer.Node] += share
				steps++
			}
		}
		s.at, s.next = s.next, s.at
	}
	return steps
}

// inner returns the greatest load of the links between switches on a path. Where the
// loads are of a sample of the flows, single links tell nothing: it is the load that all
// such links have on the mean.
func (s *spread) inner(source int, links []int) (greatest float64) {
	if len(links) <= 2 || s.sampled {
		return 0
	}
	at := source
	for i, id := range links {
		l := &s.plan.Graph.Links[id]
		if i > 0 && i < len(links)-1 {
			greatest = max(greatest, s.loads[s.direction(id, at)])
		}
		at = l.A.Node + l.B.Node - at
	}
	return greatest
}

// ways returns how many ports the first switches of a path have to choose from.
func (s *spread) ways(source, destination int) int {
	ways := 1
	at, last := s.adjacency[source][0].Peer.Node, s.adjacency[destination][0].Peer.Node
	for at != last {
		ports := nextHops(s.plan, at, destination)
		if len(ports) == 0 {
			break
		}
		ways *= len(ports)
		at = s.adjacency[at][ports[0]].Peer.Node
	}
	return ways
}

// share moves packets, which were counted on one path for each flow, to all links of
// the same kind of hop: those whose load between switches is positive get them by load.
func (s *spread) share(packets []float64) {
	hosts := s.plan.Hosts()
	var sum, load float64
	for id := range s.plan.Graph.Links {
		l := &s.plan.Graph.Links[id]
		if l.A.Node < hosts || l.B.Node < hosts {
			continue
		}
		for d := range 2 {
			sum += packets[2*id+d]
			load += s.loads[2*id+d]
		}
	}
	if load == 0 {
		return
	}
	for id := range s.plan.Graph.Links {
		l := &s.plan.Graph.Links[id]
		if l.A.Node < hosts || l.B.Node < hosts {
			continue
		}
		for d := range 2 {
			packets[2*id+d] = sum * s.loads[2*id+d] / load
		}
	}
}

// nextHops returns the ports of a switch on shortest paths to a host.
func nextHops(p *plan.Plan, node, host int) []uint16 {
	return p.Nodes[node].Switch.Forward.Routes.To(host)
}
