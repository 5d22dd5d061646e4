package orchestrator

import (
	"context"
	"fmt"
	"io"

	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// containers runs a fabric in containers, which are deployed for this run alone.
func (r *runner) containers(ctx context.Context, p *Plan, f netns.Fabric, progress func(units.Time), records *gathering) (*outcome, error) {
	binaries, err := nodePrograms()
	if err != nil {
		return nil, err
	}
	c := containers.Fabric{
		Fabric: f.Fabric, Wall: f.Wall, Machines: f.Nodes, Name: f.Name, Folder: f.Folder, MaxPayload: f.MaxPayload, Binaries: binaries,
		Patience: f.Patience, Hold: f.Hold, Ready: f.Ready, Records: f.Records,
		ApplicationMTU: f.ApplicationMTU, Programs: f.Programs, ApplicationImage: p.ApplicationImage,
	}
	got, err := containers.Run(ctx, c, progress)
	if err != nil {
		return nil, err
	}
	r.note(fmt.Sprintf("%d containers: deployed in %.2f s, ready in %.2f s, destroyed in %.2f s",
		len(c.Machines), got.Deploy.Seconds(), got.Setup.Seconds(), got.Destroy.Seconds()))
	r.log.Info("containers", "images", got.Images.String(), "deploy", got.Deploy.String(), "setup", got.Setup.String(), "destroy", got.Destroy.String())
	return r.realOutcome(p, f, left{
		Outcome: got.Outcome, shaped: got.Shaped, programs: got.Programs, cpu: got.CPU, setup: got.Setup, wall: got.Wall,
		tx: got.TxPackets, rx: got.RxPackets, records: records,
	}), nil
}

// WriteContainerlab writes a fabric whose links are such as a containerlab
// topology. The images are those of the nodes' programs that are installed here,
// by content; a missing program is an error of the class ErrInfrastructure, a
// name that containers cannot have one of ErrConfiguration.
func WriteContainerlab(w io.Writer, g *topologies.Graph, links experiment.Links) error {
	binaries, err := nodePrograms()
	if err != nil {
		return infrastructure(err)
	}
	images, err := containerlab.Tags(binaries)
	if err != nil {
		return infrastructure(err)
	}
	return configuration(containerlab.WriteTopology(w, containers.Lab(g.Name, g, links.MTU-links.Header, images)))
}

// nodePrograms finds the programs of the nodes.
func nodePrograms() (b containerlab.Binaries, err error) {
	if b.Host, err = netns.FindProgram("csig-host"); err != nil {
		return b, err
	}
	b.Switch, err = netns.FindProgram("csig-switch")
	return b, err
}
