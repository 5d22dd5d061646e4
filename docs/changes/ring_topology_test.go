package changes_test

import (
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// Ring are the parameters of switches in a ring.
type Ring struct {
	Switches int            `yaml:"switches,required" is:"3 to 64" doc:"switches"`
	Hosts    int            `yaml:"hosts" is:"1 to 64" default:"1" doc:"hosts per switch"`
	Rate     units.Rate     `yaml:"rate" is:"1Gbps to 1Tbps" default:"100Gbps" doc:"of every link"`
	Delay    units.Duration `yaml:"delay" is:"link delay" default:"1us" doc:"of every link"`
	Cables   []Cable        `yaml:"cables" doc:"links of the ring with another delay"`
}

// Cable is the delay of one link of the ring.
type Cable struct {
	After int            `yaml:"after,required" is:"0 to 63" doc:"switch that the link starts at"`
	Delay units.Duration `yaml:"delay" is:"link delay or auto" default:"auto" doc:"of the link; auto: the ring's"`
}

var _ = experiment.RegisterTopology(experiment.TopologyKind{
	Kind: experiment.Kind{Name: "loop", Doc: "switches in a ring, each with hosts"}, Spec: Ring{},
})

func (r Ring) Check(c *experiment.Check) int {
	for i, cable := range r.Cables {
		if cable.After >= r.Switches {
			c.Fail(indexed("cables", i, "after"), "no switch %d; they go from 0 to %d", cable.After, r.Switches-1)
		}
	}
	return r.Switches * r.Hosts
}

func (r Ring) Build() (experiment.Built, error) {
	delays := map[int]units.Duration{}
	for _, cable := range r.Cables {
		delays[cable.After] = cable.Delay
	}
	graph, err := ringGraph(r.Switches, r.Hosts, r.Rate, r.Delay, delays)
	return experiment.Built{Graph: graph}, err
}
