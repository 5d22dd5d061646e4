package netns

import (
	"context"
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Calibrate measures how well this machine keeps real time, in namespaces like
// those of a run of so many nodes. It takes about two seconds.
func Calibrate(ctx context.Context, nodes int) (*wall.Calibration, error) {
	two := &topologies.Graph{
		Name:  "calibration",
		Nodes: []topologies.Node{{Name: "a", Pod: -1}, {Name: "b", Pod: -1, Index: 1}},
		Links: []topologies.Link{{B: topologies.End{Node: 1}, Rate: units.Gbps, Delay: units.Millisecond}},
	}
	f := Fabric{
		Fabric: emu.Fabric{Graph: two}, Name: "calibration", Calibrate: nodes, OneProcess: true, MaxPayload: 4096,
	}
	out, err := Run(ctx, f, nil)
	if err != nil {
		return nil, fmt.Errorf("calibrate real time: %w", err)
	}
	return out.Calibration, nil
}

// calibrate measures instead of running nodes.
func (s *supervisor) calibrate(d *deployment) (*Outcome, error) {
	conns := make([]*netio.Packet, len(d.spaces))
	err := eachAtOnce(len(conns), func(i int) (err error) {
		conns[i], err = d.spaces[i].conn(d.spaces[i].indices, s.fabric.maxFrame())
		return err
	})
	if err != nil {
		return nil, err
	}
	c, err := wall.Calibrate(conns[0], conns[1], s.fabric.Calibrate)
	for _, conn := range conns {
		err = errors.Join(err, conn.Close())
	}
	return &Outcome{Calibration: c}, err
}
