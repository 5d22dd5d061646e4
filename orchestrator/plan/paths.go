package plan

import (
	"maps"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// paths finds out what senders may know of the shortest paths to other hosts before
// the run: which types of signal every hop updates, and what an idle hop adds to a
// sample of Delay.
type paths struct {
	graph     *topologies.Graph
	routes    []topologies.Routes
	adjacency [][]topologies.Adjacent
	ports     [][]portTags // by node and egress port
	second    bool         // tags are of the fabric's second format
	full      units.Size   // what a full packet with its tag takes on the line
	residence bool         // samples of Delay hold more than waiting
	// same is the answer for every pair of hosts if all hops are alike.
	same *transport.PathSignals
	// elsewhere is the answer for the hops of detours, which may be any between switches;
	// nil without detours.
	elsewhere *transport.PathSignals
	// known has the answers so far, by what they depend on.
	known map[pathKey]*transport.PathSignals
}

// pathKey is what the paths from one host to another depend on, beside the fabric.
type pathKey struct {
	first int        // switch of the source
	rate  units.Rate // of the link to it
	to    int
}

// newPaths returns nil without CSIG. second asks for tags of the fabric's second format; nil
// without one.
func newPaths(s *Shape, second bool) *paths {
	if s.tags == nil || second && s.tags.second == nil {
		return nil
	}
	links := s.experiment.Links
	p := &paths{
		graph: s.graph, routes: s.routes, adjacency: s.graph.Adjacency(), ports: s.ports, second: second,
		full: links.MTU + links.Overhead, residence: s.tags.switches.Delay == dataplane.Residence,
		known: map[pathKey]*transport.PathSignals{},
	}
	if links.CountTag {
		format := s.tags.domain.Format
		if second {
			format = s.tags.second.format
		}
		p.full += units.Size(format.Size())
	}
	first := p.adjacency[0][0]
	alike, unloaded := true, p.unloaded(first.Peer.Node, first.Link)
	for n := s.graph.Hosts(); n < len(s.graph.Nodes); n++ {
		for i, a := range p.adjacency[n] {
			for _, t := range csig.KnownTypes() {
				alike = alike && p.ports[n][i].updates(second, t)
			}
			alike = alike && p.unloaded(n, a.Link) == unloaded
		}
	}
	if s.dragonfly != nil {
		p.elsewhere = p.betweenSwitches()
	}
	if alike {
		p.same = &transport.PathSignals{Covered: allTypes(), Unloaded: unloaded}
	}
	return p
}

// clone returns a paths that finds out more on its own.
func (p *paths) clone() *paths {
	if p == nil {
		return nil
	}
	own := *p
	own.known = maps.Clone(p.known)
	return &own
}

// unloaded returns what is in a sample of Delay when an idle node has forwarded a full
// packet from a link.
func (p *paths) unloaded(node, link int) units.Duration {
	if !p.residence {
		return 0
	}
	return p.graph.Links[link].Rate.Serialisation(p.full) + p.graph.Nodes[node].Delay
}

// betweenSwitches returns what is known of all ports between switches.
func (p *paths) betweenSwitches() *transport.PathSignals {
	s := transport.PathSignals{Covered: allTypes()}
	for n := p.graph.Hosts(); n < len(p.graph.Nodes); n++ {
		var in units.Duration // the most that an idle packet from another switch takes
		for _, a := range p.adjacency[n] {
			if p.graph.Nodes[a.Peer.Node].Kind == topologies.Switch {
				in = max(in, p.unloaded(n, a.Link))
			}
		}
		for i, a := range p.adjacency[n] {
			if p.graph.Nodes[a.Peer.Node].Kind != topologies.Switch {
				continue
			}
			for t := range s.Covered {
				s.Covered[t] = s.Covered[t] && p.ports[n][i].updates(p.second, csig.Type(t))
			}
			if p.ports[n][i].updates(p.second, csig.Delay) {
				s.Unloaded = max(s.Unloaded, in)
			}
		}
	}
	return &s
}

// unknownPaths is what is known of paths without CSIG.
var unknownPaths = &transport.PathSignals{}

// between returns what is known of the shortest paths from one host to another. Flows
// share it.
func (p *paths) between(src, dst int) *transport.PathSignals {
	switch {
	case p == nil:
		return unknownPaths
	case p.same != nil:
		return p.same
	}
	up := p.adjacency[src][0]
	key := pathKey{up.Peer.Node, p.graph.Links[up.Link].Rate, dst}
	if known, ok := p.known[key]; ok {
		return known
	}
	s := transport.PathSignals{Covered: allTypes()}
	if p.elsewhere != nil {
		s = *p.elsewhere
	}
	type step struct{ node, link int }
	seen := map[step]bool{}
	for next := []step{{up.Peer.Node, up.Link}}; len(next) > 0; next = next[1:] {
		at := next[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, port := range p.routes[at.node].To(dst) {
			tags := &p.ports[at.node][port]
			for t := range s.Covered {
				s.Covered[t] = s.Covered[t] && tags.updates(p.second, csig.Type(t))
			}
			if tags.updates(p.second, csig.Delay) {
				s.Unloaded = max(s.Unloaded, p.unloaded(at.node, at.link))
			}
			if out := p.adjacency[at.node][port]; out.Peer.Node != dst {
				next = append(next, step{out.Peer.Node, out.Link})
			}
		}
	}
	p.known[key] = &s
	return &s
}
