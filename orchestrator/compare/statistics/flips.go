package statistics

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// MostFlips is up to how many seeds Flips is computed: 2^15 ways to swap the sides.
const MostFlips = 16

// FewestFlips returns with how many seeds Flips can reject at a level, which it can for each of any
// number of metrics: of 2^n ways to swap the sides of n seeds two are as extreme as none.
func FewestFlips(level float64) int {
	return max(2, int(math.Ceil(1+math.Log2(1/level)-1e-9)))
}

// Flips returns the p-values of many metrics that the same seeds have, corrected for all of them
// (Westfall and Young 1993, Resampling-based multiple testing: step-down maxT). moves has a row for
// a metric: by how much each seed moves it, such as the logarithm of its ratio, 0 where it has no
// value. If the sides do not differ, each seed's may be swapped, in all metrics at once, which
// turns the signs of its moves; a metric's statistic is its mean move over the root mean square.
// Metrics that move together so cost no more than one, and few seeds can say something of many
// metrics: of 2^n ways to swap the least p is 2/2^n. A metric that all seeds move alike is found;
// one with larger noise than its effect needs more seeds and Holm's correction.
func Flips(moves [][]float64) []float64 {
	metrics := len(moves)
	if metrics == 0 {
		return nil
	}
	seeds := len(moves[0])
	sums, scales := make([]float64, metrics), make([]float64, metrics)
	for m, row := range moves {
		squares := 0.0
		for _, x := range row {
			sums[m] += x
			squares += x * x
		}
		if squares > 0 {
			scales[m] = 1 / math.Sqrt(float64(seeds)*squares)
		}
	}
	seen, order := make([]float64, metrics), make([]int, metrics)
	for m := range moves {
		seen[m], order[m] = math.Abs(sums[m])*scales[m], m
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(seen[b], seen[a]) })
	const tie = 1e-9
	counts := make([]int, metrics)
	signs := make([]float64, seeds)
	for i := range signs {
		signs[i] = 1
	}
	ways := 1 << (seeds - 1) // the first seed stays: turning all signs changes nothing
	for way := range ways {
		if way > 0 { // the next in Gray code: one seed is swapped
			i := 1 + bits.TrailingZeros(uint(way))
			signs[i] = -signs[i]
			for m, row := range moves {
				sums[m] += 2 * signs[i] * row[i]
			}
		}
		most := 0.0
		for k := metrics - 1; k >= 0; k-- {
			m := order[k]
			most = max(most, math.Abs(sums[m])*scales[m])
			if most >= seen[m]-tie {
				counts[m]++
			}
		}
	}
	p, least := make([]float64, metrics), 0.0
	for _, m := range order {
		least = max(least, float64(counts[m])/float64(ways))
		p[m] = least
	}
	return p
}
