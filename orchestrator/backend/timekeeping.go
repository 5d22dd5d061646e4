package backend

import (
	"context"
	"sync"

	"github.com/csiglab/csiglab/nodes/emu/timekeeper"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
)

// timekeeping joins this part of a run in real time with the others; nil: the run is not cut.
type timekeeping struct {
	*timekeeper.Keeper
	part   *Part
	closed bool
}

// keepTime waits until this part is connected to all others. The caller closes the result,
// which is nil for a run that is not cut.
func keepTime(ctx context.Context, c *crew, block *wall.ControlBlock, programs *application.Set) (*timekeeping, error) {
	var here []int
	for i := range c.configs {
		if c.run.Driven(i) {
			here = append(here, i)
		}
	}
	block.Restrict(here)
	part := c.run.Part
	if part == nil {
		return nil, nil
	}
	streams, err := c.peers.wait(ctx)
	if err != nil {
		return nil, err
	}
	config := timekeeper.Config{Part: part.Index, Names: part.Names, Peers: streams, Nodes: block}
	if programs != nil {
		config.Programs = func() timekeeper.Programs {
			return timekeeper.Programs{Wanted: !closed(programs.Unwanted()), Running: !closed(programs.Done())}
		}
		config.Quit = sync.OnceFunc(func() { close(c.quit) })
	}
	return &timekeeping{Keeper: timekeeper.New(config), part: part}, nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (t *timekeeping) keeper() *timekeeper.Keeper {
	if t == nil {
		return nil
	}
	return t.Keeper
}

// broken returns why the run has failed in another part.
func (t *timekeeping) broken() error {
	if t == nil {
		return nil
	}
	return t.Err()
}

// close says to the other parts how this one has ended, once.
func (t *timekeeping) close(err error) {
	if t != nil && !t.closed {
		t.closed = true
		t.Close(err)
	}
}

// report adds the ways to the other parts to an outcome.
func (t *timekeeping) report(out *Outcome) {
	if t == nil {
		return
	}
	out.Cut = new(Cut)
	for _, trip := range t.Trips() {
		out.Cut.RoundTrips = append(out.Cut.RoundTrips, RoundTrip{
			A: t.part.Names[t.part.Index], B: t.part.Names[trip.Peer], Least: trip.Least, Median: trip.Median, P99: trip.P99,
			ClockOffset: trip.Offset.Ahead, ClockError: trip.Offset.Error,
		})
	}
}
