package balance

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// The EV of a returned packet is left alone, and those whose last sample names the port that
// is down. What was sent before and comes back later does not count; what was sent after does.
func TestWeightedAvoidsThePortThatIsDown(t *testing.T) {
	w := newWeighted(t, algorithm.Values{"paths": "8", "explore": "0.03125"})
	w.all(nqd(10, false)) // locator 9
	elsewhere := nqd(10, false)
	elsewhere.Sample.Locator = 4
	for i := 3; i < 8; i++ {
		w.on(i, elsewhere)
	}
	// Path 3 is returned from the port 9, which paths 0 to 2 name.
	w.on(3, Feedback{Outcome: Lost, Returned: true, Locator: 9, Dated: true, Age: units.Microsecond})
	if got := w.send(400)[:4]; !slices.Equal(got, make([]int, 4)) {
		t.Errorf("paths 0 to 3 are used %v times", got)
	}
	w.now = w.now.Add(2 * units.Microsecond)
	old, fresh := nqd(10, false), nqd(10, false)
	old.Dated, old.Age = true, 3*units.Microsecond
	fresh.Dated, fresh.Age = true, units.Microsecond
	w.on(0, old)
	w.on(1, fresh)
	if got := w.send(400); got[0] != 0 || got[1] == 0 {
		t.Errorf("path 0, of an old sample, is used %d times, path 1, of a fresh one, %d", got[0], got[1])
	}
}

func TestREPSForgetsWhatIsReturned(t *testing.T) {
	s := repsOf(t, nil)
	good(s, 31, 32, 33)
	if s.Next(0) != 31 {
		t.Fatal("31 is the oldest")
	}
	s.OnFeedback(0, &Feedback{EV: 32, Outcome: Lost, Returned: true})
	if got, want := next(s, 4), []uint16{31, 33, 31, 33}; !slices.Equal(got, want) {
		t.Errorf("frozen: EVs %v, want %v", got, want)
	}
}

func TestMixedForgetsWhatIsReturned(t *testing.T) {
	m := with(t, mixed, testFlow(), nil).(*mixedState)
	for _, ev := range []uint16{5, 6, 5, 7} {
		m.OnFeedback(0, &Feedback{EV: ev, Outcome: Good})
	}
	m.OnFeedback(0, &Feedback{EV: 5, Outcome: Lost, Returned: true})
	if a, b := m.Next(0), m.Next(0); a != 6 || b != 7 {
		t.Errorf("EVs %d and %d, want 6 and 7", a, b)
	}
}
