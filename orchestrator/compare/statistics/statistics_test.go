package statistics

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

var inf = math.Inf(1)

// repeat returns n pairs of the same values.
func repeat(n int, one Pair) []Pair { return slices.Repeat([]Pair{one}, n) }

// Judge on samples whose answer is plain.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		pairs  []Pair
		plan   Plan
		want   Outcome
		effect float64
		reason string // part of it
	}{
		{"twice as slow", repeat(8, Pair{10, 20}), Plan{Delta: 0.05}, Worse, 1, ""},
		{"twice as fast", repeat(8, Pair{20, 10}), Plan{Delta: 0.05}, NoWorse, -0.5, ""},
		{"half the rate", repeat(8, Pair{20, 10}), Plan{Delta: 0.05, Higher: true}, Worse, -0.5, ""},
		{"twice the rate", repeat(8, Pair{10, 20}), Plan{Delta: 0.05, Higher: true}, NoWorse, 1, ""},
		{"equal", repeat(8, Pair{10, 10}), Plan{Delta: 0.05}, NoWorse, 0, ""},
		{"equal, and nothing may be worse", repeat(8, Pair{10, 10}), Plan{}, NoWorse, 0, ""},
		{"equal, of a rate", repeat(8, Pair{10, 10}), Plan{Higher: true}, NoWorse, 0, ""},
		{"at the limit", repeat(8, Pair{10, 12}), Plan{Delta: 2, Absolute: true}, NoWorse, 2, ""},
		{"a rate at the limit", repeat(8, Pair{7, 6.3}), Plan{Delta: 0.1, Higher: true}, NoWorse, -0.1, ""}, // -0.10000000000000003
		{"above the limit", repeat(8, Pair{10, 12.5}), Plan{Delta: 2, Absolute: true}, Worse, 2.5, ""},
		{"too few to fail", repeat(5, Pair{10, 20}), Plan{Delta: 0.05}, Undecided, 1, "5 pairs cannot decide, whatever the values are: 6 or more can"},
		{"too few to pass", repeat(5, Pair{10, 10}), Plan{Delta: 0.05}, Undecided, 0, "5 pairs cannot decide, whatever the values are: 6 or more can"},
		{"one", repeat(1, Pair{10, 10}), Plan{Delta: 0.05}, Undecided, 0, "1 pair cannot decide"},
		{"more looks need more", repeat(7, Pair{10, 20}), Plan{Delta: 0.05, Looks: 4}, Undecided, 1, "8 or more can"},
		{"enough for four looks", repeat(8, Pair{10, 20}), Plan{Delta: 0.05, Looks: 4}, Worse, 1, ""},
		{"none", nil, Plan{Delta: 0.05}, Undecided, 0, "there is no pair"},
		{"zeros", repeat(8, Pair{0, 0}), Plan{Delta: 0.05}, NoWorse, 0, ""},
		{"drops where there were none", repeat(8, Pair{0, 3}), Plan{Delta: 0.05}, Worse, inf, "state delta in the metric's unit"},
		{"few drops where there were none", repeat(8, Pair{0, 3}), Plan{Delta: 5, Absolute: true}, NoWorse, 3, ""},
		{"no drops any more", repeat(8, Pair{3, 0}), Plan{Delta: 0.05}, NoWorse, -1, ""},
		{"a negative baseline that falls", repeat(8, Pair{-10, -20}), Plan{Delta: 0.05}, NoWorse, -1, ""},
		{"a negative baseline that grows", repeat(8, Pair{-10, -5}), Plan{Delta: 0.05}, Worse, 0.5, ""},
		{"not a number", append(repeat(8, Pair{1, 1}), Pair{math.NaN(), 1}), Plan{Delta: 0.05}, Undecided, 0, "not a finite number"},
		{"infinite", append(repeat(8, Pair{1, 1}), Pair{1, inf}), Plan{Delta: 0.05}, Undecided, 0, "not a finite number"},
		{"tiny", repeat(8, Pair{1e-300, 1e-300 * 1.5}), Plan{Delta: 0.05}, Worse, 0.5, ""},
		{"huge", repeat(8, Pair{1e300, 1e300 * 1.5}), Plan{Delta: 0.05}, Worse, 0.5, ""},
		{"too few for a tail", repeat(20, Pair{10, 20}), Plan{Delta: 0.05, Quantile: 0.9}, Undecided, 1, "20 pairs cannot decide, whatever the values are: 38 or more can"},
		{"a tail", repeat(38, Pair{10, 20}), Plan{Delta: 0.05, Quantile: 0.9}, Worse, 1, ""},
		{"too few for a tail that is equal", repeat(35, Pair{10, 10}), Plan{Delta: 0.05, Quantile: 0.9}, Undecided, 0, "35 pairs cannot decide, whatever the values are: 36 or more can"},
		{"a tail that is equal", repeat(36, Pair{10, 10}), Plan{Delta: 0.05, Quantile: 0.9}, NoWorse, 0, ""},
	} {
		j := Judge(c.pairs, c.plan)
		if j.Outcome != c.want || math.Abs(j.Effect-c.effect) > 1e-9 && j.Effect != c.effect || !strings.Contains(j.Reason, c.reason) || c.reason == "" && j.Reason != "" {
			t.Errorf("%s: %+v", c.name, j)
		}
		if !(j.Low <= j.Effect && j.Effect <= j.High) || !(j.P >= 0 && j.P <= 1) {
			t.Errorf("%s: effect %v, interval %v to %v, p = %v", c.name, j.Effect, j.Low, j.High, j.P)
		}
	}
}

// A few seeds with drops, where most have none on either side, say nothing of the median.
func TestMostlyZeros(t *testing.T) {
	pairs := append(repeat(12, Pair{0, 0}), Pair{10, 30}, Pair{20, 10})
	if j := Judge(pairs, Plan{Delta: 0.05}); j.Outcome != NoWorse || j.Effect != 0 || j.Baseline != 0 {
		t.Errorf("%+v", j)
	}
	pairs = append(repeat(5, Pair{0, 0}), repeat(12, Pair{10, 30})...)
	if j := Judge(pairs, Plan{Delta: 0.05}); j.Outcome != Worse {
		t.Errorf("%+v", j)
	}
}

// Undecided pairs say how many would do, which then do.
func TestEnough(t *testing.T) {
	var pairs []Pair
	for i := range 400 {
		noise := []float64{-0.06, 0.05, -0.02, 0.01, 0.04, -0.03, 0.06, -0.05}[i%8]
		pairs = append(pairs, Pair{100, 100 * (1.03 + noise)})
	}
	p := Plan{Delta: 0.05}
	j := Judge(pairs[:8], p)
	if j.Outcome != Undecided || j.Enough < 12 || j.Enough > 100 {
		t.Fatalf("%+v", j)
	}
	if j := Judge(pairs[:j.Enough*5/4], p); j.Outcome != NoWorse {
		t.Errorf("%+v", j)
	}
	flat := Judge([]Pair{{100, 95}, {100, 115}, {100, 105}, {100, 105}, {100, 105}, {100, 104}, {100, 106}, {100, 103}, {100, 107}}, Plan{Delta: 5, Absolute: true})
	if flat.Outcome != Undecided || flat.Enough != 0 || !strings.Contains(flat.Reason, "too close") {
		t.Errorf("%+v", flat)
	}
}

// The outcome follows the interval: what is no worse lies within the limit whole, and what
// is worse beyond it, where the levels are the same.
func TestTheIntervalShowsTheOutcome(t *testing.T) {
	n := newNoise(7)
	for range 2000 {
		p := Plan{Delta: 0.05, FalseFail: 0.025, Higher: n.IntN(2) == 0, Looks: 1 + n.IntN(3), Absolute: n.IntN(4) == 0}
		effect := 0.05 + 0.04*n.NormFloat64()
		if p.Higher {
			effect = -effect
		}
		pairs := n.pairs(4+n.IntN(20), effect, 0.02, normal)
		j := Judge(pairs, p)
		within, beyond := j.High <= p.Delta, j.Low > p.Delta
		if p.Higher {
			within, beyond = j.Low >= -p.Delta, j.High < -p.Delta
		}
		if within != (j.Outcome == NoWorse) || beyond != (j.Outcome == Worse) {
			t.Fatalf("%+v of %v: %+v", p, pairs, j)
		}
	}
}

// What is better does not depend on the order of pairs, nor, where effects are shares, on the
// unit; and lower and higher are mirrors of each other.
func TestInvariance(t *testing.T) {
	n := newNoise(8)
	for range 200 {
		pairs := n.pairs(12, 0.06, 0.03, normal)
		a := Judge(pairs, Plan{Delta: 0.05})
		other := slices.Clone(pairs)
		n.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		for i := range other {
			other[i].Baseline *= 1024
			other[i].Candidate *= 1024
		}
		b := Judge(other, Plan{Delta: 0.05})
		if a.Effect != b.Effect || a.Low != b.Low || a.High != b.High || a.P != b.P || a.Outcome != b.Outcome {
			t.Fatalf("%+v, in another order and unit %+v", a, b)
		}
		mirror := slices.Clone(pairs)
		for i := range mirror {
			mirror[i] = Pair{-mirror[i].Baseline, -mirror[i].Candidate}
		}
		a, b = Judge(pairs, Plan{Delta: 5, Absolute: true}), Judge(mirror, Plan{Delta: 5, Absolute: true, Higher: true})
		if a.Effect != -b.Effect || a.Low != -b.High || a.P != b.P || a.Outcome != b.Outcome {
			t.Fatalf("%+v, mirrored %+v", a, b)
		}
	}
}

// TestBoth: of a metric that should be the same, both directions are worse, each at half the
// level; the whole interval within ±delta passes.
func TestBoth(t *testing.T) {
	of := func(n int, effect float64) (pairs []Pair) {
		for i := range n {
			pairs = append(pairs, Pair{100, 100 * (1 + effect + 0.001*float64(i))})
		}
		return pairs
	}
	for _, c := range []struct {
		n      int
		effect float64
		want   Outcome
	}{
		{12, 0.4, Worse}, {12, -0.4, Worse}, {12, 0.01, NoWorse}, {12, -0.03, NoWorse},
		{12, 0.045, Undecided}, {12, -0.055, Undecided},
		{6, -0.4, Undecided}, // 2 x 2^-6 > 0.02; of one direction alone it is worse
		{7, -0.4, Worse},
	} {
		if got := Judge(of(c.n, c.effect), Plan{Delta: 0.05, Both: true}); got.Outcome != c.want {
			t.Errorf("%d pairs of %v: %+v, want %v", c.n, c.effect, got, c.want)
		}
	}
	if got := Judge(of(6, -0.4), Plan{Delta: 0.05, Higher: true}); got.Outcome != Worse {
		t.Errorf("one direction: %+v", got)
	}
	if got := Judge(of(6, -0.4), Plan{Delta: 0.05, Both: true}); got.Enough != 7 {
		t.Errorf("6 pairs say %d would do, want 7: %s", got.Enough, got.Reason)
	}
	if _, worse := (Plan{Both: true}).Fewest(); worse != 7 {
		t.Errorf("the fewest pairs are %d, want 7", worse)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{}, ""},
		{Plan{Delta: 2}, ""},
		{Plan{Delta: 2, Higher: true, Absolute: true}, ""},
		{Plan{Delta: -1}, "delta -1"},
		{Plan{Delta: math.NaN()}, "delta NaN"},
		{Plan{Delta: inf}, "delta +Inf"},
		{Plan{Delta: 1, Higher: true}, "want a share below 1"},
		{Plan{Delta: 1, Both: true}, "want a share below 1"},
		{Plan{Quantile: 1}, "quantile 1"},
		{Plan{Quantile: math.NaN()}, "quantile NaN"},
		{Plan{Confidence: 95}, "confidence 95"},
		{Plan{FalseFail: -0.1}, "false fails -0.1"},
		{Plan{Looks: -1}, "-1 looks"},
		// The bootstrap's 19,999 draws: no probability is below 1/20000.
		{Plan{Quantile: 0.9, FalseFail: 0.0002, Looks: 4}, ""},
		{Plan{Quantile: 0.9, FalseFail: 0.0002, Looks: 5}, "could never fail"},
		{Plan{Quantile: 0.9, FalseFail: 0.0002, Confidence: 0.9998, Looks: 4}, "could never pass"},
		{Plan{FalseFail: 0.0002, Confidence: 0.9998, Looks: 5}, ""},
	} {
		err := c.plan.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.plan, err, c.want)
		}
	}
}

func TestFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Finite(v); got != nil {
			t.Errorf("%v is %v, want nil", v, *got)
		}
	}
	for _, v := range []float64{0, -1, math.MaxFloat64} {
		if got := Finite(v); got == nil || *got != v {
			t.Errorf("%v is %v", v, got)
		}
	}
}

func TestFewest(t *testing.T) {
	for _, c := range []struct {
		plan           Plan
		noWorse, worse int
	}{
		{Plan{}, 6, 6},         // 1/64 <= 0.025; 1/64 <= 0.02
		{Plan{Looks: 3}, 7, 8}, // 1/128 <= 0.0083; 1/256 <= 0.0067
		{Plan{Looks: 3, FalseFail: 0.02 / 12}, 7, 11},  // 1/2048 <= 0.00056
		{Plan{Looks: 1, Quantile: 0.9}, 36, 38},        // 0.9^36 = 0.0225, 0.9^38 = 0.018
		{Plan{Looks: 1, Quantile: 0.1}, 36, 38},        // the same of the other tail
		{Plan{Confidence: 0.75, FalseFail: 0.5}, 3, 1}, // 1/8; 1/2
	} {
		if a, b := c.plan.Fewest(); a != c.noWorse || b != c.worse {
			t.Errorf("%+v: %d and %d, want %d and %d", c.plan, a, b, c.noWorse, c.worse)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name   string
		got    Comparison
		within bool
		sure   bool // of a difference, at 0.05
	}{
		{"equal", Compare(repeat(8, Pair{3, 3}), Plan{Delta: 0.01}), true, false},
		{"half a percent", Compare(repeat(8, Pair{200, 201}), Plan{Delta: 0.01}), true, true},
		{"ten percent", Compare(repeat(8, Pair{200, 220}), Plan{Delta: 0.01}), false, true},
		{"one pair", Compare(repeat(1, Pair{200, 220}), Plan{Delta: 0.01}), false, false},
		{"equal, unpaired", Unpaired([]float64{1, 1, 1, 1, 1}, []float64{1, 1, 1, 1}, Plan{Delta: 0.01}), true, false},
		{"twice, unpaired", Unpaired([]float64{1, 1.1, 1.2, 1.3, 1.4}, []float64{2, 2.2, 2.4, 2.6}, Plan{Delta: 0.01}), false, true},
		{"less, unpaired", Unpaired([]float64{5, 6, 7, 8, 9}, []float64{0, -1, -2, 0, -3}, Plan{Delta: 0.01}), false, true},
		{"one each", Unpaired([]float64{1}, []float64{2}, Plan{Delta: 0.01}), false, false},
		{"none", Unpaired(nil, []float64{2}, Plan{Delta: 0.01}), false, false},
	} {
		if c.got.Within != c.within || (c.got.P <= 0.05) != c.sure {
			t.Errorf("%s: %+v", c.name, c.got)
		}
	}
}

// Of two sides without anything in common but their numbers, Hodges and Lehmann's estimate
// is the median of all differences.
func TestUnpairedEstimate(t *testing.T) {
	if c := Unpaired([]float64{1, 2, 4}, []float64{11, 13}, Plan{Absolute: true}); c.Effect != 9.5 { // of 7 9 9 10 11 12
		t.Errorf("%+v", c)
	}
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}}, // Holm's example of R's p.adjust
		{[]float64{0.5, 0.6, 0.9}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
		{[]float64{math.NaN(), 0.01}, []float64{1, 0.02}},
	} {
		got := Holm(c.p)
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("Holm(%v) = %v, want %v", c.p, got, c.want)
				break
			}
		}
	}
}

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		first, most int
		want        []int
	}{
		{8, 32, []int{8, 16, 32}}, {5, 30, []int{5, 9, 17, 30}}, {8, 8, []int{8}}, {8, 4, []int{4}}, {8, 9, []int{8, 9}},
		{6, 10, []int{6, 10}}, {1, 3, []int{1, 2, 3}}, {0, 0, []int{1}}, {8, 100, []int{8, 15, 28, 53, 100}},
	} {
		if got := Looks(c.first, c.most); !slices.Equal(got, c.want) {
			t.Errorf("Looks(%d, %d) = %v, want %v", c.first, c.most, got, c.want)
		}
	}
}

// Whatever the numbers are, the result is in order.
func TestHostileValues(t *testing.T) {
	checkout.SkipSlowRace(t)
	values := []float64{0, 1, -1, 1e-320, -1e-320, 1e300, -1e300, math.MaxFloat64, inf, -inf, math.NaN(), 3, 2.9999999999999996, 1e-9}
	n := newNoise(13)
	for range 3000 {
		pairs := make([]Pair, 1+n.IntN(12))
		kinds := values[:1+n.IntN(len(values))]
		a, b := make([]float64, len(pairs)), make([]float64, len(pairs))
		for i := range pairs {
			a[i], b[i] = kinds[n.IntN(len(kinds))], kinds[n.IntN(len(kinds))]
			pairs[i] = Pair{a[i], b[i]}
		}
		p := Plan{Delta: float64(n.IntN(3)) / 20, Absolute: n.IntN(2) == 0, Higher: n.IntN(2) == 0}
		if n.IntN(50) == 0 {
			p.Quantile = 0.75
		}
		j, c, u := Judge(pairs, p), Compare(pairs, p), Unpaired(a, b[:1+n.IntN(len(b))], p)
		for _, e := range []Estimate{j.Estimate, c.Estimate, u.Estimate} {
			if !(e.Low <= e.Effect && e.Effect <= e.High) {
				t.Fatalf("%v, %+v: %+v", pairs, p, e)
			}
		}
		for _, p := range []float64{j.P, c.P, u.P} {
			if !(p >= 0 && p <= 1) {
				t.Fatalf("%v: p = %v", pairs, p)
			}
		}
		if floor := Floor(pairs, p); !(floor >= 0) {
			t.Fatalf("%v: floor %v", pairs, floor)
		}
		if j.Outcome == Undecided && j.Reason == "" || j.Enough != 0 && j.Enough <= len(pairs) {
			t.Fatalf("%v: %+v", pairs, j)
		}
	}
}

// Floor is half the interval, and as wide as the noise.
func TestFloor(t *testing.T) {
	n := newNoise(14)
	if got := Floor(n.pairs(16, 0, 0.02, normal), Plan{}); got < 0.007 || got > 0.03 { // about 2.5 * 0.028 / 4
		t.Errorf("floor %v", got)
	}
	if got := Floor(n.pairs(5, 0, 0.02, normal), Plan{}); !math.IsInf(got, 1) {
		t.Errorf("floor of five pairs: %v", got)
	}
}

// Samples beyond mostPairs do not count, and those up to it are judged in a moment.
func TestManyPairs(t *testing.T) {
	checkout.SkipSlowRace(t)
	pairs := newNoise(9).pairs(mostPairs, 0, 0.02, normal)
	a := Judge(pairs, Plan{Delta: 0.05})
	b := Judge(append(pairs, repeat(5000, Pair{1, 100})...), Plan{Delta: 0.05})
	if a != b || a.Outcome != NoWorse || a.High-a.Low > 0.006 {
		t.Errorf("%+v, with more %+v", a, b)
	}
}

// The bootstrap gives the same numbers for the same pairs.
func TestBootstrapIsDeterministic(t *testing.T) {
	pairs := newNoise(10).pairs(60, 0.05, 0.02, normal)
	p := Plan{Delta: 0.05, Quantile: 0.9}
	if a, b := Judge(pairs, p), Judge(pairs, p); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

// A weighted quantile is that of samples that stand there as often.
func TestQuantile(t *testing.T) {
	o := orderOf([]float64{5, 1, 3, 2, 4, 9, 8, 7, 6, 10})
	for q, want := range map[float64]float64{0.9: 9, 0.5: 5, 0.1: 1, 0.91: 10, 0.05: 1, 0.99: 10} {
		if got := o.quantile(q, nil); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := o.quantile(0.5, []int32{0, 6, 0, 0, 0, 4, 0, 0, 0, 0}); got != 1 {
		t.Errorf("of six 1 and four 9: %v, want 1", got)
	}
}
