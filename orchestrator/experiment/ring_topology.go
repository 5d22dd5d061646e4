package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Ring are the parameters of switches in a ring, each with hosts.
type Ring struct {
	Switches    int            `yaml:"switches,required" is:"3 to 4096" doc:"switches, s0 to s1 to s2 and so on, and back to s0"`
	Hosts       int            `yaml:"hosts" is:"ports" default:"1" doc:"hosts of each switch"`
	Rate        units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	RingRate    units.Rate     `yaml:"ring_rate" is:"rate or auto" default:"auto" doc:"of the links of the ring; auto: that of the hosts"`
	Delay       units.Duration `yaml:"delay,required" is:"link delay" doc:"of the hosts' links"`
	RingDelay   units.Duration `yaml:"ring_delay" is:"link delay or auto" default:"auto" doc:"of the links of the ring; auto: that of the hosts"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Routes      string         `yaml:"routes" is:"shortest|clockwise" default:"shortest" doc:"'shortest': the shorter way, both where they are equal; 'clockwise': always from s0 to s1, the only way on which switches can wait for each other in a circle"`
	Ports       int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Values of Ring.Routes.
const (
	shortestRoutes  = "shortest"
	clockwiseRoutes = "clockwise"
)

// Check implements TopologySpec.
func (f Ring) Check(c *Check) int { return c.Fabric(f.generator().Size) }

// Build implements TopologySpec.
func (f Ring) Build() (Built, error) { return buildGraph(topologies.Ring(f.generator())) }

// Auto implements Deriver.
func (f Ring) Auto(key string) string {
	return map[string]string{"ring_rate": f.Rate.String(), "ring_delay": f.Delay.String()}[key]
}

func (f Ring) generator() topologies.RingSpec {
	return topologies.RingSpec{
		Switches: f.Switches, Hosts: f.Hosts, Rate: f.Rate, RingRate: f.RingRate, Delay: f.Delay, RingDelay: f.RingDelay,
		SwitchDelay: f.SwitchDelay, Clockwise: f.Routes == clockwiseRoutes, Ports: f.Ports,
	}
}
