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
	Leaves       int            `yaml:"leaves,required" is:"ports" doc:"leaf switches"`
	Spines       int            `yaml:"spines,required" is:"ports" doc:"spine switches, each joined to every leaf"`
	HostsPerLeaf int            `yaml:"hosts_per_leaf,required" is:"ports" doc:"hosts of each leaf"`
	Bundle       int            `yaml:"bundle" is:"ports" default:"1" doc:"links between a leaf and a spine"`
	Rate         units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	SpineRate    units.Rate     `yaml:"spine_rate" is:"rate or auto" default:"auto" doc:"of the links between leaf and spine; auto: that of the hosts"`
	Delay        units.Duration `yaml:"delay,required" is:"link delay" doc:"of every link"`
	SwitchDelay  units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports        int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Check implements TopologyChecker. Single values are in their ranges, so that only
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
