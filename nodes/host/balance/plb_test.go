package balance

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// rounds gives a balancer rounds of 20 us with 8 full packets each, of which so many are
// bad. It returns the number of rounds after which the EV changed, 0 if it did not.
type rounds struct {
	t   *testing.T
	b   Balancer
	now units.Time
	// bad is the feedback of a congested packet.
	bad func(f *Feedback)
	// inflight is what is in flight at the end of a round.
	inflight units.Size
}

func (r *rounds) run(n, bad int) (changed int) {
	r.t.Helper()
	for i := range n {
		first := r.b.Next(r.now)
		r.now = r.now.Add(20 * units.Microsecond)
		for k := range 8 {
			f := Feedback{EV: first, Acked: 4150, Dated: true, Age: 15 * units.Microsecond, Inflight: 4150}
			if k < 7 {
				f.Dated = false // within the round
			} else {
				f.Inflight = r.inflight
			}
			if k < bad {
				r.bad(&f)
			}
			r.b.OnFeedback(r.now, &f)
		}
		if r.b.Next(r.now) != first && changed == 0 {
			changed = i + 1
		}
	}
	return changed
}

func newRounds(t *testing.T, values algorithm.Values) *rounds {
	return &rounds{
		t: t, b: with(t, plb, testFlow(), values), now: units.Time(units.Second), inflight: 4150,
		bad: func(f *Feedback) { f.Outcome = Marked },
	}
}

// docs/reference/references.md#load-balancing, PLB: "a round is congested if the share of congested
// bytes reaches K"; after M congested rounds in a row the flow moves.
func TestPLBRounds(t *testing.T) {
	if got := newRounds(t, nil).run(12, 4); got != 12 {
		t.Errorf("half marked: moved after %d rounds, want 12", got)
	}
	if got := newRounds(t, nil).run(100, 3); got != 0 {
		t.Errorf("3 of 8 marked: moved after %d rounds, want never", got)
	}
	r := newRounds(t, nil)
	if got := r.run(11, 8); got != 0 {
		t.Errorf("moved after %d rounds", got)
	}
	r.run(1, 0) // a round without congestion starts the count again
	if got := r.run(20, 8); got != 12 {
		t.Errorf("after a clean round: moved after %d rounds, want 12", got)
	}
	r = newRounds(t, algorithm.Values{"rounds": "2", "share": "0.25"})
	if got := r.run(5, 2); got != 2 {
		t.Errorf("two rounds, a quarter: moved after %d", got)
	}
	if got := r.run(1, 2) + r.run(1, 2); got != 1 {
		t.Errorf("moved again after %d, want a full count of its own", got)
	}
}

// A marked packet counts once, however many the ACK stands for, which were not marked.
func TestPLBCountsBytes(t *testing.T) {
	r := newRounds(t, algorithm.Values{"rounds": "1"})
	r.bad = func(f *Feedback) { f.Outcome, f.Acked = Marked, 4*4150 }
	if got := r.run(10, 8); got != 0 {
		t.Errorf("a mark for four packets: moved after %d rounds, want never", got)
	}
	// A trimmed packet is a congested one.
	r.bad = func(f *Feedback) { f.Outcome, f.Acked = Trimmed, 0 }
	if got := r.run(1, 4); got != 1 {
		t.Errorf("trims: moved after %d rounds, want 1", got)
	}
}

// Signal delay: packets whose RTT exceeds the limit are congested ones; marks are not.
func TestPLBDelay(t *testing.T) {
	values := algorithm.Values{"rounds": "2", "signal": "delay", "delay": "18us"}
	r := newRounds(t, values)
	if got := r.run(20, 8); got != 0 {
		t.Errorf("marks: moved after %d rounds, want never", got)
	}
	r = newRounds(t, values)
	r.bad = func(f *Feedback) { f.Dated, f.Age = true, 18*units.Microsecond+1 }
	if got := r.run(5, 4); got != 2 {
		t.Errorf("late packets: moved after %d rounds, want 2", got)
	}
	r = newRounds(t, values)
	r.bad = func(f *Feedback) { f.Dated, f.Age = true, 18*units.Microsecond }
	if got := r.run(20, 8); got != 0 {
		t.Errorf("packets at the limit: moved after %d rounds, want never", got)
	}
}

// PLB: "with nothing in flight, N congested rounds suffice".
func TestPLBIdle(t *testing.T) {
	r := newRounds(t, nil)
	r.inflight = 0
	if got := r.run(10, 8); got != 3 {
		t.Errorf("moved after %d rounds, want 3", got)
	}
	r = newRounds(t, nil)
	if got := r.run(5, 8); got != 0 {
		t.Errorf("moved after %d rounds with packets in flight", got)
	}
	r.inflight = 0
	if got := r.run(1, 8); got != 1 {
		t.Error("did not move when nothing was in flight any more")
	}
}

// PLB: "after a timeout the flow moves at once, and congestion moves it no more for a time
// between suspend and twice suspend".
func TestPLBTimeout(t *testing.T) {
	r := newRounds(t, algorithm.Values{"rounds": "1", "suspend": "1ms"})
	first := r.b.Next(r.now)
	r.b.OnFeedback(r.now, &Feedback{EV: first, Outcome: Lost})
	if r.b.Next(r.now) == first {
		t.Error("the timeout did not move the flow")
	}
	moved := r.run(200, 8)
	if moved < 50 || moved > 101 {
		t.Errorf("congestion moved the flow %d rounds of 20us after the timeout, want 1 to 2 ms", moved)
	}
}
