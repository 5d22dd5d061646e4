package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// ParkingLot are the parameters of switches in a row, with pairs of hosts that send over
// one of the links between them, and a pair that sends over all.
type ParkingLot struct {
	Hops            int            `yaml:"hops"`            // bottlenecks
	Pairs           int            `yaml:"pairs"`           // of hosts per bottleneck; default 1
	Rate            units.Rate     `yaml:"rate"`            // of the hosts' links
	BottleneckRate  units.Rate     `yaml:"bottleneck_rate"` // 0 or "auto": rate
	Delay           units.Duration `yaml:"delay"`
	BottleneckDelay units.Duration `yaml:"bottleneck_delay"` // 0 or "auto": delay
	SwitchDelay     units.Duration `yaml:"switch_delay"`
	Ports           int            `yaml:"ports"` // of a switch; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "parking_lot", Doc: "switches in a row: each link between two is the bottleneck of a pair of hosts, all are those of the pair h0, h1", Rank: 70,
		Keys: []Key{
			{Path: "hops", Required: true, Rule: Between(1, maxPorts), Doc: "links between switches, the bottlenecks"},
			{Path: "pairs", Default: "1", Rule: Between(1, maxPorts), Doc: "pairs of hosts per bottleneck: h2 and h3 are the first of the first one, and so on"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the hosts' links"},
			{Path: "bottleneck_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "of the links between switches; auto: that of the hosts"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of the hosts' links"},
			{Path: "bottleneck_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "of the links between switches; auto: that of the hosts"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every switch"},
			portsKey,
		},
	},
	Spec: ParkingLot{},
})

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
