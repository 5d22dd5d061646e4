package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Ring are the parameters of switches in a ring, each with hosts.
type Ring struct {
	Switches    int            `yaml:"switches"`
	Hosts       int            `yaml:"hosts"` // per switch; default 1
	Rate        units.Rate     `yaml:"rate"`  // of the hosts' links
	RingRate    units.Rate     `yaml:"ring_rate"`
	Delay       units.Duration `yaml:"delay"`
	RingDelay   units.Duration `yaml:"ring_delay"`
	SwitchDelay units.Duration `yaml:"switch_delay"`
	Routes      string         `yaml:"routes"` // default shortest
	Ports       int            `yaml:"ports"`  // of a switch; 0 or "any": as many as needed
}

// Values of Ring.Routes.
const (
	shortestRoutes  = "shortest"
	clockwiseRoutes = "clockwise"
)

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "ring", Doc: "switches in a ring, each with hosts", Rank: 80,
		Keys: []Key{
			{Path: "switches", Required: true, Rule: Between(3, maxPorts), Doc: "switches, s0 to s1 to s2 and so on, and back to s0"},
			{Path: "hosts", Default: "1", Rule: Between(1, maxPorts), Doc: "hosts of each switch"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the hosts' links"},
			{Path: "ring_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "of the links of the ring; auto: that of the hosts"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of the hosts' links"},
			{Path: "ring_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "of the links of the ring; auto: that of the hosts"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every switch"},
			{Path: "routes", Default: shortestRoutes, Rule: OneOf(shortestRoutes, clockwiseRoutes), Doc: "`shortest`: the shorter way, both where they are equal; `clockwise`: always from s0 to s1, the only way on which switches can wait for each other in a circle"},
			portsKey,
		},
	},
	Spec: Ring{},
})

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
