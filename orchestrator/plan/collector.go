package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/collector"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Constants of the weights of ports.
const (
	fullWeight = 240 // of the port with most behind it
	loopGain   = 0.5
	cardShare  = 100 // postcards of a switch take 1/cardShare of its slowest port
)

// racks is the hosts of a fabric by the switch that they are at.
type racks struct {
	of    []uint16 // by host
	nodes []int    // the switch, by rack
	first []int    // the first host, by rack
}

func newRacks(g *topologies.Graph, adjacency [][]topologies.Adjacent) (r racks) {
	at := map[int]uint16{}
	for h := range g.Hosts() {
		node := adjacency[h][0].Peer.Node
		rack, ok := at[node]
		if !ok {
			rack = uint16(len(r.nodes))
			at[node] = rack
			r.nodes, r.first = append(r.nodes, node), append(r.first, h)
		}
		r.of = append(r.of, rack)
	}
	return r
}

// weigh gives the switches of a plan the weights that routing wcmp begins with.
func (s *Shape) weigh(p *Plan, adjacency [][]topologies.Adjacent) {
	if s.experiment.Routing.Name != "wcmp" {
		return
	}
	r := newRacks(s.graph, adjacency)
	equal := s.experiment.Routing.Params["initial"] == "equal"
	for n := s.graph.Hosts(); n < len(s.graph.Nodes); n++ {
		p.Switch(n).Forward.Weights = &forward.Weights{Racks: r.of, ByRack: make([][]uint8, len(r.nodes))}
	}
	for rack, node := range r.nodes {
		behind := map[int]units.Rate{node: units.Rate(1) << 60}
		for n := s.graph.Hosts(); n < len(s.graph.Nodes); n++ {
			ports := s.routes[n].To(r.first[rack])
			if n == node || len(ports) < 2 {
				continue
			}
			carried, most := make([]units.Rate, len(ports)), units.Rate(0)
			for i, port := range ports {
				carried[i] = 1
				if !equal {
					carried[i] = min(s.graph.Links[adjacency[n][port].Link].Rate, s.carries(adjacency[n][port].Peer.Node, r.first[rack], behind, adjacency))
				}
				most = max(most, carried[i])
			}
			weights := make([]uint8, len(adjacency[n]))
			for i, port := range ports {
				weights[port] = uint8(max(1, int64(float64(carried[i])/float64(most)*fullWeight+0.5)))
			}
			p.Switch(n).Forward.Weights.ByRack[rack] = weights
		}
	}
}

// carries returns what the links of the shortest paths from a switch to a host carry, if
// nothing else does. behind has what is known.
func (s *Shape) carries(node, host int, behind map[int]units.Rate, adjacency [][]topologies.Adjacent) units.Rate {
	if rate, ok := behind[node]; ok {
		return rate
	}
	var sum units.Rate
	for _, port := range s.routes[node].To(host) {
		a := adjacency[node][port]
		sum += min(s.graph.Links[a.Link].Rate, s.carries(a.Peer.Node, host, behind, adjacency))
	}
	behind[node] = sum
	return sum
}

// collect gives a plan its collector, which it refuses where no sample would come, or where
// the loop has no ways that it can know.
func (s *Shape) collect(p *Plan, adjacency [][]topologies.Adjacent) error {
	c := s.experiment.CSIG.Collector
	if c == nil {
		return nil
	}
	switch {
	case p.CSIG == nil:
		return failure.At("csig.collector", errors.New("needs csig.format: without tags there is no sample to send"))
	case c.Host >= p.Hosts():
		return failure.At("csig.collector.host", fmt.Errorf("there is no host %d; the fabric has hosts 0 to %d", c.Host, p.Hosts()-1))
	case p.Nodes[c.Host].Host == nil:
		return failure.At("csig.collector.host", fmt.Errorf("host %d has programs or generators alone", c.Host))
	}
	ends := false
	for n := p.Hosts(); n < len(p.Nodes); n++ {
		sw := p.Switch(n)
		sw.Postcards = &dataplane.Postcards{Collector: wire.HostIP(c.Host), Interval: c.Interval}
		for i := range sw.Ports {
			sw.Postcards.Gap = max(sw.Postcards.Gap, cardShare*sw.Ports[i].Rate.Serialisation(p.Format.Sizes.Header+p.Format.Overhead))
			ends = ends || slices.Contains(sw.Ports[i].Policies[:], dataplane.Terminate)
			if second := sw.Ports[i].Second; second != nil {
				ends = ends || slices.Contains(second.Policies[:], dataplane.Terminate)
			}
		}
	}
	if !ends {
		return failure.At("csig.collector", errors.New("no port terminates tags, so that no sample is sent; see csig.ports"))
	}
	cfg := &collector.Config{Period: c.Period, Gain: loopGain}
	p.Nodes[c.Host].Host.Collector = cfg
	if c.Loop == experiment.Loops()[0] {
		return nil
	}
	var err error
	if cfg.Routes, cfg.Second, err = s.loopRoutes(p, adjacency); err != nil {
		return failure.At("csig.collector.loop", err)
	}
	return nil
}

// loopRoutes returns the ways between racks, and what the locators of the second format stand
// for in them.
func (s *Shape) loopRoutes(p *Plan, adjacency [][]topologies.Adjacent) (routes []collector.Route, second map[uint32]uint16, err error) {
	r := newRacks(s.graph, adjacency)
	owners := map[uint16]topologies.End{}
	locator := func(node int, port uint16) (uint16, error) {
		l := p.Switch(node).Ports[port].Locator
		end := topologies.End{Node: node, Port: int(port)}
		if other, ok := owners[l]; ok && other != end {
			return 0, fmt.Errorf("ports %s and %s have the same locator; use csig.locators: registry, or csig.format: wide",
				PortName(s.graph, adjacency, other.Node, other.Port), PortName(s.graph, adjacency, node, int(port)))
		}
		owners[l] = end
		if of := p.Switch(node).Ports[port].Second; of != nil {
			label := csig.SecondLabels | uint32(of.Locator)
			if other, ok := second[label]; ok && other != l {
				return 0, fmt.Errorf("port %s shares its %v locator with another; use csig.second.locators: registry", PortName(s.graph, adjacency, node, int(port)), s.tags.second.format)
			}
			if second == nil {
				second = map[uint32]uint16{}
			}
			second[label] = l
		}
		return l, nil
	}
	for from, node := range r.nodes {
		for to, target := range r.nodes {
			ports := s.routes[node].To(r.first[to])
			if from == to || len(ports) < 2 {
				continue
			}
			if len(ports) > wire.MostWeights {
				return nil, nil, fmt.Errorf("%s has %d ways to %s; at most %d fit into a packet", s.graph.Nodes[node].Name, len(ports), s.graph.Nodes[target].Name, wire.MostWeights)
			}
			route := collector.Route{Node: uint32(node), Rack: uint32(to), Host: wire.HostIP(r.first[from])}
			for _, port := range ports {
				own, err := locator(node, port)
				if err != nil {
					return nil, nil, err
				}
				way := collector.Way{Port: uint8(port), Weight: p.Switch(node).Forward.Weights.ByRack[to][port], Hops: [][]uint16{{own}}}
				if peer := adjacency[node][port].Peer.Node; peer != target {
					var second []uint16
					for _, next := range s.routes[peer].To(r.first[to]) {
						if adjacency[peer][next].Peer.Node != target {
							return nil, nil, fmt.Errorf("there is more than one switch between %s and %s", s.graph.Nodes[node].Name, s.graph.Nodes[target].Name)
						}
						l, err := locator(peer, next)
						if err != nil {
							return nil, nil, err
						}
						second = append(second, l)
					}
					way.Hops = append(way.Hops, second)
				}
				if port > 255 {
					return nil, nil, fmt.Errorf("%s has more ports than a packet can name", s.graph.Nodes[node].Name)
				}
				route.Ways = append(route.Ways, way)
			}
			routes = append(routes, route)
		}
	}
	if len(routes) == 0 {
		return nil, nil, errors.New("no two racks have several ways between them")
	}
	return routes, second, nil
}
