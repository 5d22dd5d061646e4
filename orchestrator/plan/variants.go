package plan

import (
	"fmt"
	"reflect"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Limits of all variants of an experiment together, so that a check of it ends within
// 5 s (docs/reliability.md#hostile-files).
const (
	maxMemory    = topologies.MaxMemory // of different fabrics
	maxSteps     = topologies.MaxSteps  // of the searches of different fabrics
	maxNodes     = 1 << 19              // of all variants
	maxTransfers = 1 << 21              // of all variants
)

// Variants makes the shapes of the variants of one experiment. Variants with the same
// topology share its graph and its routes. The zero value has made none. It is for one
// goroutine; its shapes are not.
type Variants struct {
	fabrics                 []*fabric
	steps, nodes, transfers int64 // so far
	memory                  units.Size
}

// fabric is what follows from a topology alone.
type fabric struct {
	topology experiment.Topology
	built    experiment.Built
	routes   []topologies.Routes
	// idles has the round trips over idle paths by what they depend on besides the topology.
	idles map[fabricKey]idle
}

type fabricKey struct {
	mtu, header, overhead units.Size
	detour                detour
}

// EachVariant compiles each variant of a set with its first seed, which gives what does
// not depend on the seed, and calls visit with its index and its plan, in order. Plans are
// not kept. The error is of the first variant that has no plan, as failure.InVariant.
func EachVariant(set *experiment.Set, visit func(i int, p *Plan)) error {
	var variants Variants
	for i := range set.Variants {
		e := set.Variants[i].Experiment
		shape, err := variants.NewShape(e)
		if err != nil {
			return failure.InVariant(set, i, err)
		}
		p, err := shape.Plan(e.Seeds[0])
		if err != nil {
			return failure.InVariant(set, i, err)
		}
		visit(i, p)
	}
	return nil
}

// fabric returns the fabric of a topology.
func (v *Variants) fabric(t experiment.Topology) (*fabric, error) {
	for _, f := range v.fabrics {
		if reflect.DeepEqual(f.topology, t) {
			return f, nil
		}
	}
	built, err := t.Build()
	if err != nil {
		return nil, failure.Configuration(err)
	}
	size := built.Graph.Size()
	if v.memory += size.Memory(); v.memory > maxMemory && len(v.fabrics) > 0 {
		return nil, failure.At("topology", fmt.Errorf("with those of the variants before, the fabrics would take an estimated %d MB; the limit of one experiment is %d MB",
			v.memory/units.MB, maxMemory/units.MB))
	}
	if v.steps += size.Steps(); v.steps > maxSteps && len(v.fabrics) > 0 {
		return nil, failure.At("topology", fmt.Errorf("with those of the variants before, the paths would take an estimated %d million steps; the limit of one experiment is %d million",
			v.steps/1e6, int64(maxSteps)/1_000_000))
	}
	f := &fabric{topology: t, built: built, idles: map[fabricKey]idle{}}
	v.fabrics = append(v.fabrics, f)
	return f, nil
}

// nextHops returns the routes of the fabric.
func (f *fabric) nextHops() []topologies.Routes {
	if f.routes == nil {
		f.routes = topologies.NextHops(f.built.Graph)
	}
	return f.routes
}

// idle returns the round trips over idle paths; see newIdle.
func (f *fabric) idle(links experiment.Links, d detour) (i idle, err error) {
	key := fabricKey{links.MTU, links.Header, links.Overhead, d}
	i, ok := f.idles[key]
	if !ok {
		if i, err = newIdle(f.built.Graph, links, d); err != nil {
			return idle{}, err
		}
		f.idles[key] = i
	}
	return i, nil
}

// count adds a variant's nodes and transfers to those of the variants before it.
func (v *Variants) count(nodes, transfers int) error {
	first := v.nodes == 0
	v.nodes += int64(nodes)
	v.transfers += int64(transfers)
	switch {
	case first:
	case v.nodes > maxNodes:
		return failure.At("topology", fmt.Errorf("with those of the variants before, there are %d nodes; the most of one experiment is %d", v.nodes, maxNodes))
	case v.transfers > maxTransfers:
		return failure.At("workload", fmt.Errorf("with those of the variants before, there are %d transfers; the most of one experiment is %d", v.transfers, maxTransfers))
	}
	return nil
}
