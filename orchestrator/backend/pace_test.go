package backend_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// keep runs the small fabric in real time, over links in memory, and returns how
// it was kept. adjust may change the run.
func keep(t *testing.T, ctx context.Context, adjust func(*backend.Pacing)) (*backend.Outcome, error) {
	t.Helper()
	p := backendtest.Compile(t, backendtest.Small)
	f := backendtest.Fabric(p)
	f.Run = 99
	nodes, links, _, _ := backendtest.InMemory(t, p, f)
	clock := wall.Clock{Dilation: 3000} // 0.4 s of wall time
	block, err := wall.NewSharedControlBlock(len(nodes))
	if err != nil {
		t.Fatal(err)
	}
	defer block.Close()
	group := wall.NewPacerGroup(clock, f.End, nodes, links, block.ControlBlock, 1)
	var names []string
	for _, n := range p.Graph.Nodes {
		names = append(names, n.Name)
	}
	var pacing backend.Pacing
	adjust(&pacing)
	ended := make(chan error, 1)
	go func() {
		_, err := group.Run()
		ended <- err
	}()
	out, err := backend.Pace(ctx, group.Block, clock, f.End, names, pacing)
	if err != nil {
		group.Block.Stop(0)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return out, err
}

func TestKeepEndsWhenNothingIsDue(t *testing.T) {
	ready := 0
	out, err := keep(t, t.Context(), func(p *backend.Pacing) { p.Ready = func(time.Duration) { ready++ } })
	if err != nil {
		t.Fatal(err)
	}
	if !out.Drained || out.Behind != 0 || out.End < units.Time(50*units.Microsecond) || ready != 1 {
		t.Errorf("ended at %v, drained %v, behind %v, told %d times that it started", out.End, out.Drained, out.Behind, ready)
	}
}

// A run that is held goes on when nothing is due, and Patience does not end it.
func TestKeepHolds(t *testing.T) {
	hold := make(chan struct{})
	const held = 1500 * time.Millisecond
	began := time.Now()
	out, err := keep(t, t.Context(), func(p *backend.Pacing) {
		p.Hold, p.Patience = hold, held/3
		p.Ready = func(time.Duration) { time.AfterFunc(held, func() { close(hold) }) }
	})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); out.Behind != 0 || took < held {
		t.Errorf("ended after %v, behind %v; it was held for %v", took, out.Behind, held)
	}
}

// Programs keep a run from being over; the caller's patience counts from their end.
func TestKeepWaitsForPrograms(t *testing.T) {
	for _, test := range []struct {
		name           string
		last, patience time.Duration
		gaveUp         bool
	}{
		{"longer than the run", time.Second, 0, false},
		{"longer than patience", time.Second, 500 * time.Millisecond, false},
		{"shorter than the run, which takes too long", 10 * time.Millisecond, 50 * time.Millisecond, true},
	} {
		began := time.Now()
		out, err := keep(t, t.Context(), func(p *backend.Pacing) {
			programs := make(chan struct{})
			p.Programs, p.Patience = programs, test.patience
			p.Ready = func(time.Duration) { time.AfterFunc(test.last, func() { close(programs) }) }
		})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if took := time.Since(began); took < test.last || out.Behind > 0 != test.gaveUp {
			t.Errorf("%s: over after %v, behind %v", test.name, took, out.Behind)
		}
	}
}

func TestKeepFails(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancelCause(t.Context())
	for _, test := range []struct {
		name   string
		adjust func(*backend.Pacing)
		want   string
	}{
		{"others break", func(p *backend.Pacing) { p.Broken = func() error { return broken } }, "broken"},
		{"not prepared", func(p *backend.Pacing) { p.Prepare = func() error { return broken } }, "broken"},
		{"a node ends", func(p *backend.Pacing) { p.Broken = backend.NodeEnded("h1", "was killed") }, "node h1: was killed"},
		{"the caller ends it", func(p *backend.Pacing) { p.Ready = func(time.Duration) { cancel(errors.New("enough")) } }, "enough"},
	} {
		if _, err := keep(t, ctx, test.adjust); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
