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
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
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

func newRacks(f *fabric) (r racks) {
	at := map[int]uint16{}
	for h := range f.graph.Hosts() {
		node := f.up(h).Peer.Node
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

// newWeights returns the weights that routing wcmp begins with, by node; nil under other
// policies.
func newWeights(f *fabric, routing experiment.Algorithm) []*forward.Weights {
	if routing.Name != "wcmp" {
		return nil
	}
	r, all := newRacks(f), make([]*forward.Weights, len(f.graph.Nodes))
	for n := f.graph.Hosts(); n < len(all); n++ {
		all[n] = &forward.Weights{Racks: r.of, ByRack: make([][]uint8, len(r.nodes))}
	}
	for rack, node := range r.nodes {
		behind := map[int]units.Rate{node: units.Rate(1) << 60}
		for n := f.graph.Hosts(); n < len(all); n++ {
			ports := f.routes[n].To(r.first[rack])
			if n == node || len(ports) < 2 {
				continue
			}
			carried, most := make([]units.Rate, len(ports)), units.Rate(0)
			for i, port := range ports {
				carried[i] = 1
				if routing.Params["initial"] != "equal" {
					carried[i] = f.through(n, port, r.first[rack], behind)
				}
				most = max(most, carried[i])
			}
			weights := make([]uint8, len(f.adjacency[n]))
			for i, port := range ports {
				weights[port] = uint8(max(1, int64(float64(carried[i])/float64(most)*fullWeight+0.5)))
			}
			all[n].ByRack[rack] = weights
		}
	}
	return all
}

// through returns what a port of a switch and the shortest paths behind it carry to a host, if
// nothing else does. behind has what is known of switches.
func (f *fabric) through(node int, port uint16, host int, behind map[int]units.Rate) units.Rate {
	a := f.adjacency[node][port]
	sum, known := behind[a.Peer.Node]
	if !known {
		for _, next := range f.routes[a.Peer.Node].To(host) {
			sum += f.through(a.Peer.Node, next, host, behind)
		}
		behind[a.Peer.Node] = sum
	}
	return min(f.graph.Links[a.Link].Rate, sum)
}

// collecting is the collector of a run and what the switches send it.
type collecting struct {
	host      int
	config    *collector.Config
	postcards []*dataplane.Postcards // by node
}

// newCollecting refuses a collector where no sample would come, or where the loop has no ways
// that it can know. kinds are what hosts are; weights are those that routing begins with, by node.
// Without a collector there is nothing in it.
func newCollecting(r *run, k kinds, weights []*forward.Weights) (to collecting, err error) {
	f, tags, c := &r.fabric, r.signals.tags, r.experiment.CSIG.Collector
	if c == nil {
		return to, nil
	}
	switch {
	case tags == nil:
		return to, failure.At("csig.collector", errors.New("needs csig.format: without tags there is no sample to send"))
	case c.Host >= r.hosts:
		return to, failure.At("csig.collector.host", fmt.Errorf("there is no host %d; the fabric has hosts 0 to %d", c.Host, r.hosts-1))
	case !k.transport(c.Host):
		return to, failure.At("csig.collector.host", fmt.Errorf("host %d has programs or generators alone", c.Host))
	}
	to = collecting{c.Host, &collector.Config{Period: c.Period, Gain: loopGain}, make([]*dataplane.Postcards, len(f.graph.Nodes))}
	ends := false
	for i, p := range f.ports {
		if to.postcards[p.Node] == nil {
			to.postcards[p.Node] = &dataplane.Postcards{Collector: wire.HostIP(c.Host), Interval: c.Interval}
		}
		cards := to.postcards[p.Node]
		cards.Gap = max(cards.Gap, cardShare*p.link.Rate.Serialisation(r.format.Sizes.Header+r.format.Overhead))
		does := &r.signals.ports[i]
		ends = ends || slices.Contains(does.policies[0][:], dataplane.Terminate) || tags.second != nil && slices.Contains(does.policies[1][:], dataplane.Terminate)
	}
	if !ends {
		return to, failure.At("csig.collector", errors.New("no port terminates tags, so that no sample is sent; see csig.ports"))
	}
	if c.Loop == experiment.Loops()[0] {
		return to, nil
	}
	if to.config.Routes, to.config.Second, err = loopRoutes(f, tags, weights); err != nil {
		return to, failure.At("csig.collector.loop", err)
	}
	return to, nil
}

// loopRoutes returns the ways between racks, and what the locators of the second format stand
// for in them.
func loopRoutes(f *fabric, tags *tags, weights []*forward.Weights) (routes []collector.Route, second map[uint32]uint16, err error) {
	r := newRacks(f)
	name := func(node int) string { return f.graph.Nodes[node].Name }
	owners := map[uint16]topologies.End{}
	locator := func(node int, port uint16) (uint16, error) {
		end := topologies.End{Node: node, Port: int(port)}
		index := f.first[node] + end.Port
		l := tags.first.locators[index]
		if other, ok := owners[l]; ok && other != end {
			return 0, fmt.Errorf("ports %s and %s have the same locator; use csig.locators: registry, or csig.format: wide", f.portName(other), f.portName(end))
		}
		owners[l] = end
		if of := tags.second; of != nil {
			label := csig.SecondLabels | uint32(of.locators[index])
			if other, ok := second[label]; ok && other != l {
				return 0, fmt.Errorf("port %s shares its %v locator with another; use csig.second.locators: registry", f.portName(end), of.format)
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
			ports := f.routes[node].To(r.first[to])
			if from == to || len(ports) < 2 {
				continue
			}
			if len(ports) > wire.MostWeights {
				return nil, nil, fmt.Errorf("%s has %d ways to %s; at most %d fit into a packet", name(node), len(ports), name(target), wire.MostWeights)
			}
			route := collector.Route{Node: uint32(node), Rack: uint32(to), Host: wire.HostIP(r.first[from])}
			for _, port := range ports {
				own, err := locator(node, port)
				if err != nil {
					return nil, nil, err
				}
				way := collector.Way{Port: uint8(port), Weight: weights[node].ByRack[to][port], Hops: [][]uint16{{own}}}
				if peer := f.adjacency[node][port].Peer.Node; peer != target {
					var second []uint16
					for _, next := range f.routes[peer].To(r.first[to]) {
						if f.adjacency[peer][next].Peer.Node != target {
							return nil, nil, fmt.Errorf("there is more than one switch between %s and %s", name(node), name(target))
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
					return nil, nil, fmt.Errorf("%s has more ports than a packet can name", name(node))
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
