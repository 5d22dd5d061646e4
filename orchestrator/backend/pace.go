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
	"github.com/csiglab/csiglab/orchestrator/labs/application"
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
func pace(ctx context.Context, c *crew, control Control, programs *application.Set) (_ *Outcome, err error) {
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
	watch, err := watchForeign(c.deployment, c.run)
	if err != nil {
		return nil, err
	}
	defer watch.close()
	together, err := keepTime(ctx, c, block.ControlBlock, programs)
	if err != nil {
		return nil, err
	}
	defer func() { together.close(err) }()
	p := pacing{
		parts: together.keeper(),
		block: block.ControlBlock, clock: *c.run.Wall, end: c.run.Plan.End, patience: c.run.Patience,
		prepare: func() error { return c.raise(block.ControlBlock) },
		broken: func() error {
			if err := c.broken(); err != nil {
				return err
			}
			return errors.Join(watch.ended(), inside.broken(), together.broken())
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
	if err := inside.join(out); err != nil {
		return nil, err
	}
	together.close(nil)
	together.report(out)
	return out, nil
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
