package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// Times of a run in real time.
const (
	startIn     = 20 * time.Millisecond // from when all nodes are ready to the start
	readyWithin = 30 * time.Second
	hopeless    = 2 * time.Second // a run that is so late is given up
	silentAfter = 5 * time.Second // a node that shows no life for so long has come to a halt
	// releaseIn is how far ahead the end of a run is set that is held no longer:
	// every node must hear of it before.
	releaseIn = 50 * time.Millisecond
	// releaseWithin bounds the time from then until the run is over.
	releaseWithin = 3 * time.Second
	// reportWithin is how long the next report may take once the run is over.
	reportWithin = 10 * time.Second
)

// Paced is a run in real time whose nodes have been started, in processes or in
// this one.
type Paced struct {
	Block *wall.ControlBlock
	Wall  wall.Clock
	End   units.Time // exclusive; units.Never: until nothing is due
	Names []string   // of the nodes
	// Patience gives a run up that takes longer, as one that falls behind for good,
	// from when its programs, if any, have ended; 0 is without bound. It does not bind
	// a run that is held.
	Patience time.Duration
	// Hold keeps the run from being over, even if nothing is due, until it is
	// closed; the run then ends at once, at the same model time at every node. nil:
	// it is not held.
	Hold <-chan struct{}
	// Programs, while it is open, keeps the run from being over too, but does not
	// end it. nil: there are none.
	Programs <-chan struct{}
	// Ends tells of the first Processes nodes, which have a process of their own; nil
	// and 0 for none.
	Ends      <-chan Ended
	Processes int
	// Prepare is called once, when every node waits for the start; may be nil.
	Prepare func() error
	// Broken, asked now and then, tells what has failed of the others; may be nil.
	Broken   func() error
	Ready    func(start time.Duration) // told once, when the run starts, on CLOCK_MONOTONIC; may be nil
	Progress func(units.Time)
}

// Keep starts the run when every node is ready, stops it when it is over and
// collects the reports of the processes. A *emu.LinkError names a link, a
// *NodeError a node that died or has come to a halt; when ctx ends, the error is
// its cause. Every wait has a bound, but a run without Patience and End, one that
// is held, or one whose programs go on, lasts as long as it is not over.
func (p *Paced) Keep(ctx context.Context) (*Outcome, error) {
	out := &Outcome{Timing: &wall.Timing{RealTime: true}}
	if err := p.keep(ctx, out); err != nil {
		return nil, err
	}
	silent := slices.Clone(p.Names[:p.Processes])
	for range p.Processes {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case e := <-p.Ends:
			if err := e.Failure(p.Names[e.Node]); err != nil {
				return nil, err
			}
			if e.Report.Timing == nil {
				return nil, &NodeError{Name: p.Names[e.Node], Reason: "ended before the run"}
			}
			out.take(e)
			silent = slices.DeleteFunc(silent, func(name string) bool { return name == p.Names[e.Node] })
		case <-time.After(reportWithin):
			return nil, &NodeError{Name: strings.Join(silent, ", "), Reason: fmt.Sprintf("has not ended %v after the run was over", reportWithin)}
		}
	}
	return out, nil
}

// keep starts and stops the run and fills in how that went.
func (p *Paced) keep(ctx context.Context, out *Outcome) error {
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	start, err := p.start(ctx, ticker.C)
	if err != nil {
		return err
	}
	out.Started = time.Now().Add(startIn)
	if p.Ready != nil {
		p.Ready(start)
	}
	end, hold, programs := p.End, p.Hold, p.Programs
	var released time.Duration // 0: held, or never was
	patient := start           // since when Patience counts
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-hold:
			hold, released = nil, wall.Monotonic()
			end = min(end, max(1, p.Wall.Model(max(0, released-start)+releaseIn)))
			p.Block.Limit(end)
			continue
		case <-programs:
			programs, patient = nil, wall.Monotonic()
			continue
		case <-ticker.C:
		}
		if err := p.broken(); err != nil {
			return err
		}
		now := wall.Monotonic()
		if n := p.Block.Silent(now - silentAfter); n >= 0 && now-start > silentAfter {
			return &NodeError{Name: p.Names[n], Reason: fmt.Sprintf("has not shown life for %v", silentAfter)}
		}
		at, over := p.Block.Over(now, end)
		behind := now - start - p.Wall.At(at.Next)
		endless := p.Patience > 0 && p.Hold == nil && programs == nil && now-patient > p.Patience ||
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
			p.Progress(min(p.Wall.Model(max(0, now-start)), end))
			continue
		}
		p.Block.Stop(out.End)
		return nil
	}
}

// broken tells what has failed before the run is over.
func (p *Paced) broken() error {
	select {
	case e := <-p.Ends:
		if err := e.Failure(p.Names[e.Node]); err != nil {
			return err
		}
		return &NodeError{Name: p.Names[e.Node], Reason: "ended during the run"}
	default:
	}
	if p.Broken == nil {
		return nil
	}
	return p.Broken()
}

// start waits until every node is ready and sets the common start, which it
// returns.
func (p *Paced) start(ctx context.Context, tick <-chan time.Time) (time.Duration, error) {
	for begin := time.Now(); ; {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick:
		}
		if err := p.broken(); err != nil {
			return 0, err
		}
		if p.Block.Ready() {
			if p.Prepare != nil {
				if err := p.Prepare(); err != nil {
					return 0, err
				}
			}
			start := wall.Monotonic() + startIn
			p.Block.Start(start)
			return start, nil
		}
		if time.Since(begin) > readyWithin {
			return 0, fmt.Errorf("the nodes are not ready after %v", readyWithin)
		}
	}
}
