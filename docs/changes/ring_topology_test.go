package changes_test

import (
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// Ring are the parameters of switches in a ring.
type Ring struct {
	Switches int            `yaml:"switches"`
	Hosts    int            `yaml:"hosts"` // per switch
	Rate     units.Rate     `yaml:"rate"`
	Delay    units.Duration `yaml:"delay"`
	Cables   []Cable        `yaml:"cables"`
}

// Cable is the delay of one link of the ring.
type Cable struct {
	After int            `yaml:"after"` // the switch that it starts at
	Delay units.Duration `yaml:"delay"` // 0 or "auto": the ring's
}

var _ = experiment.RegisterTopology(experiment.TopologyKind{
	Kind: experiment.Kind{
		Name: "loop", Doc: "switches in a ring, each with hosts", Rank: 1000,
		Keys: []experiment.Key{
			{Path: "switches", Required: true, Rule: experiment.Between(3, 64), Doc: "switches"},
			{Path: "hosts", Default: "1", Rule: experiment.Between(1, 64), Doc: "hosts per switch"},
			{Path: "rate", Default: "100Gbps", Rule: experiment.Between(units.Gbps, units.Tbps), Doc: "of every link"},
			{Path: "delay", Default: "1us", Rule: experiment.Between(units.Nanosecond, units.Second), Doc: "of every link"},
			{Path: "cables", Doc: "links of the ring with another delay"},
			{Path: "cables[].after", Required: true, Rule: experiment.Between(0, 63), Doc: "switch that the link starts at"},
			{Path: "cables[].delay", Default: "auto", Rule: experiment.Between(units.Nanosecond, units.Second).Or("auto"), Doc: "of the link"},
		},
	},
	Spec: Ring{},
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
