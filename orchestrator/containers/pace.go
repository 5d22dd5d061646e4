package containers

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/shape"
	"github.com/csiglab/csiglab/orchestrator/watch"
	"github.com/csiglab/csiglab/topologies"
)

// pace runs the nodes in real time.
func (r *run) pace(ctx context.Context) (*watch.Outcome, error) {
	f := r.fabric
	configs, links := f.Configs()
	block, err := wall.NewSharedControlBlock(len(configs))
	if err != nil {
		return nil, err
	}
	defer block.Close()
	ends, err := r.start(ctx, configs, links, block.File)
	if err != nil {
		return nil, err
	}
	paced := watch.Paced{
		Block: block.ControlBlock, Wall: *f.Wall, End: f.End, Names: r.names, Patience: f.Patience, Hold: f.Hold,
		Ends: ends, Processes: len(configs), Progress: r.progress,
		Prepare: func() error { return r.raise(block.ControlBlock) },
		Ready: func(start time.Duration) {
			if f.Ready != nil {
				f.Ready(r.id)
			}
			if r.apps != nil {
				r.apps.Begin(start)
			}
		},
	}
	if r.apps != nil {
		paced.Programs = r.apps.Done()
	}
	return paced.Keep(ctx)
}

// shape sets up the shaper of every interface of the graph's links.
func (r *run) shape() error {
	f := r.fabric
	for id, l := range f.Graph.Links {
		link := shape.Link{
			Rate: l.Rate, Dilation: f.Wall.Dilation, Frame: emu.MaxFrame(f.MaxPayload), Packet: int(f.MaxPayload + f.Format.Header),
		}
		for _, end := range []topologies.End{l.A, l.B} {
			n := r.deployed.Nodes[end.Node]
			err := within(n.PID, func(h *netlink.Handle) error { return shape.Set(h, n.Interfaces[end.Port], link) })
			if err != nil {
				return fmt.Errorf("link %s: %s %s: %w", f.Graph.LinkName(id), r.names[end.Node], containerlab.Interface(end.Port), err)
			}
		}
	}
	return nil
}

// shaped reads what the shapers did.
func (r *run) shaped() (list []shape.Shaped, err error) {
	for i, n := range r.deployed.Nodes {
		err := within(n.PID, func(h *netlink.Handle) error {
			one, err := shape.Read(h, i, n.Interfaces)
			list = append(list, one...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", r.names[i], err)
		}
	}
	return list, nil
}
