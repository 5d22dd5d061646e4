package statistics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
)

// Conover's table of the sign test, two-sided 95 %: the ranks of the bounds by number of values.
func TestMedianIntervalByTable(t *testing.T) {
	for n, rank := range map[int]int{5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 12: 3, 15: 4, 20: 6, 25: 8} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i) // descending: ranks are 1 to n
		}
		low, high := statistics.MedianInterval(values, 0.95)
		wantLow, wantHigh := float64(rank), float64(n+1-rank)
		if rank == 0 {
			wantLow, wantHigh = math.Inf(-1), math.Inf(1)
		}
		if low != wantLow || high != wantHigh {
			t.Errorf("%d values: %v to %v, want %v to %v", n, low, high, wantLow, wantHigh)
		}
	}
}

// The interval misses the median of a skewed distribution in at most 5 % of 2,000 samples.
func TestMedianIntervalCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	const trials = 2000
	for _, n := range []int{6, 12, 24} {
		missed := 0
		for range trials {
			values := make([]float64, n)
			for i := range values {
				values[i] = r.ExpFloat64()
			}
			if low, high := statistics.MedianInterval(values, 0.95); low > math.Ln2 || high < math.Ln2 {
				missed++
			}
		}
		if missed > trials*5/100+30 { // three standard deviations
			t.Errorf("%d values: %d of %d miss the median", n, missed, trials)
		}
	}
}
