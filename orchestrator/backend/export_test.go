package backend

import (
	"context"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// Pacing is pacing for tests.
type Pacing struct {
	Hold, Programs <-chan struct{}
	Patience       time.Duration
	Prepare        func() error
	Broken         func() error
	Ready          func(time.Duration)
}

// Pace starts and stops a run in real time whose nodes have been started.
func Pace(ctx context.Context, block *wall.ControlBlock, clock wall.Clock, end units.Time, names []string, p Pacing) (*Outcome, error) {
	run := pacing{
		block: block, clock: clock, end: end, names: names, patience: p.Patience, hold: p.Hold, programs: p.Programs,
		prepare: p.Prepare, broken: p.Broken, ready: p.Ready, progress: func(units.Time) {},
	}
	out := new(Outcome)
	if err := run.run(ctx, out); err != nil {
		return nil, err
	}
	return out, nil
}

// NodeEnded is the Broken of a run whose node of that name has ended for a reason.
func NodeEnded(name, reason string) func() error {
	c := &crew{processes: []nodeProcess{{name: name}}, ends: make(chan ended, 1)}
	c.ends <- ended{reason: reason}
	return c.broken
}
