package shared

import (
	"errors"
	"testing"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// TestGiveUp: when a node keeps the lock for ever, as one does that was killed, all calls of the
// gateway return after GiveUp.
func TestGiveUp(t *testing.T) {
	links := []lockstep.Channel{
		{From: 0, To: 1, Lookahead: units.Microsecond, Capacity: 8}, {From: 1, To: 0, Lookahead: units.Microsecond, Capacity: 8},
	}
	b, err := New(2, links, units.Time(units.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Partition(lockstep.Partition{Of: []int{0, 1}}, true); err != nil {
		t.Fatal(err)
	}
	b.lock(0)
	calls := []func() error{
		func() error { _, _, err := b.Export(new(lockstep.Exchange), true); return err },
		func() error { return b.Check(new(lockstep.Exchange)) },
		func() error { return b.Import(new(lockstep.Exchange)) },
		func() error { _, err := b.Over(); return err },
	}
	errs := make(chan error)
	for _, call := range calls {
		go func() { errs <- call() }()
	}
	b.GiveUp()
	for range calls {
		if err := <-errs; !errors.Is(err, ErrGivenUp) {
			t.Errorf("got %v, want %v", err, ErrGivenUp)
		}
	}
	if got := b.Holder(); got != 0 {
		t.Errorf("node %d holds the lock, want node 0", got)
	}
	b.unlock()
	if over, err := b.Over(); over || err != nil {
		t.Errorf("the lock is free: over %v, error %v", over, err)
	}
}
