package fluid_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/fluid"
)

func ms(v float64) units.Duration { return units.Duration(math.Round(v * float64(units.Millisecond))) }

// jobs returns jobs of (compute, communicate) in ms.
func jobs(times ...[2]float64) (all []fluid.Job) {
	for _, t := range times {
		all = append(all, fluid.Job{Compute: ms(t[0]), Communicate: ms(t[1])})
	}
	return all
}

func repeat(n int, compute, communicate float64) (all []fluid.Job) {
	for range n {
		all = append(all, jobs([2]float64{compute, communicate})...)
	}
	return all
}

// modes are the columns of the table.
var modes = []struct {
	name    string
	sharing fluid.Sharing
	set     func(i, n int, j *fluid.Job)
}{
	{"fair", fluid.Weighted, func(int, int, *fluid.Job) {}},
	{"weights", fluid.Weighted, func(i, n int, j *fluid.Job) { j.Weight = float64(int(1) << (n - 1 - i)) }}, // 2:1, 4:2:1
	{"adaptive", fluid.Adaptive, func(i, _ int, j *fluid.Job) { j.Offset = ms(0.1 * float64(i)) }},
	{"MLTCP", fluid.MLTCP, func(i, _ int, j *fluid.Job) { j.Offset = ms(0.1 * float64(i)) }},
	{"priority", fluid.Strict, func(i, _ int, j *fluid.Job) { j.Priority = -i }},
}

// want is a cell of the table: the mean iteration times in ms, one for all jobs or one
// each, and by which iteration, counted from 0, they are settled. unsettled: the table does
// not say. Values that the table gives as "about" have slack.
type want struct {
	times     []float64
	by, slack int
}

const (
	unsettled = -1
	restless  = -2 // the table says that they never do
)

func all(by, slack int, times ...float64) want { return want{times, by, slack} }

// never is a cell without an iteration.
func never(times ...float64) want { return want{times: times, by: unsettled} }

// TestTable holds the solver to the table of fluid-model oracles, every cell to 1 %
// (docs/reference/references.md#fluid-model).
func TestTable(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, row := range []struct {
		name  string
		jobs  []fluid.Job
		cells [5]want // fair, weights, adaptive, MLTCP, priority
	}{
		{"VGG16 x2", repeat(2, 141, 114), [5]want{all(0, 0, 369), all(6, 0, 255), all(15, 1, 255), all(6, 0, 255), all(2, 0, 255)}},
		{"DLRM x2", repeat(2, 719, 291), [5]want{all(0, 0, 1301), all(5, 0, 1010), all(16, 1, 1010), all(6, 0, 1010), all(2, 0, 1010)}},
		{"VGG19 fit", repeat(2, 100, 29.9), [5]want{all(0, 0, 159.8), all(5, 0, 129.9), all(12, 1, 129.9), all(5, 0, 129.9), all(2, 0, 129.9)}},
		{"VGG19 derived", repeat(2, 100, 109.5), [5]want{all(0, 0, 319), want{[]float64{232.8, 262}, restless, 0}, never(219), never(219), never(209.5, 419)}},
		{"incompatible", repeat(2, 80, 120), [5]want{all(0, 0, 320), never(240, 300), never(240), never(240), never(200, 400)}},
		{"three", repeat(3, 200, 100), [5]want{all(0, 0, 500), want{[]float64{325.8, 351.3, 422.6}, restless, 0}, never(300), all(8, 0, 300), never(300)}},
		{"40(10), 60(10)", jobs([2]float64{30, 10}, [2]float64{50, 10}), [5]want{never(43.3, 65), all(12, 1, 40, 60), all(33, 0, 40, 60), all(9, 0, 40, 60), never(40, 60)}},
		{"40(15), 60(10)", jobs([2]float64{25, 15}, [2]float64{50, 10}), [5]want{never(43.3, 65), never(41.6, 64.9), never(41.7, 62.5), never(41.7, 62.5), never(40, 66.7)}},
	} {
		for m, mode := range modes {
			t.Run(row.name+"/"+mode.name, func(t *testing.T) {
				set := append([]fluid.Job(nil), row.jobs...)
				for i := range set {
					mode.set(i, len(set), &set[i])
				}
				cell, iterations := row.cells[m], 400
				if cell.by < 0 {
					iterations = 4000 // that the mean needs of three jobs with weights, which never settle
				}
				r, err := fluid.Solve(set, mode.sharing, iterations)
				if err != nil {
					t.Fatal(err)
				}
				for i := range set {
					goal := cell.times[min(i, len(cell.times)-1)]
					got := r.Mean(i, 200)
					if math.Abs(float64(got)/float64(ms(goal))-1) > 0.01 {
						t.Errorf("job %d: iterations of %v, want %v ms", i, got, goal)
					}
					if by := r.Settles(i, got, 0.01) - 1; cell.by >= 0 && (by < 0 || by > cell.by+cell.slack) {
						t.Errorf("job %d settles at iteration %d, want %d", i, by, cell.by)
					} else if cell.by == restless && by >= 0 {
						t.Errorf("job %d settles at iteration %d, want never", i, by)
					}
				}
			})
		}
	}
}

func times(r fluid.Result, job, n int) (all []float64) {
	for _, it := range r[job][:n] {
		all = append(all, float64(it.Time())/float64(units.Millisecond))
	}
	return all
}

func near(got, want []float64, within float64) bool {
	for i := range want {
		if math.Abs(got[i]-want[i]) > within {
			return false
		}
	}
	return len(got) == len(want)
}

// TestFirstIterations: "VGG16 weights: J1 312.0, 283.5, 269.2, 262.1: the distance to 255
// halves each time" (docs/reference/references.md#fluid-model).
func TestFirstIterations(t *testing.T) {
	set := repeat(2, 141, 114)
	set[0].Weight = 2
	r, err := fluid.Solve(set, fluid.Weighted, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := times(r, 0, 4), []float64{312, 283.5, 269.25, 262.125}; !near(got, want, 1e-6) {
		t.Errorf("iterations %v, want %v", got, want)
	}
	first := r[0][0]
	if first.Begin != 0 || first.Communicates != units.Time(ms(141)) || first.End != units.Time(ms(312)) {
		t.Errorf("first iteration %+v", first)
	}
}

// TestMLTCPShift: two identical jobs whose phases start D apart are D + S D (aT-D) /
// (I aT + S D) apart in the next iteration (MLTCP, equation 2;
// docs/reference/references.md#mltcp), with aT the time of their communication.
func TestMLTCPShift(t *testing.T) {
	set := repeat(2, 150, 100)
	set[1].Offset = ms(1)
	r, err := fluid.Solve(set, fluid.MLTCP, 8)
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for i := range 8 {
		got = append(got, float64(r[1][i].Communicates.Sub(r[0][i].Communicates))/float64(units.Millisecond))
	}
	if want := []float64{1, 7.477, 39.264, 83.797, 97.64, 99.699, 99.962, 99.995}; !near(got, want, 1e-3) {
		t.Errorf("apart by %v, want %v", got, want)
	}
	const s, i, aT = 1.75, 0.25, 100.0
	d := got[0]
	for k, g := range got {
		if math.Abs(g-d) > 1e-6 {
			t.Errorf("iteration %d: %v apart, the recurrence has %v", k, g, d)
		}
		step := s * d * (aT - d) / (i*aT + s*d)
		d += step
	}
	// "An identical start is an unstable equilibrium": nothing moves without a difference.
	set[1].Offset = 0
	r, err = fluid.Solve(set, fluid.MLTCP, 50)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Mean(0, 0); got != ms(350) {
		t.Errorf("iterations of %v after an identical start, want 350 ms", got)
	}
}

// slow solves by small steps of time.
func slow(set []fluid.Job, s fluid.Sharing, iterations int, dt float64) [][]float64 {
	n := len(set)
	ends, ratio, at := make([][]float64, n), make([]float64, n), make([]float64, n)
	for i, j := range set {
		at[i] = float64(j.Offset + j.Compute)
		ratio[i] = -1
	}
	for now := 0.0; ; now += dt {
		sum, top, fewest := 0.0, math.MinInt, iterations
		for i, j := range set {
			fewest = min(fewest, len(ends[i]))
			if ratio[i] < 0 && now >= at[i] {
				ratio[i] = 0
			}
			if ratio[i] >= 0 {
				top = max(top, j.Priority)
			}
		}
		if fewest == iterations {
			return ends
		}
		weight := func(i int) float64 {
			if ratio[i] < 0 || s.Strict && set[i].Priority < top {
				return 0
			}
			return max(set[i].Weight, 1e-9) * (s.Intercept + s.Slope*ratio[i])
		}
		shares := make([]float64, n)
		for i := range set {
			shares[i] = weight(i)
			sum += shares[i]
		}
		for i, j := range set {
			if ratio[i] < 0 {
				continue
			}
			if ratio[i] += dt * shares[i] / sum / float64(j.Communicate); ratio[i] >= 1 {
				ends[i] = append(ends[i], now+dt)
				ratio[i], at[i] = -1, now+dt+float64(j.Compute)
			}
		}
	}
}

// TestAgainstSmallSteps compares the closed form with an integration, for random jobs.
func TestAgainstSmallSteps(t *testing.T) {
	const seed = 4711
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 12 {
		set := make([]fluid.Job, 2+random.IntN(3))
		for i := range set {
			set[i] = fluid.Job{
				Compute: ms(20 + 50*random.Float64()), Communicate: ms(5 + 40*random.Float64()), Offset: ms(10 * random.Float64()),
				Weight: 1 + 3*random.Float64(), Priority: random.IntN(2),
			}
		}
		s := fluid.Sharing{Intercept: 0.2 + random.Float64(), Slope: 2 * random.Float64() * float64(round%2), Strict: round%3 == 2}
		r, err := fluid.Solve(set, s, 5)
		if err != nil {
			t.Fatal(err)
		}
		const dt = 2e6 // 2 us
		for i, ends := range slow(set, s, 5, dt) {
			for k := range min(5, len(ends), len(r[i])) {
				if got := float64(r[i][k].End); math.Abs(got-ends[k]) > 400*dt {
					t.Errorf("seed %d, round %d, %+v: job %d ends iteration %d at %v ms, by small steps at %v ms", seed, round, s, i, k, got/1e9, ends[k]/1e9)
				}
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	good := repeat(2, 10, 10)
	change := func(f func(*fluid.Job)) []fluid.Job {
		set := repeat(2, 10, 10)
		f(&set[1])
		return set
	}
	for _, test := range []struct {
		jobs       []fluid.Job
		sharing    fluid.Sharing
		iterations int
		want       string
	}{
		{nil, fluid.MLTCP, 1, "no jobs"},
		{good, fluid.MLTCP, 0, "0 iterations"},
		{good, fluid.Sharing{}, 1, "intercept 0"},
		{good, fluid.Sharing{Intercept: 1, Slope: -1}, 1, "slope -1"},
		{good, fluid.Sharing{Intercept: math.NaN()}, 1, "intercept NaN"},
		{change(func(j *fluid.Job) { j.Communicate = 0 }), fluid.MLTCP, 1, "job 1: communicate 0"},
		{change(func(j *fluid.Job) { j.Compute = -1 }), fluid.MLTCP, 1, "job 1: compute -1ps"},
		{change(func(j *fluid.Job) { j.Weight = math.Inf(1) }), fluid.MLTCP, 1, "job 1: weight +Inf"},
		// The lower priority never gets the link.
		{[]fluid.Job{{Communicate: ms(1), Priority: 1}, {Communicate: ms(1)}}, fluid.Strict, 1, "job 0 makes 100000 iterations while another makes 0"},
	} {
		if _, err := fluid.Solve(test.jobs, test.sharing, test.iterations); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

// Two jobs that start together slide apart under MLTCP, until neither waits for the other.
func ExampleSolve() {
	vgg16 := fluid.Job{Compute: 141 * units.Millisecond, Communicate: 114 * units.Millisecond}
	late := vgg16
	late.Offset = 100 * units.Microsecond
	fair, err := fluid.Solve([]fluid.Job{vgg16, late}, fluid.Weighted, 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	apart, err := fluid.Solve([]fluid.Job{vgg16, late}, fluid.MLTCP, 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	last := func(r fluid.Result) units.Duration { return r[0][19].Time() / units.Millisecond * units.Millisecond }
	fmt.Println(last(fair), last(apart))
	// Output: 368ms 255ms
}
