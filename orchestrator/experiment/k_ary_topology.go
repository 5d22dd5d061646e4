package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// KAry are the parameters of a fat tree of equal switches without
// oversubscription: k pods, k^3/4 hosts.
type KAry struct {
	K           int            `yaml:"k,required" is:"2 to 160" doc:"ports per switch, even: a fat tree of k pods and k³/4 hosts"`
	Rate        units.Rate     `yaml:"rate,required" is:"rate" doc:"of every link"`
	Delay       units.Duration `yaml:"delay,required" is:"link delay" doc:"of every link"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
}

// Check implements TopologyChecker.
func (k KAry) Check(c *Check) int {
	tree, err := k.generator()
	if err != nil {
		c.Fail("k", "%d is odd; half of a switch's ports lead up", k.K)
		return 0
	}
	return c.Fits("k", tree.Size)
}

// Size implements Sized.
func (k KAry) Size() (topologies.Size, error) {
	tree, err := k.generator()
	if err != nil {
		return topologies.Size{}, err
	}
	return tree.Size()
}

// Build implements TopologySpec.
func (k KAry) Build() (Built, error) { return buildTree(k.generator()) }

func (k KAry) generator() (topologies.FatTree, error) {
	tree, err := topologies.KAryFatTree(k.K, k.Rate, k.Delay)
	for i := range tree.Tiers {
		tree.Tiers[i].SwitchDelay = k.SwitchDelay
	}
	return tree, err
}
