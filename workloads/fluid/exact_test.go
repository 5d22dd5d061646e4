package fluid_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/fluid"
)

// onOneLink returns random jobs that share one link.
func onOneLink(r *rand.Rand, jobs int) (all []fluid.Job) {
	for range jobs {
		all = append(all, fluid.Job{
			Compute: ms(20 + 50*r.Float64()), Communicate: ms(5 + 40*r.Float64()), Offset: ms(10 * r.Float64()), Weight: 1 + 3*r.Float64(), Priority: r.IntN(2), Links: []int{0},
		})
	}
	return all
}

// TestStepsAgainstExact bounds the error of the integration, which networks need: on one
// link, for which the solution is exact, with a second one on which there is room for all.
func TestStepsAgainstExact(t *testing.T) {
	const seed, iterations, few = 4712, 30, 5
	source := rand.New(rand.NewPCG(seed, 3))
	worst := [2]float64{}           // of the first few, and of all
	bound := [2]float64{1e-8, 1e-4} // errors grow where phases slide apart
	for _, l := range laws {
		if l.law.Slope == 0 {
			continue // the same, to a picosecond
		}
		for round := range 10 {
			set := onOneLink(source, 2+round%3)
			exact, err := fluid.Solve(set, l.law, iterations)
			if err != nil {
				t.Fatal(err)
			}
			wide := slices.Clone(set)
			for i := range wide {
				wide[i].Links = []int{0, 1}
			}
			steps := solve(t, &fluid.Network{Links: []float64{1, 100}, Jobs: wide, Sharing: l.law}, iterations)
			for i := range set {
				for k := range iterations {
					off := math.Abs(float64(exact[i][k].End)/float64(steps[i][k].End) - 1)
					which := 0
					if k >= few {
						which = 1
					}
					if worst[which] = max(worst[which], off); off > bound[which] {
						t.Errorf("seed %d, %s, round %d: iteration %d of job %d ends at %v, by steps at %v", seed, l.name, round, k, i, units.Duration(exact[i][k].End), units.Duration(steps[i][k].End))
					}
				}
			}
		}
	}
	t.Logf("the largest errors are %.2g of the first iterations and %.2g of all", worst[0], worst[1])
}

// A link is busy for as long as it takes to send what the jobs send, and every job sends all
// of its iterations.
func TestConservation(t *testing.T) {
	const seed = 99
	source := rand.New(rand.NewPCG(seed, 4))
	for _, l := range slices.Concat(laws, laws[:1]) {
		set := onOneLink(source, 4)
		for i := range set {
			set[i].Iterations = 5 + i
			set[i].Jitter.Variation, set[i].Seed = 0.03, uint64(i)
		}
		r, err := fluid.Solve(set, l.law, 20)
		if err != nil {
			t.Fatal(err)
		}
		var sent units.Duration
		var spans []fluid.Span
		for i := range set {
			if len(r[i]) != set[i].Iterations {
				t.Errorf("%s: job %d makes %d iterations, want %d", l.name, i, len(r[i]), set[i].Iterations)
			}
			for _, it := range r[i] {
				sent += set[i].Communicate
				spans = append(spans, it.Bursts...)
				if it.Bursts[0].From != it.Communicates || it.Bursts[0].To != it.End || it.Communication != it.End.Sub(it.Communicates) || it.Communication < set[i].Communicate-1 {
					t.Errorf("%s: iteration %+v of job %d, which sends for %v", l.name, it, i, set[i].Communicate)
				}
			}
		}
		slices.SortFunc(spans, func(a, b fluid.Span) int { return int(a.From - b.From) })
		var busy units.Duration
		var until units.Time
		for _, s := range spans {
			busy += max(0, s.To.Sub(max(s.From, until)))
			until = max(until, s.To)
		}
		if off := busy - sent; off < -100 || off > 100 {
			t.Errorf("seed %d, %s: the link is busy for %v, and sends for %v", seed, l.name, busy, sent)
		}
	}
}

// Twice as long in all is twice as long in the result; three times, too, but for rounding.
func TestScaling(t *testing.T) {
	source := rand.New(rand.NewPCG(7, 5))
	for _, l := range laws {
		n := random(source, l.law)
		one := solve(t, n, 10)
		for _, factor := range []units.Duration{2, 3} {
			law := l.law
			law.Reference *= float64(factor)
			scaled := &fluid.Network{Links: n.Links, Sharing: law}
			for _, j := range n.Jobs {
				j.Offset *= factor
				j.Bursts = slices.Clone(j.Bursts)
				for k := range j.Bursts {
					j.Bursts[k].Compute *= factor
					j.Bursts[k].Communicate *= factor
				}
				scaled.Jobs = append(scaled.Jobs, j)
			}
			many := solve(t, scaled, 10)
			for i := range n.Jobs {
				if got, want := float64(many[i][9].End), float64(factor)*float64(one[i][9].End); math.Abs(got/want-1) > 1e-6 {
					t.Errorf("%s: times %d, job %d ends at %v, want %v", l.name, factor, i, got, want)
				}
			}
		}
		// So do capacities, whatever their unit.
		wide := &fluid.Network{Sharing: l.law, Jobs: slices.Clone(n.Jobs)}
		wide.Sharing.Reference *= 8
		for _, c := range n.Links {
			wide.Links = append(wide.Links, 8*c)
		}
		for i := range wide.Jobs {
			wide.Jobs[i].Rate *= 8
		}
		other := solve(t, wide, 10)
		for i := range n.Jobs {
			if got, want := float64(other[i][9].End), float64(one[i][9].End); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s: in another unit job %d ends at %v, want %v", l.name, i, got, want)
			}
		}
	}
}

func TestPermutation(t *testing.T) {
	source := rand.New(rand.NewPCG(8, 6))
	for _, l := range append(laws[:len(laws):len(laws)], laws[0], struct {
		name string
		law  fluid.Sharing
	}{"first come", fluid.Incumbent(0.2)}) {
		for range 5 {
			n := random(source, l.law)
			one := solve(t, n, 10)
			order := source.Perm(len(n.Jobs))
			shuffled := &fluid.Network{Links: n.Links, Sharing: n.Sharing}
			for _, i := range order {
				shuffled.Jobs = append(shuffled.Jobs, n.Jobs[i])
			}
			other := solve(t, shuffled, 10)
			for k, i := range order {
				for it := range 10 {
					if got, want := float64(other[k][it].End), float64(one[i][it].End); math.Abs(got/want-1) > 1e-6 {
						t.Errorf("%s: as job %d of %d, iteration %d of job %d ends at %v, want %v", l.name, k, len(order), it, i, got, want)
					}
				}
			}
		}
	}
}

// A job with a profile shares one link with a job of half the link's rate, and that one
// shares another link with a third job.
func ExampleNewJob() {
	profile := circle.Profile{Name: "bert", Period: 120 * units.Millisecond, Bursts: []circle.Burst{{At: 80 * units.Millisecond, Length: 40 * units.Millisecond}}}
	bert := fluid.NewJob(&profile, 50*units.Gbps)
	slow := fluid.Job{Compute: 80 * units.Millisecond, Communicate: 40 * units.Millisecond, Rate: float64(25 * units.Gbps), Links: []int{0, 1}}
	third := fluid.Job{Compute: 80 * units.Millisecond, Communicate: 40 * units.Millisecond, Rate: float64(25 * units.Gbps), Links: []int{1}}
	n := fluid.Network{Links: []float64{float64(50 * units.Gbps), float64(50 * units.Gbps)}, Jobs: []fluid.Job{bert, slow, third}, Sharing: fluid.Weighted}
	r, err := n.Solve(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	// The first job has half of its link while the second one sends, and then all of it.
	fmt.Println(r[0][0].Time(), r[1][0].Time(), r[2][0].Time())
	// Output: 140ms 120ms 120ms
}
