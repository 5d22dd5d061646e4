package statistics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
)

// What Found says is found in nine of ten new samples of the same noise, within 6 %; twice the noise
// hides twice the distance to the limit, more or less, and fewer pairs hide more.
func TestFound(t *testing.T) {
	const n = 24
	random := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, noise, by float64) []statistics.Pair {
		pairs := make([]statistics.Pair, n)
		for i := range pairs {
			b := 100 * math.Exp(0.1*random.NormFloat64())
			pairs[i] = statistics.Pair{Baseline: b, Candidate: b * (1 + by) * math.Exp(noise*random.NormFloat64())}
		}
		return pairs
	}
	for _, higher := range []bool{false, true} {
		plan := statistics.Plan{Delta: 0.05, Confidence: 0.95, FalseFail: 0.002, Looks: 2, Higher: higher}
		found := statistics.Found(draw(200, 0.02, 0), plan, n)
		times := func(by float64) (times int) {
			if higher {
				by = -by
			}
			for range 200 {
				if statistics.Judge(draw(n, 0.02, by), plan).Outcome == statistics.Worse {
					times++
				}
			}
			return times
		}
		if less, more := times(0.94*found), times(1.06*found); less > 186 || more < 170 || found < 0.05 || found > 0.1 {
			t.Errorf("higher %v: of 200 samples %d find 6 %% less than %.4f, and %d 6 %% more", higher, less, found, more)
		}
		if twice, few := statistics.Found(draw(200, 0.04, 0), plan, n), statistics.Found(draw(200, 0.02, 0), plan, 16); twice < found+0.005 || few < found {
			t.Errorf("higher %v: %.3f with twice the noise and %.3f with fewer pairs, %.3f before", higher, twice, few, found)
		}
	}
	plan := statistics.Plan{Delta: 0.05, Confidence: 0.95, FalseFail: 0.002, Looks: 2}
	if found := statistics.Found(draw(50, 0.02, 0), plan, 6); !math.IsInf(found, 1) {
		t.Errorf("six pairs find %v, and cannot at this level", found)
	}
	for what, got := range map[string]float64{
		"of three pairs":       statistics.Found(draw(3, 0.02, 0), plan, n),
		"without noise":        statistics.Found(draw(9, 0, 0.01), plan, n),
		"of values that are 0": statistics.Found(make([]statistics.Pair, 9), plan, n),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s it is %v", what, got)
		}
	}
	plan.Absolute, plan.Delta = true, 3
	if found := statistics.Found(draw(100, 0.02, 0), plan, n); !(found > 3 && found < 9) {
		t.Errorf("absolute: %v", found)
	}
}
