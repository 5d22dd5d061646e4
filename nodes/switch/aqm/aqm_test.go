package aqm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/units"
)

// "p = 0 below Kmin, linear to 1 at Kmax, 1 above" (congestion-control.md 1.9).
func TestMarkProbability(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	l := aqm.Linear{Low: 37350, High: 145250}
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
			if l.Mark(tc.queue, r) {
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
	l := aqm.Linear{Low: 100, High: 200}
	r, untouched := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for _, queue := range []units.Size{0, 100, 200, 300} {
		l.Mark(queue, r)
	}
	aqm.Off.Mark(units.NoLimit, r)
	if r.Uint64() != untouched.Uint64() {
		t.Error("a decided mark drew")
	}
}

func TestMarkAtAStep(t *testing.T) {
	l := aqm.Linear{Low: 100, High: 100}
	r := rand.New(rand.NewPCG(1, 2))
	for queue, want := range map[units.Size]bool{0: false, 99: false, 100: true, 101: true} {
		if got := l.Mark(queue, r); got != want {
			t.Errorf("step at 100: Mark(%d) = %v, want %v", queue, got, want)
		}
	}
	for _, queue := range []units.Size{0, 1, units.TB, units.NoLimit} {
		if aqm.Off.Mark(queue, r) {
			t.Errorf("Off marked at %v", queue)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		l  aqm.Linear
		ok bool
	}{
		{aqm.Off, true}, {aqm.Linear{}, true}, {aqm.Linear{Low: 1, High: 1}, true}, {aqm.Linear{Low: 1, High: 2}, true},
		{aqm.Linear{Low: 2, High: 1}, false}, {aqm.Linear{Low: -1, High: 1}, false},
	} {
		if err := tc.l.Check(); (err == nil) != tc.ok {
			t.Errorf("Check of %+v = %v, want ok %v", tc.l, err, tc.ok)
		}
	}
}

// "With prob. 1/2 trim the arriving packet" (congestion-control.md 1.9).
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

func ExampleLinear() {
	l := aqm.Linear{Low: 37350, High: 145250}
	r := rand.New(rand.NewPCG(1, 1))
	fmt.Println(l.Mark(30000, r), l.Mark(150000, r))
	// Output: false true
}
