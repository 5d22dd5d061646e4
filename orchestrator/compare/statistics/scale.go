package statistics

import (
	"math"
	"slices"
)

// scale says what an effect is.
type scale struct {
	kind     int
	note     string  // what a reader has to know of it
	rounding float64 // of effects, at most; closer ones are equal
}

const (
	// differences: candidate - baseline.
	differences = iota
	// ratios: candidate / baseline - 1, averaged as logarithms, so that twice as much and
	// half as much cancel. All values are positive.
	ratios
	// shares: (candidate - baseline) / |baseline|, averaged with the baselines' weights, for
	// values that are not all positive. The effect v then is no worse than a limit exactly
	// where candidate - baseline - v |baseline| is not above 0, which has a meaning for a
	// baseline of 0 too.
	shares
)

// precision is that of effects, as shares. A metric that has changed by exactly Delta in every
// pair must not fail because 10.5 / 10 is a little more than 1.05.
const precision = 1e-12

// scaleOf returns the scale for values, or why they have none.
func scaleOf(baseline, candidate []float64, absolute bool) (s scale, reason string) {
	positive, zeros, changed, most := true, true, false, 0.0
	for _, values := range [][]float64{baseline, candidate} {
		for _, v := range values {
			if math.IsNaN(v) || math.Abs(v) > math.MaxFloat64/4 { // differences stay finite
				return scale{}, "a value is not a finite number"
			}
			positive, most = positive && v > 0, max(most, math.Abs(v))
		}
	}
	for _, v := range baseline {
		zeros = zeros && v == 0
	}
	changed = slices.ContainsFunc(candidate, func(v float64) bool { return v != 0 })
	switch {
	case absolute:
		return scale{kind: differences, rounding: most * precision}, ""
	case positive:
		return scale{kind: ratios, rounding: precision}, ""
	case zeros && changed:
		return scale{kind: shares, rounding: precision, note: "the baseline is 0 for every seed, so that every growth is infinite as a share of it: state delta in the metric's unit"}, ""
	}
	return scale{kind: shares, rounding: precision}, ""
}

// of is the effect on one value.
func (s scale) of(baseline, candidate float64) float64 {
	one := Pair{baseline, candidate}
	return s.walsh(one, one)
}

// walsh is the mean effect on two pairs: a Walsh average.
func (s scale) walsh(a, b Pair) float64 {
	da, db := a.Candidate-a.Baseline, b.Candidate-b.Baseline
	switch s.kind {
	case differences:
		return da/2 + db/2
	case ratios:
		if da == 0 && db == 0 {
			return 0
		}
		return math.Expm1((logRatio(a) + logRatio(b)) / 2)
	}
	sum := da/2 + db/2
	if sum == 0 { // of a baseline of 0 too: what is equal has not changed
		return 0
	}
	return sum / (math.Abs(a.Baseline)/2 + math.Abs(b.Baseline)/2)
}

// logRatio is a difference of logarithms, since the ratio itself may overflow.
func logRatio(p Pair) float64 {
	if r := p.Candidate / p.Baseline; r > 0.5 && r < 2 {
		return math.Log1p((p.Candidate - p.Baseline) / p.Baseline) // exact for small effects
	}
	return math.Log(p.Candidate) - math.Log(p.Baseline)
}
