package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/topologies"
)

// topology checks a generator's parameters against each other. It returns the
// number of hosts, or 0 when it is not known here.
func (d *decoder) topology(t Topology) int {
	switch {
	case t.FatTree != nil:
		tree := t.FatTree.Generator()
		return d.fatTree(tree, tree.Check(), "topology.fat_tree", shapeKeys)
	case t.KAry != nil:
		tree, err := t.KAry.Generator()
		if err != nil {
			d.failAt("topology.k_ary.k", fmt.Sprintf("%d is odd; half of a switch's ports lead up", t.KAry.K), "")
			return 0
		}
		return tree.Hosts
	case t.LeafSpine != nil:
		tree, err := t.LeafSpine.Generator()
		return d.fatTree(tree, err, "topology.leaf_spine", leafSpineKeys)
	case t.Dragonfly != nil:
		return d.dragonfly(t.Dragonfly)
	}
	return 0
}

// shapeKeys are the keys of the fields that a generator complains about.
var shapeKeys = map[topologies.Field]string{
	topologies.FieldHosts: "hosts", topologies.FieldPodSize: "pod", topologies.FieldTiers: "tiers",
	topologies.FieldRate: "rate", topologies.FieldDelay: "delay", topologies.FieldSwitchDelay: "switch_delay",
	topologies.FieldRadixDown: "down", topologies.FieldRadixUp: "up",
	topologies.FieldOversubscribed: "oversubscribed", topologies.FieldBundle: "bundle",
}

// leafSpineKeys are those of a leaf-spine fabric, whose single values are in
// their ranges: only products of them can be too large.
var leafSpineKeys = map[topologies.Field]string{
	topologies.FieldHosts: "leaves", topologies.FieldRadixUp: "spines", topologies.FieldRadixDown: "leaves",
}

func (d *decoder) fatTree(tree topologies.FatTree, err error, path string, keys map[topologies.Field]string) int {
	var shape *topologies.ShapeError
	if !errors.As(err, &shape) {
		return tree.Hosts
	}
	key := keys[shape.Field]
	switch {
	case path != "topology.fat_tree":
		d.failAt(join(path, key), strings.TrimPrefix(err.Error(), "fat tree: "), "")
		return 0
	case shape.Tier != topologies.NoTier:
		path = fmt.Sprintf("%s.tiers[%d]", path, shape.Tier)
	}
	d.failAt(join(path, key), shape.Describe(key), "")
	return 0
}

func (d *decoder) dragonfly(f *Dragonfly) int {
	groups := f.Groups
	switch full := f.A*f.H + 1; {
	case groups == 0:
		groups = full
	case groups > full:
		d.failAt("topology.dragonfly.groups", fmt.Sprintf("%d is too large; the most is %d, as a group has %d global links", groups, full, full-1), "")
		return 0
	}
	if err := f.Generator().Check(); err != nil {
		d.failAt("topology.dragonfly", strings.TrimPrefix(err.Error(), topologies.ErrInvalid.Error()+": "), "")
		return 0
	}
	return f.P * f.A * groups
}

// Generator returns the parameters for package topologies.
func (f *FatTree) Generator() topologies.FatTree {
	g := topologies.FatTree{Hosts: f.Hosts, PodSize: f.PodSize}
	for _, t := range f.Tiers {
		g.Tiers = append(g.Tiers, topologies.FatTreeTier{
			Rate: t.Rate, Delay: t.Delay, SwitchDelay: t.SwitchDelay,
			RadixDown: t.Down, RadixUp: t.Up, Oversubscribed: t.Oversubscribed, Bundle: t.Bundle,
		})
	}
	return g
}

// Generator returns the parameters for package topologies. The error wraps
// topologies.ErrInvalid.
func (k *KAry) Generator() (topologies.FatTree, error) {
	tree, err := topologies.KAryFatTree(k.K, k.Rate, k.Delay)
	for i := range tree.Tiers {
		tree.Tiers[i].SwitchDelay = k.SwitchDelay
	}
	return tree, err
}

// Generator returns the parameters for package topologies. The error wraps
// topologies.ErrInvalid.
func (l *LeafSpine) Generator() (topologies.FatTree, error) {
	return topologies.LeafSpine(topologies.LeafSpineSpec{
		Leaves: l.Leaves, Spines: l.Spines, HostsPerLeaf: l.HostsPerLeaf, Bundle: l.Bundle,
		HostRate: l.Rate, SpineRate: l.SpineRate, Delay: l.Delay, SwitchDelay: l.SwitchDelay,
	})
}

// Generator returns the parameters for package topologies.
func (f *Dragonfly) Generator() topologies.DragonflySpec {
	return topologies.DragonflySpec{
		HostsPerRouter: f.P, Routers: f.A, Global: f.H, Groups: f.Groups,
		Rate: f.Rate, GlobalRate: f.GlobalRate, Delay: f.Delay, GlobalDelay: f.GlobalDelay, SwitchDelay: f.SwitchDelay,
	}
}
