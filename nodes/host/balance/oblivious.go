package balance

import (
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// single keeps one EV.
type single struct{ ev uint16 }

func newSingle(c Config) Balancer {
	return &single{ev: uint16(c.Random.IntN(wire.EntropyRange))}
}

func (s *single) Next(units.Time) uint16          { return s.ev }
func (s *single) OnFeedback(units.Time, Feedback) {}

// walk visits every EV once per lap, in the order that a random mask gives the
// lap: i XOR mask, for i from 0. Upper bits are drawn once per flow, so that two
// flows with the same EV do not collide.
type walk struct {
	random *rand.Rand
	upper  uint16
	lap    uint16 // number of EVs
	next   uint16
	mask   uint16
}

func newWalk(c Config) walk {
	lap := uint16(c.Paths)
	w := walk{random: c.Random, lap: lap}
	w.upper = uint16(c.Random.IntN(wire.EntropyRange)) &^ (lap - 1)
	w.mask = uint16(c.Random.IntN(int(lap)))
	return w
}

// step returns the next index of the walk, from 0 to lap-1.
func (w *walk) step() uint16 {
	i := w.next ^ w.mask
	if w.next++; w.next == w.lap {
		w.next = 0
		w.mask = uint16(w.random.IntN(int(w.lap)))
	}
	return i
}

// oblivious walks and does not listen (uet-htsim: oblivious).
type oblivious struct{ walk walk }

func newOblivious(c Config) Balancer { return &oblivious{walk: newWalk(c)} }

func (o *oblivious) Next(units.Time) uint16          { return o.walk.upper | o.walk.step() }
func (o *oblivious) OnFeedback(units.Time, Feedback) {}
