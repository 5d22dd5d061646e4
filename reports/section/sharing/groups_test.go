package sharing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// sharedJob is a job of a made-up run: when its iterations begin, and their times. Each ends
// with a collective.
type sharedJob struct {
	name          string
	shares        []int32
	begin         float64
	times         []float64
	communication float64
	prediction    *runfolder.Prediction
	bytes         int64
}

// sharedJobs writes a run folder of jobs by variant and reads it.
func sharedJobs(t *testing.T, variants []string, of map[string][]sharedJob) []Group {
	t.Helper()
	at := func(us float64) units.Time { return units.Time(us * float64(units.Microsecond)) }
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 1, Hosts: 1}, Interval: 100 * units.Microsecond, EndUS: 1000, Variants: variants,
		Change: func(m *runfolder.Manifest) {
			for i := range m.Variants {
				for k, j := range of[m.Variants[i].Name] {
					one := runfolder.Job{Job: int32(k), Name: j.name, Ranks: []int32{0, 1}, Steps: len(j.times), Prediction: j.prediction, Collectives: []runfolder.Collective{{Name: "sum", Kind: "all_reduce", Ranks: 2, Bytes: j.bytes}}}
					for _, s := range j.shares {
						one.Shares = append(one.Shares, runfolder.Share{Job: s, Ports: 1, Node: m.Ports[int(s)%2].Node, Port: m.Ports[int(s)%2].Port})
					}
					m.Variants[i].Jobs = append(m.Variants[i].Jobs, one)
				}
			}
		},
		Run: func(_ *runfolder.Manifest, variant string, _ uint64, b *metrics.Batch) {
			for k, j := range of[variant] {
				begin := j.begin
				for i, us := range j.times {
					step, end := metrics.Tag{Step: int32(i + 1)}, begin+us
					b.Instances = append(b.Instances, metrics.Instance{Job: int32(k), Tag: step, Ranks: 2, Begin: at(begin), End: at(end)})
					step.Collective = 1
					b.Instances = append(b.Instances, metrics.Instance{Job: int32(k), Tag: step, Ranks: 2, Begin: at(end - j.communication), End: at(end)})
					begin = end
				}
			}
		}}
	s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
	return s.Groups
}

func hundreds(n int) (all []float64) {
	for range n {
		all = append(all, 100)
	}
	return all
}

// Overlap, speed-ups, predicted ones, links and distributions of two jobs of which the second
// one ends first.
func TestJobsThatShareLinks(t *testing.T) {
	predicted := func(us float64) *runfolder.Prediction {
		return &runfolder.Prediction{ComputeUS: 60, CommunicationUS: 40, AloneUS: 100, FluidUS: us, Law: "fair"}
	}
	groups := sharedJobs(t, []string{"first", "fair", "apart"}, map[string][]sharedJob{
		"first": {{name: "a", shares: []int32{1}, times: []float64{400, 400}, communication: 40, prediction: predicted(400)}, {name: "b", shares: []int32{0}, times: []float64{400}, communication: 40}},
		"fair":  {{name: "a", shares: []int32{1}, times: []float64{200, 150, 150}, communication: 80, prediction: predicted(160)}, {name: "b", shares: []int32{0}, times: []float64{160, 200}, communication: 80, prediction: predicted(160)}},
		"apart": {{name: "a", shares: []int32{1}, times: []float64{100, 100, 100, 120}, communication: 40, prediction: predicted(100)}, {name: "b", shares: []int32{0}, begin: 20, times: []float64{100, 100}, communication: 40, prediction: predicted(100)}},
	})
	if len(groups) != 3 || groups[2].Variant != "apart" || len(groups[2].Jobs) != 2 {
		t.Fatalf("%+v", groups)
	}
	for _, g := range groups {
		if g.Base != "fair" || len(g.Links) != 2 || len(g.Pairs) == 0 && g.Variant == "apart" {
			t.Errorf("%s: base %q, links %q, %d pairs", g.Variant, g.Base, g.Links, len(g.Pairs))
		}
	}
	a := &groups[2].Jobs[0]
	if len(a.Links) != 1 || a.Links[0] != groups[2].Links[0] {
		t.Errorf("links of a: %q of %q", a.Links, groups[2].Links)
	}
	if a.MedianUS != 100 || a.MeanUS != 105 {
		t.Errorf("median %v, mean %v us", a.MedianUS, a.MeanUS)
	}
	// Of 4 iterations 3 take 100 us, and one takes longer.
	if d := cmp.Diff([]any{a.Times, a.TimesUS}, []any{4, []float64{100, 100, 100, 120}}, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Errorf("times (-got +want):\n%s", d)
	}
	if d := cmp.Diff([]float64{a.speedUp(), a.MeanSpeedUp, a.PredictedSpeedUp}, []float64{1.5, 500.0 / 3 / 105, 1.6}, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Errorf("speed-ups (-got +want):\n%s", d)
	}
	// a communicates from 60 to 100 and b from 80 to 120; b has ended at 220.
	var overlaps []string
	for _, i := range a.Iterations {
		overlaps = append(overlaps, fmt.Sprintf("%d: %.2f %v", i.Step, i.Overlap, i.Alone))
	}
	if d := cmp.Diff(overlaps, []string{"1: 0.50 false", "2: 0.50 false", "3: 0.00 true", "4: 0.00 true"}); d != "" {
		t.Errorf("overlap (-got +want):\n%s", d)
	}
	if d := cmp.Diff(a.Iterations[0].Shared, [][]float64{{80, 100}}, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Errorf("shared (-got +want):\n%s", d)
	}
	if base := groups[1].Jobs[0]; base.SpeedUps != nil || base.PredictedSpeedUp != 0 {
		t.Errorf("the base has speed-ups of %v and %v", base.SpeedUps, base.PredictedSpeedUp)
	}
	if p := groups[2].Pairs[0]; p.A != "a" || p.DifferenceUS[0] != 20 || p.ApartUS != 40 || p.ApartToUS != 60 {
		t.Errorf("%+v", p)
	}
}

// A job has a speed-up where it has equal work in the base: of jobs whose times alone nobody
// knows, equal collectives.
func TestSpeedUpsOfEqualWorkAlone(t *testing.T) {
	unknown := &runfolder.Prediction{Reason: "kind collective"}
	for _, c := range []struct {
		name        string
		base, other sharedJob
		want        float64
	}{
		{"equal collectives", sharedJob{bytes: 1e6, prediction: unknown}, sharedJob{bytes: 1e6, prediction: unknown}, 0.5},
		{"other collectives", sharedJob{bytes: 1e6, prediction: unknown}, sharedJob{bytes: 4e6, prediction: unknown}, 0},
		{"other collectives, in an old folder", sharedJob{bytes: 1e6}, sharedJob{bytes: 4e6}, 0},
		{"known in one of them", sharedJob{bytes: 1e6, prediction: unknown}, sharedJob{bytes: 1e6, prediction: &runfolder.Prediction{AloneUS: 100, ComputeUS: 60, CommunicationUS: 40}}, 0},
	} {
		c.base.name, c.other.name = "a", "a"
		c.base.times, c.other.times = []float64{100}, []float64{200}
		beside := sharedJob{name: "b", shares: []int32{0}, times: []float64{100}}
		c.base.shares, c.other.shares = []int32{1}, []int32{1}
		groups := sharedJobs(t, []string{"fair", "other"}, map[string][]sharedJob{"fair": {c.base, beside}, "other": {c.other, beside}})
		if got := groups[1].Jobs[0].speedUp(); got != c.want {
			t.Errorf("%s: speed-up %v, want %v", c.name, got, c.want)
		}
	}
}

// Jobs that share links through others are one group; pairs are of those that share one
// directly, and bounded.
func TestGroupsOfJobs(t *testing.T) {
	job := func(name string, shares ...int32) sharedJob {
		return sharedJob{name: name, shares: shares, times: hundreds(3), communication: 30}
	}
	groups := sharedJobs(t, []string{"run"}, map[string][]sharedJob{"run": {job("a", 2), job("b", 4), job("c", 0, 3), job("d", 2), job("e", 1), job("alone")}})
	var got []string
	for _, g := range groups {
		for _, j := range g.Jobs {
			got = append(got, j.Name)
		}
		for _, p := range g.Pairs {
			got = append(got, p.A+" "+p.B)
		}
	}
	if d := cmp.Diff(got, []string{"a", "c", "d", "a c", "c d", "b", "e", "b e"}); d != "" {
		t.Errorf("groups (-got +want):\n%s", d)
	}
	var all []sharedJob
	for i := range 20 {
		one := job(fmt.Sprintf("j%02d", i))
		for k := range int32(20) {
			if int(k) != i {
				one.shares = append(one.shares, k)
			}
		}
		all = append(all, one)
	}
	g := sharedJobs(t, []string{"run"}, map[string][]sharedJob{"run": all})[0]
	if len(g.Pairs)+g.PairsLeftOut != 20*19/2 || len(g.Pairs) > 64 {
		t.Errorf("%d pairs, and %d left out", len(g.Pairs), g.PairsLeftOut)
	}
}
