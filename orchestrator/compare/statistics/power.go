package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Power is how often Found wants a worsening found.
const Power = 0.9

const (
	powerDraws   = 100
	powerSteps   = 16
	fewestNoises = 6  // pairs whose effects say something of their noise
	mostFound    = 10 // Found looks no further, in A's value or in limits
)

// Found returns the smallest worsening that Judge finds in nine of ten samples of n pairs at the
// last of the plan's looks, if effects scatter as those of the given pairs do: of samples drawn from
// them with a fixed seed. It is a share of the baseline, or a value of the metric with Absolute.
// It is NaN where nothing is known of the noise: of fewer than 6 pairs, of pairs that all move alike,
// of percentiles, and of shares of values that are not positive. It is +Inf if n pairs cannot find
// any.
func Found(pairs []Pair, p Plan, n int) float64 {
	p = p.withDefaults()
	if len(pairs) < fewestNoises || p.Quantile != 0.5 {
		return math.NaN()
	}
	noise := make([]float64, len(pairs))
	for i, one := range pairs {
		switch {
		case p.Absolute:
			noise[i] = one.Candidate - one.Baseline
		case one.Baseline <= 0 || one.Candidate <= 0:
			return math.NaN()
		default:
			noise[i] = math.Log(one.Candidate / one.Baseline)
		}
	}
	sorted := slices.Sorted(slices.Values(noise))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	for i := range noise {
		noise[i] -= middle
	}
	if slices.Max(noise) == slices.Min(noise) {
		return math.NaN()
	}
	sample := make([]Pair, n)
	finds := func(worsening float64) bool {
		if p.Higher {
			worsening = -worsening
		}
		random := rand.New(rand.NewPCG(1, 2)) // the same samples for every worsening
		found := 0
		for range powerDraws {
			for i := range sample {
				one, moved := pairs[random.IntN(len(pairs))], noise[random.IntN(len(noise))]
				sample[i] = Pair{Baseline: one.Baseline, Candidate: one.Baseline * math.Exp(moved) * (1 + worsening)}
				if p.Absolute {
					sample[i].Candidate = one.Baseline + moved + worsening
				}
			}
			if Judge(sample, p).Outcome == Worse {
				found++
			}
		}
		return float64(found) >= Power*powerDraws
	}
	low, high := p.Delta, float64(mostFound)
	if p.Absolute {
		high = mostFound * max(p.Delta, sorted[len(sorted)-1]-sorted[0])
	} else if p.Higher {
		high = 1 - 1e-3
	}
	if !(high > low) || !finds(high) {
		return math.Inf(1)
	}
	for range powerSteps {
		if middle := (low + high) / 2; finds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
