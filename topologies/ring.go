package topologies

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// RingSpec are the parameters of switches in a ring, each with hosts.
type RingSpec struct {
	Switches    int        // at least 3
	Hosts       int        // per switch
	Rate        units.Rate // of the hosts' links
	RingRate    units.Rate // 0: Rate
	Delay       units.Duration
	RingDelay   units.Duration // 0: Delay
	SwitchDelay units.Duration
	Clockwise   bool // all packets go from s0 to s1, from s1 to s2 and so on, also where the other way is shorter
	Ports       int  // of a switch; 0: as many as needed
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
	if s.RingRate == 0 {
		s.RingRate = s.Rate
	}
	if s.RingDelay == 0 {
		s.RingDelay = s.Delay
	}
	b := newBuilder(fmt.Sprintf("ring-%d", s.Switches), size.Hosts, size.Switches)
	for i := range s.Switches {
		b.addSwitch(fmt.Sprintf("s%d", i), TierToR, NoPod, s.SwitchDelay)
	}
	for h := range size.Hosts {
		b.connect(h, size.Hosts+h/s.Hosts, s.Rate, s.Delay)
	}
	for i := range s.Switches {
		b.connect(size.Hosts+i, size.Hosts+(i+1)%s.Switches, s.RingRate, s.RingDelay)
		b.graph.Links[len(b.graph.Links)-1].OneWay = s.Clockwise
	}
	return b.graph, nil
}
