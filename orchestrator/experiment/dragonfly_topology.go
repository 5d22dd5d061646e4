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
	P           int                    `yaml:"p,required" is:"ports" doc:"hosts per router"`
	A           int                    `yaml:"a,required" is:"ports" doc:"routers per group, joined all to all"`
	H           int                    `yaml:"h,required" is:"ports" doc:"links of a router to other groups"`
	Groups      int                    `yaml:"groups" is:"2 to 1048576 or auto" default:"auto" doc:"groups; auto: a·h+1, as many as there can be"`
	Arrangement topologies.Arrangement `yaml:"arrangement" default:"absolute" doc:"which groups the global links of a group lead to"`
	Rate        units.Rate             `yaml:"rate,required" is:"rate" doc:"of hosts' links"`
	LocalRate   units.Rate             `yaml:"local_rate" is:"rate or auto" default:"auto" doc:"within a group; auto: the same"`
	GlobalRate  units.Rate             `yaml:"global_rate" is:"rate or auto" default:"auto" doc:"between groups; auto: the same"`
	Delay       units.Duration         `yaml:"delay,required" is:"link delay" doc:"of hosts' links"`
	LocalDelay  units.Duration         `yaml:"local_delay" is:"link delay or auto" default:"auto" doc:"within a group; auto: the same"`
	GlobalDelay units.Duration         `yaml:"global_delay" is:"link delay or auto" default:"auto" doc:"between groups; auto: the same"`
	SwitchDelay units.Duration         `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every router"`
	Ports       int                    `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

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
