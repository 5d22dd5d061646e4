package circle

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
)

// from returns a profile whose burst begins with the period, in milliseconds and Gb/s.
func from(period, burst, rate float64) Profile {
	return Profile{Period: units.Duration(period * float64(ms)), Bursts: []Burst{{Length: units.Duration(burst * float64(ms)), Rate: units.Rate(rate) * units.Gbps}}}
}

// scored returns the scores on a link of 50 Gb/s.
func scored(profiles []Profile, angle float64) (*Scored, error) {
	left := defaultBudget
	return score(profiles, 50*units.Gbps, angle, &left)
}

// The vectors are those of docs/reference/references.md#compatible-jobs.
func TestScoreOfSectors(t *testing.T) {
	const any = -9 // not in the vector
	for _, c := range []struct {
		name       string
		jobs       []Profile
		zero, best float64
	}{
		{"40 (10) and 60 (10)", []Profile{from(40, 10, 50), from(60, 10, 50)}, 0.9167, 1},
		// 15 and 10 ms are 9 and 6 sectors of 12 that the periods have in common: 3 of 72
		// sectors are too many for every shift.
		{"40 (15) and 60 (10)", []Profile{from(40, 15, 50), from(60, 10, 50)}, any, 0.9583},
		{"VGG16 twice", []Profile{from(255, 114, 50), from(255, 114, 50)}, 0.5417, 1},
		{"three at half the rate", []Profile{from(255, 114, 25), from(255, 114, 25), from(255, 114, 25)}, any, 1},
		{"three that never compute", []Profile{from(100, 100, 50), from(100, 100, 50), from(100, 100, 50)}, -1, -1},
		{"120 (70) twice", []Profile{from(120, 70, 50), from(120, 70, 50)}, any, 0.8333},
	} {
		got, err := scored(c.jobs, 5)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got.Sectors != 72 {
			t.Errorf("%s: %d sectors, want 72 of 5 degrees", c.name, got.Sectors)
		}
		if math.Abs(got.Best-c.best) > 0.00005 || c.zero != any && math.Abs(got.Zero-c.zero) > 0.00005 || !got.Proven {
			t.Errorf("%s: score %.4f at zero and %.4f at best, proven %v; want %.4f and %.4f", c.name, got.Zero, got.Best, got.Proven, c.zero, c.best)
		}
	}
	got, _ := scored([]Profile{from(40, 10, 50), from(60, 10, 50)}, 5)
	if diff := cmp.Diff([]units.Duration{0, 10 * ms}, got.Starts); diff != "" {
		t.Errorf("40 (10) and 60 (10), starts (-want +got):\n%s", diff)
	}
}

func TestScoreIsBestOfAllShifts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	periods := []float64{60, 120, 40, 30}
	for range 60 {
		var jobs []Profile
		for range 3 {
			period := periods[r.IntN(len(periods))]
			jobs = append(jobs, from(period, 1+math.Floor(r.Float64()*(period-1)), float64(10+10*r.IntN(5))))
		}
		got, err := scored(jobs, 15)
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBoard(jobs, []Link{{Capacity: 50 * units.Gbps, Jobs: []int{0, 1, 2}}}, 15)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(-1)
		for x := range b.patterns[0].demand { // also the first: turning all alike changes nothing
			for y := range b.patterns[1].demand {
				for z := range b.patterns[2].demand {
					b.set([]int{0, 1, 2}, []int{x, y, z})
					best = max(best, b.score(0))
				}
			}
		}
		if math.Abs(best-got.Best) > 1e-9 || !got.Proven {
			t.Fatalf("%+v: best %v, proven %v, want %v", jobs, got.Best, got.Proven, best)
		}
	}
}

func TestSectors(t *testing.T) {
	for _, c := range []struct {
		periods []float64
		burst   float64
		angle   float64
		want    int
	}{
		{[]float64{255, 255}, 0.1001, 0, 72},
		{[]float64{40, 60}, 0.1001, 0, 72},
		{[]float64{40, 60}, 1, 1, 360},
		{[]float64{10, 100}, 0.1001, 0, 240}, // 24 of the shortest period
		{[]float64{10, 100}, 1, 5, 80},       // a whole number in each period
		{[]float64{50, 70}, 1, 5, 105},
		{[]float64{40, 60}, 1, 0, 120},  // one of 1 ms for each burst
		{[]float64{10, 100}, 1, 0, 300}, // at least 24 of the shortest period, of 1/3 ms
		{[]float64{255, 255}, 0.5, 0, 510},
	} {
		var jobs []Profile
		for _, p := range c.periods {
			jobs = append(jobs, one(p, c.burst, 0))
		}
		perimeter, _ := lcm(jobs)
		if got, err := sectors(jobs, perimeter, c.angle); got != c.want || err != nil {
			t.Errorf("periods %v, bursts of %v ms, angle %v: %d sectors, error %v, want %d", c.periods, c.burst, c.angle, got, err, c.want)
		}
	}
	if _, err := sectors([]Profile{one(10, 1, 0)}, 10*ms, -1); err == nil {
		t.Error("no error for a negative angle")
	}
}

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		name            string
		periods         []float64
		options         GridOptions
		step, perimeter float64 // ms; 0: ErrNoGrid
		after           []float64
	}{
		{"as they are", []float64{40, 60}, GridOptions{}, 20, 120, []float64{40, 60}},
		{"one", []float64{255}, GridOptions{}, 255, 255, []float64{255}},
		{"329 and 165", []float64{329, 165}, GridOptions{}, 165, 330, []float64{330, 165}},
		{"nearly equal", []float64{254.9, 255.1, 253.5}, GridOptions{}, 255.1, 255.1, []float64{255.1, 255.1, 255.1}},
		{"nearly a third", []float64{100.2, 299}, GridOptions{}, 100.2, 300.6, []float64{100.2, 300.6}},
		{"a step", []float64{39.8, 60}, GridOptions{Step: 10 * ms}, 10, 120, []float64{40, 60}},
		{"a tight tolerance", []float64{329, 165}, GridOptions{Tolerance: 1e-5}, 1, 54285, []float64{329, 165}},
		{"too coarse a step", []float64{41, 60}, GridOptions{Step: 10 * ms}, 0, 0, nil},
		{"none", []float64{101.0007, 977.00003, 3571.00019, 1009.00001}, GridOptions{Tolerance: 1e-7}, 0, 0, nil},
	} {
		var jobs []Profile
		for _, p := range c.periods {
			jobs = append(jobs, one(p, 10, 0))
		}
		got, grid, err := Align(jobs, c.options)
		if c.step == 0 {
			if !errors.Is(err, ErrNoGrid) {
				t.Errorf("%s: error %v, want ErrNoGrid", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if near(grid.Perimeter, c.perimeter) != true || grid.Perimeter%grid.Step != 0 {
			t.Errorf("%s: step %v and perimeter %v, want %v and %v ms", c.name, grid.Step, grid.Perimeter, c.step, c.perimeter)
		}
		for i := range got {
			if !near(got[i].Period, c.after[i]) || got[i].Period != grid.Changes[i].After || jobs[i].Period != grid.Changes[i].Before {
				t.Errorf("%s: job %d has period %v, said is %+v; want %v ms", c.name, i, got[i].Period, grid.Changes[i], c.after[i])
			}
		}
	}
}

func near(d units.Duration, want float64) bool {
	return math.Abs(float64(d)-want*float64(ms)) < float64(units.Nanosecond)
}

// Whatever comes in, rounding keeps profiles valid, shortens nothing, and stays within the
// tolerance.
func FuzzAlign(f *testing.F) {
	f.Add(uint64(1), 0.01, int64(0))
	f.Add(uint64(2), 0.5, int64(7*units.Microsecond))
	f.Add(uint64(3), 1e-6, int64(1))
	f.Fuzz(func(t *testing.T, seed uint64, tolerance float64, step int64) {
		r := rand.New(rand.NewPCG(seed, 5))
		jobs := make([]Profile, 1+r.IntN(4))
		for i := range jobs {
			jobs[i] = random(r, 2+r.IntN(1<<r.IntN(40)), 4)
		}
		got, grid, err := Align(jobs, GridOptions{Tolerance: tolerance, Step: units.Duration(step)})
		if err != nil {
			return
		}
		bound := tolerance
		if bound == 0 {
			bound = DefaultTolerance
		}
		for i := range got {
			c := grid.Changes[i]
			if err := got[i].Validate(); err != nil {
				t.Fatalf("%+v became %+v: %v", jobs[i], got[i], err)
			}
			switch longer := got[i].Communicate() - jobs[i].Communicate(); {
			case c.After < c.Before || c.Share() > bound || c.After != got[i].Period || c.Before != jobs[i].Period:
				t.Fatalf("%+v became %+v, said is %+v", jobs[i], got[i], c)
			case longer < 0 || longer != c.Communicate || step == 0 && longer != 0:
				t.Fatalf("%+v became %+v: bursts %v longer, said is %+v", jobs[i], got[i], longer, c)
			case grid.Perimeter%got[i].Period != 0 || got[i].Period%grid.Step != 0:
				t.Fatalf("%+v is not on the grid %+v", got[i], grid)
			}
		}
	})
}

func TestBurstsRoundOutwards(t *testing.T) {
	job := Profile{Period: 101 * ms, Bursts: []Burst{{0, 3 * ms, 10}, {5 * ms, 4 * ms, 20}, {45 * ms, 21 * ms, 0}}}
	got, grid, err := Align([]Profile{job}, GridOptions{Step: 10 * ms, Tolerance: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	want := []Profile{{Period: 110 * ms, Bursts: []Burst{{0, 10 * ms, 20}, {40 * ms, 30 * ms, 0}}}}
	if diff := cmp.Diff(want, got); diff != "" || grid.Changes[0].Communicate != 12*ms {
		t.Errorf("bursts grew by %v, want 12ms (-want +got):\n%s", grid.Changes[0].Communicate, diff)
	}
}

// The advice to take a tolerance names none that is refused.
func TestAlignAdvisesWhatIsAllowed(t *testing.T) {
	_, _, err := Align([]Profile{one(1, 0.1, 0), one(1, 0.1, 0)}, GridOptions{Step: 10 * ms})
	if err == nil || !strings.Contains(err.Error(), "take a step of at most 10us") || strings.Contains(err.Error(), "tolerance") {
		t.Errorf("error %v, want one that advises a step and no tolerance", err)
	}
}

func TestAlignOnASmallStep(t *testing.T) {
	_, grid, err := Align([]Profile{one(255, 114, 0), one(510, 114, 0)}, GridOptions{Step: units.Microsecond})
	if err != nil || grid.Perimeter != 510*ms || grid.Step != units.Microsecond {
		t.Errorf("grid %+v, error %v, want a circle of 510 ms on steps of 1 us", grid, err)
	}
	// On 1 ps these periods have a circle of 9.2e18 ps.
	tiny, long := Profile{Period: 100_001, Bursts: []Burst{{Length: 1}}}, Profile{Period: 92_233_720_368_549, Bursts: []Burst{{Length: 1}}}
	if _, grid, err := Align([]Profile{tiny, long}, GridOptions{Step: 1}); !errors.Is(err, ErrNoGrid) {
		t.Errorf("grid %+v, error %v, want ErrNoGrid", grid, err)
	}
	if _, _, err := Align([]Profile{{Name: "a"}}, GridOptions{}); err == nil || !strings.Contains(err.Error(), `job "a": period: 0s`) {
		t.Errorf("error %v, want one of the period of a", err)
	}
}

// Without an angle there are no more sectors than allowed: 24 for each 20 us would be
// 1,200,000.
func TestSectorsAreCapped(t *testing.T) {
	jobs := []Profile{one(1000, 1, 0), one(0.02, 0.001, 0)}
	if n, err := sectors(jobs, units.Second, 0); err != nil || n != 1_000_000 {
		t.Errorf("%d sectors, error %v, want 1,000,000", n, err)
	}
	if _, err := sectors(jobs, units.Second, 0.0001); err == nil || !strings.Contains(err.Error(), "take a larger angle") {
		t.Errorf("error %v, want advice to take a larger angle", err)
	}
}

func TestThroughASlowerLink(t *testing.T) {
	job := Profile{Period: 100 * ms, Bursts: []Burst{{20 * ms, 10 * ms, 50}, {40 * ms, 10 * ms, 20}, {60 * ms, 10 * ms, 0}}}
	want := Profile{Period: 110 * ms, Bursts: []Burst{{20 * ms, 20 * ms, 25}, {50 * ms, 10 * ms, 20}, {70 * ms, 10 * ms, 0}}}
	got, err := job.Through(25)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestThroughAMuchSlowerLink(t *testing.T) {
	for _, c := range []struct {
		length units.Duration
		rate   units.Rate
	}{{50 * ms, 1}, {units.Second, 3}, {units.Second, 2 * units.Gbps}} {
		job := Profile{Name: "a", Period: MaxPeriod - 2*units.Second, Bursts: []Burst{{0, c.length, 10 * units.Tbps}, {units.Minute, c.length, 10 * units.Tbps}}}
		if _, err := job.Through(c.rate); err == nil || !strings.Contains(err.Error(), `job "a": bursts of 10Tbps on a link of `+c.rate.String()) {
			t.Errorf("bursts of %v through %v: error %v, want one that names the job and the rate", c.length, c.rate, err)
		}
	}
}
