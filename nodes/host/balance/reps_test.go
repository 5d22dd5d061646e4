package balance

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// repsOf returns reps with parameters and a generator that the test reads ahead.
func repsOf(t *testing.T, values algorithm.Values) *repsState {
	t.Helper()
	return with(t, reps, testFlow(), values).(*repsState)
}

func good(b Balancer, evs ...uint16) {
	for _, ev := range evs {
		b.OnFeedback(0, &Feedback{EV: ev, Outcome: Good})
	}
}

func next(b Balancer, n int) (evs []uint16) {
	for range n {
		evs = append(evs, b.Next(0))
	}
	return evs
}

// docs/reference/references.md#load-balancing, REPS: a clean ACK stores its EV in a ring of 8, and
// a packet takes the oldest that has not been used since; marks and trims store nothing.
func TestREPSRecyclesOnce(t *testing.T) {
	s := repsOf(t, nil)
	good(s, 11, 12)
	s.OnFeedback(0, &Feedback{EV: 20, Outcome: Marked})
	s.OnFeedback(0, &Feedback{EV: 21, Outcome: Trimmed})
	good(s, 13)
	if got, want := next(s, 3), []uint16{11, 12, 13}; !slices.Equal(got, want) {
		t.Errorf("EVs %v, want %v", got, want)
	}
	if s.fresh != 0 {
		t.Errorf("fresh EVs %08b after all were used", s.fresh)
	}
	good(s, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) // the ring holds the last 8
	if got, want := next(s, 8), []uint16{3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(got, want) {
		t.Errorf("EVs %v, want %v", got, want)
	}
}

// REPS: without a stored EV one is drawn, of all paths alike.
func TestREPSDraws(t *testing.T) {
	s := repsOf(t, algorithm.Values{"paths": "16"})
	count := map[uint16]int{}
	for range 16 * 100 {
		ev := s.Next(0)
		count[ev&15]++
		if ev&^15 != s.upper {
			t.Fatalf("EV %d of a flow with the upper bits %d", ev, s.upper)
		}
	}
	for ev := range uint16(16) { // 100 each, standard deviation 9.7
		if n := count[ev]; n < 55 || n > 145 {
			t.Errorf("EV %d was drawn %d times of 1600", ev, n)
		}
	}
}

// REPS, freezing: after a timeout the stored EVs are used in turn, again and again; ACKs
// go on storing. The first feedback after 10 ms empties the ring, and 16 packets explore.
func TestREPSFreezes(t *testing.T) {
	s := repsOf(t, nil)
	good(s, 31, 32, 33)
	if got := s.Next(0); got != 31 {
		t.Fatalf("EV %d, want 31", got)
	}
	at := units.Time(units.Millisecond)
	s.OnFeedback(at, &Feedback{EV: 1, Outcome: Lost})
	if got, want := next(s, 7), []uint16{31, 32, 33, 31, 32, 33, 31}; !slices.Equal(got, want) {
		t.Errorf("frozen: EVs %v, want %v", got, want)
	}
	good(s, 34)
	if got, want := next(s, 5), []uint16{32, 33, 34, 31, 32}; !slices.Equal(got, want) {
		t.Errorf("frozen, one more stored: EVs %v, want %v", got, want)
	}
	// A second timeout does not make it longer.
	s.OnFeedback(at.Add(5*units.Millisecond), &Feedback{EV: 1, Outcome: Lost})
	end := at.Add(10 * units.Millisecond)
	s.OnFeedback(end, &Feedback{EV: 35, Outcome: Marked})
	if !s.frozen {
		t.Error("thawed at 10 ms, want after")
	}
	s.OnFeedback(end.Add(1), &Feedback{EV: 36, Outcome: Good})
	if s.frozen || s.explore != repsExplore {
		t.Fatalf("frozen %v, %d packets to explore; want 16", s.frozen, s.explore)
	}
	// While exploring a timeout does not freeze, and stored EVs wait.
	s.OnFeedback(end.Add(2), &Feedback{EV: 1, Outcome: Lost})
	if s.frozen {
		t.Error("a timeout froze an exploring ring")
	}
	if drawn := next(s, 16); slices.Contains(drawn, 36) && s.fresh == 0 {
		t.Errorf("exploring: EVs %v from the ring", drawn)
	}
	if got := s.Next(0); got != 36 {
		t.Errorf("EV %d after exploring, want 36, the one that came back", got)
	}
}

// REPS: an empty ring that is frozen draws.
func TestREPSFrozenEmpty(t *testing.T) {
	s := repsOf(t, nil)
	s.OnFeedback(0, &Feedback{Outcome: Lost})
	evs := next(s, 64)
	slices.Sort(evs)
	if n := len(slices.Compact(evs)); n < 20 {
		t.Errorf("%d EVs of 64 packets", n)
	}
}

// uet-htsim freezes only where switches trim; a parameter decides otherwise.
func TestREPSFreezesWithTrimmingAlone(t *testing.T) {
	drops := testFlow()
	drops.Trim = false
	for _, test := range []struct {
		flow   Flow
		values algorithm.Values
		want   bool
	}{
		{testFlow(), nil, true}, {drops, nil, false},
		{testFlow(), algorithm.Values{"freeze": "0s"}, false}, {drops, algorithm.Values{"freeze": "1ms"}, true},
	} {
		s := with(t, reps, test.flow, test.values).(*repsState)
		s.OnFeedback(0, &Feedback{Outcome: Lost})
		if s.frozen != test.want {
			t.Errorf("trim %v, %v: frozen %v", test.flow.Trim, test.values, s.frozen)
		}
	}
}
