package experiment

import (
	"errors"
	"strings"

	"github.com/csiglab/csiglab/topologies"
)

// LeafSpine is a fabric in which every leaf reaches every spine.
type LeafSpine topologies.LeafSpineSpec

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

// Size implements Sized.
func (l LeafSpine) Size() (topologies.Size, error) {
	tree, err := l.generator()
	if err != nil {
		return topologies.Size{}, err
	}
	return tree.Size()
}

// Build implements TopologySpec.
func (l LeafSpine) Build() (Built, error) { return buildTree(l.generator()) }

func (l LeafSpine) generator() (topologies.FatTree, error) {
	return topologies.LeafSpine(topologies.LeafSpineSpec(l))
}

// Auto implements Deriver.
func (l LeafSpine) Auto(key string) string {
	return map[string]string{"spine_rate": l.Rate.String()}[key]
}
