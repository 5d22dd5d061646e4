package statistics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
)

// The least p of n seeds is 2/2^n however many metrics there are, and the fewest seeds are those
// that reach a level.
func TestFlipsOfFewSeeds(t *testing.T) {
	for _, seeds := range []int{2, 5, 6, 8, 12} {
		moves := make([][]float64, 50)
		for m := range moves {
			moves[m] = make([]float64, seeds)
			for i := range moves[m] {
				moves[m][i] = -1.5 - float64(m)/1000
			}
		}
		for m, p := range statistics.Flips(moves) {
			if want := 2 / math.Exp2(float64(seeds)); p != want {
				t.Errorf("%d seeds, metric %d: p %v, want %v", seeds, m, p, want)
			}
		}
	}
	for level, want := range map[float64]int{0.05: 6, 0.01: 8, 0.0625: 5, 0.5: 2} {
		if got := statistics.FewestFlips(level); got != want {
			t.Errorf("level %v: %d seeds, want %d", level, got, want)
		}
	}
}

// By hand: two metrics, three seeds. Of the four ways to swap, the first metric is as extreme in
// one, its own; the second, whose moves add up to 3, 1, 5 and 3, in three.
func TestFlipsByHand(t *testing.T) {
	got := statistics.Flips([][]float64{{1, 1, 1}, {3, 1, -1}})
	if got[0] != 0.25 || got[1] != 0.75 {
		t.Errorf("p %v, want 1/4 and 3/4", got)
	}
	if p := statistics.Flips([][]float64{{0, 0, 0}, {1, 1, 1}}); p[0] != 1 || p[1] != 0.25 {
		t.Errorf("a metric that no seed moves has p %v", p)
	}
}

// Of 120 metrics without an effect, which depend on each other, some one is rejected no more often
// than the level says; 40 with an effect as large as five times their noise are found meanwhile, with
// eight seeds, where Holm's correction of a rank test can find none.
func TestFlipsKeepTheirLevel(t *testing.T) {
	const trials, metrics, changed, seeds, level = 400, 160, 40, 8, 0.05
	random := rand.New(rand.NewPCG(7, 11))
	wrong, found := 0, 0
	for range trials {
		moves := make([][]float64, metrics)
		common := make([]float64, seeds)
		for i := range common {
			common[i] = random.NormFloat64()
		}
		for m := range moves {
			moves[m] = make([]float64, seeds)
			for i := range moves[m] {
				moves[m][i] = 0.5*common[i] + random.NormFloat64()*math.Exp(random.NormFloat64()/2)
				if m < changed {
					moves[m][i] += 8
				}
			}
		}
		any := false
		for m, p := range statistics.Flips(moves) {
			if p > level {
				continue
			}
			if m < changed {
				found++
			} else {
				any = true
			}
		}
		if any {
			wrong++
		}
	}
	// 5 % of 400 are 20, and 33 are three standard deviations more.
	if wrong > 33 {
		t.Errorf("in %d of %d trials a metric without an effect is rejected", wrong, trials)
	}
	if share := float64(found) / trials / changed; share < 0.7 {
		t.Errorf("%.2f of the effects are found", share)
	}
	t.Logf("wrong in %d of %d trials, %.3f of the effects found", wrong, trials, float64(found)/trials/changed)
}
