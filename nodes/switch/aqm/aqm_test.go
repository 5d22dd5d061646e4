package aqm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/units"
)

func policy(t *testing.T, name string, p aqm.Port, values algorithm.Values) aqm.Policy {
	t.Helper()
	a, ok := aqm.Table.Lookup(name)
	if !ok {
		t.Fatalf("no policy %s", name)
	}
	built, err := a.New(p, values)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func linear(t *testing.T, low, high units.Size, r *rand.Rand) aqm.Policy {
	t.Helper()
	return policy(t, "linear", aqm.Port{ECN: aqm.Thresholds{Low: low, High: high}, Random: r}, nil)
}

// docs/reference/references.md#switch-queue: the probability is 0 below Low, linear to 1 at High.
func TestMarkProbability(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	l := linear(t, 37350, 145250, r)
	const draws = 20000
	for _, tc := range []struct {
		queue units.Size
		want  float64
	}{
		{0, 0}, {37349, 0}, {37350, 0}, {37350 + 1079, 0.01}, {64325, 0.25}, {91300, 0.5}, {118275, 0.75},
		{145250, 1}, {145251, 1}, {178450, 1}, {units.NoLimit, 1},
	} {
		marked := 0
		for range draws {
			if l.Mark(0, aqm.Departure{Queue: tc.queue}) {
				marked++
			}
		}
		// Six standard deviations of a binomial; none at 0 and 1.
		limit := 6 * math.Sqrt(draws*tc.want*(1-tc.want))
		if math.Abs(float64(marked)-draws*tc.want) > limit {
			t.Errorf("seed %d: %d of %d marked at %v, want %.0f ± %.0f", seed, marked, draws, tc.queue, draws*tc.want, limit)
		}
	}
}

// "It draws only between the thresholds": what is decided leaves the generator
// alone, so that other decisions of a run do not move.
func TestMarkDrawsOnlyBetween(t *testing.T) {
	r, untouched := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	l, off := linear(t, 100, 200, r), policy(t, "none", aqm.Port{Random: r}, nil)
	for _, queue := range []units.Size{0, 100, 200, 300} {
		l.Mark(0, aqm.Departure{Queue: queue})
	}
	off.Mark(0, aqm.Departure{Queue: units.NoLimit})
	if r.Uint64() != untouched.Uint64() {
		t.Error("a decided mark drew")
	}
}

func TestMarkAtAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l, off := linear(t, 100, 100, r), policy(t, "none", aqm.Port{Random: r}, nil)
	for queue, want := range map[units.Size]bool{0: false, 99: false, 100: true, 101: true} {
		if got := l.Mark(0, aqm.Departure{Queue: queue}); got != want {
			t.Errorf("step at 100: Mark(%d) = %v, want %v", queue, got, want)
		}
	}
	for _, queue := range []units.Size{0, 1, units.TB, units.NoLimit} {
		if off.Mark(0, aqm.Departure{Queue: queue}) {
			t.Errorf("none marked at %v", queue)
		}
	}
}

func TestThresholds(t *testing.T) {
	l, _ := aqm.Table.Lookup("linear")
	for _, tc := range []struct {
		port   aqm.Thresholds
		values algorithm.Values
		ok     bool
	}{
		{aqm.Thresholds{}, nil, true}, {aqm.Thresholds{Low: 1, High: 1}, nil, true}, {aqm.Thresholds{Low: 1, High: 2}, nil, true},
		{aqm.Thresholds{Low: 2, High: 1}, nil, false}, {aqm.Thresholds{Low: -1, High: 1}, nil, false},
		{aqm.Thresholds{Low: 2, High: 1}, algorithm.Values{"low": "1B"}, true},
		{aqm.Thresholds{Low: 2, High: 1}, algorithm.Values{"low": "auto", "high": "2B"}, true},
		{aqm.Thresholds{Low: 1, High: 2}, algorithm.Values{"low": "3B"}, false},
		{aqm.Thresholds{Low: 1, High: 2}, algorithm.Values{"high": "0B"}, false},
	} {
		if _, err := l.New(aqm.Port{ECN: tc.port}, tc.values); (err == nil) != tc.ok {
			t.Errorf("New with %+v and %v = %v, want ok %v", tc.port, tc.values, err, tc.ok)
		}
	}
}

// docs/reference/references.md#switch-queue: the coin is fair.
func TestTrimArrivingIsFair(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	const draws = 20000
	n := 0
	for range draws {
		if aqm.TrimArriving(r) {
			n++
		}
	}
	if math.Abs(float64(n)-draws/2) > 6*math.Sqrt(draws)/2 {
		t.Errorf("seed %d: the arriving packet lost %d of %d times, want half", seed, n, draws)
	}
}
