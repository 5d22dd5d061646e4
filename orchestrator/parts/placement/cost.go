package placement

import (
	"time"

	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/units"
)

// Costs of a cut in lockstep (docs/explanation/performance.md).
const (
	// exchangeTime is what an exchange adds to the wall time: a write and the wait for the
	// other part's, over TCP between two pods.
	exchangeTime = 49 * time.Microsecond
	// busyWindows is the share of windows of a cut's lookahead in which there is an exchange:
	// in the others no node can do anything.
	busyWindows = 0.85
)

// predict predicts the exchanges of a cut and what they cost.
func (pl *Placement) predict(f *fabric) {
	model := f.work.ModelTime
	if f.end != units.Never {
		model = min(model, units.Duration(f.end))
	}
	alone := estimate.Reference.Lockstep(float64(f.work.PacketHops)).Seconds()
	pl.Seconds = alone
	if pl.Lookahead > 0 {
		pl.Exchanges = busyWindows * float64(model) / float64(pl.Lookahead)
		pl.Seconds += pl.Exchanges*exchangeTime.Seconds() + estimate.Reference.Lockstep(pl.Crossing).Seconds()
	}
	if alone > 0 {
		pl.Slowdown = pl.Seconds / alone
	}
}
