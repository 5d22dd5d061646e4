package experiment

import (
	"strconv"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Rail are the parameters of a rail-optimised fabric: NIC i of every server is on rail
// switch i of the server's group, and spine switches join all rail switches.
type Rail struct {
	Servers     int            `yaml:"servers,required" is:"ports" doc:"servers"`
	NICs        int            `yaml:"nics,required" is:"ports" doc:"NICs per server, each a host of its own: NIC r of server s is host s·nics+r, called s0.r3"`
	Group       int            `yaml:"group" is:"ports or auto" default:"auto" doc:"servers that share their rail switches, g0.rail0, g0.rail1, …; auto: all"`
	Spines      int            `yaml:"spines" is:"0 to 4096" default:"0" doc:"spine switches, each joined to every rail switch; 0 only where there is one rail switch"`
	Bundle      int            `yaml:"bundle" is:"ports" default:"1" doc:"links between a rail switch and a spine"`
	Rate        units.Rate     `yaml:"rate,required" is:"rate" doc:"of the NICs' links"`
	SpineRate   units.Rate     `yaml:"spine_rate" is:"rate or auto" default:"auto" doc:"of the links to spines; auto: that of the NICs"`
	Delay       units.Duration `yaml:"delay,required" is:"link delay" doc:"of the NICs' links"`
	SpineDelay  units.Duration `yaml:"spine_delay" is:"link delay or auto" default:"auto" doc:"of the links to spines; auto: that of the NICs"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports       int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Check implements TopologySpec.
func (f Rail) Check(c *Check) int { return c.Fabric(f.generator().Size) }

// Build implements TopologySpec.
func (f Rail) Build() (Built, error) { return buildGraph(topologies.Rail(f.generator())) }

// Auto implements Deriver.
func (f Rail) Auto(key string) string {
	return map[string]string{"group": strconv.Itoa(f.Servers), "spine_rate": f.Rate.String(), "spine_delay": f.Delay.String()}[key]
}

func (f Rail) generator() topologies.RailSpec {
	return topologies.RailSpec{
		Servers: f.Servers, NICs: f.NICs, Group: f.Group, Spines: f.Spines, Bundle: f.Bundle, Rate: f.Rate, SpineRate: f.SpineRate,
		Delay: f.Delay, SpineDelay: f.SpineDelay, SwitchDelay: f.SwitchDelay, Ports: f.Ports,
	}
}
