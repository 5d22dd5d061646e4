// Package predict predicts the cost of a run: packets, model time, wall time and memory,
// and in real time the dilation that this machine can keep. It measures the machine, and
// keeps what it has measured in the user's cache.
//
//	plan ─▶ Estimate: packets, rows, ports ─┐
//	small experiments ─▶ Measure ─▶ Costs ──┴─▶ Prediction: CPU time, wall time, memory
package predict

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/topologies"
)

// lockstepHop is the wall seconds for a frame-hop in lockstep on two cores
// (docs/explanation/performance.md).
const lockstepHop = 3.5e-6

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
	Prediction                        // of all runs in virtual time, on all cores
	// Predicted wall seconds of all runs in lockstep and in real time; the last with the
	// dilation that auto would choose unless one is set.
	LockstepSeconds, WallSeconds float64
	Available                    Available // memory
	Shortage                     error     // a *MemoryError if the runs would not fit; nil if they would
	Rough                        error     // why the prediction is not from this machine; nil if it is, or if it does not matter
}

// mostBefore is how long a check may have taken so that the machine is measured, too.
const mostBefore = 2 * time.Second

// Options are what Validate needs beside the experiment. The zero value is ready to use.
type Options struct {
	Meter *Meter
	// Visit gets the plan of each variant with its first seed, in order; may be nil. Plans
	// are not kept.
	Visit func(variant int, p *plan.Plan)
}

// Locators is the locators of a fabric, and the variants that have them.
type Locators struct {
	Variants []string
	Table    *plan.LocatorTable
}

// Validate compiles every variant, deploys nothing and predicts how long the
// experiment takes and how much memory. Its error wraps failure.ErrConfiguration, or is
// ctx's, which ends a measurement of the machine.
func Validate(ctx context.Context, set *experiment.Set, o Options) (*Validation, error) {
	v, started := &Validation{}, time.Now()
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
		if o.Visit != nil {
			o.Visit(i, p)
		}
		if paths[p.Graph] == nil {
			paths[p.Graph] = topologies.NewPaths(p.Graph)
		}
		e, runs := estimate(p, paths[p.Graph]), len(variant.Experiment.Seeds)
		loads = append(loads, Load{e, runs})
		v.Runs += runs
		v.LockstepSeconds += float64(runs) * e.LockstepSeconds()
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
	way := Way{Way: set.Base.Way()}
	v.Available = AvailableMemory()
	meter := o.Meter
	if meter != nil && !meter.Anew && time.Since(started) > mostBefore {
		meter = meter.without()
	}
	v.Prediction, v.Rough = meter.Predict(ctx, loads, way, v.Available)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
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
