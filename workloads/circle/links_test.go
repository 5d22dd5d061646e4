package circle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
)

const gig = units.Gbps

// holdsOn reports whether a plan keeps the jobs of every link apart, by Pair.
func holdsOn(profiles []Profile, links []Link, starts []units.Duration) bool {
	for _, l := range links {
		for x, i := range l.Jobs {
			for _, j := range l.Jobs[:x] {
				if p, _ := Pair(&profiles[j], &profiles[i]); !p.holds(starts[i] - starts[j]) {
					return false
				}
			}
		}
	}
	return true
}

func TestOneShiftForEachJobOfALoopFreeGraph(t *testing.T) {
	jobs := []Profile{from(40, 10, 50), from(60, 10, 50), from(120, 10, 50), from(60, 10, 50), from(40, 3, 50)}
	links := []Link{
		{"a", 50 * gig, []int{0, 1}}, {"b", 50 * gig, []int{1, 2}}, {"c", 50 * gig, []int{2, 3}}, {"alone", 50 * gig, []int{4}},
	}
	plan, err := Solve(jobs, links, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Loops) > 0 || !plan.Compatible() || plan.Separate() != Yes || !holdsOn(jobs, links, plan.Starts) {
		t.Errorf("loops %v, compatible %v, separate %v, starts %v; want none, true, yes, and starts that hold", plan.Loops, plan.Compatible(), plan.Separate(), plan.Starts)
	}
	want := []Cluster{
		{Jobs: []int{0, 1, 2, 3}, Links: []int{0, 1, 2}, Method: Traversal, Separate: Yes, Fits: Yes},
		{Jobs: []int{4}, Method: Alone, Separate: Yes, Fits: Yes},
	}
	if diff := cmp.Diff(want, plan.Clusters); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	for i, l := range plan.Links {
		if l.With != 1 || l.Best != 1 || !l.Proven {
			t.Errorf("link %d: score %v of %v, want 1", i, l.With, l.Best)
		}
	}
}

// Three jobs that meet pairwise: a loop. Each link alone fits, and all together do not, as
// the jobs communicate for 1.2 of the time.
func TestLoopsAreSolvedTogether(t *testing.T) {
	links := []Link{{"a", 50 * gig, []int{0, 1}}, {"b", 50 * gig, []int{1, 2}}, {"c", 50 * gig, []int{2, 0}}, {"d", 50 * gig, []int{2, 3}}}
	for _, c := range []struct {
		burst    float64
		separate Answer
	}{{30, Yes}, {40, No}} {
		jobs := []Profile{from(100, c.burst, 50), from(100, c.burst, 50), from(100, c.burst, 50), from(100, c.burst, 50)}
		plan, err := Solve(jobs, links, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Loop{{Jobs: []int{0, 1, 2}, Links: []int{0, 1, 2}}}, plan.Loops); diff != "" {
			t.Errorf("loops (-want +got):\n%s", diff)
		}
		for i := range 3 {
			if l := &plan.Links[i]; l.Separate != Yes || l.Best != 1 {
				t.Errorf("bursts of %v ms: link %d alone: %v, score %v, want yes and 1", c.burst, i, l.Separate, l.Best)
			}
		}
		yes := c.separate == Yes
		if plan.Separate() != c.separate || plan.Compatible() != yes || holdsOn(jobs, links, plan.Starts) != yes || plan.Clusters[0].Method != Joint {
			t.Errorf("bursts of %v ms: %v, compatible %v, by %v, starts %v; want %v by joint", c.burst, plan.Separate(), plan.Compatible(), plan.Clusters[0].Method, plan.Starts, c.separate)
		}
	}
}

func TestTwoJobsOnTwoLinksAreALoop(t *testing.T) {
	jobs := []Profile{from(100, 50, 50), from(100, 50, 50)}
	plan, err := Solve(jobs, []Link{{"up", 50 * gig, []int{0, 1}}, {"down", 50 * gig, []int{0, 1}}}, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Loops) != 1 || !plan.Compatible() || plan.Starts[1] != 50*ms {
		t.Errorf("loops %v, compatible %v, starts %v; want one, true, 50ms", plan.Loops, plan.Compatible(), plan.Starts)
	}
}

// Three jobs of half the rate overlap all the time by two, and the link carries that.
func TestJobsMayMeetWhereTheLinkCarriesThem(t *testing.T) {
	jobs := []Profile{from(255, 114, 25), from(255, 114, 25), from(255, 114, 25)}
	plan, err := Solve(jobs, []Link{{"a", 50 * gig, []int{0, 1, 2}}}, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Separate() != No || !plan.Compatible() || plan.Links[0].Best != 1 || plan.Links[0].With != 1 {
		t.Errorf("separate %v, compatible %v, %+v; want no, true and scores of 1", plan.Separate(), plan.Compatible(), plan.Links[0])
	}
}

// a and b may send at one time, c with neither: c at 40 ms behind them is the only place.
func TestPartRatesAreSearchedExactly(t *testing.T) {
	jobs := []Profile{one(100, 60, 20*gig), one(100, 60, 20*gig), one(100, 40, 50*gig)}
	for _, c := range []struct {
		more units.Duration // of the burst of c
		fits Answer
	}{{0, Yes}, {1, No}} {
		jobs[2].Bursts[0].At -= c.more
		jobs[2].Bursts[0].Length += c.more
		plan, err := Solve(jobs, []Link{{"a", 50 * gig, []int{0, 1, 2}}}, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		yes := c.fits == Yes
		if l := plan.Links[0]; plan.Separate() != No || plan.Fits() != c.fits || plan.Compatible() != yes || l.Fits != c.fits || l.Proven != yes || l.With > l.Best || l.Zero > l.Best {
			t.Errorf("%v more: separate %v, fits %v, compatible %v, %+v; want no and %v", c.more, plan.Separate(), plan.Fits(), plan.Compatible(), l, c.fits)
		}
	}
}

func TestTurningAllJobsAlikeChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 300 {
		jobs := []Profile{from(40, float64(1+r.IntN(39)), 30), from(60, float64(1+r.IntN(59)), 40), from(120, float64(1+r.IntN(119)), 50)}
		link := Link{"a", 50 * gig, []int{0, 1, 2}}
		starts := []units.Duration{0, units.Duration(r.IntN(60)) * ms, units.Duration(r.IntN(120)) * ms}
		before, carries := loadOf(jobs, &link, starts, 120*ms)
		turn := units.Duration(r.IntN(120)) * ms
		for i := range starts {
			starts[i] = modulo(starts[i]+turn, jobs[i].Period)
		}
		after, still := loadOf(jobs, &link, starts, 120*ms)
		if diff := before - after; diff > 1e-12 || diff < -1e-12 || carries != still {
			t.Fatalf("%+v, turned by %v: score %v, before %v", jobs, turn, after, before)
		}
	}
}

// What loadOf says is what every millisecond of the circle says.
func TestLoadOfAgreesWithCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		jobs := []Profile{from(40, float64(1+r.IntN(39)), 30), from(60, float64(1+r.IntN(59)), 40), from(60, float64(1+r.IntN(59)), 0)}
		link := Link{"a", 50 * gig, []int{0, 1, 2}}
		starts := []units.Duration{units.Duration(r.IntN(40)) * ms, units.Duration(r.IntN(60)) * ms, 0}
		over := 0
		for at := range units.Duration(120) {
			load := 0
			for i, rate := range []int{30, 40, 50} {
				if busy(&jobs[i], at*ms-starts[i]) {
					load += rate
				}
			}
			over += max(0, load-50)
		}
		want := 1 - float64(over)/(120*50)
		if got, carries := loadOf(jobs, &link, starts, 120*ms); got-want > 1e-12 || want-got > 1e-12 || carries != (over == 0) {
			t.Fatalf("%+v: score %v, carries %v, want %v", jobs, got, carries, want)
		}
	}
}

// cluster50 returns 50 jobs on 20 links: trees of links, or with more a graph with loops. Bursts take up to a part of the period.
func cluster50(r *rand.Rand, loops bool, part float64) ([]Profile, []Link) {
	periods := []float64{100, 150, 200, 300, 120, 240, 600}
	jobs := make([]Profile, 50)
	for i := range jobs {
		period := periods[r.IntN(len(periods))]
		jobs[i] = from(period, 3+r.Float64()*period/part, 50)
		jobs[i].Name = fmt.Sprint("job", i)
	}
	links := make([]Link, 20)
	for k := range links {
		links[k] = Link{Name: fmt.Sprint("link", k), Capacity: 50 * gig}
		for i := range 3 {
			links[k].Jobs = append(links[k].Jobs, (2*k+i)%50) // shares one job with the next link
		}
	}
	for i := 41; i < 50; i++ {
		links[i%20].Jobs = append(links[i%20].Jobs, i)
	}
	if loops {
		for k := range 10 {
			links[k].Jobs = append(links[k].Jobs, 2*((k+10)%20)+1)
		}
	}
	return jobs, links
}

func TestFiftyJobsOnTwentyLinks(t *testing.T) {
	checkout.SkipSlowRace(t)
	for i := range 4 {
		loops, part := i%2 == 1, []float64{6, 30}[i/2]
		r := rand.New(rand.NewPCG(8, 8))
		jobs, links := cluster50(r, loops, part)
		begin := spent(t)
		aligned, _, err := Align(jobs, GridOptions{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Solve(aligned, links, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		took := spent(t) - begin
		held := 0
		for k, l := range links { // without a loop, links that fit alone fit together
			if c := plan.Clusters[0]; c.Separate == Yes || c.Method == Traversal && plan.Links[k].Separate == Yes {
				if held++; !holdsOn(aligned, []Link{l}, plan.Starts) {
					t.Errorf("loops %v: the starts do not keep jobs %v of link %d apart", loops, l.Jobs, k)
				}
			}
		}
		if want := map[bool]int{true: 9, false: 20}[part == 6]; held < want && !(loops && part == 6) {
			t.Errorf("loops %v, bursts of up to 1/%v: starts hold on %d links, want %d", loops, part, held, want)
		}
		for k, l := range links {
			if f := plan.Links[k]; f.Carries != (len(Overloads(aligned, &l, plan.Starts, f.Perimeter)) == 0) {
				t.Errorf("loops %v: link %d: carries %v, overloads %v", loops, k, f.Carries, Overloads(aligned, &l, plan.Starts, f.Perimeter))
			}
		}
		sum, yes := 0.0, 0
		for i := range plan.Links {
			sum += plan.Links[i].With
			if plan.Links[i].Carries {
				yes++
			}
		}
		t.Logf("loops %v: %v, %d of 20 links fit, mean score %.4f, separate %v, starts hold on %d links", loops, took, yes, sum/20, plan.Separate(), held)
		if took > 10*time.Second {
			t.Errorf("loops %v: 50 jobs on 20 links take %v, want less than 10 s", loops, took)
		}
		if (len(plan.Loops) > 0) != loops {
			t.Errorf("loops %v: found %v", loops, plan.Loops)
		}
		again, err := Solve(aligned, links, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan.Starts, again.Starts); diff != "" {
			t.Errorf("loops %v: the same input gives other starts:\n%s", loops, diff)
		}
	}
}

func BenchmarkFiftyJobsOnTwentyLinks(b *testing.B) {
	jobs, links := cluster50(rand.New(rand.NewPCG(8, 8)), false, 6)
	for b.Loop() {
		aligned, _, err := Align(jobs, GridOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Solve(aligned, links, PlanOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSolveRefusesWrongLinks(t *testing.T) {
	jobs := []Profile{from(100, 30, 50), from(100, 30, 50)}
	for name, l := range map[string]Link{
		"capacity": {"a", 0, []int{0, 1}}, "unknown": {"a", 50 * gig, []int{0, 2}}, "twice": {"a", 50 * gig, []int{0, 0}}, "slow": {"a", 40 * gig, []int{0, 1}},
	} {
		if _, err := Solve(jobs, []Link{l}, PlanOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
