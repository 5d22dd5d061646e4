package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Dumbbell are the parameters of two switches with one link between them, the
// bottleneck, and hosts on both sides.
type Dumbbell struct {
	Left            int            `yaml:"left,required" is:"ports" doc:"hosts of the left switch, h0, h1, …"`
	Right           int            `yaml:"right,required" is:"ports" doc:"hosts of the right switch, which follow"`
	Rate            units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	BottleneckRate  units.Rate     `yaml:"bottleneck_rate" is:"rate or auto" default:"auto" doc:"of the link between the switches; auto: that of the hosts"`
	Delay           units.Duration `yaml:"delay,required" is:"link delay" doc:"of the hosts' links"`
	BottleneckDelay units.Duration `yaml:"bottleneck_delay" is:"link delay or auto" default:"auto" doc:"of the link between the switches; auto: that of the hosts"`
	SwitchDelay     units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of both switches"`
	Ports           int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

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
