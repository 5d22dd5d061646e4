package topologies

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// DragonflySpec are the parameters of a Dragonfly (Kim et al., ISCA 2008):
// Routers per group joined all to all, Global links per router. At full size it
// has Routers*Global+1 groups of which each pair shares one link.
type DragonflySpec struct {
	HostsPerRouter int            `yaml:"p,required" is:"ports" doc:"hosts per router"`
	Routers        int            `yaml:"a,required" is:"ports" doc:"routers per group, joined all to all"`
	Global         int            `yaml:"h,required" is:"ports" doc:"links of a router to other groups"`
	Groups         int            `yaml:"groups" is:"2 to 1048576 or auto" default:"auto" doc:"groups; auto: a·h+1, as many as there can be"`
	Arrangement    Arrangement    `yaml:"arrangement" default:"absolute" doc:"which groups the global links of a group lead to"`
	Rate           units.Rate     `yaml:"rate,required" is:"rate" doc:"of hosts' links"`
	LocalRate      units.Rate     `yaml:"local_rate" is:"rate or auto" default:"auto" doc:"within a group; auto: the same"`
	GlobalRate     units.Rate     `yaml:"global_rate" is:"rate or auto" default:"auto" doc:"between groups; auto: the same"`
	Delay          units.Duration `yaml:"delay,required" is:"link delay" doc:"of hosts' links"`
	LocalDelay     units.Duration `yaml:"local_delay" is:"link delay or auto" default:"auto" doc:"within a group; auto: the same"`
	GlobalDelay    units.Duration `yaml:"global_delay" is:"link delay or auto" default:"auto" doc:"between groups; auto: the same"`
	SwitchDelay    units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every router"`
	Ports          int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Arrangement is how the global links of a Dragonfly join its groups
// (docs/reference/references.md#dragonflies).
type Arrangement uint8

// Arrangements. Port j of group G is counted over the routers of the group. Absolute is that of
// BookSim and SST, Relative of SST (it arrives at port a·h-1-j), Circulant of sst-macro's dragonfly.cc.
const (
	Absolute  Arrangement = iota // port j leads to group j, or j+1 from j=G on
	Relative                     // port j leads to the group j+1 after G
	Circulant                    // ports 2k and 2k+1 lead to the groups k+1 after G and k+1 before it
)

var arrangements = []string{"absolute", "relative", "circulant"}

// Names returns the names of the arrangements, in the order of their values.
func (Arrangement) Names() []string { return slices.Clone(arrangements) }

// String returns absolute, relative or circulant.
func (a Arrangement) String() string {
	if int(a) < len(arrangements) {
		return arrangements[a]
	}
	return fmt.Sprintf("arrangement%d", int(a))
}

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (a *Arrangement) UnmarshalText(text []byte) error {
	return spelling.Enum(a, "arrangement", text, arrangements)
}

// Check reports why global links of the routers cannot join groups so, nil if they can.
func (a Arrangement) Check(global, groups int) error {
	switch {
	case a > Circulant:
		return fmt.Errorf("there is no %v", a)
	case a == Circulant && global%2 != 0:
		return fmt.Errorf("circulant needs an even h: the links of a router go in pairs, to a group after its own and to one as far before; h is %d", global)
	case a == Circulant && groups%2 == 0:
		return fmt.Errorf("circulant needs an odd number of groups: the group opposite of another would be both after and before it; there are %d", groups)
	}
	return nil
}

// peer returns the far end of global port j of a group, below the number of other groups.
func (a Arrangement) peer(group, j, groups int) (peer, port int) {
	switch a {
	case Relative:
		return (group + j + 1) % groups, groups - 2 - j
	case Circulant:
		offset := j/2 + 1
		if j%2 != 0 {
			offset = groups - offset
		}
		return (group + offset) % groups, j ^ 1
	}
	if j < group {
		return j, group - 1
	}
	return j + 1, group
}

// Size returns the size of the fabric that Dragonfly will make, without building it. Its
// error wraps ErrInvalid.
func (s DragonflySpec) Size() (Size, error) {
	s, err := s.complete()
	if err != nil {
		return Size{}, err
	}
	a, h, routers := s.Routers, s.Global, s.Routers*s.Groups
	hosts := routers * s.HostsPerRouter
	return Size{
		Hosts: hosts, Switches: routers, Racks: routers,
		HostLinks: hosts, SwitchLinks: int64(s.Groups)*int64(a*(a-1)/2) + int64(s.Groups)*int64(s.Groups-1)/2*int64(a*h/(s.Groups-1)), PodLinks: true,
	}, nil
}

// complete returns the spec with the zero values replaced by what they mean.
func (s DragonflySpec) complete() (DragonflySpec, error) {
	p, a, h := s.HostsPerRouter, s.Routers, s.Global
	s.LocalRate, s.GlobalRate = cmp.Or(s.LocalRate, s.Rate), cmp.Or(s.GlobalRate, s.Rate)
	s.LocalDelay, s.GlobalDelay = cmp.Or(s.LocalDelay, s.Delay), cmp.Or(s.GlobalDelay, s.Delay)
	if p < 1 || a < 1 || h < 1 || p > MaxRadix || a > MaxRadix || h > MaxRadix || p+a+h-1 > MaxRadix {
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d: each must be positive and a router has at most %d ports", ErrInvalid, p, a, h, MaxRadix)
	}
	of, full := fmt.Sprintf("dragonfly p=%d a=%d h=%d", p, a, h), a*h+1
	if s.Groups == 0 {
		s.Groups = full
	}
	if s.Groups < 2 {
		return s, &KeyError{"groups", of, fmt.Sprintf("%d is too small; the least is 2", s.Groups)}
	}
	if s.Groups > full {
		return s, &KeyError{"groups", of, fmt.Sprintf("%d is too large; the most is %d, as a group has %d global links", s.Groups, full, full-1)}
	}
	if err := s.Arrangement.Check(h, s.Groups); err != nil {
		return s, &KeyError{"arrangement", of, err.Error()}
	}
	if err := checkPorts("r0", p+a+h-1, s.Ports); err != nil {
		return s, err
	}
	hosts := a * p * s.Groups
	links := hosts + s.Groups*(a*(a-1)/2) + s.Groups*a*h/2
	switch {
	case hosts > MaxHosts:
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d has %d hosts, the limit is %d", ErrInvalid, p, a, h, hosts, MaxHosts)
	case links > maxFabricLinks:
		return s, fmt.Errorf("%w: dragonfly p=%d a=%d h=%d has %d links, the limit is %d", ErrInvalid, p, a, h, links, maxFabricLinks)
	case min(s.Rate, s.LocalRate, s.GlobalRate) <= 0 || max(s.Rate, s.LocalRate, s.GlobalRate) > MaxRate:
		return s, fmt.Errorf("%w: dragonfly: rates %v, %v and %v must be positive and at most %v", ErrInvalid, s.Rate, s.LocalRate, s.GlobalRate, MaxRate)
	case min(s.Delay, s.LocalDelay, s.GlobalDelay) <= 0 || s.SwitchDelay < 0 || max(s.Delay, s.LocalDelay, s.GlobalDelay, s.SwitchDelay) > MaxDelay:
		return s, fmt.Errorf("%w: dragonfly: delays %v, %v, %v and %v: those of links must be positive, all at most %v", ErrInvalid, s.Delay, s.LocalDelay, s.GlobalDelay, s.SwitchDelay, MaxDelay)
	}
	return s, nil
}

// Dragonfly returns the graph. With g groups below full size the arrangement is
// repeated every g-1 global ports of a group, so that each pair of groups has as many
// links, and ports beyond the last whole repetition do not exist. Routers are r0…, of
// tier ToR, and their pod is their group. A router's ports are its hosts, the other
// routers of its group in order, its global links. The error is that of Size.
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
	if s.Arrangement != Absolute {
		g.Name += "-" + s.Arrangement.String()
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
					A: End{router(group, i), p + j - 1}, B: End{router(group, j), p + i}, Rate: s.LocalRate, Delay: s.LocalDelay,
				})
			}
		}
	}
	global := func(group, port int) End { return End{router(group, port/h), p + a - 1 + port%h} }
	for first := 0; first+groups-1 <= a*h; first += groups - 1 {
		for group := range groups {
			for j := range groups - 1 {
				peer, port := s.Arrangement.peer(group, j, groups)
				if peer < group {
					continue
				}
				g.Links = append(g.Links, Link{
					A: global(group, first+j), B: global(peer, first+port), Rate: s.GlobalRate, Delay: s.GlobalDelay,
				})
			}
		}
	}
	return g, nil
}

// Build returns what Dragonfly does.
func (s DragonflySpec) Build() (Built, error) { return built(Dragonfly(s)) }

// Auto returns what the value auto of a key became.
func (s DragonflySpec) Auto(key string) string {
	rate, delay := s.Rate.String(), s.Delay.String()
	return map[string]string{"groups": strconv.Itoa(s.Routers*s.Global + 1), "local_rate": rate, "global_rate": rate, "local_delay": delay, "global_delay": delay}[key]
}

// DragonflyCounts are the numbers of a Dragonfly beyond those of Size.
type DragonflyCounts struct {
	Groups      int   `json:"groups"`
	Radix       int   `json:"radix"`       // ports of a router, global ones without a link included
	LocalLinks  int64 `json:"localLinks"`  // within groups
	GlobalLinks int64 `json:"globalLinks"` // between groups
	PerPair     int   `json:"perPair"`     // links between each pair of groups
	// Distances has how many routers are 0, 1, 2, … hops away from each router of group
	// 0, summed, by the shortest path of any kind.
	Distances []int64 `json:"distances"`
}

// Counts counts the fabric that Dragonfly will make, without building it. The error is
// that of Size.
func (s DragonflySpec) Counts() (DragonflyCounts, error) {
	s, err := s.complete()
	if err != nil {
		return DragonflyCounts{}, err
	}
	a, h, groups := s.Routers, s.Global, s.Groups
	c := DragonflyCounts{Groups: groups, Radix: s.HostsPerRouter + a + h - 1, PerPair: a * h / (groups - 1)}
	c.LocalLinks = int64(groups) * int64(a*(a-1)/2)
	c.GlobalLinks = int64(groups) * int64(groups-1) / 2 * int64(c.PerPair)
	hops, queue := make([]int, a*groups), make([]int, 0, a*groups)
	for root := range a {
		for i := range hops {
			hops[i] = -1
		}
		hops[root], queue = 0, append(queue[:0], root)
		for next := 0; next < len(queue); next++ {
			router := queue[next]
			if hops[router] == len(c.Distances) {
				c.Distances = append(c.Distances, 0)
			}
			c.Distances[hops[router]]++
			reach := func(peer int) {
				if hops[peer] < 0 {
					hops[peer] = hops[router] + 1
					queue = append(queue, peer)
				}
			}
			group, first := router/a, router/a*a
			for i := range a {
				reach(first + i)
			}
			for j := router % a * h; j < (router%a+1)*h && j < c.PerPair*(groups-1); j++ {
				peer, port := s.Arrangement.peer(group, j%(groups-1), groups)
				reach(peer*a + (j/(groups-1)*(groups-1)+port)/h)
			}
		}
	}
	return c, nil
}
