package plan

import (
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
)

// newSwitch returns the configuration of a switch.
func newSwitch(r *run, d *decided, n int) *dataplane.Config {
	f, e := &r.fabric, r.experiment
	node := &f.graph.Nodes[n]
	c := &dataplane.Config{
		Node:    n,
		Name:    node.Name,
		Delay:   node.Delay,
		Forward: forward.Config{Routes: f.routes[n], Seed: wire.Mix(r.seed, uint64(n)), Routing: e.Routing, Groups: f.groups},
		Sizes:   r.format.Sizes,
		AQM:     r.buffers.marking,
		Trim:    e.Links.Trim,
		Pairs:   r.flows.pairs,
		Seed:    r.seed,
		Measure: r.Measure,
		Records: r.Interval,
		Traced:  r.Traced,
		Truth:   r.Truth,
		Resized: d.faults.resized[n],
	}
	c.Tunnel = r.tunnelEnd(n)
	if r.buffers.data != nil {
		c.Classes = &r.buffers.data.switches
	}
	if f.groups != nil {
		c.Forward.Router = int32(n - r.hosts)
	}
	if d.weights != nil {
		c.Forward.Weights = d.weights[n]
	}
	if d.postcards != nil {
		c.Postcards = d.postcards[n]
	}
	if d.choices != nil {
		c.Fluid = &fluid.Lending{Packet: e.Links.MTU, Overhead: e.Links.Overhead}
	}
	if r.signals.tags != nil {
		c.CSIG = &r.signals.tags.switches // also of a switch that does not speak: it measures for the truth
		if r.signals.speaks(n) {
			c.PortDown = e.CSIG.PortDown
		}
	}
	c.Ports = make([]dataplane.Port, 0, len(f.portsOf(n)))
	for i := range f.portsOf(n) {
		c.Ports = append(c.Ports, newPort(r, f.first[n]+i))
	}
	return c
}

// newPort returns the configuration of a port of fabric.ports.
func newPort(r *run, i int) dataplane.Port {
	p, does := &r.fabric.ports[i], &r.signals.ports[i]
	sizes := r.buffers.sizes(p.link, p.link.Rate, p.toHost)
	port := dataplane.Port{
		Rate:     p.link.Rate,
		Buffer:   sizes.Buffer,
		ECN:      sizes.ECN,
		MAC:      wire.MAC(p.Node, p.Port),
		PeerMAC:  wire.MAC(p.peer.Node, p.peer.Port),
		LastHop:  p.toHost,
		Policies: does.policies[0],
		Ingress:  does.ingress,
	}
	if tags := r.signals.tags; tags != nil {
		port.Locator = tags.first.locators[i]
		if tags.second != nil {
			port.Second = &dataplane.SecondFormat{Locator: tags.second.locators[i], Policies: does.policies[1]}
		}
	}
	for _, c := range sizes.Classes {
		port.Classes = append(port.Classes, c.PortClass)
	}
	return port
}
