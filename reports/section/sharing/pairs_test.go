package sharing

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// beginning returns a job whose phases of 40 us begin at these times.
func beginning(name string, begins ...float64) *Job {
	j := &Job{Name: name, MedianUS: 100}
	for k, at := range begins {
		j.Iterations = append(j.Iterations, Iteration{Step: int32(k + 1), Phases: [][]float64{{at, at + 40}}})
	}
	return j
}

// every returns n times that are a period apart.
func every(from, period float64, n int) (all []float64) {
	for k := range n {
		all = append(all, from+period*float64(k))
	}
	return all
}

// pairOf returns the pair of two jobs, nil if there is none.
func pairOf(a, b *Job, ofA, ofB *runfolder.Job) *Pair {
	g := &Group{}
	addPairs([]measuredPair{{g, newPair(a, b, ofA, ofB), newPair(b, a, ofB, ofA), ofA, ofB}})
	if len(g.Pairs) == 0 {
		return nil
	}
	return &g.Pairs[0]
}

// A job that comes later, pauses or ends: the pair has all iterations of both, modulo the
// period, and none when only one of them runs.
func TestPairsOfJobsThatComeAndGo(t *testing.T) {
	none, nan := &runfolder.Job{}, math.NaN()
	for _, c := range []struct {
		name  string
		a, b  []float64
		first string
		steps []float64
		us    []float64
	}{
		{"comes 0.9 of a period late", every(90, 100, 4), every(0, 100, 5), "a", []float64{1, 2, 3, 4}, []float64{10, 10, 10, 10}},
		{"comes after three periods", every(0, 100, 6), every(330, 100, 5), "a", []float64{4, 5, 6}, []float64{30, 30, 30}},
		{"the first one comes after three periods", every(330, 100, 4), every(0, 100, 6), "b", []float64{4, 5, 6}, []float64{30, 30, 30}},
		{"pauses", every(0, 100, 7), append(every(20, 100, 3), every(300, 100, 4)...), "a", []float64{1, 2, 3, 4, 5, 6, 7}, []float64{20, 20, 20, 0, 0, 0, 0}},
		{"pauses for 0.8 of a period", every(0, 100, 8), append(every(30, 100, 3), every(410, 100, 4)...), "a", []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{30, 30, 30, nan, 10, 10, 10, 10}},
		{"ends", every(0, 100, 6), every(20, 100, 3), "a", []float64{1, 2, 3}, []float64{20, 20, 20}},
		{"falls behind by more than a period", every(0, 100, 6), every(40, 125, 6), "a", []float64{1, 2, 3, 4, 5, 6}, []float64{40, 65, nan, -10, 15, 40}},
		{"never together", every(0, 100, 3), every(900, 100, 3), "", nil, nil},
		{"one never communicates", every(0, 100, 3), nil, "", nil, nil},
		{"a single iteration", []float64{0}, []float64{10}, "a", []float64{1}, []float64{10}},
	} {
		p := pairOf(beginning("a", c.a...), beginning("b", c.b...), none, none)
		if p == nil {
			p = &Pair{}
		}
		if d := cmp.Diff([]any{p.A, p.Steps, []float64(p.DifferenceUS)}, []any{c.first, c.steps, c.us}, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%s (-got +want):\n%s", c.name, d)
		}
	}
}

// Two jobs whose periods differ by 4 % go once around in 25 iterations: every difference is
// below the period.
func TestDifferenceIsModuloThePeriod(t *testing.T) {
	p := pairOf(beginning("a", every(0, 100, 100)...), beginning("b", every(0, 104, 100)...), &runfolder.Job{}, &runfolder.Job{})
	if p == nil || len(p.Steps) < 95 {
		t.Fatalf("%+v", p)
	}
	least, most := p.DifferenceUS[0], p.DifferenceUS[0]
	for i, d := range p.DifferenceUS {
		if d < -13 || d >= 100 {
			t.Errorf("iteration %v: %v us", p.Steps[i], d)
		}
		if !math.IsNaN(d) {
			least, most = min(least, d), max(most, d)
		}
	}
	if least > -8 || most < 80 {
		t.Errorf("differences are from %v to %v us, not the whole period", least, most)
	}
}

// A pair has the same order in all variants: the one that matters most.
func TestPairsKeepTheirOrder(t *testing.T) {
	none, fair, unfair := &runfolder.Job{}, &Group{Variant: "fair"}, &Group{Variant: "unfair"}
	pair := func(g *Group, a, b *Job) measuredPair {
		return measuredPair{g, newPair(a, b, none, none), newPair(b, a, none, none), none, none}
	}
	addPairs([]measuredPair{pair(fair, beginning("a", 5, 105, 205), beginning("b", 0, 100, 200)), pair(unfair, beginning("a", 0, 100, 200), beginning("b", 0, 130, 230))})
	for _, g := range []*Group{fair, unfair} {
		if p := g.Pairs[0]; p.A != "a" || p.B != "b" {
			t.Errorf("%s: %s after %s", g.Variant, p.B, p.A)
		}
	}
	if got := fair.Pairs[0].DifferenceUS[2]; got != -5 {
		t.Errorf("fair: %v us, want -5", got)
	}
}

// Phases are apart while B begins after A has ended and ends before A begins anew.
func TestApartBounds(t *testing.T) {
	job := func(us float64) *runfolder.Job {
		return &runfolder.Job{Prediction: &runfolder.Prediction{CommunicationUS: us}}
	}
	for _, c := range []struct{ a, b, from, to float64 }{{30, 30, 30, 70}, {30, 50, 30, 50}, {60, 50, 0, 0}, {0, 50, 0, 0}} {
		p := pairOf(beginning("a", 0, 100), beginning("b", 40, 140), job(c.a), job(c.b))
		if p == nil || p.A != "a" || p.ApartUS != c.from || p.ApartToUS != c.to {
			t.Errorf("%v and %v us: %+v", c.a, c.b, p)
		}
	}
}
