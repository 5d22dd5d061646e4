package experiment

import (
	"fmt"

	"github.com/csiglab/csiglab/topologies/ns3"
	"github.com/csiglab/csiglab/units"
)

// NS3 is a fabric from a topology file of an ns-3 simulator of RDMA.
type NS3 struct {
	File        string         `yaml:"file,required" is:"file" doc:"'topology.txt' of HPCC and others, or of SimAI"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports       int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Build implements TopologySpec.
func (f NS3) Build() (Built, error) {
	r, err := openInput(f.File, maxTopologyFile)
	if err != nil {
		return Built{}, err
	}
	defer r.Close() // opened for reading
	custom, inner, err := ns3.Read(f.File, r, ns3.Options{SwitchDelay: f.SwitchDelay, Ports: f.Ports})
	if err != nil {
		return Built{}, inputError{err}
	}
	b, err := buildCustom(custom)
	if inner > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("%s: %d NVSwitches are left out with their links: what GPUs of one server say to each other does not cross the fabric", f.File, inner))
	}
	return b, err
}
