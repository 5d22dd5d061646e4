// Package dilation chooses by how much a run in real time is stretched: by what the run is
// estimated to do, and by how well this machine keeps time. It measures the machine, and keeps
// what it has measured in the user's cache.
package dilation

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Choose returns the wall clock of runs that share one dilation, and sentences for the user. It uses the given dilation or, if that is 0, the smallest that this
// machine is predicted to keep; for that it calibrates the machine if no valid
// calibration is cached. budget is wall.budget.lateness: the first sentence says so if the given
// dilation is predicted to exceed it. The error wraps failure.ErrInfrastructure.
func Choose(ctx context.Context, given float64, plans []*plan.Plan, budget float64) (c wall.Clock, texts []string, err error) {
	c, why := wall.Clock{Dilation: given}, "as given"
	works := make([]estimate.Work, len(plans))
	for i, p := range plans {
		works[i] = estimate.Of(p, nil)
	}
	if given == 0 {
		nodes := 0
		for _, p := range plans {
			nodes = max(nodes, len(p.Nodes))
		}
		here, err := calibrate(ctx, nodes)
		if err != nil {
			return c, nil, err
		}
		for i, p := range plans {
			c.Dilation = max(c.Dilation, here.dilation(p, works[i]))
		}
		why = here.explain(plans[0], works[0], c.Dilation)
	}
	warning := ""
	for i, p := range plans {
		if text := Unkept(p, works[i], c.Dilation, budget); given != 0 && warning == "" && text != "" {
			warning = "; " + text
		}
	}
	var total time.Duration
	for i, p := range plans {
		total += c.At(units.Time(max(works[i].ModelTime, units.Duration(p.LastStart()))))
	}
	text := fmt.Sprintf("wall clock: dilation %v, %s", c.Dilation, why)
	if total = total.Round(100 * time.Millisecond); total > 0 { // else nothing is known of it
		text += fmt.Sprintf("; at least %v of wall time", total)
	}
	return c, append([]string{text + warning}, forPrograms(plans[0], works[0], c.Dilation, given == 0)...), nil
}

// Unkept says why a run under a dilation is predicted to be invalid: its events are later than
// the budget allows, or its packets take more than all processors. "" if neither is. It goes by
// the cached calibration of this machine, and without one by figures of a 2-core machine.
func Unkept(p *plan.Plan, w estimate.Work, dilation, budget float64) string {
	here, of := known(len(p.Nodes))
	load, smallest := here.load(p, w)/dilation, p.SmallestDelay().Seconds()*dilation
	late := here.lateness(load)
	if share := late.Seconds() / smallest; share > budget {
		return fmt.Sprintf("the run will be INVALID: timers of %s are %v late (p99), %.2g of the smallest delay %v times %v, and wall.budget.lateness is %v; dilation auto takes about %v",
			of, late.Round(time.Microsecond), share, p.SmallestDelay(), dilation, budget, here.dilation(p, w))
	}
	// Programs may send less than their links carry.
	if load -= programLoad(p) * here.perFrame() / dilation; load > 1 {
		return fmt.Sprintf("the run will be INVALID: its packets take %.2g times what all processors of %s can do at dilation %v; dilation auto takes about %v", load, of, dilation, here.dilation(p, w))
	}
	return ""
}

// known returns the cached calibration of this machine or, without one, figures of a 2-core
// machine, and what to call the machine.
func known(nodes int) (c calibration, of string) {
	if c, ok := cachedCalibration(nodes); ok {
		return c, "this machine"
	}
	return measured, "a 2-core machine"
}

// explain says why a dilation was chosen.
func (c *calibration) explain(p *plan.Plan, w estimate.Work, dilation float64) string {
	why := fmt.Sprintf("timers are %v late here (p99 of %d threads under this load), a frame-hop takes %v of CPU, the smallest delay is %v",
		c.lateness(c.load(p, w)/dilation).Round(time.Microsecond), c.Wakers, c.FrameHop.Round(100*time.Nanosecond), p.SmallestDelay())
	if !c.RealTime {
		why += "; threads get no real-time priority"
	}
	if c.busy() {
		why += fmt.Sprintf("; others were at work when that was measured, load %.1f per processor", c.Busy)
	}
	return why
}

// Expected returns the dilation of a plan with its work: the given one or, if that is 0, the one
// that fits the last calibration of this machine.
func Expected(p *plan.Plan, w estimate.Work, given float64) float64 {
	if given != 0 {
		return given
	}
	here, _ := known(len(p.Nodes))
	return here.dilation(p, w)
}

// Targets of the dilation that auto chooses.
const (
	LatenessTarget = 0.05 // 99th percentile, of the smallest delay
	loadTarget     = 0.5  // of the processors
)

// wakesPerHop is the CPU time of a run per frame-hop, in units of a frame-hop's own
// time: nodes also wake for ports that become free and for timers. Three-flow in real
// time took 12 % of the processors; its frame-hops alone take 6 %.
const wakesPerHop = 2

// kernelHop is the CPU time of a hop through a switch in the kernel, likewise: 0.6 us of 3 to 4.5
// (BenchmarkHops of nodes/kernel).
const kernelHop = 0.2

// dilation returns the smallest dilation, of two digits, under which this machine is
// predicted to keep real time: the run's load is at most loadTarget, and under that
// load timers are late by at most LatenessTarget of the smallest delay.
func (c *calibration) dilation(p *plan.Plan, w estimate.Work) float64 {
	load, delay := c.load(p, w), p.SmallestDelay().Seconds()
	for step := 1.0; ; step *= 10 {
		for digits := range 90 {
			d := float64(10+digits) / 10 * step
			if load/d <= loadTarget && c.lateness(load/d).Seconds() <= LatenessTarget*delay*d {
				return d
			}
		}
	}
}

// load returns the share of the processors that a run takes at dilation 1. It is
// usually more than 1.
func (c *calibration) load(p *plan.Plan, w estimate.Work) float64 {
	perSecond := programLoad(p)
	if w.ModelTime > 0 {
		perSecond += float64(w.PacketHops) / w.ModelTime.Seconds()
	}
	return perSecond * c.perFrame()
}

// perFrame returns the share of all processors that a frame-hop a second takes.
func (c *calibration) perFrame() float64 {
	return wakesPerHop * c.FrameHop.Seconds() / float64(runtime.NumCPU())
}

// programLoad bounds the frame-hops that programs cause in a model second: each host
// sends full frames at the rate of its link, over the longest path.
func programLoad(p *plan.Plan) float64 {
	hosts := p.ApplicationHosts()
	if len(hosts) == 0 {
		return 0
	}
	links, _ := topologies.LongestPath(p.Graph)
	hops := float64(links)
	if p.InKernel() {
		hops = 1 + (hops-1)*kernelHop
	}
	adjacency := p.Graph.Adjacency()
	var perSecond float64
	for _, h := range hosts {
		perSecond += float64(p.Graph.Links[adjacency[h][0].Link].Rate) / 8 / float64(p.ApplicationMTU+experiment.FrameOverhead+p.Format.Overhead) * hops
	}
	return perSecond
}
