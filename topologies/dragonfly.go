package topologies

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// DragonflySpec are the parameters of a Dragonfly (Kim et al., ISCA 2008):
// Routers per group joined all to all, Global links per router. At full size it
// has Routers*Global+1 groups of which each pair shares one link.
type DragonflySpec struct {
	HostsPerRouter int // p
	Routers        int // a, per group
	Global         int // h, per router
	Groups         int // 0: full size; fewer share as many links per pair as each can have
	Rate           units.Rate
	GlobalRate     units.Rate // 0: Rate
	Delay          units.Duration
	GlobalDelay    units.Duration // 0: Delay
	SwitchDelay    units.Duration
}

// Check reports whether Dragonfly will succeed. Its error wraps ErrInvalid.
func (s DragonflySpec) Check() error {
	_, err := s.complete()
	return err
}

// Size returns the size of the fabric that Dragonfly will make, without building it. The
// error is that of Check.
func (s DragonflySpec) Size() (Size, error) {
	s, err := s.complete()
	if err != nil {
		return Size{}, err
	}
	a, h, routers := s.Routers, s.Global, s.Routers*s.Groups
	hosts := routers * s.HostsPerRouter
	return Size{
		Hosts: hosts, Switches: routers, Racks: routers,
		HostLinks: hosts, SwitchLinks: int64(s.Groups)*int64(a*(a-1)/2) + int64(s.Groups)*int64(a)*int64(h)/2, PodLinks: true,
	}, nil
}

// complete returns the spec with the zero values replaced by what they mean.
func (s DragonflySpec) complete() (DragonflySpec, error) {
	p, a, h := s.HostsPerRouter, s.Routers, s.Global
	if s.GlobalRate == 0 {
		s.GlobalRate = s.Rate
	}
	if s.GlobalDelay == 0 {
		s.GlobalDelay = s.Delay
	}
	if p < 1 || a < 1 || h < 1 || p > MaxRadix || a > MaxRadix || h > MaxRadix || p+a+h-1 > MaxRadix {
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d: each must be positive and a router has at most %d ports", ErrInvalid, p, a, h, MaxRadix)
	}
	full := a*h + 1
	if s.Groups == 0 {
		s.Groups = full
	}
	if s.Groups < 2 || s.Groups > full {
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d: %d groups, want 2 to %d, as a group has %d global links", ErrInvalid, p, a, h, s.Groups, full, full-1)
	}
	hosts := a * p * s.Groups
	links := hosts + s.Groups*(a*(a-1)/2) + s.Groups*a*h/2
	switch {
	case hosts > MaxHosts:
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d has %d hosts, the limit is %d", ErrInvalid, p, a, h, hosts, MaxHosts)
	case links > maxFabricLinks:
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d has %d links, the limit is %d", ErrInvalid, p, a, h, links, maxFabricLinks)
	case s.Rate <= 0 || s.Rate > MaxRate || s.GlobalRate < 0 || s.GlobalRate > MaxRate:
		return s, fmt.Errorf("%w: dragonfly: rates %v and %v must be positive and at most %v", ErrInvalid, s.Rate, s.GlobalRate, MaxRate)
	case s.Delay <= 0 || s.Delay > MaxDelay || s.GlobalDelay < 0 || s.GlobalDelay > MaxDelay || s.SwitchDelay < 0 || s.SwitchDelay > MaxDelay:
		return s, fmt.Errorf("%w: dragonfly: delays %v, %v and %v: those of links must be positive, all at most %v", ErrInvalid, s.Delay, s.GlobalDelay, s.SwitchDelay, MaxDelay)
	}
	return s, nil
}

// Dragonfly returns the graph with the absolute arrangement of global links:
// global port j of group G, counted over its routers, leads to group j, or j+1
// from j=G on. With g groups below full size the arrangement is repeated every
// g-1 ports, and ports beyond the last whole repetition do not exist. Routers
// are r0…, of tier ToR, and their pod is their group. A router's ports are its
// hosts, the other routers of its group in order, its global links. The error
// is that of Check.
func Dragonfly(s DragonflySpec) (*Graph, error) {
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	p, a, h, groups := s.HostsPerRouter, s.Routers, s.Global, s.Groups
	hosts := a * p * groups
	g := &Graph{Name: fmt.Sprintf("dragonfly-%d-%d-%d", p, a, h)}
	if groups <= a*h {
		g.Name += fmt.Sprintf("-%d", groups)
	}
	g.addTier(Host, TierHost, hosts, a*p, 0)
	g.addTier(Switch, TierToR, a*groups, a, s.SwitchDelay)
	for i := range a * groups {
		g.Nodes[hosts+i].Name = fmt.Sprintf("r%d", i)
	}
	for i := range hosts {
		g.Links = append(g.Links, Link{A: End{i, 0}, B: End{hosts + i/p, i % p}, Rate: s.Rate, Delay: s.Delay})
	}
	router := func(group, i int) int { return hosts + group*a + i }
	for group := range groups {
		for i := range a {
			for j := i + 1; j < a; j++ {
				g.Links = append(g.Links, Link{
					A: End{router(group, i), p + j - 1}, B: End{router(group, j), p + i}, Rate: s.Rate, Delay: s.Delay,
				})
			}
		}
	}
	global := func(group, port int) End { return End{router(group, port/h), p + a - 1 + port%h} }
	for first := 0; first+groups-1 <= a*h; first += groups - 1 {
		for group := range groups {
			for peer := group + 1; peer < groups; peer++ {
				g.Links = append(g.Links, Link{
					A: global(group, first+peer-1), B: global(peer, first+group), Rate: s.GlobalRate, Delay: s.GlobalDelay,
				})
			}
		}
	}
	return g, nil
}
