package topologies

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// RingSpec are the parameters of switches in a ring, each with hosts.
type RingSpec struct {
	Switches    int            `yaml:"switches,required" is:"3 to 4096" doc:"switches, s0 to s1 to s2 and so on, and back to s0"`
	Hosts       int            `yaml:"hosts" is:"ports" default:"1" doc:"hosts of each switch"`
	Rate        units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	RingRate    units.Rate     `yaml:"ring_rate" is:"rate or auto" default:"auto" doc:"of the links of the ring; auto: that of the hosts"`
	Delay       units.Duration `yaml:"delay,required" is:"link delay" doc:"of the hosts' links"`
	RingDelay   units.Duration `yaml:"ring_delay" is:"link delay or auto" default:"auto" doc:"of the links of the ring; auto: that of the hosts"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Routes      RingRoutes     `yaml:"routes" default:"shortest" doc:"'shortest': the shorter way, both where they are equal; 'clockwise': always from s0 to s1, the only way on which switches can wait for each other in a circle"`
	Ports       int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// RingRoutes is in which directions packets go around a ring.
type RingRoutes uint8

// RingRoutes.
const (
	Shortest  RingRoutes = iota // the shorter way, both where they are equal
	Clockwise                   // from s0 to s1, from s1 to s2 and so on, also where the other way is shorter
)

var ringRoutes = []string{"shortest", "clockwise"}

// Names returns the names, in the order of their values.
func (RingRoutes) Names() []string { return slices.Clone(ringRoutes) }

// String returns shortest or clockwise.
func (r RingRoutes) String() string { return ringRoutes[r] }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (r *RingRoutes) UnmarshalText(text []byte) error {
	return spelling.Enum(r, "routes", text, ringRoutes)
}

// Size returns the size of the fabric that Ring will make, without building it. Its error
// wraps ErrInvalid.
func (s RingSpec) Size() (Size, error) {
	if err := counts("ring", count{"switches", s.Switches}, count{"hosts", s.Hosts}); err != nil {
		return Size{}, err
	}
	if s.Switches < 3 {
		return Size{}, fmt.Errorf("%w: ring: switches is %d, want 3 or more", ErrInvalid, s.Switches)
	}
	if err := checkPorts("s0", s.Hosts+2, s.Ports); err != nil {
		return Size{}, err
	}
	hosts := s.Switches * s.Hosts
	return Size{Hosts: hosts, Switches: s.Switches, Racks: s.Switches, HostLinks: hosts, SwitchLinks: int64(s.Switches)},
		checkLinks("ring", s.Rate, s.RingRate, s.Delay, s.RingDelay, s.SwitchDelay)
}

// Ring returns the graph. Host i is on switch i/Hosts; link i of the ring leads from s(i)
// to the next switch. The error is that of Size.
func Ring(s RingSpec) (*Graph, error) {
	size, err := s.Size()
	if err != nil {
		return nil, err
	}
	rate, delay := cmp.Or(s.RingRate, s.Rate), cmp.Or(s.RingDelay, s.Delay)
	b := newBuilder(fmt.Sprintf("ring-%d", s.Switches), size.Hosts, size.Switches)
	for i := range s.Switches {
		b.addSwitch(fmt.Sprintf("s%d", i), TierToR, NoPod, s.SwitchDelay)
	}
	for h := range size.Hosts {
		b.connect(h, size.Hosts+h/s.Hosts, s.Rate, s.Delay)
	}
	for i := range s.Switches {
		b.connect(size.Hosts+i, size.Hosts+(i+1)%s.Switches, rate, delay)
		b.graph.Links[len(b.graph.Links)-1].OneWay = s.Routes == Clockwise
	}
	return b.graph, nil
}

// Build returns what Ring does.
func (s RingSpec) Build() (Built, error) { return built(Ring(s)) }

// Auto returns what the value auto of a key became.
func (s RingSpec) Auto(key string) string {
	return map[string]string{"ring_rate": s.Rate.String(), "ring_delay": s.Delay.String()}[key]
}
