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
// calibration is cached. The error wraps failure.ErrInfrastructure.
func Dilation(ctx context.Context, given float64, plans []*plan.Plan) (c wall.Clock, why string, err error) {
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
	var total time.Duration
	for i, p := range plans {
		total += c.At(units.Time(max(estimates[i].ModelTime, units.Duration(p.LastStart()))))
	}
	text := fmt.Sprintf("wall clock: dilation %v, %s", c.Dilation, why)
	if total = total.Round(100 * time.Millisecond); total > 0 { // else nothing is known of it
		text += fmt.Sprintf("; at least %v of wall time", total)
	}
	return c, text, nil
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
