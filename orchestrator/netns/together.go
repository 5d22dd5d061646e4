package netns

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/topologies"
)

// inMemory tells whether a wire joins two nodes of the supervisor's, and so needs
// no interfaces.
func (f *Fabric) inMemory(wire [2]topologies.End) bool {
	kind := func(side int) topologies.Kind { return f.Graph.Nodes[wire[side].Node].Kind }
	return f.SwitchesTogether && kind(0) == topologies.Switch && kind(1) == topologies.Switch
}

// together returns the drivers of the switches, joined in memory.
func (s *supervisor) together(d *deployment, configs []emu.Config) ([]*emu.Node, error) {
	f := &s.fabric
	first := f.Graph.Hosts()
	nodes, conns := make([]*emu.Node, len(configs)-first), make([]*netio.Mixed, len(configs))
	err := eachAtOnce(len(nodes), func(i int) error {
		id := first + i
		in := &d.spaces[id]
		var outer, indices []int
		for port, index := range in.indices {
			if index != 0 {
				outer, indices = append(outer, port), append(indices, index)
			}
		}
		var outside netio.Conn = netio.NewMemory(0) // a switch without hosts
		if len(indices) > 0 {
			conn, err := in.conn(indices, f.maxFrame())
			if err != nil {
				return fmt.Errorf("node %s: %w", in.name, err)
			}
			outside = conn
		}
		conns[id] = netio.NewMixed(len(configs[id].Ports), outside, outer)
		var err error
		nodes[i], err = s.driver(configs[id], conns[id])
		return err
	})
	if err != nil {
		return nil, err
	}
	wires, _ := f.Wires()
	for _, w := range wires {
		if f.inMemory(w) {
			netio.Join(conns[w[0].Node].Memory, w[0].Port, conns[w[1].Node].Memory, w[1].Port)
		}
	}
	return nodes, nil
}
