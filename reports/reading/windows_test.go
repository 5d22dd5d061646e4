package reading

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Damaged tables may hold any number.
func TestHostileWindows(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, math.MaxFloat64}
	sums := WindowSums{tier: &TierSums{}}
	for _, start := range bad {
		for _, bytes := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
			for _, rate := range []int64{math.MinInt64, 0, 1, math.MaxInt64} {
				sums.see(&runfolder.PortRow{StartUS: start, WindowUS: 100, TxBytes: bytes, TxPackets: bytes, RateBPS: rate, QueueByteNS: bytes}, 100)
			}
		}
	}
	if s := sums.tier.Of(1); !(s.Peak >= 0 && s.Peak <= 1 && s.FullShare >= 0 && s.FullShare <= 1) {
		t.Errorf("shares %+v", s)
	}
}
