package statistics

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// The distribution of the signed-rank statistic is that of all sign flips, counted one by
// one.
func TestSignedRanksAreAllSignFlips(t *testing.T) {
	for n := 1; n <= 14; n++ {
		sums := make([]float64, n*(n+1)/2+1)
		for flips := range uint(1) << n {
			sum := 0
			for rest := flips; rest != 0; rest &= rest - 1 {
				sum += bits.TrailingZeros(rest) + 1
			}
			sums[sum]++
		}
		tail, more := signedRanks(n), 0.0
		for k := len(sums) - 1; k >= 0; k-- {
			more += sums[k]
			if want := more / math.Exp2(float64(n)); math.Abs(tail[k]-want) > 1e-12*want {
				t.Errorf("n = %d: P(W >= %d) = %v, want %v", n, k, tail[k], want)
			}
		}
	}
}

// Published tables: the greatest W of the lower tail whose one-sided probability is at most
// the level (Wilcoxon and Wilcox 1964, Some Rapid Approximate Statistical Procedures, table
// 2; also Hollander, Wolfe and Chicken, table A.4).
func TestPublishedSignedRanks(t *testing.T) {
	levels := []float64{0.05, 0.025, 0.01, 0.005}
	for n, want := range map[int][4]int{
		5: {0, -1, -1, -1}, 6: {2, 0, -1, -1}, 7: {3, 2, 0, -1}, 8: {5, 3, 1, 0}, 9: {8, 5, 3, 1}, 10: {10, 8, 5, 3},
		12: {17, 13, 9, 7}, 15: {30, 25, 19, 15}, 20: {60, 52, 43, 37}, 25: {100, 89, 76, 68}, 30: {151, 137, 120, 109},
		40: {286, 264, 238, 220}, 50: {466, 434, 397, 373},
	} {
		tail := signedRanks(n)
		for i, level := range levels {
			// P(W <= w) = P(W >= M - w).
			most := len(tail) - 1 - slices.IndexFunc(append(slices.Clone(tail), 0), func(p float64) bool { return p <= level })
			if most != want[i] {
				t.Errorf("n = %d, level %v: critical value %d, want %d", n, level, most, want[i])
			}
		}
	}
	// Single probabilities of the same tables: P(T+ >= 36) of n = 8 is 0.004, P(T+ >= 44) of
	// n = 10 is 0.053, P(T+ >= 50) is 0.010.
	for _, c := range []struct {
		n, k int
		want float64
	}{{8, 36, 0.004}, {8, 30, 0.055}, {10, 44, 0.053}, {10, 50, 0.010}, {12, 60, 0.055}} {
		if got := signedRanks(c.n)[c.k]; math.Abs(got-c.want) > 0.0005 {
			t.Errorf("n = %d: P(W >= %d) = %.5f, want %v", c.n, c.k, got, c.want)
		}
	}
}

// The distribution of U is that of all ways to choose which ranks the second sample has.
func TestRankSumsAreAllChoices(t *testing.T) {
	for m := 1; m <= 7; m++ {
		for n := 1; n <= 7; n++ {
			counts, all := make([]float64, m*n+1), 0.0
			for choice := range uint(1) << (m + n) {
				if bits.OnesCount(choice) != n {
					continue
				}
				u, below := 0, 0
				for i := range m + n {
					if choice>>i&1 == 1 {
						u += below
					} else {
						below++
					}
				}
				counts[u]++
				all++
			}
			tail, more := rankSums(m, n), 0.0
			for k := len(counts) - 1; k >= 0; k-- {
				more += counts[k]
				if want := more / all; math.Abs(tail[k]-want) > 1e-12 {
					t.Errorf("m = %d, n = %d: P(U >= %d) = %v, want %v", m, n, k, tail[k], want)
				}
			}
		}
	}
}

// Published critical values of Mann and Whitney's U, one-sided at 0.025 (Milton 1964, An
// Extended Table of Critical Values for the Mann-Whitney (Wilcoxon) Two-Sample Statistic).
func TestPublishedRankSums(t *testing.T) {
	for _, c := range []struct{ m, n, want int }{{4, 4, 0}, {5, 5, 2}, {5, 8, 6}, {8, 8, 13}, {10, 10, 23}, {10, 20, 55}, {20, 20, 127}} {
		tail := rankSums(c.m, c.n)
		most := len(tail) - 1 - slices.IndexFunc(tail, func(p float64) bool { return p <= 0.025 })
		if most != c.want {
			t.Errorf("%d and %d: critical value %d, want %d", c.m, c.n, most, c.want)
		}
	}
}

// Where the normal approximation takes over, it is as good as rankSums says.
func TestNormalRankSums(t *testing.T) {
	exact, p := rankSums(100, 100), normalRankSums(100, 100)
	more := 0.0
	for k := len(p) - 1; k >= 0; k-- {
		more += p[k]
		if off := more / exact[k]; exact[k] > 0.001 && exact[k] < 0.5 && (off < 0.995 || off > 1.06) {
			t.Fatalf("P(U >= %d) = %v, want %v", k, more, exact[k])
		}
	}
}

// With ties and zeros the test is at most as ready to reject as the exact permutation test
// of the same values, whose ranks of ties are broken at random.
func TestTiesAndZerosAreConservative(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(9)
		pairs, values := make([]Pair, n), make([]float64, n)
		for i := range pairs {
			values[i] = float64(r.IntN(7) - 3)
			pairs[i] = Pair{10, 10 + values[i]}
		}
		got := compare(pairs, Plan{Absolute: true}).above(0)
		if want := brokenAtRandom(values, r); got < want-1e-12 {
			t.Fatalf("%v: p = %v, with broken ties %v", values, got, want)
		}
	}
}

// brokenAtRandom is the p-value by counting all sign flips, when ties and zeros are broken
// at random.
func brokenAtRandom(values []float64, r *rand.Rand) float64 {
	n := len(values)
	order := r.Perm(n)
	slices.SortStableFunc(order, func(i, j int) int { return int(math.Abs(values[i]) - math.Abs(values[j])) })
	observed := 0
	for rank, i := range order {
		if values[i] > 0 || values[i] == 0 && r.IntN(2) == 0 {
			observed += rank + 1
		}
	}
	atLeast := 0
	for flips := range uint(1) << n {
		sum := 0
		for rank := range n {
			if flips>>rank&1 == 1 {
				sum += rank + 1
			}
		}
		if sum >= observed {
			atLeast++
		}
	}
	return float64(atLeast) / math.Exp2(float64(n))
}
