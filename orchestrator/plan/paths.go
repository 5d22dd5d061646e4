package plan

import (
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// paths finds out what senders may know of the shortest paths to other hosts before
// the run: which types of signal every hop updates, and what an idle hop adds to a
// sample of Delay. It is for one goroutine.
type paths struct {
	*fabric
	signals   *signals
	tags      []portTags // as fabric.ports
	second    bool       // tags are of the fabric's second format
	full      units.Size // what a full packet with its tag takes on the line
	residence bool       // samples of Delay hold more than waiting
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
func newPaths(f *fabric, l experiment.Links, s signals, second bool) *paths {
	if s.tags == nil || second && s.tags.second == nil {
		return nil
	}
	p := &paths{
		fabric: f, signals: &s, tags: s.ports, second: second,
		full: l.MTU + l.Overhead, residence: s.tags.switches.Delay == dataplane.Residence,
		known: map[pathKey]*transport.PathSignals{},
	}
	if l.CountTag {
		format := s.tags.domain.Format
		if second {
			format = s.tags.second.format
		}
		p.full += units.Size(format.Size())
	}
	alike := true
	if s.tunnels != nil {
		p.full += wire.TunnelLen
		for n := f.graph.Hosts(); n < len(f.graph.Nodes); n++ {
			alike = alike && (!f.hasHosts(n) || s.moves(n))
		}
	}
	first := f.up(0)
	unloaded := p.unloaded(first.Peer.Node, f.graph.Links[first.Link].Rate)
	for i, port := range f.ports {
		for _, t := range csig.KnownTypes() {
			alike = alike && p.tags[i].updates(second, t)
		}
		alike = alike && p.unloaded(port.Node, port.link.Rate) == unloaded
	}
	if f.groups != nil {
		p.elsewhere = p.betweenSwitches()
	}
	if alike {
		p.same = &transport.PathSignals{Covered: allTypes(), Unloaded: unloaded}
	}
	return p
}

// unloaded returns what is in a sample of Delay when an idle node has forwarded a full
// packet from a link of a rate.
func (p *paths) unloaded(node int, rate units.Rate) units.Duration {
	if !p.residence {
		return 0
	}
	return rate.Serialisation(p.full) + p.graph.Nodes[node].Delay
}

// cross adds a port of a path, at which an idle packet takes some time.
func (p *paths) cross(s *transport.PathSignals, at topologies.End, unloaded units.Duration) {
	tags := &p.tags[p.first[at.Node]+at.Port]
	for t := range s.Covered {
		s.Covered[t] = s.Covered[t] && tags.updates(p.second, csig.Type(t))
	}
	if tags.updates(p.second, csig.Delay) {
		s.Unloaded = max(s.Unloaded, unloaded)
	}
}

// betweenSwitches returns what is known of all ports between switches.
func (p *paths) betweenSwitches() *transport.PathSignals {
	s := transport.PathSignals{Covered: allTypes()}
	for n := p.graph.Hosts(); n < len(p.graph.Nodes); n++ {
		var in units.Duration // the most that an idle packet from another switch takes
		for _, port := range p.portsOf(n) {
			if !port.toHost {
				in = max(in, p.unloaded(n, port.link.Rate))
			}
		}
		for _, port := range p.portsOf(n) {
			if !port.toHost {
				p.cross(&s, port.End, in)
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
	up := p.up(src)
	key := pathKey{up.Peer.Node, p.rate(src), dst}
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
		unloaded := p.unloaded(at.node, p.graph.Links[at.link].Rate)
		for _, port := range p.routes[at.node].To(dst) {
			p.cross(&s, topologies.End{Node: at.node, Port: int(port)}, unloaded)
			if out := p.adjacency[at.node][port]; out.Peer.Node != dst {
				next = append(next, step{out.Peer.Node, out.Link})
			}
		}
	}
	if p.signals.hides(up.Peer.Node, p.up(dst).Peer.Node) {
		s.Covered = [csig.Types]bool{}
	}
	p.known[key] = &s
	return &s
}
