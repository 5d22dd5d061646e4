package experiment

import (
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// KAry are the parameters of a fat tree of equal switches without
// oversubscription: k pods, k^3/4 hosts.
type KAry struct {
	K           int            `yaml:"k"` // ports per switch, even
	Rate        units.Rate     `yaml:"rate"`
	Delay       units.Duration `yaml:"delay"`
	SwitchDelay units.Duration `yaml:"switch_delay"`
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "k_ary", Doc: "a fat tree of equal switches without oversubscription", Rank: 30,
		Keys: []Key{
			{Path: "k", Required: true, Rule: Between(2, 160), Doc: "ports per switch, even: a fat tree of k pods and k³/4 hosts"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of every link"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of every link"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every switch"},
		},
	},
	Spec: KAry{},
})

// Check implements TopologySpec.
func (k KAry) Check(c *Check) int {
	tree, err := k.generator()
	if err != nil {
		c.Fail("k", "%d is odd; half of a switch's ports lead up", k.K)
		return 0
	}
	return c.Fits("k", tree.Size)
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
