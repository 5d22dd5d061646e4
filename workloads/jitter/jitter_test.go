package jitter_test

import (
	"math"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// draw returns the times of n computations of a millisecond.
func draw(c jitter.Config, seed uint64, rank, step, n int) []units.Duration {
	clock := c.NewClock(seed, rank)
	clock.StartStep(step)
	times := make([]units.Duration, n)
	for i := range times {
		times[i] = clock.Compute(units.Millisecond)
	}
	return times
}

// Mean and coefficient of variation of the times are those of the configuration, and their
// logarithms are symmetric: the median is below the mean by the factor sqrt(1 + cv^2).
func TestLognormal(t *testing.T) {
	for _, cv := range []float64{0.01, 0.05, 0.5} {
		times := draw(jitter.Config{Variation: cv}, 7, 3, 2, 200_000)
		sum, squares := 0.0, 0.0
		for _, d := range times {
			sum += float64(d)
			squares += float64(d) * float64(d)
		}
		n := float64(len(times))
		mean := sum / n
		if got := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(got-cv) > 0.02*cv {
			t.Errorf("coefficient of variation %.4f, want %.4f", got, cv)
		}
		if ms := float64(units.Millisecond); math.Abs(mean/ms-1) > 0.005 {
			t.Errorf("cv %v: the mean is %.4f of the time without jitter", cv, mean/ms)
		}
		slices.Sort(times)
		if got, want := float64(times[len(times)/2])/mean, 1/math.Sqrt(1+cv*cv); math.Abs(got/want-1) > 0.005 {
			t.Errorf("cv %v: median over mean %.4f, want %.4f", cv, got, want)
		}
	}
}

// Times depend on seed, rank and step: the same for the same, others for others.
func TestStreams(t *testing.T) {
	c := jitter.Config{Variation: 0.1}
	first := draw(c, 1, 2, 3, 8)
	if again := draw(c, 1, 2, 3, 8); !slices.Equal(first, again) {
		t.Errorf("%v, then %v", first, again)
	}
	for _, other := range [][]units.Duration{draw(c, 2, 2, 3, 8), draw(c, 1, 3, 3, 8), draw(c, 1, 2, 4, 8)} {
		if slices.Equal(first, other) {
			t.Errorf("another seed, rank or step has the times %v, too", first)
		}
	}
	if got := draw(jitter.Config{}, 1, 2, 3, 1)[0]; got != units.Millisecond {
		t.Errorf("without jitter a millisecond takes %v", got)
	}
}

func TestStragglersAndPauses(t *testing.T) {
	c := jitter.Config{
		Stragglers: []jitter.Straggler{{Rank: 1, Slowdown: 0.2}},
		Pauses:     []jitter.Pause{{Rank: 1, Step: 4, Duration: units.Second}},
	}
	slow := 1200 * units.Microsecond
	for _, test := range []struct {
		rank, step int
		want       []units.Duration
	}{
		{0, 4, []units.Duration{units.Millisecond, units.Millisecond}},
		{1, 3, []units.Duration{slow, slow}},
		{1, 4, []units.Duration{units.Second + slow, slow}},
	} {
		got := draw(c, 1, test.rank, test.step, 2)
		for i := range got {
			if d := got[i] - test.want[i]; d < -units.Nanosecond || d > units.Nanosecond {
				t.Errorf("rank %d, step %d: %v, want %v", test.rank, test.step, got, test.want)
				break
			}
		}
	}
}
