package emu_test

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Configs gives each node's driver its ports; a link's lookahead is its
// delay and the time of the smallest frame.
func ExampleFabric_Configs() {
	g := &topologies.Graph{Nodes: []topologies.Node{
		{Name: "h0"}, {Name: "h1"}, {Name: "tor0", Kind: topologies.Switch},
	}}
	g.Connect(0, 2, 100*units.Gbps, units.Microsecond)
	g.Connect(1, 2, 100*units.Gbps, units.Microsecond)
	f := emu.Fabric{Graph: g, Format: wire.Format{Sizes: wire.Sizes{Header: 64}}, End: units.Never}
	configs, links := f.Configs()
	for _, c := range configs {
		for port, p := range c.Ports {
			fmt.Printf("%s port %d: link %s to %s, lookahead %v\n", c.Name, port, p.Link, p.Peer, links[p.Out].Lookahead)
		}
	}
	// Output:
	// h0 port 0: link h0-tor0 to tor0, lookahead 1.00512us
	// h1 port 0: link h1-tor0 to tor0, lookahead 1.00512us
	// tor0 port 0: link h0-tor0 to h0, lookahead 1.00512us
	// tor0 port 1: link h1-tor0 to h1, lookahead 1.00512us
}
