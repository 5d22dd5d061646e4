package balance

import (
	"math/rand/v2"

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

func newMixed(random *rand.Rand, r *algorithm.Reader) Balancer {
	n := r.Int("paths")
	return &mixedState{walk: penaltyWalk{walk: newWalk(random, n), penalty: make([]uint8, n)}}
}

func (m *mixedState) Next(units.Time) uint16 {
	if ev, ok := m.good.Pop(); ok {
		return ev
	}
	return m.walk.pick()
}

func (m *mixedState) OnFeedback(_ units.Time, f Feedback) {
	if f.Outcome == Good {
		m.good.Push(f.EV)
	}
	m.walk.punish(f)
}

// Penalties of an EV (uet-htsim: bitmap).
const (
	penaltyMarked  = 1
	penaltyTrimmed = 4
	maxPenalty     = 15 // also for a timeout
)

// penaltyWalk walks the EVs, passing over those with a penalty. The first
// penalised EV that a pick meets has its penalty reduced by one; a pick that
// meets none without takes the last it saw. Clean ACKs do not forgive.
type penaltyWalk struct {
	walk    walk
	penalty []uint8
}

func (p *penaltyWalk) pick() uint16 {
	i := p.walk.step()
	for tries := 0; p.penalty[i] > 0 && tries < len(p.penalty); tries++ {
		if tries == 0 {
			p.penalty[i]--
		}
		i = p.walk.step()
	}
	return p.walk.upper | i
}

func (p *penaltyWalk) punish(f Feedback) {
	i := f.EV & (p.walk.lap - 1)
	switch f.Outcome {
	case Marked:
		p.penalty[i] = min(p.penalty[i]+penaltyMarked, maxPenalty)
	case Trimmed:
		p.penalty[i] = min(p.penalty[i]+penaltyTrimmed, maxPenalty)
	case Lost:
		p.penalty[i] = maxPenalty
	}
}
