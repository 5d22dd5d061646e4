package predict

import (
	"context"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Dilation returns the wall clock of runs that share one dilation, and a sentence for
// the user. It uses the given dilation or, if that is 0, the smallest that this
// machine is predicted to keep; for that it calibrates the machine if no valid
// calibration is cached. budget is wall.budget.lateness: the sentence says so if the given
// dilation is predicted to exceed it. The error wraps failure.ErrInfrastructure.
func Dilation(ctx context.Context, given float64, plans []*plan.Plan, budget float64) (c wall.Clock, why string, err error) {
	c, why = wall.Clock{Dilation: given}, "as given"
	estimates := make([]Estimate, len(plans))
	for i, p := range plans {
		estimates[i] = Run(p)
	}
	if given == 0 {
		nodes := 0
		for _, p := range plans {
			nodes = max(nodes, len(p.Nodes))
		}
		here, err := calibrate(ctx, nodes)
		if err != nil {
			return c, "", err
		}
		for i, p := range plans {
			c.Dilation = max(c.Dilation, here.dilation(p, estimates[i]))
		}
		why = here.explain(plans[0], estimates[0], c.Dilation)
	}
	warning := ""
	for i, p := range plans {
		if text := Unkept(p, estimates[i], c.Dilation, budget); given != 0 && warning == "" && text != "" {
			warning = "; " + text
		}
	}
	var total time.Duration
	for i, p := range plans {
		total += c.At(units.Time(max(estimates[i].ModelTime, units.Duration(p.LastStart()))))
	}
	text := fmt.Sprintf("wall clock: dilation %v, %s", c.Dilation, why)
	if total = total.Round(100 * time.Millisecond); total > 0 { // else nothing is known of it
		text += fmt.Sprintf("; at least %v of wall time", total)
	}
	return c, text + warning, nil
}

// Unkept says why a run under a dilation is predicted to be invalid: its events are later than
// the budget allows, or its packets take more than all processors. "" if neither is. It goes by
// the cached calibration of this machine, and without one by figures of a 2-core machine.
func Unkept(p *plan.Plan, e Estimate, dilation, budget float64) string {
	here, ok := cachedCalibration(len(p.Nodes))
	of := "this machine"
	if !ok {
		here, of = measured, "a 2-core machine"
	}
	load, smallest := here.load(p, e)/dilation, p.SmallestDelay().Seconds()*dilation
	late := here.lateness(load)
	if share := late.Seconds() / smallest; share > budget {
		return fmt.Sprintf("the run will be INVALID: timers of %s are %v late (p99), %.2g of the smallest delay %v times %v, and wall.budget.lateness is %v; dilation auto takes about %v",
			of, late.Round(time.Microsecond), share, p.SmallestDelay(), dilation, budget, here.dilation(p, e))
	}
	// Programs may send less than their links carry.
	if load -= programLoad(p) * here.perFrame() / dilation; load > 1 {
		return fmt.Sprintf("the run will be INVALID: its packets take %.2g times what all processors of %s can do at dilation %v; dilation auto takes about %v", load, of, dilation, here.dilation(p, e))
	}
	return ""
}

// explain says why a dilation was chosen.
func (c *calibration) explain(p *plan.Plan, e Estimate, dilation float64) string {
	why := fmt.Sprintf("timers are %v late here (p99 of %d threads under this load), a frame-hop takes %v of CPU, the smallest delay is %v",
		c.lateness(c.load(p, e)/dilation).Round(time.Microsecond), c.Wakers, c.FrameHop.Round(100*time.Nanosecond), p.SmallestDelay())
	if !c.RealTime {
		why += "; threads get no real-time priority"
	}
	if c.busy() {
		why += fmt.Sprintf("; others were at work when that was measured, load %.1f per processor", c.Busy)
	}
	return why
}
