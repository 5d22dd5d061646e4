package plan

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Limits of all variants of an experiment together, so that a check of it ends within
// 5 s (docs/explanation/reliability.md#hostile-files).
const (
	maxNodes     = 1 << 19 // of all variants
	maxTransfers = 1 << 21 // of all variants
)

// Variants makes the shapes of the variants of one experiment. Variants with the same
// topology share its graph and its routes. The zero value has made none. It is for one
// goroutine; its shapes are not.
type Variants struct {
	topologies              []*topology
	steps, nodes, transfers int64 // so far
	memory                  units.Size
	balancers               []experiment.Algorithm // hosts.lb, each once
	untagged                bool                   // one has no CSIG
}

// topology is a topology that was built, with what has been computed of it so far.
type topology struct {
	spec   experiment.Topology
	rates  []experiment.LinkRates
	wiring wiring
	notes  []string
	routes []topologies.Routes // nil: no variant has needed them yet
	idles  map[idleInput]idle
}

// idleInput is what round trips over idle paths depend on besides the topology.
type idleInput struct {
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

// balanceNotes remarks on a variant with another hosts.lb than one before, in a fabric in which
// all of them do the same.
func (v *Variants) balanceNotes(e *experiment.Experiment, f *fabric) []string {
	if !slices.ContainsFunc(v.balancers, func(a experiment.Algorithm) bool { return reflect.DeepEqual(a, e.Hosts.LB) }) {
		v.balancers = append(v.balancers, e.Hosts.LB)
	}
	if len(v.balancers) < 2 || f.groups != nil || f.manyPaths() {
		return nil
	}
	return []string{"hosts.lb: variants differ in it, but there is one path between any two hosts of this fabric, so there is nothing to balance"}
}

// fabric returns the fabric of an experiment.
func (v *Variants) fabric(e *experiment.Experiment) (fabric, error) {
	t, err := v.topology(e.Topology, e.Links.Rates)
	if err != nil {
		return fabric{}, err
	}
	f := fabric{wiring: t.wiring, notes: t.notes}
	if f.groups, err = newRouting(f.graph, e.Routing); err != nil {
		return fabric{}, err
	}
	way := detour{taken: f.groups != nil, router: f.groups != nil && e.Routing.Params["via"] == "router"}
	key, known := idleInput{e.Links.MTU, e.Links.Header, e.Links.Overhead, way}, false
	if f.idle, known = t.idles[key]; !known {
		if f.idle, err = newIdle(f.graph, e.Links, way); err != nil {
			return fabric{}, err
		}
		t.idles[key] = f.idle
	}
	if t.routes == nil { // not before newIdle, which refuses paths that are too long
		t.routes = topologies.NextHops(f.graph)
	}
	f.routes = t.routes
	return f, nil
}

// topology builds a topology, unless a variant before has it.
func (v *Variants) topology(spec experiment.Topology, rates []experiment.LinkRates) (*topology, error) {
	for _, t := range v.topologies {
		if reflect.DeepEqual(t.spec, spec) && slices.Equal(t.rates, rates) {
			return t, nil
		}
	}
	built, err := spec.Build()
	if err != nil {
		return nil, failure.Configuration(err)
	}
	size := built.Graph.Size()
	if v.memory += size.Memory(); v.memory > topologies.Checked.Memory && len(v.topologies) > 0 {
		return nil, failure.At("topology", fmt.Errorf("with those of the variants before, the fabrics would take an estimated %d MB; the limit of one experiment is %d MB",
			v.memory/units.MB, topologies.Checked.Memory/units.MB))
	}
	if v.steps += size.Steps(); v.steps > topologies.Checked.Steps && len(v.topologies) > 0 {
		return nil, failure.At("topology", fmt.Errorf("with those of the variants before, the paths would take an estimated %d million steps; the limit of one experiment is %d million",
			v.steps/1e6, topologies.Checked.Steps/1_000_000))
	}
	if err := setRates(built.Graph, rates); err != nil {
		return nil, err
	}
	t := &topology{spec: spec, rates: rates, wiring: newWiring(built.Graph), notes: built.Notes, idles: map[idleInput]idle{}}
	v.topologies = append(v.topologies, t)
	return t, nil
}

// setRates gives links the rates that the experiment has for them beside the topology.
func setRates(g *topologies.Graph, rates []experiment.LinkRates) error {
	for i, one := range rates {
		ids := g.FindLinks(func(name string) bool { return wildcard.Match(one.Links, name) })
		if len(ids) == 0 {
			return failure.At(fmt.Sprintf("links.rates[%d].links", i), UnknownLink(one.Links, g.LinkNames()))
		}
		for _, id := range ids {
			g.Links[id].Rate = one.Rate
		}
	}
	return nil
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
