package experiment

import (
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Dragonfly are the parameters of groups of routers: those of a group are joined
// all to all, groups by global links in an arrangement.
type Dragonfly struct {
	P           int                    `yaml:"p"`      // hosts per router
	A           int                    `yaml:"a"`      // routers per group
	H           int                    `yaml:"h"`      // global links per router
	Groups      int                    `yaml:"groups"` // 0 or "auto": a*h+1, full size
	Arrangement topologies.Arrangement `yaml:"arrangement"`
	Rate        units.Rate             `yaml:"rate"`
	LocalRate   units.Rate             `yaml:"local_rate"`  // 0 or "auto": rate
	GlobalRate  units.Rate             `yaml:"global_rate"` // 0 or "auto": rate
	Delay       units.Duration         `yaml:"delay"`
	LocalDelay  units.Duration         `yaml:"local_delay"`  // 0 or "auto": delay
	GlobalDelay units.Duration         `yaml:"global_delay"` // 0 or "auto": delay
	SwitchDelay units.Duration         `yaml:"switch_delay"`
	Ports       int                    `yaml:"ports"` // of a router; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "dragonfly", Doc: "groups of routers joined all to all, with global links between the groups", Rank: 50,
		Keys: []Key{
			{Path: "p", Required: true, Rule: Between(1, maxPorts), Doc: "hosts per router"},
			{Path: "a", Required: true, Rule: Between(1, maxPorts), Doc: "routers per group, joined all to all"},
			{Path: "h", Required: true, Rule: Between(1, maxPorts), Doc: "links of a router to other groups"},
			{Path: "groups", Default: "auto", Rule: Between(2, maxHosts).Or("auto"), Doc: "groups; auto: a·h+1, as many as there can be"},
			{Path: "arrangement", Default: "absolute", Rule: OneOf(topologies.Arrangements()...), Doc: "which groups the global links of a group lead to"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of hosts' links"},
			{Path: "local_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "within a group; auto: the same"},
			{Path: "global_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "between groups; auto: the same"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of hosts' links"},
			{Path: "local_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "within a group; auto: the same"},
			{Path: "global_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "between groups; auto: the same"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every router"},
			portsKey,
		},
	},
	Spec: Dragonfly{},
})

// Check implements TopologySpec.
func (f Dragonfly) Check(c *Check) int {
	groups := f.Groups
	switch full := f.A*f.H + 1; {
	case groups == 0:
		groups = full
	case groups > full:
		c.Fail("groups", "%d is too large; the most is %d, as a group has %d global links", groups, full, full-1)
		return 0
	}
	if err := f.Arrangement.Check(f.H, groups); err != nil {
		c.Fail("arrangement", "%v", err)
		return 0
	}
	if c.Ports("ports", "r0", f.P+f.A+f.H-1, f.Ports); f.Ports > 0 && f.Ports < f.P+f.A+f.H-1 {
		return 0
	}
	if err := f.generator().Check(); err != nil {
		c.Fail("", "%s", strings.TrimPrefix(err.Error(), topologies.ErrInvalid.Error()+": "))
		return 0
	}
	return c.Fits("", f.generator().Size)
}

// Size implements Sized.
func (f Dragonfly) Size() (topologies.Size, error) { return f.generator().Size() }

// Counts returns the numbers of the Dragonfly beyond its size.
func (f Dragonfly) Counts() (topologies.DragonflyCounts, error) { return f.generator().Counts() }

// Build implements TopologySpec. A Dragonfly is no fat tree.
func (f Dragonfly) Build() (Built, error) {
	graph, err := topologies.Dragonfly(f.generator())
	return Built{Graph: graph}, err
}

func (f Dragonfly) generator() topologies.DragonflySpec {
	return topologies.DragonflySpec{
		HostsPerRouter: f.P, Routers: f.A, Global: f.H, Groups: f.Groups, Arrangement: f.Arrangement,
		Rate: f.Rate, LocalRate: f.LocalRate, GlobalRate: f.GlobalRate,
		Delay: f.Delay, LocalDelay: f.LocalDelay, GlobalDelay: f.GlobalDelay, SwitchDelay: f.SwitchDelay,
	}
}

// Auto implements Deriver.
func (f Dragonfly) Auto(key string) string {
	rate, delay := f.Rate.String(), f.Delay.String()
	return map[string]string{"groups": strconv.Itoa(f.A*f.H + 1), "local_rate": rate, "global_rate": rate, "local_delay": delay, "global_delay": delay}[key]
}
