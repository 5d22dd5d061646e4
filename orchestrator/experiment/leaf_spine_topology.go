package experiment

import (
	"errors"
	"strings"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// LeafSpine are the parameters of a fabric in which every leaf reaches every
// spine.
type LeafSpine struct {
	Leaves       int            `yaml:"leaves"`
	Spines       int            `yaml:"spines"`
	HostsPerLeaf int            `yaml:"hosts_per_leaf"`
	Bundle       int            `yaml:"bundle"`     // links per leaf and spine; default 1
	Rate         units.Rate     `yaml:"rate"`       // of the hosts' links
	SpineRate    units.Rate     `yaml:"spine_rate"` // 0 or "auto": rate
	Delay        units.Duration `yaml:"delay"`
	SwitchDelay  units.Duration `yaml:"switch_delay"`
	Ports        int            `yaml:"ports"` // of a switch; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "leaf_spine", Doc: "leaf switches, each joined to every spine switch", Rank: 40,
		Keys: []Key{
			{Path: "leaves", Required: true, Rule: Between(1, maxPorts), Doc: "leaf switches"},
			{Path: "spines", Required: true, Rule: Between(1, maxPorts), Doc: "spine switches, each joined to every leaf"},
			{Path: "hosts_per_leaf", Required: true, Rule: Between(1, maxPorts), Doc: "hosts of each leaf"},
			{Path: "bundle", Default: "1", Rule: Between(1, maxPorts), Doc: "links between a leaf and a spine"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the hosts' links"},
			{Path: "spine_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "of the links between leaf and spine; auto: that of the hosts"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of every link"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every switch"},
			portsKey,
		},
	},
	Spec: LeafSpine{},
})

// Check implements TopologySpec. Single values are in their ranges, so that only
// products of them can be too large.
func (l LeafSpine) Check(c *Check) int {
	tree, err := l.generator()
	var shape *topologies.ShapeError
	if !errors.As(err, &shape) {
		c.Ports("ports", "tor0", tree.Tiers[0].RadixDown+tree.Tiers[0].RadixUp, l.Ports)
		c.Ports("ports", "agg0", tree.Tiers[1].RadixDown, l.Ports)
		return c.Fits("", tree.Size)
	}
	key := "leaves"
	if shape.Field == topologies.FieldRadixUp {
		key = "spines"
	}
	c.Fail(key, "%s", strings.TrimPrefix(err.Error(), "fat tree: "))
	return 0
}

// Build implements TopologySpec.
func (l LeafSpine) Build() (Built, error) { return buildTree(l.generator()) }

func (l LeafSpine) generator() (topologies.FatTree, error) {
	return topologies.LeafSpine(topologies.LeafSpineSpec{
		Leaves: l.Leaves, Spines: l.Spines, HostsPerLeaf: l.HostsPerLeaf, Bundle: l.Bundle,
		HostRate: l.Rate, SpineRate: l.SpineRate, Delay: l.Delay, SwitchDelay: l.SwitchDelay,
	})
}

// Auto implements Deriver.
func (l LeafSpine) Auto(key string) string {
	return map[string]string{"spine_rate": l.Rate.String()}[key]
}
