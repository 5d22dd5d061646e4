package balance

import (
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

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

func newWalk(random *rand.Rand, paths int) walk {
	lap := uint16(paths)
	w := walk{random: random, lap: lap}
	w.upper = uint16(random.IntN(wire.EntropyRange)) &^ (lap - 1)
	w.mask = uint16(random.IntN(paths))
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

// around is as many steps as there are indices, in one.
func (w *walk) around() uint16 {
	old := w.mask
	w.mask = uint16(w.random.IntN(int(w.lap)))
	if w.next == 0 {
		return w.lap - 1 ^ old // the last step ends the lap
	}
	return w.next - 1 ^ w.mask
}

// oblivious walks and does not listen (uet-htsim: oblivious).
var oblivious = Algorithm{
	Spec:  algorithm.Spec{Name: "oblivious", Doc: "every EV in turn, whatever comes back", Params: []algorithm.Param{paths}},
	Even:  true,
	Build: newOblivious,
}

type obliviousState struct{ walk walk }

func newOblivious(f Flow, r *algorithm.Reader) Balancer {
	return &obliviousState{walk: newWalk(f.Random, r.Int("paths"))}
}

func (o *obliviousState) Next(units.Time) uint16           { return o.walk.upper | o.walk.step() }
func (o *obliviousState) OnFeedback(units.Time, *Feedback) {}
