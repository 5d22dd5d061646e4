package experiment

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// FatTree are the parameters of a fat tree (3 tiers) or leaf-spine (2 tiers).
type FatTree struct {
	Hosts   int    `yaml:"hosts,required" is:"2 to 1048576" doc:"hosts in all"`
	PodSize int    `yaml:"pod,required" is:"hosts" doc:"hosts per pod"`
	Tiers   []Tier `yaml:"tiers,required" doc:"two tiers (ToR, spine) or three (ToR, Agg, core), from the hosts up"`
}

// Tier is one level of switches. Down links lead towards the hosts.
type Tier struct {
	Down           int            `yaml:"down,required" is:"ports" doc:"ports of a switch towards the hosts"`
	Up             int            `yaml:"up" is:"0 to 4096" default:"0" doc:"ports away from them; not at the top"`
	Oversubscribed int            `yaml:"oversubscribed" is:"ports or auto" default:"auto" doc:"rate down over rate up; given, it is checked against the other numbers"`
	Bundle         int            `yaml:"bundle" is:"ports" default:"1" doc:"parallel links in place of one"`
	Rate           units.Rate     `yaml:"rate,required" is:"rate" doc:"of the down links"`
	Delay          units.Duration `yaml:"delay,required" is:"link delay" doc:"of the down links"`
	SwitchDelay    units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"from a packet's last bit in to its egress queue"`
	Ports          int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Check implements TopologyChecker.
func (f FatTree) Check(c *Check) int {
	tree := f.generator()
	err := tree.Check()
	var shape *topologies.ShapeError
	if !errors.As(err, &shape) {
		for i, t := range f.Tiers {
			c.Ports(fmt.Sprintf("tiers[%d].ports", i), topologies.Tier(i+1).String()+"0", t.Down+t.Up, t.Ports)
		}
		return c.Fits("", tree.Size)
	}
	name := map[topologies.Field]string{
		topologies.FieldHosts: "hosts", topologies.FieldPodSize: "pod", topologies.FieldTiers: "tiers",
		topologies.FieldRate: "rate", topologies.FieldDelay: "delay", topologies.FieldSwitchDelay: "switch_delay",
		topologies.FieldRadixDown: "down", topologies.FieldRadixUp: "up",
		topologies.FieldOversubscribed: "oversubscribed", topologies.FieldBundle: "bundle",
	}[shape.Field]
	key := name
	if shape.Tier != topologies.NoTier {
		key = fmt.Sprintf("tiers[%d].%s", shape.Tier, name)
	}
	c.Fail(key, "%s", shape.Describe(name))
	return 0
}

// Size implements Sized.
func (f FatTree) Size() (topologies.Size, error) { return f.generator().Size() }

// Build implements TopologySpec.
func (f FatTree) Build() (Built, error) { return buildTree(f.generator(), nil) }

func (f FatTree) generator() topologies.FatTree {
	g := topologies.FatTree{Hosts: f.Hosts, PodSize: f.PodSize}
	for _, t := range f.Tiers {
		g.Tiers = append(g.Tiers, topologies.FatTreeTier{
			Rate: t.Rate, Delay: t.Delay, SwitchDelay: t.SwitchDelay,
			RadixDown: t.Down, RadixUp: t.Up, Oversubscribed: t.Oversubscribed, Bundle: t.Bundle,
		})
	}
	return g
}

// Auto implements Deriver.
func (f FatTree) Auto(key string) string {
	var tier int
	if _, err := fmt.Sscanf(key, "tiers[%d].oversubscribed", &tier); err != nil {
		return ""
	}
	if tier+1 == len(f.Tiers) {
		return "the top tier has no links up"
	}
	low, high := f.Tiers[tier], f.Tiers[tier+1]
	return strconv.FormatFloat(float64(low.Down)*float64(low.Rate)/(float64(low.Up)*float64(high.Rate)), 'g', 4, 64)
}
