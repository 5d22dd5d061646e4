// Package predict predicts the cost of a run: packets, model time and wall time, and in real
// time the dilation that this machine can keep. It runs no node; it measures the
// machine.
package predict

import (
	"reflect"
	"runtime"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/expression"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Figures of docs/performance.md on which predictions are based.
const (
	virtualHop  = 170e-9 // seconds of CPU for a packet-hop in virtual time
	lockstepHop = 3.5e-6 // wall seconds for a frame-hop in lockstep on two cores
)

// Validation describes an experiment before it runs.
type Validation struct {
	Hosts, Switches, Links int
	Counts                 topologies.Counts
	Flows                  int
	Bytes                  int64
	Runs                   int
	Notes                  []string   // what the user should know of the inputs and the configuration
	Locators               []Locators // of variants in which switch ports share locators
	Estimate                          // of one run of the first variant
	// Predicted wall seconds of all runs, in virtual time, in lockstep and in real
	// time; the last with the dilation that auto would choose unless one is set.
	VirtualSeconds, LockstepSeconds, WallSeconds float64
}

// Locators is the locators of a fabric, and the variants that have them.
type Locators struct {
	Variants []string
	Table    *plan.LocatorTable
}

// Validate compiles every variant, deploys nothing and predicts how long the
// experiment takes. Its error wraps failure.ErrConfiguration.
func Validate(set *experiment.Set) (*Validation, error) {
	v := &Validation{}
	paths := map[*topologies.Graph]*topologies.Paths{} // variants may share a graph
	var names []string
	var notes [][]string
	var metrics []expression.Names
	err := plan.EachVariant(set, func(i int, p *plan.Plan) {
		variant := &set.Variants[i]
		names, notes = append(names, variant.Name), append(notes, p.Notes)
		metrics = append(metrics, measure.Names(p))
		v.addLocators(variant.Name, p.Locators)
		if paths[p.Graph] == nil {
			paths[p.Graph] = topologies.NewPaths(p.Graph)
		}
		e, runs := estimate(p, paths[p.Graph]), len(variant.Experiment.Seeds)
		v.Runs += runs
		v.VirtualSeconds += float64(runs) * float64(e.PacketHops) * virtualHop / float64(runtime.GOMAXPROCS(0))
		v.LockstepSeconds += float64(runs) * float64(e.PacketHops) * lockstepHop
		v.WallSeconds += float64(runs) * e.ModelTime.Seconds() * expectedDilation(set, p, e)
		if i == 0 {
			v.Hosts, v.Switches, v.Links = p.Hosts(), len(p.Nodes)-p.Hosts(), len(p.Graph.Links)
			v.Counts = p.Graph.Counts()
			v.Flows, v.Bytes = p.Transfers, int64(p.Bytes())
			v.Estimate = e
		}
	})
	if err != nil {
		return nil, err
	}
	if err := set.CheckMetrics(metrics); err != nil {
		return nil, failure.Configuration(err)
	}
	v.Notes = plan.Attribute(names, notes)
	return v, nil
}

// addLocators adds the locators of a variant if ports share some.
func (v *Validation) addLocators(variant string, t *plan.LocatorTable) {
	if t == nil {
		return
	}
	if ports, _ := t.SharedPorts(); ports == 0 {
		return
	}
	i := slices.IndexFunc(v.Locators, func(l Locators) bool { return reflect.DeepEqual(l.Table, t) })
	if i < 0 {
		i = len(v.Locators)
		v.Locators = append(v.Locators, Locators{Table: t})
	}
	v.Locators[i].Variants = append(v.Locators[i].Variants, variant)
}

// expectedDilation returns the dilation of a set for a plan with its estimate. If that
// is auto, it returns the dilation that fits the last calibration of this machine.
func expectedDilation(set *experiment.Set, p *plan.Plan, e Estimate) float64 {
	if d := set.Base.Wall.Dilation; d != 0 {
		return float64(d)
	}
	c, ok := cachedCalibration(len(p.Nodes))
	if !ok {
		c = measured
	}
	return c.dilation(p, e)
}

// Estimate is what a run is expected to take.
type Estimate struct {
	PacketHops int64          // transmissions, ACKs included
	ModelTime  units.Duration // fluid bound: what the most loaded link needs for its bytes
}

// Run returns the estimate of a plan whose transfers and generators each take one
// shortest path.
func Run(p *plan.Plan) Estimate { return estimate(p, topologies.NewPaths(p.Graph)) }

func estimate(p *plan.Plan, paths *topologies.Paths) (e Estimate) {
	loads, overhead := plan.NewLoads(p.Graph, paths), p.Format.Overhead
	add := func(source, destination int, packets float64, bytes units.Size) {
		e.PacketHops += int64(packets * float64(loads.Add(source, destination, bytes)))
	}
	plan.BySource(p.Flows[:p.Transfers], func(i int) {
		f := &p.Flows[i]
		add(int(f.Src), int(f.Dst), float64(f.Packets)*(1+plan.AcksPerData), f.Size+units.Size(f.Packets)*overhead)
	})
	for _, s := range p.Streams() {
		add(s.Source, s.Destination, float64(s.Frames), units.Size(s.Frames)*(s.Size+overhead))
		e.ModelTime = max(e.ModelTime, units.Duration(s.End))
	}
	e.ModelTime = max(e.ModelTime, loads.Longest)
	return e
}
