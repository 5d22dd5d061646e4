package balance

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// bitmap walks the EVs and passes over those that are penalised for marks, trims
// and timeouts (uet-htsim: bitmap).
var bitmap = Algorithm{
	Spec:  algorithm.Spec{Name: "bitmap", Doc: "every EV in turn but those with a penalty for marks, trims and timeouts", Params: []algorithm.Param{paths}},
	Build: func(f Flow, r *algorithm.Reader) Balancer { return &bitmapState{newPenaltyWalk(f, r)} },
}

type bitmapState struct{ walk penaltyWalk }

func (b *bitmapState) Next(units.Time) uint16               { return b.walk.pick() }
func (b *bitmapState) OnFeedback(_ units.Time, f *Feedback) { b.walk.punish(f) }

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
	clean   int // number of EVs without a penalty
}

func newPenaltyWalk(f Flow, r *algorithm.Reader) penaltyWalk {
	n := r.Int("paths")
	return penaltyWalk{walk: newWalk(f.Random, n), penalty: make([]uint8, n), clean: n}
}

func (p *penaltyWalk) pick() uint16 {
	i := p.walk.step()
	if p.penalty[i] == 0 {
		return p.walk.upper | i
	}
	if p.penalty[i]--; p.penalty[i] == 0 {
		p.clean++
	}
	if p.clean == 0 {
		return p.walk.upper | p.walk.around()
	}
	i = p.walk.step()
	for tries := 1; p.penalty[i] > 0 && tries < len(p.penalty); tries++ {
		i = p.walk.step()
	}
	return p.walk.upper | i
}

func (p *penaltyWalk) punish(f *Feedback) {
	i := f.EV & (p.walk.lap - 1)
	before := p.penalty[i]
	switch f.Outcome {
	case Good:
		return
	case Marked:
		p.penalty[i] = min(before+penaltyMarked, maxPenalty)
	case Trimmed:
		p.penalty[i] = min(before+penaltyTrimmed, maxPenalty)
	case Lost:
		p.penalty[i] = maxPenalty
	}
	if before == 0 {
		p.clean--
	}
}
