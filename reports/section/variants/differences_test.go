package variants

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// effects returns the effect on each quantity.
func effects(d *Difference) map[string]Effect {
	all := map[string]Effect{}
	for _, q := range d.Quantities {
		all[q.Name] = q.Outcome
	}
	return all
}

// demo returns what the demo does: with CSIG the flow that crosses both bottlenecks
// gets more, the others get less and complete later, and queues are deeper.
func demo() *readingtest.Experiment {
	e := readingtest.ThreeFlow()
	e.Early = map[string]int{"csig": 240, "csig-wide": 200}
	e.Rates["csig-wide"], e.Queues["csig-wide"] = e.Rates["baseline"], e.Queues["baseline"]
	e.Trims = map[string]float64{"baseline": 100, "csig": 150, "csig-wide": 100}
	return e
}

func withCSIG(m *runfolder.Manifest, _ *runfolder.Summary) {
	m.Variants[1].CSIG, m.Variants[2].CSIG = "compact", "wide"
}

func settled(t *testing.T, f *runfolder.Folder) *Section {
	t.Helper()
	s, _ := sectiontest.Read[*Section](t, f, New)
	return s
}

func TestDifferences(t *testing.T) {
	s := settled(t, demo().Folder(t, withCSIG))
	all := s.Differences
	if len(all) != 2 || all[0].Variant != "csig" || !all[0].CSIG || all[1].Variant != "csig-wide" {
		t.Fatalf("differences %+v", all)
	}
	want := map[string]Effect{"fct_us.mean": Worse, "fct_us.p99": Same, SlowestRate: Better, BottleneckQueue: Worse, "trims": Worse, "packets.retransmitted": Worse}
	if d := cmp.Diff(effects(&all[0]), want); d != "" {
		t.Errorf("effects (-got +want):\n%s", d)
	}
	for name := range want {
		want[name] = Same
	}
	if d := cmp.Diff(effects(&all[1]), want); d != "" || !all[1].Same() {
		t.Errorf("effects of the same figures (-got +want):\n%s", d)
	}
	flows := func(changes []FlowChange) (names []string) {
		for _, c := range changes {
			names = append(names, c.Flow)
		}
		return names
	}
	c := all[0].Flows
	got := [][]string{flows(c.Gained), flows(c.Lost), flows(c.Sooner), flows(c.Later)}
	if d := cmp.Diff(got, [][]string{{"0-3"}, {"0-1", "2-3"}, nil, {"0-1", "2-3"}}); d != "" {
		t.Errorf("flows gained, lost, sooner, later (-got +want):\n%s", d)
	}
	if !slices.Equal(c.Even, []string{"0-3"}) {
		t.Errorf("flows that complete at about the same time: %v, want 0-3", c.Even)
	}
	if q := all[0].Queue; q == nil || q.From != "s0" || q.Bytes-q.BaseBytes < 20e3 || q.TargetUS != 10.517 {
		t.Errorf("queue %+v, want that of s0 -> s1 to be 25 kB deeper", q)
	}
	if all[1].Queue != nil {
		t.Errorf("queue of the same figures: %+v", all[1].Queue)
	}
}

// What a variant does is CSIG's doing only if nothing else differs.
func TestAttributionToCSIG(t *testing.T) {
	checkout.SkipSlowRace(t)
	queue := func(bytes int64) *runfolder.Parameters {
		return &runfolder.Parameters{Ports: []runfolder.PortClass{{QueueBytes: bytes}}}
	}
	flows := func(class runfolder.FlowClass) *runfolder.Parameters {
		return &runfolder.Parameters{Flows: []runfolder.FlowClass{class}}
	}
	gamma := func(gamma, csig string) *runfolder.Parameters {
		return flows(runfolder.FlowClass{CCParameters: map[string]string{"gamma": gamma, "csig": csig}})
	}
	for name, change := range map[string]func(*runfolder.Manifest){
		"RTO": func(m *runfolder.Manifest) {
			m.Variants[0].Parameters, m.Variants[1].Parameters = flows(runfolder.FlowClass{RTOUS: 10}), flows(runfolder.FlowClass{RTOUS: 20})
		},
		"gain of CC": func(m *runfolder.Manifest) {
			m.Variants[0].Parameters, m.Variants[1].Parameters = gamma("0.8", "none"), gamma("0.4", "max-delay")
		},
		"MTU":    func(m *runfolder.Manifest) { m.Variants[1].MTU = 9000 },
		"CC":     func(m *runfolder.Manifest) { m.Variants[1].CC = "other" },
		"queues": func(m *runfolder.Manifest) { m.Variants[0].Parameters, m.Variants[1].Parameters = queue(1), queue(2) },
		"traffic": func(m *runfolder.Manifest) {
			m.Variants[1].Flows = slices.Clone(m.Flows)
			m.Variants[1].Flows[0].Size++
		},
	} {
		s := settled(t, demo().Folder(t, func(m *runfolder.Manifest, sum *runfolder.Summary) {
			withCSIG(m, sum)
			change(m)
		}))
		if d := s.Differences[0]; d.Variant != "csig" || d.CSIG {
			t.Errorf("%s: the differences of %s are said to be CSIG's", name, d.Variant)
		}
	}
	s := settled(t, demo().Folder(t, func(m *runfolder.Manifest, sum *runfolder.Summary) {
		withCSIG(m, sum)
		m.Variants[0].Parameters, m.Variants[1].Parameters = gamma("0.8", "none"), gamma("0.8", "max-delay")
	}))
	if !s.Differences[0].CSIG {
		t.Error("the parameters of CC differ by those of CSIG alone, and the differences are not said to be CSIG's")
	}
}

// Of a transfer that did not complete in each seed no time is compared.
func TestTimesOfUnfinishedFlows(t *testing.T) {
	e := demo()
	e.Open = true // 0-3 in seed 1
	c := settled(t, e.Folder(t, withCSIG)).Differences[0].Flows
	for _, f := range slices.Concat(c.Sooner, c.Later) {
		if f.Flow == "0-3" {
			t.Errorf("completion times %+v of a flow that did not complete in seed 1", f)
		}
	}
	if len(c.Even) > 0 || len(c.Later) != 2 {
		t.Errorf("even %v, later %v, want the times of the other two flows alone", c.Even, c.Later)
	}
}

// Mean and p99 FCT are of the flows that completed. They are compared only if these
// are the same flows in all runs.
func TestFCTOfOtherFlowsThatCompleted(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, open := range []bool{false, true} {
		e := demo()
		e.Open = open // 0-3 in seed 1
		d := settled(t, e.Folder(t, withCSIG)).Differences[0]
		_, compared := effects(&d)["fct_us.mean"]
		if compared == open || d.OtherCompleted != open {
			t.Errorf("a flow open in seed 1 alone: %v; FCT compared %v, OtherCompleted %v", open, compared, d.OtherCompleted)
		}
		// Without rates to compare, the comparison is there all the same.
		d = settled(t, e.Folder(t, func(m *runfolder.Manifest, sum *runfolder.Summary) {
			withCSIG(m, sum)
			m.Measure.ToUS = 0
			m.Flows[0].Size *= 3
		})).Differences[0]
		if _, compared := effects(&d)[SlowestRate]; compared || d.OtherCompleted != open {
			t.Errorf("flows of mixed sizes: rates compared %v, OtherCompleted %v", compared, d.OtherCompleted)
		}
	}
}

// Variants with different flows: the report says so, compares one by one the flows that
// both have, and gives no rates of a variant that lacks some of the flows.
func TestOtherFlows(t *testing.T) {
	s := settled(t, demo().Folder(t, func(m *runfolder.Manifest, sum *runfolder.Summary) {
		withCSIG(m, sum)
		m.Variants[1].Flows = slices.Clone(m.Flows)
		m.Variants[1].Flows[1].Size++
		m.Variants[2].Flows = slices.Clone(m.Flows)
		m.Variants[2].Flows[0].Name = "0-3#2"
	}))
	all := s.Differences
	if len(all) != 2 || !all[0].OtherFlows || !all[1].OtherFlows || all[0].Flows.Common != 2 || all[1].Flows.Common != 2 {
		t.Fatalf("differences %+v, want other flows, two of them common", all)
	}
	for _, f := range slices.Concat(all[0].Flows.Lost, all[0].Flows.Later) {
		if f.Flow == "0-1" {
			t.Errorf("flow %+v has another size and is compared", f)
		}
	}
	if shares := s.r.Sharing; shares == nil || len(shares.Rates) != 2 || shares.Rates[1].Variant != "csig" {
		t.Errorf("sharing %+v, want rates of baseline and csig alone, as csig-wide lacks a flow", shares)
	}
	if d := settled(t, demo().Folder(t, withCSIG)).Differences[0]; d.OtherFlows || d.Flows.Common != 3 {
		t.Errorf("the same flows: %+v", d)
	}
}

// A difference counts if the ranges over the seeds do not overlap and the medians
// differ by 1 %; of counts, if it exceeds the noise of counting.
func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		name        string
		base, value []float64
		count, want bool
	}{
		{"apart", []float64{100, 101, 102}, []float64{110, 111, 112}, false, true},
		{"overlapping", []float64{100, 101, 112}, []float64{110, 111, 118}, false, false},
		{"touching", []float64{100, 110}, []float64{110, 120}, false, false},
		{"apart by less than 1 %", []float64{1000, 1001}, []float64{1008, 1009}, false, false},
		{"one seed", []float64{100}, []float64{98}, false, true},
		{"one seed, less than 1 %", []float64{1000}, []float64{1009}, false, false},
		{"counts of one seed within noise", []float64{100}, []float64{125}, true, false},
		{"counts of one seed", []float64{100}, []float64{135}, true, true},
		{"counts of two seeds", []float64{100, 101}, []float64{125, 126}, true, true},
		{"counts of two seeds within noise", []float64{28, 28}, []float64{29, 29}, true, false},
		{"counts of many seeds", slices.Repeat([]float64{28}, 200), slices.Repeat([]float64{30}, 200), true, true},
		{"from nothing", []float64{0, 0}, []float64{3, 4}, true, true},
		{"equal", []float64{5}, []float64{5}, false, false},
	} {
		if got := differ(c.base, c.value, c.count); got != c.want {
			t.Errorf("%s: %v and %v differ: %v, want %v", c.name, c.base, c.value, got, c.want)
		}
	}
	if q := quantity("trims", "packets", false, []float64{0, 0}, []float64{3, 4}); q.Change != 0 || q.Outcome != Worse {
		t.Errorf("from nothing: %+v", q)
	}
}

// A change has an interval from six pairs on, of which no figure is 0.
func TestInterval(t *testing.T) {
	base, value := []float64{100, 110, 120, 130, 140, 150}, []float64{80, 88, 96, 117, 112, 120}
	q := quantity("fct_us.mean", "µs", false, base, value)
	if q.Low == nil || q.High == nil || math.Abs(*q.Low+0.2) > 1e-9 || math.Abs(*q.High+0.1) > 1e-9 || q.Change < *q.Low || q.Change > *q.High {
		t.Errorf("%v [%v, %v], want about -20 %% from -20 to -10 %%", q.Change, q.Low, q.High)
	}
	if q := quantity("fct_us.mean", "µs", false, base[:5], value[:5]); q.Low != nil {
		t.Errorf("five seeds: from %v", *q.Low)
	}
	if q := quantity("trims", "packets", false, base, []float64{0, 1, 2, 3, 4, 5}); q.Low != nil {
		t.Errorf("a figure of 0: from %v", *q.Low)
	}
}
