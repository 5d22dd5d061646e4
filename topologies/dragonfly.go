package topologies

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/units"
)

// DragonflySpec are the parameters of a full-size Dragonfly (Kim et al., ISCA
// 2008): Routers per group joined all to all, Global links per router, and
// Routers*Global+1 groups of which each pair shares one link.
type DragonflySpec struct {
	HostsPerRouter int // p
	Routers        int // a, per group
	Global         int // h, per router
	Rate           units.BitRate
	GlobalRate     units.BitRate // 0: Rate
	Delay          clock.Duration
	GlobalDelay    clock.Duration // 0: Delay
	SwitchDelay    clock.Duration
}

// Dragonfly returns the graph with the absolute arrangement of global links:
// port j of group G, counted over its routers, leads to group j, or j+1 from j=G
// on. Routers are r0…, of tier ToR, and their pod is their group. A router's
// ports are its hosts, the other routers of its group in order, its global links.
// Every parameter must be positive.
func Dragonfly(s DragonflySpec) (*Graph, error) {
	p, a, h := s.HostsPerRouter, s.Routers, s.Global
	if s.GlobalRate == 0 {
		s.GlobalRate = s.Rate
	}
	if s.GlobalDelay == 0 {
		s.GlobalDelay = s.Delay
	}
	switch {
	case p < 1 || a < 1 || h < 1 || p > MaxRadix || a > MaxRadix || h > MaxRadix || p+a+h-1 > MaxRadix:
		return nil, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d: each must be positive and a router has at most %d ports", ErrInvalid, p, a, h, MaxRadix)
	case a*p*(a*h+1) > MaxHosts:
		return nil, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d has %d hosts, the limit is %d", ErrInvalid, p, a, h, a*p*(a*h+1), MaxHosts)
	case s.Rate <= 0 || s.Rate > MaxRate || s.GlobalRate < 0 || s.GlobalRate > MaxRate:
		return nil, fmt.Errorf("%w: dragonfly: rates %v and %v must be positive and at most %v", ErrInvalid, s.Rate, s.GlobalRate, MaxRate)
	case s.Delay <= 0 || s.Delay > MaxDelay || s.GlobalDelay < 0 || s.GlobalDelay > MaxDelay || s.SwitchDelay < 0 || s.SwitchDelay > MaxDelay:
		return nil, fmt.Errorf("%w: dragonfly: delays %v, %v and %v: those of links must be positive, all at most %v", ErrInvalid, s.Delay, s.GlobalDelay, s.SwitchDelay, MaxDelay)
	}
	groups := a*h + 1
	hosts := a * p * groups
	g := &Graph{Name: fmt.Sprintf("dragonfly-%d-%d-%d", p, a, h)}
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
	for group := range groups {
		for peer := group + 1; peer < groups; peer++ {
			g.Links = append(g.Links, Link{
				A: global(group, peer-1), B: global(peer, group), Rate: s.GlobalRate, Delay: s.GlobalDelay,
			})
		}
	}
	return g, nil
}
