package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/timekeeper"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// pacing starts and stops a run in real time whose nodes have been started.
type pacing struct {
	parts    *timekeeper.Keeper // the other parts of the run; nil: it is not cut
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

	quiet   wall.Quiet // of all parts
	started time.Time
}

// run starts the run when every node is ready, and stops it when it is over. It
// sets End, Drained and Behind of the outcome. A *NodeError names a node that has
// come to a halt, a *gateway.PartError another part that has failed; when ctx ends, the
// error is its cause. Every wait has a bound, except for a run without patience and end, a
// run that is held, and a run whose programs go on.
//
// Of a run in several parts, the first decides for all when the run is over.
func (p *pacing) run(ctx context.Context, out *Outcome) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	start, err := p.start(ctx, ticker.C)
	if err != nil {
		return err
	}
	p.started = time.Now().Add(start - wall.Monotonic())
	if p.ready != nil {
		p.ready(start)
	}
	end, hold := p.end, p.hold
	var freed bool               // the hold of this part is released
	var released time.Duration   // 0: held, or never was
	patient := start             // since when patience counts
	running, quit := true, false // programs
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-hold:
			hold, freed = nil, true
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
		if p.parts != nil && !p.parts.Leads() {
			if over, err := p.follow(&freed, out); over || err != nil {
				return err
			}
			continue
		}
		if p.hold != nil && released == 0 && (freed || p.parts != nil && p.parts.Released()) {
			released = now
			if end, err = p.release(start, end); err != nil {
				return err
			}
		}
		at, over, programs, err := p.look(ctx, end)
		if err != nil {
			return err
		}
		if running && !programs.Running {
			running, patient = false, now
		}
		if p.parts != nil && !quit && !programs.Wanted && (p.hold == nil || released > 0) {
			quit = true
			if err := p.parts.QuitPrograms(); err != nil {
				return err
			}
		}
		behind := now - start - p.clock.At(at.Next)
		endless := p.patience > 0 && p.hold == nil && !running && now-patient > p.patience ||
			released > 0 && now-released > releaseWithin
		switch {
		case behind > hopeless || endless:
			out.Behind, out.End = max(behind, 1), at.Last
		case over && (released > 0 || p.hold == nil && !running):
			out.Drained = at.Next == units.Never
			if out.End = min(end, at.Last); !out.Drained {
				out.End = end
			}
		default:
			p.progress(min(p.clock.Model(max(0, now-start)), end))
			continue
		}
		if p.parts != nil {
			if err := p.parts.Stop(timekeeper.Verdict{End: out.End, Drained: out.Drained, Behind: out.Behind}); err != nil {
				return err
			}
		}
		p.block.Stop(out.End)
		return nil
	}
}

// follow does in a part that does not lead what is to be done now and then: it says when its
// hold is released, and ends when the leader says so.
func (p *pacing) follow(freed *bool, out *Outcome) (over bool, err error) {
	if *freed {
		*freed = false
		if err := p.parts.Release(); err != nil {
			return false, err
		}
	}
	verdict, over := p.parts.Stopped()
	if over {
		out.End, out.Drained, out.Behind = verdict.End, verdict.Drained, verdict.Behind
		p.block.Stop(out.End)
		return true, nil
	}
	start, _ := p.block.Began()
	p.progress(min(p.clock.Model(max(0, wall.Monotonic()-start)), p.end))
	return false, nil
}

// release ends the run soon. It returns the end, which is not after the given one.
func (p *pacing) release(start time.Duration, end units.Time) (units.Time, error) {
	ahead := releaseIn
	if p.parts != nil {
		ahead += p.parts.Ahead()
	}
	end = min(end, max(1, p.clock.Model(max(0, wall.Monotonic()-start)+ahead)))
	if p.parts != nil {
		return end, p.parts.Limit(end)
	}
	p.block.Limit(end)
	return end, nil
}

// look returns how far all nodes are, whether nothing is due there any more, and what programs
// do.
func (p *pacing) look(ctx context.Context, end units.Time) (at wall.Progress, over bool, programs timekeeper.Programs, err error) {
	if p.parts != nil {
		all, err := p.parts.Collect(ctx)
		return all.Progress, err == nil && p.quiet.Over(all.Progress, all.Began, all.Ended, end), all.Programs, err
	}
	programs.Running = p.programs != nil && !closed(p.programs)
	at, over = p.block.Over(wall.Monotonic(), end)
	return at, over, programs, nil
}

// start waits until every node is ready and sets the common start, which it
// returns.
func (p *pacing) start(ctx context.Context, tick <-chan time.Time) (time.Duration, error) {
	type outcome struct {
		start time.Duration
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var began chan outcome // of all parts
	for begin := time.Now(); ; {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case got := <-began:
			return got.start, got.err
		case <-tick:
		}
		if p.broken != nil {
			if err := p.broken(); err != nil {
				return 0, err
			}
		}
		switch {
		case began != nil:
		case p.block.Ready():
			if p.prepare != nil {
				if err := p.prepare(); err != nil {
					return 0, err
				}
			}
			if p.parts == nil {
				start := wall.Monotonic() + startIn
				p.block.Start(start)
				return start, nil
			}
			began = make(chan outcome, 1)
			go func() {
				start, err := p.parts.Begin(ctx, startIn)
				began <- outcome{start, err}
			}()
		case time.Since(begin) > readyWithin:
			return 0, fmt.Errorf("the nodes are not ready after %v", readyWithin)
		}
	}
}
