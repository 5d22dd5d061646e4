package topologies

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/csiglab/csiglab/units"
)

// RailSpec are the parameters of a rail-optimised fabric: servers with several NICs, of
// which NIC i is on rail switch i of the server's group, and spine switches that join all
// rail switches. Each NIC is a host of the graph, a rank of its own.
type RailSpec struct {
	Servers     int            `yaml:"servers,required" is:"ports" doc:"servers"`
	NICs        int            `yaml:"nics,required" is:"ports" doc:"NICs per server, each a host of its own: NIC r of server s is host s·nics+r, called s0.r3"`
	Group       int            `yaml:"group" is:"ports or auto" default:"auto" doc:"servers that share their rail switches, g0.rail0, g0.rail1, …; auto: all"`
	Spines      int            `yaml:"spines" is:"0 to 4096" default:"0" doc:"spine switches, each joined to every rail switch; 0, with one group alone: rails that nothing joins, so that messages of jobs to another rail need 'jobs[].local.pxn'"`
	Bundle      int            `yaml:"bundle" is:"ports" default:"1" doc:"links between a rail switch and a spine"`
	Rate        units.Rate     `yaml:"rate,required" is:"rate" doc:"of the NICs' links"`
	SpineRate   units.Rate     `yaml:"spine_rate" is:"rate or auto" default:"auto" doc:"of the links to spines; auto: that of the NICs"`
	Delay       units.Duration `yaml:"delay,required" is:"link delay" doc:"of the NICs' links"`
	SpineDelay  units.Duration `yaml:"spine_delay" is:"link delay or auto" default:"auto" doc:"of the links to spines; auto: that of the NICs"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports       int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// complete returns the spec with the zero values replaced by what they mean.
func (s RailSpec) complete() RailSpec {
	s.Group, s.Bundle = cmp.Or(s.Group, s.Servers), max(1, s.Bundle)
	s.SpineRate, s.SpineDelay = cmp.Or(s.SpineRate, s.Rate), cmp.Or(s.SpineDelay, s.Delay)
	return s
}

// Size returns the size of the fabric that Rail will make, without building it. Its error
// wraps ErrInvalid.
func (s RailSpec) Size() (Size, error) {
	s = s.complete()
	if err := counts("rail", count{"servers", s.Servers}, count{"nics", s.NICs}, count{"group", s.Group}, count{"bundle", s.Bundle}); err != nil {
		return Size{}, err
	}
	if s.Servers%s.Group != 0 {
		return Size{}, fmt.Errorf("%w: rail: %d servers are not whole groups of %d", ErrInvalid, s.Servers, s.Group)
	}
	groups := s.Servers / s.Group
	rails := groups * s.NICs
	switch {
	case s.Spines < 0 || s.Spines > MaxRadix:
		return Size{}, fmt.Errorf("%w: rail: spines is %d, want 0 to %d", ErrInvalid, s.Spines, MaxRadix)
	case s.Spines == 0 && groups > 1:
		return Size{}, fmt.Errorf("%w: rail: without spines nothing joins the %d groups", ErrInvalid, groups)
	}
	if err := checkPorts("g0.rail0", s.Group+s.Spines*s.Bundle, s.Ports); err != nil {
		return Size{}, err
	}
	if err := checkPorts("spine0", rails*s.Bundle, s.Ports); err != nil && s.Spines > 0 {
		return Size{}, err
	}
	hosts, links := s.Servers*s.NICs, int64(rails)*int64(s.Spines)*int64(s.Bundle)
	switch {
	case hosts > MaxHosts:
		return Size{}, fmt.Errorf("%w: rail: %d NICs in all, the limit is %d", ErrInvalid, hosts, MaxHosts)
	case rails*s.Bundle > MaxRadix || s.Group+s.Spines*s.Bundle > MaxRadix:
		return Size{}, fmt.Errorf("%w: rail: a switch would have more than %d ports", ErrInvalid, MaxRadix)
	case int64(hosts)+links > maxFabricLinks:
		return Size{}, fmt.Errorf("%w: rail: %d links, the limit is %d", ErrInvalid, int64(hosts)+links, maxFabricLinks)
	}
	return Size{Hosts: hosts, Switches: rails + s.Spines, Racks: rails, HostLinks: hosts, SwitchLinks: links},
		checkLinks("rail", s.Rate, s.SpineRate, s.Delay, s.SpineDelay, s.SwitchDelay)
}

// Rail returns the graph. NIC r of server s is host s*NICs+r, called s0.r3 for example. It
// is on rail switch r of its group, g0.rail3, which is of tier ToR. The spine switches,
// spine0…, are of tier Agg and outside of pods; a pod is a group. The error is that of
// Size.
func Rail(s RailSpec) (*Graph, error) {
	size, err := s.Size()
	if err != nil {
		return nil, err
	}
	s = s.complete()
	b := newBuilder(fmt.Sprintf("rail-%dx%d", s.Servers, s.NICs), size.Hosts, size.Switches)
	b.graph.NICs = s.NICs
	for h := range size.Hosts {
		n := &b.graph.Nodes[h]
		n.Name, n.Pod = fmt.Sprintf("s%d.r%d", h/s.NICs, h%s.NICs), h/s.NICs/s.Group
	}
	for i := range size.Racks {
		b.addSwitch(fmt.Sprintf("g%d.rail%d", i/s.NICs, i%s.NICs), TierToR, i/s.NICs, s.SwitchDelay)
	}
	for i := range s.Spines {
		b.addSwitch(fmt.Sprintf("spine%d", i), TierAgg, NoPod, s.SwitchDelay)
	}
	for h := range size.Hosts {
		group, rail := h/s.NICs/s.Group, h%s.NICs
		b.connect(h, size.Hosts+group*s.NICs+rail, s.Rate, s.Delay)
	}
	for i := range size.Racks {
		for spine := range s.Spines {
			for range s.Bundle {
				b.connect(size.Hosts+i, size.Hosts+size.Racks+spine, s.SpineRate, s.SpineDelay)
			}
		}
	}
	return b.graph, nil
}

// Build returns what Rail does.
func (s RailSpec) Build() (Built, error) { return built(Rail(s)) }

// Auto returns what the value auto of a key became.
func (s RailSpec) Auto(key string) string {
	return map[string]string{"group": strconv.Itoa(s.Servers), "spine_rate": s.Rate.String(), "spine_delay": s.Delay.String()}[key]
}
