package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Dumbbell are the parameters of two switches with one link between them, the
// bottleneck, and hosts on both sides.
type Dumbbell struct {
	Left            int            `yaml:"left"`
	Right           int            `yaml:"right"`
	Rate            units.Rate     `yaml:"rate"`            // of the hosts' links
	BottleneckRate  units.Rate     `yaml:"bottleneck_rate"` // 0 or "auto": rate
	Delay           units.Duration `yaml:"delay"`
	BottleneckDelay units.Duration `yaml:"bottleneck_delay"` // 0 or "auto": delay
	SwitchDelay     units.Duration `yaml:"switch_delay"`
	Ports           int            `yaml:"ports"` // of a switch; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "dumbbell", Doc: "two switches with one link between them, the bottleneck, and hosts on both sides", Rank: 60,
		Keys: []Key{
			{Path: "left", Required: true, Rule: Between(1, maxPorts), Doc: "hosts of the left switch, h0, h1, …"},
			{Path: "right", Required: true, Rule: Between(1, maxPorts), Doc: "hosts of the right switch, which follow"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the hosts' links"},
			{Path: "bottleneck_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "of the link between the switches; auto: that of the hosts"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of the hosts' links"},
			{Path: "bottleneck_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "of the link between the switches; auto: that of the hosts"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of both switches"},
			portsKey,
		},
	},
	Spec: Dumbbell{},
})

// Check implements TopologySpec.
func (f Dumbbell) Check(c *Check) int { return c.Fabric(f.generator().Size) }

// Build implements TopologySpec.
func (f Dumbbell) Build() (Built, error) { return buildGraph(topologies.Dumbbell(f.generator())) }

// Auto implements Deriver.
func (f Dumbbell) Auto(key string) string {
	return map[string]string{"bottleneck_rate": f.Rate.String(), "bottleneck_delay": f.Delay.String()}[key]
}

func (f Dumbbell) generator() topologies.DumbbellSpec {
	return topologies.DumbbellSpec{
		Left: f.Left, Right: f.Right, Rate: f.Rate, BottleneckRate: f.BottleneckRate,
		Delay: f.Delay, BottleneckDelay: f.BottleneckDelay, SwitchDelay: f.SwitchDelay, Ports: f.Ports,
	}
}
