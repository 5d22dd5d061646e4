package statistics

import (
	"math"
	"sync"
)

// signedRanks returns the distribution of Wilcoxon's signed-rank statistic of n values that
// are symmetric about 0: element k is the probability that k or more of their n (n + 1) / 2
// Walsh averages, each value by itself among them, are positive (Hollander, Wolfe and
// Chicken, Nonparametric Statistical Methods, §3.1 and §3.3). It is exact, and shared by all
// callers, who must not change it.
//
// Values that are 0, or equal but for the sign, have Walsh averages of 0. Where these count
// for neither side, the statistic is at most that of ties broken at random, whose
// distribution this is. So the test stays exact or errs towards not rejecting.
func signedRanks(n int) []float64 {
	return distributions.of([2]int{n, -1}, func() []float64 {
		p := make([]float64, n*(n+1)/2+1)
		p[0] = 1
		for i, top := 1, 0; i <= n; i++ { // the value of rank i has either sign
			top += i
			for k := top; k >= 0; k-- {
				p[k] /= 2
				if k >= i {
					p[k] += p[k-i] / 2
				}
			}
		}
		return p
	})
}

// rankSums returns the distribution of Mann and Whitney's U of two samples of one
// distribution: element k is the probability that, of all m n pairs of a value of each, k or
// more have the second greater (Hollander, Wolfe and Chicken, §4.1). It is exact up to m n =
// 10,000, and the normal approximation with continuity correction beyond, whose tails are a
// little greater: by up to 6 % down to a level of 0.001.
func rankSums(m, n int) []float64 {
	return distributions.of([2]int{min(m, n), max(m, n)}, func() []float64 {
		if m*n > 10000 {
			return normalRankSums(m, n)
		}
		// p(i, j, u): the greatest of i + j values is one of the i with probability i / (i + j),
		// and is then greater than all j.
		row := make([][]float64, n+1) // by j
		for i := range m + 1 {
			for j := range n + 1 {
				if i == 0 || j == 0 {
					row[j] = []float64{1}
					continue
				}
				p := make([]float64, i*j+1)
				first := float64(i) / float64(i+j)
				for k, v := range row[j] { // of i-1
					p[k+j] += v * first
				}
				for k, v := range row[j-1] {
					p[k] += v * (1 - first)
				}
				row[j] = p
			}
		}
		return row[n]
	})
}

func normalRankSums(m, n int) []float64 {
	p := make([]float64, m*n+1)
	mean := float64(m) * float64(n) / 2
	deviation := math.Sqrt(mean * float64(m+n+1) / 6)
	at := func(k int) float64 { return math.Erfc((float64(k)-0.5-mean)/deviation/math.Sqrt2) / 2 }
	for k := range p {
		p[k] = at(k) - at(k+1)
	}
	return p
}

// cache keeps distributions.
type cache struct {
	sync.Mutex
	tails map[[2]int][]float64
}

var distributions cache

// of returns the tails of a distribution, whose probabilities are computed once.
func (c *cache) of(key [2]int, probabilities func() []float64) []float64 {
	c.Lock()
	defer c.Unlock()
	if t, ok := c.tails[key]; ok {
		return t
	}
	p := probabilities()
	for k := len(p) - 2; k >= 0; k-- {
		p[k] += p[k+1]
	}
	if c.tails == nil {
		c.tails = map[[2]int][]float64{}
	}
	c.tails[key] = p
	return p
}
