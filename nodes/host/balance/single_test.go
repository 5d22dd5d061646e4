package balance

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// with returns a balancer with parameters.
func with(t *testing.T, a Algorithm, f Flow, values algorithm.Values) Balancer {
	t.Helper()
	b, err := a.New(f, values)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// docs/reference/references.md#load-balancing, ECMP: the EV follows from the flow alone. The seed
// does not change it, and no feedback does; other flows have others.
func TestECMP(t *testing.T) {
	f, other := testFlow(), testFlow()
	other.Random.Uint64() // as under another seed
	first := with(t, ecmp, f, nil).Next(0)
	b := with(t, ecmp, other, nil)
	for _, o := range []Outcome{Good, Marked, Trimmed, Lost} {
		if got := b.Next(0); got != first {
			t.Errorf("EV %d, want %d", got, first)
		}
		b.OnFeedback(0, &Feedback{EV: first, Outcome: o})
	}
	seen := map[uint16]bool{}
	for id := range uint32(1000) {
		f.ID = id
		seen[with(t, ecmp, f, nil).Next(0)] = true
	}
	// 1000 balls in 16384 bins meet in about 30.
	if len(seen) < 940 {
		t.Errorf("1000 flows have %d EVs", len(seen))
	}
}

// docs/reference/references.md#load-balancing, flowlet: a new EV after a pause that is longer than
// the gap, and only then, whatever comes back.
func TestFlowlet(t *testing.T) {
	const gap = 20 * units.Microsecond
	b := with(t, flowlet, testFlow(), algorithm.Values{"gap": gap.String()})
	now := units.Time(0).Add(units.Second)
	first := b.Next(now)
	for _, o := range []Outcome{Good, Marked, Trimmed, Lost} {
		b.OnFeedback(now, &Feedback{EV: first, Outcome: o})
		now = now.Add(gap)
		if got := b.Next(now); got != first {
			t.Fatalf("EV %d after a pause of the gap, want %d", got, first)
		}
	}
	evs := map[uint16]int{}
	for last := first; len(evs) < 64; {
		now = now.Add(gap + 1)
		got := b.Next(now)
		if got == last {
			t.Fatalf("EV %d again after a longer pause", got)
		}
		if got&^63 != first&^63 {
			t.Fatalf("EVs %d and %d of one flow, want 64 paths", first, got)
		}
		evs[got]++
		last = got
		if evs[got] > 1000 {
			t.Fatalf("%d EVs of 64 so far", len(evs))
		}
	}
	// auto is the network RTT.
	b = with(t, flowlet, testFlow(), nil)
	first = b.Next(0)
	if got := b.Next(units.Time(14 * units.Microsecond)); got != first {
		t.Error("another EV after a pause of the network RTT")
	}
	if got := b.Next(units.Time(28*units.Microsecond + 1)); got == first {
		t.Error("the same EV after a longer pause")
	}
}
