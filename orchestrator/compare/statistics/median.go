package statistics

import (
	"math"
	"slices"
)

// MedianInterval returns an interval that contains the median of what the values were drawn from
// with a confidence such as 0.95, whatever its distribution: between two of the values (the sign
// test; Conover, Practical Nonparametric Statistics, §3.2). The bounds are infinite where the values
// are too few, which for 0.95 are five.
func MedianInterval(values []float64, confidence float64) (low, high float64) {
	n := len(values)
	sorted := slices.Sorted(slices.Values(values))
	// With a probability of tail, fewer than k values lie below the median.
	k, tail, term := 0, 0.0, math.Exp2(-float64(n))
	for ; k < n/2; k++ {
		if tail += term; 2*tail > 1-confidence {
			break
		}
		term *= float64(n-k) / float64(k+1)
	}
	if k == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return sorted[k-1], sorted[n-k]
}
