package netns

import (
	"context"
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Calibrate measures how well this machine keeps real time with the given number of
// nodes, in namespaces like those of a run. It takes about two seconds.
func Calibrate(ctx context.Context, nodes int) (*wall.Calibration, error) {
	two := &topologies.Graph{
		Name:  "calibration",
		Nodes: []topologies.Node{{Name: "a", Pod: -1}, {Name: "b", Pod: -1, Index: 1}},
		Links: []topologies.Link{{B: topologies.End{Node: 1}, Rate: units.Gbps, Delay: units.Millisecond}},
	}
	p := &plan.Plan{Network: plan.Network{
		Graph: two, Nodes: make([]machine.Spec, 2), Links: []plan.Link{{B: topologies.End{Node: 1}, Delay: units.Millisecond, Name: "a-b"}},
		Path: congestion.Path{MTU: 4096},
	}}
	var c *wall.Calibration
	_, err := backend.Perform(ctx, backend.Runtime{Runtime: Runtime.Runtime, Backend: calibrating{nodes: nodes, result: &c}},
		&backend.Run{Name: two.Name, Plan: p, Processes: backend.OneProcess}, backend.Control{})
	if err != nil {
		return nil, fmt.Errorf("calibrate real time: %w", err)
	}
	return c, nil
}

// calibrating is the backend of a run that only measures the machine.
type calibrating struct {
	Backend
	nodes  int
	result **wall.Calibration
}

// Run measures the machine; it does not run the plan.
func (b calibrating) Run(ctx context.Context, r *backend.Run, c backend.Control) (*backend.Outcome, error) {
	m, err := supervised(ctx, r.ID, &order{Run: *r, Calibrate: b.nodes}, c)
	if err != nil {
		return nil, err
	}
	*b.result = m.Calibration
	return nil, nil
}
