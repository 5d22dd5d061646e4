// Package predict predicts what the runs of an experiment take together: CPU time, wall time on
// these cores, and memory, which it compares with what there is. What one run takes is from
// package estimate.
package predict

import (
	"reflect"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/orchestrator/run/dilation"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/topologies"
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
	estimate.Work                     // of one run of the first variant
	Prediction                        // of all runs in virtual time, on all cores
	// Predicted wall seconds of all runs in lockstep and in real time; the last with the
	// dilation that auto would choose unless one is set.
	LockstepSeconds, WallSeconds float64
	Available                    Available // memory
	Shortage                     error     // a *MemoryError if the runs would not fit; nil if they would
}

// Visit gets the plan of a variant with its first seed, and its work. Plans are not kept.
type Visit func(variant int, p *plan.Plan, w estimate.Work)

// Locators is the locators of a fabric, and the variants that have them.
type Locators struct {
	Variants []string
	Table    *plan.LocatorTable
}

// Validate compiles every variant, deploys nothing and predicts how long the
// experiment takes and how much memory. visit, which may be nil, is called for each variant in
// order. The error wraps failure.ErrConfiguration.
func Validate(set *experiment.Set, visit Visit) (*Validation, error) {
	v := &Validation{}
	paths := map[*topologies.Graph]*topologies.Paths{} // variants may share a graph
	var names []string
	var notes [][]string
	var metrics []expression.Names
	var loads []Load
	err := plan.EachVariant(set, func(i int, p *plan.Plan) {
		variant := &set.Variants[i]
		names, notes = append(names, variant.Name), append(notes, p.Notes)
		metrics = append(metrics, measure.Names(p))
		for _, t := range p.LocatorTables() {
			v.addLocators(variant.Name, t)
		}
		if paths[p.Graph] == nil {
			paths[p.Graph] = topologies.NewPaths(p.Graph)
		}
		w, runs := estimate.Of(p, paths[p.Graph]), len(variant.Experiment.Seeds)
		if visit != nil {
			visit(i, p, w)
		}
		loads = append(loads, Load{w, runs})
		v.Runs += runs
		v.LockstepSeconds += float64(runs) * costs.Lockstep(float64(w.PacketHops)).Seconds()
		v.WallSeconds += float64(runs) * w.ModelTime.Seconds() * dilation.Expected(p, w, float64(set.Base.Wall.Dilation))
		if i == 0 {
			v.Hosts, v.Switches, v.Links = p.Hosts(), len(p.Nodes)-p.Hosts(), len(p.Graph.Links)
			v.Counts = p.Graph.Counts()
			v.Flows, v.Bytes = p.Transfers, int64(p.Bytes())
			v.Work = w
		}
	})
	if err != nil {
		return nil, err
	}
	if err := set.CheckMetrics(metrics); err != nil {
		return nil, failure.Configuration(err)
	}
	v.Notes = plan.Attribute(names, notes)
	v.Available = AvailableMemory()
	v.Prediction = Runs(loads, Way{Way: set.Base.Way()})
	v.Shortage = v.Prediction.Fits(v.Available)
	return v, nil
}

// addLocators adds the locators of a variant if ports share some.
func (v *Validation) addLocators(variant string, t *plan.LocatorTable) {
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
