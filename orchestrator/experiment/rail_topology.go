package experiment

import (
	"strconv"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Rail are the parameters of a rail-optimised fabric: NIC i of every server is on rail
// switch i of the server's group, and spine switches join all rail switches.
type Rail struct {
	Servers     int            `yaml:"servers"`
	NICs        int            `yaml:"nics"`   // per server
	Group       int            `yaml:"group"`  // servers per group; 0 or "auto": all
	Spines      int            `yaml:"spines"` // default 0
	Bundle      int            `yaml:"bundle"` // links per rail switch and spine; default 1
	Rate        units.Rate     `yaml:"rate"`   // of the NICs' links
	SpineRate   units.Rate     `yaml:"spine_rate"`
	Delay       units.Duration `yaml:"delay"`
	SpineDelay  units.Duration `yaml:"spine_delay"`
	SwitchDelay units.Duration `yaml:"switch_delay"`
	Ports       int            `yaml:"ports"` // of a switch; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "rail", Doc: "servers with several NICs, NIC i of each on rail switch i of its group, below spine switches; each NIC is a host", Rank: 55,
		Keys: []Key{
			{Path: "servers", Required: true, Rule: Between(1, maxPorts), Doc: "servers"},
			{Path: "nics", Required: true, Rule: Between(1, maxPorts), Doc: "NICs per server, each a host of its own: NIC r of server s is host s·nics+r, called s0.r3"},
			{Path: "group", Default: "auto", Rule: Between(1, maxPorts).Or("auto"), Doc: "servers that share their rail switches, g0.rail0, g0.rail1, …; auto: all"},
			{Path: "spines", Default: "0", Rule: Between(0, maxPorts), Doc: "spine switches, each joined to every rail switch; 0 only where there is one rail switch"},
			{Path: "bundle", Default: "1", Rule: Between(1, maxPorts), Doc: "links between a rail switch and a spine"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the NICs' links"},
			{Path: "spine_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "of the links to spines; auto: that of the NICs"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of the NICs' links"},
			{Path: "spine_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "of the links to spines; auto: that of the NICs"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every switch"},
			portsKey,
		},
	},
	Spec: Rail{},
})

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
