package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// ParkingLot are the parameters of switches in a row, with pairs of hosts that send over
// one of the links between them, and a pair that sends over all.
type ParkingLot struct {
	Hops            int            `yaml:"hops,required" is:"ports" doc:"links between switches, the bottlenecks"`
	Pairs           int            `yaml:"pairs" is:"ports" default:"1" doc:"pairs of hosts per bottleneck: h2 and h3 are the first of the first one, and so on"`
	Rate            units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	BottleneckRate  units.Rate     `yaml:"bottleneck_rate" is:"rate or auto" default:"auto" doc:"of the links between switches; auto: that of the hosts"`
	Delay           units.Duration `yaml:"delay,required" is:"link delay" doc:"of the hosts' links"`
	BottleneckDelay units.Duration `yaml:"bottleneck_delay" is:"link delay or auto" default:"auto" doc:"of the links between switches; auto: that of the hosts"`
	SwitchDelay     units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports           int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Check implements TopologySpec.
func (f ParkingLot) Check(c *Check) int { return c.Fabric(f.generator().Size) }

// Build implements TopologySpec.
func (f ParkingLot) Build() (Built, error) { return buildGraph(topologies.ParkingLot(f.generator())) }

// Auto implements Deriver.
func (f ParkingLot) Auto(key string) string {
	return map[string]string{"bottleneck_rate": f.Rate.String(), "bottleneck_delay": f.Delay.String()}[key]
}

func (f ParkingLot) generator() topologies.ParkingLotSpec {
	return topologies.ParkingLotSpec{
		Hops: f.Hops, Pairs: f.Pairs, Rate: f.Rate, BottleneckRate: f.BottleneckRate,
		Delay: f.Delay, BottleneckDelay: f.BottleneckDelay, SwitchDelay: f.SwitchDelay, Ports: f.Ports,
	}
}
