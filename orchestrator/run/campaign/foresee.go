package campaign

import (
	"fmt"
	"time"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// toldTime is the predicted time from which on the user is told of it before the runs
// start.
const toldTime = 5 * time.Second

// foresee predicts what jobs take, announces it if that is long, and refuses jobs that would
// not fit in memory unless they are forced.
func foresee(m mode, opts Options, jobs []job) error {
	announce := opts.Announce
	if announce == nil {
		announce = func(string) {}
	}
	way := predict.Way{Way: m.Way, Parallel: opts.Parallel, Processes: backend.Processes(opts.Processes)}
	there := predict.AvailableMemory()
	p := predict.Runs(loadsOf(jobs), way)
	if !m.Has(runtimes.RealFrames) && p.Wall >= toldTime {
		announce("predicted: " + p.Text())
	}
	switch err := p.Fits(there); {
	case err == nil && p.Tight(there):
		announce(fmt.Sprintf("memory may not suffice: %s", p.Tightness(there)))
	case err != nil && opts.Force:
		announce(fmt.Sprintf("forced: %s", p.Tightness(there)))
	case err != nil:
		return failure.Configuration(err)
	}
	return nil
}

// loadsOf returns the jobs by variant: those of one differ by their seeds alone.
func loadsOf(jobs []job) (loads []predict.Load) {
	for i, j := range jobs {
		if i == 0 || j.variant != jobs[i-1].variant {
			loads = append(loads, predict.Load{Work: estimate.Of(j.plan, nil)})
		}
		loads[len(loads)-1].Runs++
	}
	return loads
}
