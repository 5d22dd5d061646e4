package containers

import (
	"io"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Export is a fabric to write for containerlab, or for clabernetes.
type Export struct {
	Graph   *topologies.Graph // with a name
	Payload units.Size        // the longest of a packet
}

// lab returns the fabric as containers. The images are those of the nodes' programs that are
// installed here, by content. A missing program is an error of the class
// failure.ErrInfrastructure.
func (e Export) lab() (containerlab.Lab, error) {
	programs, err := backend.FindPrograms()
	if err != nil {
		return containerlab.Lab{}, failure.Infrastructure(err)
	}
	images, err := containerlab.Tags(containerlab.Binaries{Host: programs.Host, Switch: programs.Switch})
	if err != nil {
		return containerlab.Lab{}, failure.Infrastructure(err)
	}
	return Lab(e.Graph.Name, e.Graph, e.MTU(), images), nil
}

// MTU returns the MTU of every interface.
func (e Export) MTU() int { return emu.MaxFrame(e.Payload) - wire.EthernetLen }

// write writes the fabric by one of containerlab's formats.
func (e Export) write(format func(containerlab.Lab) error) error {
	lab, err := e.lab()
	if err != nil {
		return err
	}
	return failure.Configuration(format(lab))
}

// WriteTopology writes the fabric as a containerlab topology. A missing program is an error
// of the class failure.ErrInfrastructure; a name that containers cannot have is one of
// failure.ErrConfiguration.
func (e Export) WriteTopology(w io.Writer) error {
	return e.write(func(lab containerlab.Lab) error { return containerlab.WriteTopology(w, lab) })
}

// WriteShard writes a part of the fabric as a containerlab topology. The errors are those of
// WriteTopology.
func (e Export) WriteShard(w io.Writer, s containerlab.Shard) error {
	return e.write(func(lab containerlab.Lab) error { return containerlab.WriteShard(w, lab, s) })
}

// WriteClabernetes writes the fabric as a custom resource of one of
// clab.Groups. The errors are those of WriteTopology.
func (e Export) WriteClabernetes(w io.Writer, group string) error {
	return e.write(func(lab containerlab.Lab) error { return containerlab.WriteClabernetes(w, lab, group) })
}
