package balance

import (
	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// mixed re-uses EVs that came back clean, oldest first, and when there are none
// walks all EVs past the penalised ones (uet-htsim: mixed, which is reps_legacy
// over bitmap). Feedback goes to both halves.
var mixed = Algorithm{
	Spec: algorithm.Spec{
		Name:   "mixed",
		Doc:    "EVs that came back clean first, else the walk that skips penalised ones (the reference's default)",
		Params: []algorithm.Param{paths},
	},
	Build: newMixed,
}

type mixedState struct {
	good fifo.Queue[uint16]
	walk penaltyWalk
}

func newMixed(f Flow, r *algorithm.Reader) Balancer {
	return &mixedState{walk: newPenaltyWalk(f, r)}
}

func (m *mixedState) Next(units.Time) uint16 {
	if ev, ok := m.good.Pop(); ok {
		return ev
	}
	return m.walk.pick()
}

func (m *mixedState) OnFeedback(_ units.Time, f *Feedback) {
	switch {
	case f.Outcome == Good:
		m.good.Push(f.EV)
	case f.Returned: // what came back before it went the same way
		for range m.good.Len() {
			if ev, _ := m.good.Pop(); ev != f.EV {
				m.good.Push(ev)
			}
		}
	}
	m.walk.punish(f)
}
