package training

import (
	"math"
	"math/rand/v2"

	"github.com/csiglab/csiglab/units"
)

// shares returns how popular the experts of each rank of expert parallelism are, as parts of
// 1: the k-th most popular expert has a part in proportion to k^-skew. Which one that is
// depends on the seed.
func (c *Config) shares(seed uint64) []float64 {
	n, ep := c.Model.Experts, c.Parallel.degrees().EP
	order := rand.New(rand.NewPCG(seed, 0x65787074)).Perm(n) // "expt": a stream of its own
	shares, sum := make([]float64, ep), 0.0
	for expert, place := range order {
		// Rounded, as powers are not equal to the last bit on all processors.
		weight := math.Round(math.Pow(float64(place+1), -c.Skew) * (1 << 40))
		shares[expert/(n/ep)] += weight
		sum += weight
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// apportion divides n tokens by shares, so that their sum is n.
func apportion(n int64, shares []float64) []int64 {
	parts, cumulative, before := make([]int64, len(shares)), 0.0, int64(0)
	for i, s := range shares {
		cumulative += s
		until := n
		if i < len(shares)-1 {
			until = min(n, int64(math.Round(cumulative*float64(n))))
		}
		parts[i], before = until-before, until
	}
	return parts
}

// sizes returns what a rank sends to each rank of expert parallelism for dispatch, or gets
// from each for combine, by index; and what it gets from each for dispatch, or sends to each
// for combine, which is the same for all.
func (l *layout) sizes(tokens int64, shares []float64, me int) (to, from []units.Size) {
	m := &l.config.Model
	to, from = make([]units.Size, len(shares)), make([]units.Size, len(shares))
	for i, n := range apportion(tokens*int64(m.TopK), shares) {
		to[i] = l.scaled(units.Size(n * int64(m.Hidden) * l.precision))
	}
	for i := range from {
		from[i] = to[me]
	}
	return to, from
}
