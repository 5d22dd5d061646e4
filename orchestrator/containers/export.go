package containers

import (
	"io"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// WriteTopology writes a fabric as a containerlab topology. payload is the longest
// payload of a packet. The images are those of the nodes' programs that are installed
// here, by content. A missing program is an error of the class
// failure.ErrInfrastructure; a name that containers cannot have is one of
// failure.ErrConfiguration.
func WriteTopology(w io.Writer, g *topologies.Graph, payload units.Size) error {
	programs, err := backend.FindPrograms()
	if err != nil {
		return failure.Infrastructure(err)
	}
	images, err := containerlab.Tags(containerlab.Binaries{Host: programs.Host, Switch: programs.Switch})
	if err != nil {
		return failure.Infrastructure(err)
	}
	mtu := emu.MaxFrame(payload) - wire.EthernetLen
	return failure.Configuration(containerlab.WriteTopology(w, Lab(g.Name, g, mtu, images)))
}
