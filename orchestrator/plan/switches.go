package plan

import (
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
)

// addSwitches adds the switches' nodes to a plan.
func (s *Shape) addSwitches(p *Plan, seed uint64, adjacency [][]topologies.Adjacent) {
	var locators, second []uint16
	if s.tags != nil {
		locators = s.tags.locators
		if s.tags.second != nil {
			second = s.tags.second.locators
		}
	}
	for n := s.graph.Hosts(); n < len(s.graph.Nodes); n++ {
		c := s.switchConfig(n, seed, p)
		for i, a := range adjacency[n] {
			link := &s.graph.Links[a.Link]
			lastHop := s.graph.Nodes[a.Peer.Node].Kind == topologies.Host
			sizes := s.portSizes(link, link.Rate, lastHop)
			port := dataplane.Port{
				Rate:     link.Rate,
				Buffer:   sizes.Buffer,
				ECN:      sizes.ECN,
				MAC:      wire.MAC(n, i),
				PeerMAC:  wire.MAC(a.Peer.Node, a.Peer.Port),
				LastHop:  lastHop,
				Policies: s.ports[n][i].policies[0],
				Ingress:  s.ports[n][i].ingress,
			}
			if i < len(locators) {
				port.Locator = locators[i]
			}
			if i < len(second) {
				port.Second = &dataplane.SecondFormat{Locator: second[i], Policies: s.ports[n][i].policies[1]}
			}
			for _, c := range sizes.Classes {
				port.Classes = append(port.Classes, c.PortClass)
			}
			c.Ports = append(c.Ports, port)
		}
		locators, second = locators[min(len(adjacency[n]), len(locators)):], second[min(len(adjacency[n]), len(second)):]
		p.Nodes[n].Switch = &c
	}
}

// switchConfig returns the configuration of a switch, without its ports.
func (s *Shape) switchConfig(n int, seed uint64, p *Plan) dataplane.Config {
	c := dataplane.Config{
		Node:    n,
		Name:    s.graph.Nodes[n].Name,
		Delay:   s.graph.Nodes[n].Delay,
		Forward: forward.Config{Routes: s.routes[n], Seed: wire.Mix(seed, uint64(n)), Routing: s.experiment.Routing, Groups: s.dragonfly},
		Sizes:   p.Format.Sizes,
		AQM:     s.marking,
		Trim:    s.experiment.Links.Trim,
		Pairs:   p.Pairs,
		Seed:    seed,
		Measure: p.Measure,
		Records: p.Interval,
		Traced:  p.Traced,
		Truth:   p.Truth,
	}
	if s.data != nil {
		c.Classes = &s.data.switches
	}
	if s.dragonfly != nil {
		c.Forward.Router = int32(n - s.graph.Hosts())
	}
	if s.tags != nil {
		c.CSIG, c.PortDown = &s.tags.switches, s.experiment.CSIG.PortDown
	}
	return c
}
