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
	Hosts   int    `yaml:"hosts"`
	PodSize int    `yaml:"pod"`   // hosts per pod
	Tiers   []Tier `yaml:"tiers"` // from the hosts up: tor, agg, core
}

// Tier is one level of switches. Down links lead towards the hosts.
type Tier struct {
	Down           int            `yaml:"down"`           // down ports per switch
	Up             int            `yaml:"up"`             // up ports per switch; 0 at the top
	Oversubscribed int            `yaml:"oversubscribed"` // rate down over rate up; 0 or "auto": whatever the numbers give
	Bundle         int            `yaml:"bundle"`         // default 1
	Rate           units.Rate     `yaml:"rate"`           // of the down links
	Delay          units.Duration `yaml:"delay"`          // of the down links
	SwitchDelay    units.Duration `yaml:"switch_delay"`
	Ports          int            `yaml:"ports"` // that a switch has; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "fat_tree", Doc: "a fat tree of two or three tiers of switches, each tier as given", Rank: 20,
		Keys: []Key{
			{Path: "hosts", Required: true, Rule: Between(2, maxHosts), Doc: "hosts in all"},
			{Path: "pod", Required: true, Rule: Between(1, maxHosts), Doc: "hosts per pod"},
			{Path: "tiers", Required: true, Doc: "two tiers (ToR, spine) or three (ToR, Agg, core), from the hosts up"},
			{Path: "tiers[].down", Required: true, Rule: Between(1, maxPorts), Doc: "ports of a switch towards the hosts"},
			{Path: "tiers[].up", Default: "0", Rule: Between(0, maxPorts), Doc: "ports away from them; not at the top"},
			{Path: "tiers[].rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the down links"},
			{Path: "tiers[].delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of the down links"},
			{Path: "tiers[].switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "from a packet's last bit in to its egress queue"},
			{Path: "tiers[].oversubscribed", Default: "auto", Rule: Between(1, maxPorts).Or("auto"), Doc: "rate down over rate up; given, it is checked against the other numbers"},
			{Path: "tiers[].bundle", Default: "1", Rule: Between(1, maxPorts), Doc: "parallel links in place of one"},
			{Path: "tiers[].ports", Default: portsKey.Default, Rule: portsKey.Rule, Doc: portsKey.Doc},
		},
	},
	Spec: FatTree{},
})

// Check implements TopologySpec.
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
