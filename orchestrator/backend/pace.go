package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/units"
)

// Times of a run in real time.
const (
	startIn     = 20 * time.Millisecond // from when all nodes are ready to the start
	readyWithin = 30 * time.Second
	hopeless    = 2 * time.Second // a run that is so late is given up
	silentAfter = 5 * time.Second // a node that shows no life for so long has come to a halt
	// releaseIn is how far ahead the end of a run is set when its hold is released:
	// every node must learn the end before it comes.
	releaseIn = 50 * time.Millisecond
	// releaseWithin bounds the time from then until the run is over.
	releaseWithin = 3 * time.Second
	// reportWithin is how long the next report may take once the run is over.
	reportWithin = 10 * time.Second
)

// pace runs the nodes in real time.
func pace(ctx context.Context, c *crew, control Control, programs *application.Set) (*Outcome, error) {
	block, err := wall.NewSharedControlBlock(len(c.configs))
	if err != nil {
		return nil, err
	}
	defer block.Close()
	if e := c.exposed.insideNodes(); e != nil {
		if exposer, err := process.Expose(e, *c.run.Wall, block.ControlBlock); err == nil {
			c.exposer = exposer
			defer exposer.Close()
		}
	}
	if err := c.openInside(); err != nil {
		return nil, err
	}
	inside := startInside(c, block.ControlBlock)
	defer inside.stop()
	if err := c.startProcesses(ctx, block.File); err != nil {
		return nil, err
	}
	if err := control.deployed(c.deployment, c.run, c.pids(), c.exposed); err != nil {
		return nil, err
	}
	p := pacing{
		block: block.ControlBlock, clock: *c.run.Wall, end: c.run.Plan.End, patience: c.run.Patience,
		prepare: func() error { return c.raise(block.ControlBlock) },
		broken: func() error {
			if err := c.broken(); err != nil {
				return err
			}
			return inside.broken()
		},
		ready: func(start time.Duration) {
			if control.Started != nil {
				control.Started()
			}
			if programs != nil {
				programs.Begin(start)
			}
		},
		progress: control.progress(),
	}
	if c.run.Held {
		p.hold = control.Hold
	}
	if programs != nil {
		p.programs = programs.Done()
	}
	for _, config := range c.configs {
		p.names = append(p.names, config.Name)
	}
	out := &Outcome{Timing: &wall.Timing{RealTime: true}}
	if err := p.run(ctx, out); err != nil {
		return nil, err
	}
	c.started = p.started
	if err := c.collect(ctx, out); err != nil {
		return nil, err
	}
	return out, inside.join(out)
}

// raise gives the threads that pace in processes a real-time priority.
func (c *crew) raise(block *wall.ControlBlock) error {
	for _, p := range c.processes {
		if err := c.deployment.Raise(p.node, block.Thread(p.node)); err != nil {
			return fmt.Errorf("node %s: %w", p.name, err)
		}
	}
	return nil
}

// broken returns the error of a process that has ended before the run is over, nil
// if none has.
func (c *crew) broken() error {
	select {
	case e := <-c.ends:
		if err := c.failure(e); err != nil {
			return err
		}
		return &NodeError{Name: c.processes[e.process].name, Reason: "ended during the run"}
	default:
		return nil
	}
}

// collect waits for the reports of the processes once a run in real time is over.
func (c *crew) collect(ctx context.Context, out *Outcome) error {
	var silent []string
	for _, p := range c.processes {
		silent = append(silent, p.name)
	}
	for range c.processes {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-c.ends:
			if err := c.failure(e); err != nil {
				return err
			}
			name := c.processes[e.process].name
			if e.report.Timing == nil {
				return &NodeError{Name: name, Reason: "ended before the run"}
			}
			c.add(out, e)
			silent = slices.DeleteFunc(silent, func(s string) bool { return s == name })
		case <-time.After(reportWithin):
			return &NodeError{Name: strings.Join(silent, ", "), Reason: fmt.Sprintf("has not ended %v after the run was over", reportWithin)}
		}
	}
	return nil
}

// insideGroup is nodes of this process that are paced; nil for none.
type insideGroup struct {
	crew    *crew
	group   *wall.PacerGroup
	ended   chan struct{}
	timings []wall.Timing
	err     error
}

// startInside starts to pace the nodes that are driven here. They wait for the start
// of the run.
func startInside(c *crew, block *wall.ControlBlock) *insideGroup {
	if len(c.inside) == 0 {
		return nil
	}
	threads := runtime.NumCPU()
	if len(c.inside) < len(c.configs) { // the other nodes need processors too
		threads = 1
	}
	g := &insideGroup{crew: c, ended: make(chan struct{})}
	g.group = wall.NewPacerGroup(*c.run.Wall, c.run.Plan.End, c.insideNodes(), c.links, block, threads)
	go func() {
		defer close(g.ended)
		g.timings, g.err = g.group.Run()
	}()
	return g
}

// broken returns the error that ended the nodes before the run was over, nil if they
// have not ended.
func (g *insideGroup) broken() error {
	if g == nil {
		return nil
	}
	select {
	case <-g.ended:
		if g.err == nil {
			return errors.New("the nodes ended during the run")
		}
		return g.err
	default:
		return nil
	}
}

// stop ends the nodes, if they have not ended, so that their ports can be closed.
func (g *insideGroup) stop() {
	if g == nil {
		return
	}
	select {
	case <-g.ended:
	default:
		g.group.Block.Stop(0)
		<-g.ended
	}
}

// join waits for the nodes to end after the run and adds their counts to an outcome.
func (g *insideGroup) join(out *Outcome) error {
	if g == nil {
		return nil
	}
	if <-g.ended; g.err != nil {
		return g.err
	}
	for _, t := range g.timings {
		out.Timing.Merge(t)
	}
	return g.crew.addInside(out)
}

// pacing starts and stops a run in real time whose nodes have been started.
type pacing struct {
	block    *wall.ControlBlock
	clock    wall.Clock
	end      units.Time // exclusive; units.Never: until nothing is due
	names    []string   // of the nodes
	patience time.Duration
	// hold keeps the run from ending until it is closed. nil: the run is not held.
	hold <-chan struct{}
	// programs keeps the run from ending while it is open. Closing it does not end
	// the run. nil: there are no programs.
	programs <-chan struct{}
	prepare  func() error        // called once, when every node waits for the start; may be nil
	broken   func() error        // returns the error of a part that has failed so far; may be nil
	ready    func(time.Duration) // called once, when the run starts, with the start on CLOCK_MONOTONIC; may be nil
	progress func(units.Time)

	started time.Time
}

// run starts the run when every node is ready, and stops it when it is over. It
// sets End, Drained and Behind of the outcome. A *NodeError names a node that has
// come to a halt; when ctx ends, the error is its cause. Every wait has a bound,
// except for a run without patience and end, a run that is held, and a run whose
// programs go on.
func (p *pacing) run(ctx context.Context, out *Outcome) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	start, err := p.start(ctx, ticker.C)
	if err != nil {
		return err
	}
	p.started = time.Now().Add(startIn)
	if p.ready != nil {
		p.ready(start)
	}
	end, hold, programs := p.end, p.hold, p.programs
	var released time.Duration // 0: held, or never was
	patient := start           // since when patience counts
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-hold:
			hold, released = nil, wall.Monotonic()
			end = min(end, max(1, p.clock.Model(max(0, released-start)+releaseIn)))
			p.block.Limit(end)
			continue
		case <-programs:
			programs, patient = nil, wall.Monotonic()
			continue
		case <-ticker.C:
		}
		if p.broken != nil {
			if err := p.broken(); err != nil {
				return err
			}
		}
		now := wall.Monotonic()
		if n := p.block.Silent(now - silentAfter); n >= 0 && now-start > silentAfter {
			return &NodeError{Name: p.names[n], Reason: fmt.Sprintf("has not shown life for %v", silentAfter)}
		}
		at, over := p.block.Over(now, end)
		behind := now - start - p.clock.At(at.Next)
		endless := p.patience > 0 && p.hold == nil && programs == nil && now-patient > p.patience ||
			released > 0 && now-released > releaseWithin
		switch {
		case behind > hopeless || endless:
			out.Behind, out.End = max(behind, 1), at.Last
		case over && hold == nil && (programs == nil || released > 0):
			out.Drained = at.Next == units.Never
			if out.End = min(end, at.Last); !out.Drained {
				out.End = end
			}
		default:
			p.progress(min(p.clock.Model(max(0, now-start)), end))
			continue
		}
		p.block.Stop(out.End)
		return nil
	}
}

// start waits until every node is ready and sets the common start, which it
// returns.
func (p *pacing) start(ctx context.Context, tick <-chan time.Time) (time.Duration, error) {
	for begin := time.Now(); ; {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick:
		}
		if p.broken != nil {
			if err := p.broken(); err != nil {
				return 0, err
			}
		}
		if p.block.Ready() {
			if p.prepare != nil {
				if err := p.prepare(); err != nil {
					return 0, err
				}
			}
			start := wall.Monotonic() + startIn
			p.block.Start(start)
			return start, nil
		}
		if time.Since(begin) > readyWithin {
			return 0, fmt.Errorf("the nodes are not ready after %v", readyWithin)
		}
	}
}
