package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

// containers runs a fabric in containers, which are deployed for this run alone.
func (r *runner) containers(ctx context.Context, p *Plan, f netns.Fabric, progress func(clock.Time)) (*outcome, error) {
	binaries, err := nodePrograms()
	if err != nil {
		return nil, err
	}
	c := containers.Fabric{Fabric: f.Fabric, Name: f.Name, Folder: f.Folder, MaxPayload: f.MaxPayload, Binaries: binaries}
	for _, n := range f.Nodes {
		c.Machines = append(c.Machines, n.Config())
	}
	got, err := containers.Run(ctx, c, progress)
	if err != nil {
		return nil, err
	}
	r.note(fmt.Sprintf("%d containers: deployed in %.2f s, ready in %.2f s, destroyed in %.2f s",
		len(c.Machines), got.Deploy.Seconds(), got.Setup.Seconds(), got.Destroy.Seconds()))
	r.log.Info("containers", "images", got.Images.String(), "deploy", got.Deploy.String(), "setup", got.Setup.String(), "destroy", got.Destroy.String())
	out := &outcome{results: got.Results, end: got.End, drained: got.Drained, wall: got.Wall, cpu: got.CPU}
	out.checks = append(out.checks, checkFrames(p, got.Results, got.Frames, got.TxPackets, got.RxPackets))
	return out, nil
}

// readyForContainers finds out what would keep a plan from running in containers.
func (r *runner) readyForContainers(ctx context.Context, j job) error {
	if r.runtime != RuntimeContainerlab {
		return nil
	}
	err := containers.Check(ctx, len(j.plan.Control))
	if errors.Is(err, containers.ErrUnsupported) {
		return r.inVariant(r.set.Variants[j.variant].Name, configuration(err))
	}
	return infrastructure(err)
}

// nodePrograms finds the programs of the nodes.
func nodePrograms() (b containerlab.Binaries, err error) {
	if b.Host, err = netns.FindProgram("csig-host"); err != nil {
		return b, err
	}
	b.Switch, err = netns.FindProgram("csig-switch")
	return b, err
}
