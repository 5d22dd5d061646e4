package measure_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// phases makes the records of a job of two ranks that communicates in so many steps, from
// one time to another; the second rank enters a microsecond later and leaves one earlier.
func phases(job int32, steps ...[2]float64) (list []metrics.Operation) {
	for k, s := range steps {
		tag := metrics.Tag{Step: int32(k + 1), Collective: 1}
		for rank := range int32(2) {
			r := ranks{}
			o := r.add(rank, metrics.OperationSpan, tag, s[0]+float64(rank), s[1]-float64(rank))
			o.Job = job
			list = append(list, *o)
		}
	}
	return list
}

// docs/reference/metrics.md#jobs has the definitions; the numbers follow from them by hand.
func TestOverlap(t *testing.T) {
	info := func(job int32, name string, shares ...int32) metrics.JobInfo {
		j := metrics.JobInfo{Job: job, Name: name, Ranks: []int32{0, 1}, Steps: 9, Collectives: []metrics.CollectiveInfo{{Name: "sum", Ranks: 2}}}
		for _, s := range shares {
			j.Shares = append(j.Shares, metrics.Share{Job: s, Ports: 1})
		}
		return j
	}
	late := info(1, "b", 0)
	late.Start = us(15)
	p := withJobs(t, info(0, "a", 1), late, info(2, "c"))
	var list []metrics.Operation
	// The first iteration of a is before b starts, the last one after b has ended. Of the
	// others half, a tenth, a fiftieth and nothing is shared.
	list = append(list, phases(0, [2]float64{0, 10}, [2]float64{100, 200}, [2]float64{300, 400}, [2]float64{500, 600}, [2]float64{700, 800}, [2]float64{900, 950}, [2]float64{1000, 1010})...)
	list = append(list, phases(1, [2]float64{150, 250}, [2]float64{390, 490}, [2]float64{598, 698}, [2]float64{800, 890}, [2]float64{950, 1000})...)
	list = append(list, phases(2, [2]float64{0, 2000})...) // c shares no link
	for name, order := range map[string]func([]metrics.Operation){"in order": func([]metrics.Operation) {}, "from the last": slices.Reverse[[]metrics.Operation]} {
		records := measure.NewRecords(p, nil)
		given := slices.Clone(list)
		order(given)
		records.Consume(&metrics.Batch{Operations: given})
		records.Consume(totals(p))
		got := measure.Metrics(p, &backend.Outcome{}, records)
		maps.DeleteFunc(got, func(name string, _ float64) bool {
			return !strings.HasPrefix(name, "overlap_share") && !strings.HasPrefix(name, "apart_iteration")
		})
		want := map[string]float64{
			"overlap_share.first.a": 0.5, "overlap_share.last.a": 0, "apart_iteration.a": 4, // 0.5, 0.1, 0.02, 0, 0: the median of the last two
			"overlap_share.first.b": 0.5, "overlap_share.last.b": 0, "apart_iteration.b": 3, // 0.5, 0.1, 0.02, 0, 0
		}
		for name, v := range want {
			if g, ok := got[name]; !ok || math.Abs(g-v) > 1e-9 {
				t.Errorf("%s: %s is %v (%v), want %v", name, name, g, ok, v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	names := measure.Names(p)
	for name, has := range map[string]bool{"overlap_share.first.a": true, "apart_iteration.b": true, "overlap_share.last.c": false} {
		if names.Has(name) != has || has && measure.WhyAbsent(name) == "" {
			t.Errorf("a run can have %s: %v", name, names.Has(name))
		}
	}
	if got := measure.Names(withJobs(t, info(0, "a"))).Lacks("overlap_share.last.a"); got != "it has no jobs that share a link" {
		t.Errorf("a job alone lacks the metric because %q", got)
	}
}

// A job that overlaps in its last iteration is not apart, and an iteration whose
// collectives follow each other communicates while any of them is under way.
func TestNotApart(t *testing.T) {
	a, b := metrics.JobInfo{Name: "a", Ranks: []int32{0, 1}, Steps: 2, Collectives: []metrics.CollectiveInfo{{Name: "sum", Ranks: 2}}}, metrics.JobInfo{}
	b = a
	b.Job, b.Name = 1, "b"
	a.Shares, b.Shares = []metrics.Share{{Job: 1, Ports: 1}}, []metrics.Share{{Job: 0, Ports: 1}}
	p := withJobs(t, a, b)
	records := measure.NewRecords(p, nil)
	list := phases(0, [2]float64{0, 100}, [2]float64{200, 300})
	again := phases(0, [2]float64{0, 0}, [2]float64{350, 450})[2:] // of step 2 once more
	list = append(list, again...)
	list = append(list, phases(1, [2]float64{100, 200}, [2]float64{280, 355})...)
	records.Consume(&metrics.Batch{Operations: list})
	records.Consume(totals(p))
	got := measure.Metrics(p, &backend.Outcome{}, records)
	// Step 2 of a: 20 and 5 of 200 us; of b: 25 of 75.
	if v := got["overlap_share.last.a"]; math.Abs(v-0.125) > 1e-9 {
		t.Errorf("the overlap share of a is %v, want 0.125", v)
	}
	if v := got["overlap_share.last.b"]; math.Abs(v-1./3) > 1e-9 {
		t.Errorf("the overlap share of b is %v, want a third", v)
	}
	if v, ok := got["apart_iteration.a"]; ok {
		t.Errorf("a is apart from iteration %v on", v)
	}
}
