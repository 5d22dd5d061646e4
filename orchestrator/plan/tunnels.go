package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// newTunnel returns how packets cross a fabric in tunnels; nil without.
func newTunnel(s *Shape) *wire.Tunnel {
	if s.experiment.Tunnels == nil {
		return nil
	}
	t := &wire.Tunnel{VNI: uint32(s.experiment.Tunnels.VNI), Ends: make([]int32, s.fabric.graph.Hosts())}
	for h := range t.Ends {
		t.Ends[h] = int32(s.fabric.up(h).Peer.Node)
	}
	return t
}

// tunnelEnd returns what a switch does as an end of tunnels; nil of one without hosts.
func (r *run) tunnelEnd(n int) *dataplane.Tunnel {
	if r.format.Tunnel == nil || !r.fabric.hasHosts(n) {
		return nil
	}
	return &dataplane.Tunnel{Ends: r.format.Tunnel.Ends, Moves: r.signals.moves(n)}
}

// moves reports whether a switch moves tags to the outer header of a tunnel and back.
func (s *signals) moves(n int) bool {
	return s.tags != nil && s.tunnels.Tags == experiment.TagsOuter && s.speaks(n)
}

// hides reports whether tags of packets from one switch to another are out of sight of those
// between them, or lost.
func (s *signals) hides(from, to int) bool {
	return s.tunnels != nil && from != to && !(s.moves(from) && s.moves(to))
}

// hasHosts reports whether a switch has a port that leads to a host.
func (w *wiring) hasHosts(n int) bool {
	return slices.ContainsFunc(w.portsOf(n), func(p switchPort) bool { return p.toHost })
}

// hiddenInTunnels finds what samples lack where tags stay inside of tunnels or are lost with them.
func hiddenInTunnels(c *signalling) (notes []string) {
	r := c.run
	if r.format.Tunnel == nil || r.signals.tags == nil {
		return nil
	}
	var keep []string
	ends := 0
	for n := c.plan.Hosts(); n < len(c.plan.Graph.Nodes); n++ {
		if r.fabric.hasHosts(n) {
			if ends++; !r.signals.moves(n) {
				keep = append(keep, c.plan.Graph.Nodes[n].Name)
			}
		}
	}
	switch {
	case r.experiment.Tunnels.Tags != experiment.TagsOuter:
		return []string{"tunnels.tags: inner: a tag in a tunnel is seen by no switch, so that samples of flows between racks are of the last hop alone"}
	case len(keep) > 0:
		return []string{fmt.Sprintf("tunnels: %d of %d ends do not speak CSIG (%s): tags that enter a tunnel there stay inside, and those that come with an outer header are lost there", len(keep), ends, firstOf(keep))}
	}
	return nil
}
