package measure

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Of a job with more operations than are held, the steps that begin later are divided, and no
// others.
func TestWaitsAreBounded(t *testing.T) {
	us := func(n int) units.Time { return units.Time(n) * units.Time(units.Microsecond) }
	compute := func(at int) *metrics.Operation {
		return &metrics.Operation{Kind: metrics.OperationCompute, Ready: us(at), Start: us(at), End: us(at + 1), After: metrics.Absent, Tag: metrics.Tag{Step: 1}}
	}
	w := waits{ranks: make([]waitRank, 1)}
	for at := range mostWaits + 10 {
		w.add(compute(at))
	}
	if w.held > 10 || len(w.ranks[0].ops) != w.held {
		t.Errorf("%d operations are held of %d in memory, want at most 10", w.held, len(w.ranks[0].ops))
	}
	if d, ok := w.divide(0, us(mostWaits), metrics.Absent); ok {
		t.Errorf("a step with too many operations is divided: %v", d)
	}
	from, to := us(mostWaits+2), us(mostWaits+10)
	if d, ok := w.divide(from, to, metrics.Absent); !ok || d != (division{shareCompute: 8 * units.Microsecond}) {
		t.Errorf("the next step is divided into %v (%v), want 8 us of compute", d, ok)
	}
}
