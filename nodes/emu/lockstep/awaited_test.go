package lockstep_test

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// The part that has not told anything yet is awaited, then the one whose bound is smallest.
func TestAwaited(t *testing.T) {
	links := []lockstep.Channel{ // a star of three parts: 0 - 1, 0 - 2
		{From: 0, To: 1, Lookahead: 10, Capacity: 1}, {From: 1, To: 0, Lookahead: 10, Capacity: 1},
		{From: 0, To: 2, Lookahead: 10, Capacity: 1}, {From: 2, To: 0, Lookahead: 10, Capacity: 1},
	}
	b, err := lockstep.New(make([]int64, lockstep.Words(3, len(links))), 3, links, units.Never)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if got := b.Awaited(); got != nil {
		t.Errorf("without a partition %v are awaited, want none", got)
	}
	if err := b.Partition(lockstep.Partition{Part: 0, Of: []int{0, 1, 2}}, true); err != nil {
		t.Fatal(err)
	}
	exchange := func(part int, version int64, bound units.Time) {
		t.Helper()
		x := &lockstep.Exchange{Part: part, Version: version, Seen: make([]int64, 3), Bounds: []units.Time{bound}, Read: []int64{0}, Earliest: bound}
		x.Seen[part] = version
		if err := b.Import(x); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		part    int
		version int64
		bound   units.Time
		want    []int
	}{{1, 1, 50, []int{2}}, {2, 1, 70, []int{1}}, {1, 2, 70, []int{1, 2}}, {1, 3, 90, []int{2}}} {
		exchange(c.part, c.version, c.bound)
		if got := b.Awaited(); !slices.Equal(got, c.want) {
			t.Errorf("after exchange %d: %v are awaited, want %v", i, got, c.want)
		}
	}
}
