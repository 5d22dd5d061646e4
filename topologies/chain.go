package topologies

import (
	"cmp"
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// DumbbellSpec are the parameters of two switches with one link between them, the
// bottleneck, and hosts on both sides.
type DumbbellSpec struct {
	Left            int            `yaml:"left,required" is:"ports" doc:"hosts of the left switch, h0, h1, …"`
	Right           int            `yaml:"right,required" is:"ports" doc:"hosts of the right switch, which follow"`
	Rate            units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	BottleneckRate  units.Rate     `yaml:"bottleneck_rate" is:"rate or auto" default:"auto" doc:"of the link between the switches; auto: that of the hosts"`
	Delay           units.Duration `yaml:"delay,required" is:"link delay" doc:"of the hosts' links"`
	BottleneckDelay units.Duration `yaml:"bottleneck_delay" is:"link delay or auto" default:"auto" doc:"of the link between the switches; auto: that of the hosts"`
	SwitchDelay     units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of both switches"`
	Ports           int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// ParkingLotSpec are the parameters of switches in a row: Hops links between them, the
// bottlenecks. Pairs pairs of hosts send over each bottleneck alone, and one pair, the
// long one, over all.
type ParkingLotSpec struct {
	Hops            int            `yaml:"hops,required" is:"ports" doc:"links between switches, the bottlenecks"`
	Pairs           int            `yaml:"pairs" is:"ports" default:"1" doc:"pairs of hosts per bottleneck: h2 and h3 are the first of the first one, and so on"`
	Rate            units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	BottleneckRate  units.Rate     `yaml:"bottleneck_rate" is:"rate or auto" default:"auto" doc:"of the links between switches; auto: that of the hosts"`
	Delay           units.Duration `yaml:"delay,required" is:"link delay" doc:"of the hosts' links"`
	BottleneckDelay units.Duration `yaml:"bottleneck_delay" is:"link delay or auto" default:"auto" doc:"of the links between switches; auto: that of the hosts"`
	SwitchDelay     units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports           int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// chain is switches in a row, each with some of the hosts.
type chain struct {
	name            string
	racks           []int // by host: the number of its switch
	switches        int
	rate            units.Rate // of the hosts' links
	bottleneckRate  units.Rate // 0: rate
	delay           units.Duration
	bottleneckDelay units.Duration // 0: delay
	switchDelay     units.Duration
}

// Size returns the size of the fabric that Dumbbell will make, without building it. Its
// error wraps ErrInvalid.
func (s DumbbellSpec) Size() (Size, error) {
	if err := counts("dumbbell", count{"left", s.Left}, count{"right", s.Right}); err != nil {
		return Size{}, err
	}
	most, side := s.Left, "s0"
	if s.Right > most {
		most, side = s.Right, "s1"
	}
	if err := checkPorts(side, most+1, s.Ports); err != nil {
		return Size{}, err
	}
	hosts := s.Left + s.Right
	return Size{Hosts: hosts, Switches: 2, Racks: 2, HostLinks: hosts, SwitchLinks: 1},
		checkLinks("dumbbell", s.Rate, s.BottleneckRate, s.Delay, s.BottleneckDelay, s.SwitchDelay)
}

// Dumbbell returns the graph. Hosts h0… are those of the left switch, s0, then those of
// the right one, s1. The first port of a switch that has no host behind it leads to the
// other switch. The error is that of Size.
func Dumbbell(s DumbbellSpec) (*Graph, error) {
	if _, err := s.Size(); err != nil {
		return nil, err
	}
	c := chain{
		name: fmt.Sprintf("dumbbell-%d-%d", s.Left, s.Right), racks: make([]int, s.Left+s.Right), switches: 2,
		rate: s.Rate, bottleneckRate: s.BottleneckRate, delay: s.Delay, bottleneckDelay: s.BottleneckDelay, switchDelay: s.SwitchDelay,
	}
	for h := s.Left; h < len(c.racks); h++ {
		c.racks[h] = 1
	}
	return c.build(), nil
}

// Build returns what Dumbbell does.
func (s DumbbellSpec) Build() (Built, error) { return built(Dumbbell(s)) }

// Auto returns what the value auto of a key became.
func (s DumbbellSpec) Auto(key string) string {
	return map[string]string{"bottleneck_rate": s.Rate.String(), "bottleneck_delay": s.Delay.String()}[key]
}

// Size returns the size of the fabric that ParkingLot will make, without building it. Its
// error wraps ErrInvalid.
func (s ParkingLotSpec) Size() (Size, error) {
	pairs := max(1, s.Pairs)
	if err := counts("parking lot", count{"hops", s.Hops}, count{"pairs", pairs}); err != nil {
		return Size{}, err
	}
	switches := s.Hops + 1
	// A switch in the middle has the receivers of the hop before it and the senders of the
	// next one; the first and the last have one host of the long pair.
	busiest, needed := "s0", 1+pairs+1
	if switches > 2 && 2*pairs+2 > needed {
		busiest, needed = "s1", 2*pairs+2
	}
	if err := checkPorts(busiest, needed, s.Ports); err != nil {
		return Size{}, err
	}
	hosts := 2 + 2*s.Hops*pairs
	return Size{Hosts: hosts, Switches: switches, Racks: switches, HostLinks: hosts, SwitchLinks: int64(s.Hops)},
		checkLinks("parking lot", s.Rate, s.BottleneckRate, s.Delay, s.BottleneckDelay, s.SwitchDelay)
}

// ParkingLot returns the graph. Switch s(i) is joined to s(i+1) by bottleneck i. The long
// pair is h0, at the first switch, and h1, at the last. Pair j of bottleneck i is the
// hosts 2+2(i*Pairs+j), at s(i), and the one after it, at s(i+1). The error is that of
// Size.
func ParkingLot(s ParkingLotSpec) (*Graph, error) {
	if _, err := s.Size(); err != nil {
		return nil, err
	}
	c := chain{
		name: fmt.Sprintf("parking-lot-%d", s.Hops), racks: []int{0, s.Hops}, switches: s.Hops + 1,
		rate: s.Rate, bottleneckRate: s.BottleneckRate, delay: s.Delay, bottleneckDelay: s.BottleneckDelay, switchDelay: s.SwitchDelay,
	}
	for hop := range s.Hops {
		for range max(1, s.Pairs) {
			c.racks = append(c.racks, hop, hop+1)
		}
	}
	return c.build(), nil
}

// Build returns what ParkingLot does.
func (s ParkingLotSpec) Build() (Built, error) { return built(ParkingLot(s)) }

// Auto returns what the value auto of a key became.
func (s ParkingLotSpec) Auto(key string) string {
	return map[string]string{"bottleneck_rate": s.Rate.String(), "bottleneck_delay": s.Delay.String()}[key]
}

func (c *chain) build() *Graph {
	rate, delay := cmp.Or(c.bottleneckRate, c.rate), cmp.Or(c.bottleneckDelay, c.delay)
	b := newBuilder(c.name, len(c.racks), c.switches)
	for i := range c.switches {
		b.addSwitch(fmt.Sprintf("s%d", i), TierToR, NoPod, c.switchDelay)
	}
	for h, rack := range c.racks {
		b.connect(h, len(c.racks)+rack, c.rate, c.delay)
	}
	for i := range c.switches - 1 {
		b.connect(len(c.racks)+i, len(c.racks)+i+1, rate, delay)
	}
	return b.graph
}
