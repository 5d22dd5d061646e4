package fluid_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/fluid"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
)

func solve(t *testing.T, n *fluid.Network, iterations int) fluid.Result {
	t.Helper()
	r, err := n.Solve(iterations)
	if err != nil {
		t.Fatalf("%+v: %v", n, err)
	}
	return r
}

// ends returns when the iterations of a job end, in ms.
func ends(r fluid.Result, job int) (all []float64) {
	for _, it := range r[job] {
		all = append(all, float64(it.End)/float64(units.Millisecond))
	}
	return all
}

// By hand: jobs of 10 ms of compute and 10 ms of communication each, alone on their ways.
func TestSmallNetworks(t *testing.T) {
	job := func(change func(*fluid.Job)) fluid.Job {
		j := fluid.Job{Compute: ms(10), Communicate: ms(10)}
		change(&j)
		return j
	}
	same := func(*fluid.Job) {}
	for _, c := range []struct {
		name string
		n    fluid.Network
		want [][]float64 // ends of the first iterations
	}{
		{"two on a link", fluid.Network{Jobs: []fluid.Job{job(same), job(same)}}, [][]float64{{30, 60}, {30, 60}}},
		{"two at half the rate fit at once", fluid.Network{Links: []float64{50}, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Rate = 25 }), job(func(j *fluid.Job) { j.Rate = 25 })}}, [][]float64{{20, 40}, {20, 40}}},
		// The first two leave 10 of 50 to the third. It takes what the first one leaves from
		// 20 to 30 ms: 100 of its 500 by 20 ms, 400 by 30 ms, and 100 more in 10 ms.
		{"three at rates of their own", fluid.Network{Links: []float64{50}, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Rate, j.Weight = 20, 9 }),
			{Compute: ms(10), Communicate: ms(100), Rate: 20, Weight: 9},
			job(func(j *fluid.Job) { j.Weight = 1 })}}, [][]float64{{20}, {110}, {40}}},
		// The parking lot: the job that takes both links gets half of each.
		{"parking lot", fluid.Network{Links: []float64{1, 1}, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Links = []int{0, 1} }), job(func(j *fluid.Job) { j.Links = []int{0} }), job(func(j *fluid.Job) { j.Links = []int{1} })}},
			[][]float64{{30, 60}, {30, 60}, {30, 60}}},
		// The first link gives each 1/2 of 1; the second job could have 3 of the second link.
		// From 30 ms on, when the first is done, the third has the second link alone.
		{"max-min", fluid.Network{Links: []float64{1, 2}, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Links = []int{0, 1} }), job(func(j *fluid.Job) { j.Links = []int{0} }), job(func(j *fluid.Job) { j.Links = []int{1} })}},
			[][]float64{{30}, {30}, {10 + 10/0.75}}},
		// Of what the first job sends, half goes through the link that both share: it fills
		// that by two thirds at its own full rate, and both get 2/3.
		{"half of what is sent", fluid.Network{Links: []float64{1, 1}, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Links, j.Use = []int{0, 1}, []float64{1, 0.5} }), job(func(j *fluid.Job) { j.Links = []int{1} })}},
			[][]float64{{25}, {25}}},
		{"strict priorities", fluid.Network{Sharing: fluid.Strict, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Priority = 2 }), job(func(j *fluid.Job) { j.Priority = 1 })}}, [][]float64{{20, 40}, {30, 50}}},
		{"what strict priorities leave", fluid.Network{Links: []float64{50}, Sharing: fluid.Strict, Jobs: []fluid.Job{
			job(func(j *fluid.Job) { j.Priority, j.Rate = 2, 30 }), job(func(j *fluid.Job) { j.Priority, j.Rate = 1, 40 })}},
			[][]float64{{20, 40}, {25}}},
		// 4 ms, then 4 ms of communication at half of the job's rate, then 6 ms, then 6 ms.
		{"bursts", fluid.Network{Jobs: []fluid.Job{{Bursts: []fluid.Burst{{Compute: ms(4), Communicate: ms(4), Rate: 0.5}, {Compute: ms(6), Communicate: ms(6)}}, Rest: ms(1)}}},
			[][]float64{{21, 42}}},
		{"compute beside", fluid.Network{Jobs: []fluid.Job{{Compute: ms(5), Communicate: ms(5), Beside: ms(7)}, {Compute: ms(5), Communicate: ms(5), Beside: ms(2), Offset: ms(20), Links: []int{0}}}},
			[][]float64{{12, 24, 36}, {31}}}, // the first sends from 5, 17 and 29; both send from 29 to 31
		{"a job that leaves", fluid.Network{Jobs: []fluid.Job{job(func(j *fluid.Job) { j.Iterations = 1 }), job(same)}}, [][]float64{{30}, {30, 50, 70}}},
		{"a job that comes", fluid.Network{Jobs: []fluid.Job{job(same), job(func(j *fluid.Job) { j.Offset = ms(25) })}}, [][]float64{{20, 45}, {50}}},
		// Slots at 15, 45, 75: the burst of 10 waits 5 ms, that of 35 would wait for 10.
		{"a schedule", fluid.Network{Jobs: []fluid.Job{job(func(j *fluid.Job) {
			j.Schedule = graph.Schedule{Period: ms(30), Offset: ms(15), Correction: ms(8)}
		})}}, [][]float64{{25, 45, 65}}},
		{"a pause", fluid.Network{Jobs: []fluid.Job{job(func(j *fluid.Job) {
			j.Ranks, j.Jitter.Pauses = 2, []jitter.Pause{{Rank: 1, Step: 1, Duration: ms(3)}}
		})}}, [][]float64{{20, 43, 63}}},
	} {
		if c.n.Sharing == (fluid.Sharing{}) {
			c.n.Sharing = fluid.Weighted
		}
		r := solve(t, &c.n, 3)
		for i, want := range c.want {
			got := ends(r, i)
			if len(got) < len(want) || !near(got[:len(want)], want, 1e-6) {
				t.Errorf("%s: the iterations of job %d end at %v ms, want %v", c.name, i, got, want)
			}
		}
	}
}

// A burst that finds its link taken has a smaller weight for as long as it lasts.
func TestIncumbent(t *testing.T) {
	set := repeat(2, 10, 10)
	set[1].Offset = ms(4)
	// From 14 ms on at 4 : 1. The first has 6 ms left, and takes 7.5; the second then has
	// 8.5 left, and the link for itself.
	r, err := fluid.Solve(set, fluid.Incumbent(0.25), 1)
	if err != nil {
		t.Fatal(err)
	}
	if !near(ends(r, 0)[:1], []float64{21.5}, 1e-6) || !near(ends(r, 1)[:1], []float64{30}, 1e-6) {
		t.Errorf("first come ends at %v and %v ms, want 21.5 and 30", ends(r, 0), ends(r, 1))
	}
	// Those that come at one time find the link free, in whatever order they are.
	set[1].Offset = 0
	if r, err = fluid.Solve(set, fluid.Incumbent(0.25), 1); err != nil || !near(ends(r, 1), []float64{30}, 1e-6) {
		t.Errorf("at one time: %v ms, error %v; want 30", ends(r, 1), err)
	}
}

// Within its reference the weight of a job is that of MLTCP; before it, that of the
// intercept.
func TestRemaining(t *testing.T) {
	set := repeat(2, 50, 100)
	set[1].Offset = ms(3)
	mltcp, err := fluid.Solve(set, fluid.MLTCP, 8)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := fluid.Solve(set, fluid.Remaining(0.25, 1.75, float64(ms(100))), 8)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set {
		if d := math.Abs(ends(mltcp, i)[7] - ends(whole, i)[7]); d > 1e-6 {
			t.Errorf("job %d is %v ms off MLTCP with a reference of all that it sends", i, d)
		}
	}
	// By hand: at equal weights to 10 ms before the end, then the first one's weight grows
	// to (1+3) times its own. d rest/du = -1 and d x/du = 1 + 3(10-x)/10 integrate to
	// u = (10/3) ln 4 until the first has sent its last 10 ms, in which the second sends u.
	set = repeat(2, 0, 30)
	set[0].Communicate, set[1].Compute = ms(20), 0
	set[0].Iterations, set[1].Iterations = 1, 1
	r, err := fluid.Solve(set, fluid.Remaining(1, 3, float64(ms(10))), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ends(r, 0)[0], 20+10+10.0/3*math.Log(4); math.Abs(got-want) > 1e-6 || math.Abs(ends(r, 1)[0]-50) > 1e-6 {
		t.Errorf("ends at %v and %v ms, want %v and 50", got, ends(r, 1)[0], want)
	}
}

func TestOverlapAndDifferences(t *testing.T) {
	set := repeat(2, 60, 40)
	set[1].Offset = ms(20)
	// The first sends from 60, the second from 80; they share from 80 to 120, when the first
	// has sent 40; the second ends at 140.
	r, err := fluid.Solve(set, fluid.Weighted, 6)
	if err != nil {
		t.Fatal(err)
	}
	first, second := &r[0][0], &r[1][0]
	if first.Overlap() != 40.0/60 || second.Overlap() != 40.0/60 || first.Communication != ms(60) || first.Shared != ms(40) {
		t.Errorf("overlap %v and %v of %v, want 2/3 of 60 ms", first.Overlap(), second.Overlap(), first.Communication)
	}
	if got := r.Differences(0, 1)[0]; got != ms(20) {
		t.Errorf("the phases begin %v apart, want 20 ms", got)
	}
	if got := r.Differences(1, 0)[0]; got != ms(100) { // 180 is the next of the first
		t.Errorf("the next phase begins %v later, want 100 ms", got)
	}
	if r.Apart(0) != 0 || r.Apart(1) != 0 {
		t.Errorf("apart from %d and %d on; they share alike for ever", r.Apart(0), r.Apart(1))
	}
	set[0].Weight = 4
	if r, err = fluid.Solve(set, fluid.Weighted, 20); err != nil {
		t.Fatal(err)
	}
	from := r.Apart(0)
	if from < 2 || r[0][from-2].Overlap() < fluid.Together || r[0][from-1].Overlap() >= fluid.Together {
		t.Errorf("with weights they are apart from iteration %d on", from)
	}
	// Jobs that share no link never overlap.
	n := fluid.Network{Links: []float64{1, 1}, Jobs: repeat(2, 60, 40), Sharing: fluid.Weighted}
	n.Jobs[1].Links = []int{1}
	if r = solve(t, &n, 3); r.Apart(0) != 1 || r[0][2].End != units.Time(ms(300)) {
		t.Errorf("on links of their own: apart from iteration %d on, %v", r.Apart(0), r[0])
	}
}

// The times of computing are those that the ranks of the emulator have under a seed.
func TestJitterIsThatOfTheRanks(t *testing.T) {
	config := jitter.Config{Variation: 0.05, Stragglers: []jitter.Straggler{{Rank: 2, Slowdown: 0.01}}, Pauses: []jitter.Pause{{Rank: 0, Step: 3, Duration: ms(40)}}}
	j := fluid.Job{Compute: ms(100), Communicate: ms(10), Jitter: config, Seed: 11, Ranks: 3}
	r, err := fluid.Solve([]fluid.Job{j}, fluid.Weighted, 6)
	if err != nil {
		t.Fatal(err)
	}
	for step, it := range r[0] {
		var want units.Duration
		for rank := range 3 {
			clock := config.NewClock(11, rank)
			clock.StartStep(step)
			want = max(want, clock.Compute(ms(100)))
		}
		if got := it.Communicates.Sub(it.Begin); got != want {
			t.Errorf("iteration %d computes for %v, its slowest rank for %v", step, got, want)
		}
	}
}

func TestNewJob(t *testing.T) {
	p := &circle.Profile{Name: "a", Period: ms(100), Bursts: []circle.Burst{{At: ms(10), Length: ms(20), Rate: 25 * units.Gbps}, {At: ms(50), Length: ms(30)}, {At: ms(90), Length: ms(4), Rate: 100 * units.Gbps}}}
	got := fluid.NewJob(p, 50*units.Gbps)
	want := fluid.Job{Bursts: []fluid.Burst{{Compute: ms(10), Communicate: ms(20), Rate: 25e9}, {Compute: ms(20), Communicate: ms(30)}, {Compute: ms(10), Communicate: ms(8), Rate: 100e9}}, Rest: ms(6)}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if got.Alone() != ms(104) {
		t.Errorf("alone it takes %v, want 104 ms: the burst of 100 Gb/s takes twice as long", got.Alone())
	}
	n := fluid.Network{Links: []float64{50e9}, Jobs: []fluid.Job{got}, Sharing: fluid.Weighted}
	if r := solve(t, &n, 2); r.Mean(0, 0) != ms(104) {
		t.Errorf("it takes %v", r.Mean(0, 0))
	}
}

// random returns a network of random jobs over three links.
func random(r *rand.Rand, law fluid.Sharing) *fluid.Network {
	n := &fluid.Network{Links: []float64{1, 0.5 + r.Float64(), 2}, Sharing: law}
	for range 2 + r.IntN(4) {
		j := fluid.Job{Offset: ms(10 * r.Float64()), Weight: 1 + 3*r.Float64(), Priority: r.IntN(2)}
		for range 1 + r.IntN(2) {
			j.Bursts = append(j.Bursts, fluid.Burst{Compute: ms(20 + 50*r.Float64()), Communicate: ms(5 + 40*r.Float64())})
		}
		if r.IntN(3) == 0 {
			j.Rate = 0.3 + r.Float64()
		}
		j.Links = r.Perm(3)[:1+r.IntN(3)]
		if r.IntN(2) == 0 {
			for range j.Links {
				j.Use = append(j.Use, 0.5+r.Float64())
			}
		}
		n.Jobs = append(n.Jobs, j)
	}
	return n
}

// laws are those of the random tests.
var laws = []struct {
	name string
	law  fluid.Sharing
}{
	{"weights", fluid.Weighted}, {"adaptive", fluid.Adaptive}, {"MLTCP", fluid.MLTCP}, {"strict", fluid.Strict},
	{"MLTCP within strict priorities", fluid.Sharing{Intercept: 0.25, Slope: 1.75, Strict: true}}, {"remaining", fluid.Remaining(0.25, 1.75, float64(ms(15)))},
}

// TestNetworkAgainstSmallSteps compares networks with an integration by steps of 4 us, for
// random jobs and each law. Where weights grow, so does the error of the small steps, from
// iteration to iteration: with 5, 2, 1 and 0.5 us they come ever nearer.
func TestNetworkAgainstSmallSteps(t *testing.T) {
	checkout.SkipSlowRace(t)
	const seed, dt, iterations = 815, 4e6, 3
	source := rand.New(rand.NewPCG(seed, 2))
	for _, l := range laws {
		for round := range 3 {
			n := random(source, l.law)
			got, want := solve(t, n, iterations), slowNetwork(n, iterations, dt)
			for i := range n.Jobs {
				for k := range iterations {
					if off := float64(got[i][k].End)/want[i][k] - 1; math.Abs(off) > 1e-3 {
						t.Errorf("seed %d, %s, round %d: iteration %d of job %d ends at %v ms, by small steps at %v ms", seed, l.name, round, k, i, float64(got[i][k].End)/1e9, want[i][k]/1e9)
					}
				}
			}
		}
	}
}

// slowNetwork returns when iterations end, by small steps of time. It divides the links by
// another way than the package: link by link, the one with the least to give first.
func slowNetwork(n *fluid.Network, iterations int, dt float64) [][]float64 {
	count := len(n.Jobs)
	done, burst, left, at := make([][]float64, count), make([]int, count), make([]float64, count), make([]float64, count)
	use := func(i, l int) float64 {
		for k, own := range n.Jobs[i].Links {
			if own == l {
				if len(n.Jobs[i].Use) > 0 {
					return n.Jobs[i].Use[k]
				}
				return 1
			}
		}
		return 0
	}
	limit, total, late := make([]float64, count), make([]float64, count), make([]float64, count)
	for i, j := range n.Jobs {
		limit[i] = math.Inf(1)
		for l, c := range n.Links {
			if u := use(i, l); u > 0 {
				limit[i] = min(limit[i], c/u)
			}
		}
		if j.Rate > 0 {
			limit[i] = min(limit[i], j.Rate)
		}
		for _, b := range j.Bursts {
			total[i] += limit[i] * float64(b.Communicate)
		}
		at[i], left[i] = float64(j.Offset+j.Bursts[0].Compute), -1
	}
	for now := 0.0; ; now += dt {
		fewest := iterations
		weights := make([]float64, count)
		for i, j := range n.Jobs {
			fewest = min(fewest, len(done[i]))
			if left[i] < 0 && now >= at[i] {
				left[i] = limit[i] * float64(j.Bursts[burst[i]].Communicate)
				late[i] = now - at[i]
			}
			if left[i] >= 0 {
				rest := left[i]
				for _, b := range j.Bursts[burst[i]+1:] {
					rest += limit[i] * float64(b.Communicate)
				}
				of := total[i]
				if n.Sharing.Reference > 0 {
					of = n.Sharing.Reference
				}
				weights[i] = j.Weight * (n.Sharing.Intercept + n.Sharing.Slope*max(0, 1-rest/of))
			}
		}
		if fewest == iterations {
			return done
		}
		room, rates := slices.Clone(n.Links), make([]float64, count)
		for _, priority := range []int{1, 0} {
			for open := true; open; {
				// The level at which the first link is full, or the first job has enough.
				open = false
				level := math.Inf(1)
				wants := func(i int) bool {
					return weights[i] > 0 && rates[i] == 0 && (!n.Sharing.Strict || n.Jobs[i].Priority == priority)
				}
				for l := range room {
					sum := 0.0
					for i := range n.Jobs {
						if wants(i) {
							sum += weights[i] * use(i, l)
						}
					}
					if sum > 0 {
						level = min(level, room[l]/sum)
					}
				}
				for i := range n.Jobs {
					if wants(i) {
						level = min(level, limit[i]/weights[i])
					}
				}
				for i := range n.Jobs {
					if !wants(i) {
						continue
					}
					fixed := limit[i] <= level*weights[i]*(1+1e-9)
					for l := range room {
						sum := 0.0
						for k := range n.Jobs {
							if wants(k) {
								sum += weights[k] * use(k, l)
							}
						}
						fixed = fixed || use(i, l) > 0 && room[l] <= level*sum*(1+1e-9)
					}
					if fixed {
						rates[i] = max(level*weights[i], 1e-12)
						for l := range room {
							room[l] = max(0, room[l]-rates[i]*use(i, l))
						}
						open = true
						break
					}
				}
			}
		}
		for i, j := range n.Jobs {
			if left[i] < 0 {
				continue
			}
			left[i] -= rates[i] * (dt + late[i])
			late[i] = 0
			if left[i] > 0 {
				continue
			}
			end := now + dt + left[i]/rates[i]
			left[i] = -1
			if burst[i]++; burst[i] == len(j.Bursts) {
				done[i], burst[i] = append(done[i], end), 0
			}
			at[i] = end + float64(j.Bursts[burst[i]].Compute)
		}
	}
}

func TestNetworkRefuses(t *testing.T) {
	good := fluid.Job{Communicate: ms(1)}
	for _, c := range []struct {
		links  []float64
		change func(*fluid.Job)
		want   string
	}{
		{[]float64{1, 0}, func(*fluid.Job) {}, "fluid: link 1: capacity 0"},
		{nil, func(j *fluid.Job) { j.Links = []int{1} }, "job 0: link 1, want 0 to 0"},
		{[]float64{1, 1}, func(j *fluid.Job) { j.Links = []int{0, -1} }, "job 0: link -1, want 0 to 1"},
		{[]float64{1, 1}, func(j *fluid.Job) { j.Links = []int{1, 0, 1} }, "job 0: link 1 twice"},
		{[]float64{1, 1}, func(j *fluid.Job) { j.Links, j.Use = []int{1, 0}, []float64{1} }, "job 0: use of 1 links, want 2"},
		{nil, func(j *fluid.Job) { j.Links, j.Use = []int{0}, []float64{0} }, "job 0: link 0: use 0, want more than 0"},
		{nil, func(j *fluid.Job) { j.Rate = -1 }, "job 0: rate -1"},
		{nil, func(j *fluid.Job) { j.Iterations = -1 }, "job 0: -1 iterations"},
		{nil, func(j *fluid.Job) { j.Ranks = -2 }, "job 0: -2 ranks"},
		{nil, func(j *fluid.Job) { j.Rest = -1 }, "rest -1ps"},
		{nil, func(j *fluid.Job) { j.Bursts = []fluid.Burst{{Communicate: 1}} }, "job 0: compute 0s and communicate 1ms beside bursts"},
		{nil, func(j *fluid.Job) { j.Communicate, j.Bursts = 0, []fluid.Burst{{Communicate: 1}, {}} }, "job 0: burst 1: communicate 0s"},
		{nil, func(j *fluid.Job) { j.Communicate, j.Bursts = 0, []fluid.Burst{{Communicate: 1, Rate: math.NaN()}} }, "job 0: burst 0: rate NaN"},
		{nil, func(j *fluid.Job) { j.Schedule.Offset = 1 }, "schedule: period 0"},
		{nil, func(j *fluid.Job) { j.Schedule = graph.Schedule{Period: ms(1), Offset: ms(1)} }, "schedule: offset 1ms"},
		{nil, func(j *fluid.Job) { j.Jitter.Variation = -1 }, "jitter: -1, want 0 to 10"},
	} {
		j := good
		c.change(&j)
		n := fluid.Network{Links: c.links, Jobs: []fluid.Job{j}, Sharing: fluid.Weighted}
		if _, err := n.Solve(1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if _, err := fluid.Solve([]fluid.Job{good}, fluid.Incumbent(1.5), 1); err == nil || !strings.Contains(err.Error(), "low 1.5") {
		t.Errorf("error %v of a weight beyond 1", err)
	}
}

// Jobs without compute have events without end while another one starves: Solve gives up,
// and Run has what there was until then.
func TestStarvationEnds(t *testing.T) {
	checkout.SkipSlowRace(t)
	law := fluid.MLTCP
	law.Strict = true
	n := &fluid.Network{Links: []float64{1, 1}, Sharing: law, Jobs: []fluid.Job{
		{Communicate: 1000, Links: []int{0}, Priority: 2}, {Communicate: 100, Links: []int{1}, Priority: 2},
		{Communicate: 1000, Compute: 3, Links: []int{0, 1}, Priority: 1},
	}}
	if _, err := n.Solve(50); err == nil || !strings.Contains(err.Error(), "fluid: too many events: one job has made ") {
		t.Errorf("Solve returns the error %v", err)
	}
	r, err := n.Run(500, units.Never)
	if err != nil || len(r[1]) != 500 || len(r[2]) != 0 {
		t.Errorf("Run: %v; %d iterations of the fastest job and %d of the starved one, want 500 and none", err, len(r[1]), len(r[2]))
	}
}

// Run has all jobs up to one time: of jobs that leave all iterations, and no more of those
// that go on once one of them has made so many, or the end has come.
func TestRunHasOneTime(t *testing.T) {
	n := &fluid.Network{Sharing: fluid.Weighted, Jobs: []fluid.Job{
		{Compute: 90, Communicate: 10, Iterations: 3}, {Compute: 190, Communicate: 10, Offset: 50}, {Compute: 990, Communicate: 10, Offset: 125},
	}}
	for _, c := range []struct {
		iterations int
		end        units.Time
		want       []int
	}{{2, units.Never, []int{2, 0, 0}}, {4, units.Never, []int{3, 4, 0}}, {20, units.Never, []int{3, 20, 3}}, {20, 1050, []int{3, 5, 0}}} {
		r, err := n.Run(c.iterations, c.end)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if len(r[i]) != want {
				t.Errorf("Run(%d, %v): job %d makes %d iterations, want %d", c.iterations, c.end, i, len(r[i]), want)
			}
		}
	}
}
