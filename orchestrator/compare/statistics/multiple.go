package statistics

import (
	"cmp"
	"math"
	"slices"
)

// Holm corrects the p-values of several tests (Holm 1979, A simple sequentially rejective
// multiple test procedure): rejecting those that are at most a rejects one or more true
// hypotheses with a probability of at most a, whatever the tests have to do with each other.
// Results are in the order of p. A p-value that is not a number counts as 1, as does that of a
// test that has not been done yet: its place must be in p.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	out := make([]float64, len(p))
	for i, v := range p {
		order[i] = i
		out[i] = v
		if math.IsNaN(v) {
			out[i] = 1
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(out[i], out[j]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, out[i]*float64(len(p)-rank)))
		out[i] = least
	}
	return out
}

// Looks returns after how many pairs to look: after first, then each time about twice as many, up
// to most. Each is greater than the one before. Every look costs a part of the error
// probability, so that looks at which nothing can be decided (Plan.Fewest) are better left
// out. first and most are at least 1; where most is not above first, it is the only look.
func Looks(first, most int) []int {
	first = max(1, min(first, most))
	if most <= first {
		return []int{first}
	}
	steps := max(1, int(math.Round(math.Log2(float64(most)/float64(first)))))
	looks := make([]int, steps+1)
	for i := range looks {
		looks[i] = int(math.Round(float64(first) * math.Pow(float64(most)/float64(first), float64(i)/float64(steps))))
	}
	return slices.Compact(looks)
}
