package statistics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// resamples of a bootstrap. With this number the p-values go down to 0.00005.
const resamples = 19999

// bootstrap compares a quantile of the candidate with that of the baseline: samples are drawn
// anew with replacement, in pairs or by themselves, and the effect's distribution is what the
// draws give (percentile bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap,
// §13.3). Draws know nothing of what lies beyond the samples. Therefore nothing is said at
// a level below the probability that no sample lies beyond the quantile, where the bootstrap would
// be sure without reason.
func (c *comparison) bootstrap(baseline, candidate []float64, s scale, paired bool) {
	q := c.plan.Quantile
	b, v := orderOf(baseline), orderOf(candidate)
	c.Baseline, c.Candidate = b.quantile(q, nil), v.quantile(q, nil)
	c.Effect = s.of(c.Baseline, c.Candidate)

	r := rand.New(rand.NewPCG(0x63736967, uint64(len(baseline))))
	effects := make([]float64, resamples)
	drawnB, drawnV := make([]int32, len(baseline)), make([]int32, len(candidate))
	for i := range effects {
		draw(r, drawnB)
		if paired {
			drawnV = drawnB
		} else {
			draw(r, drawnV)
		}
		effects[i] = s.of(b.quantile(q, drawnB), v.quantile(q, drawnV))
	}
	slices.Sort(effects)

	blind := math.Pow(max(q, 1-q), float64(c.pairs))
	p := func(against int) float64 { return max(blind, float64(against+1)/(resamples+1)) }
	c.above = func(x float64) float64 { return p(after(effects, x+c.rounding)) }
	c.below = func(x float64) float64 { return p(resamples - before(effects, x-c.rounding)) }
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	level := c.plan.side()
	if k := int(level * (resamples + 1)); k >= 1 && blind <= level {
		c.Low, c.High = min(effects[k-1], c.Effect), max(effects[resamples-k], c.Effect)
	}
}

// draw fills in how often each of len(times) samples is drawn.
func draw(r *rand.Rand, times []int32) {
	clear(times)
	for range times {
		times[r.IntN(len(times))]++
	}
}

// order is samples and the indices that sort them.
type order struct {
	values []float64
	index  []int
}

func orderOf(values []float64) order {
	o := order{values: values, index: make([]int, len(values))}
	for i := range o.index {
		o.index[i] = i
	}
	slices.SortStableFunc(o.index, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return o
}

// quantile returns the smallest sample that is not below a share q of the samples, each of
// which counts as many times as stated; nil: once.
func (o order) quantile(q float64, times []int32) float64 {
	rank := rankOf(q, len(o.values))
	for _, i := range o.index {
		if times == nil {
			rank--
		} else {
			rank -= int(times[i])
		}
		if rank <= 0 {
			return o.values[i]
		}
	}
	panic("statistics: a quantile beyond all samples")
}

// rankOf returns the rank, from 1, of the quantile q of n samples. A product that is a
// whole number but for rounding (0.9 of 10) is that number.
func rankOf(q float64, n int) int {
	return min(n, max(1, int(math.Ceil(q*float64(n)-1e-9))))
}
