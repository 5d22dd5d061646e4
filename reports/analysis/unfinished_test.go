package analysis

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// A run that ends with flows unfinished says how many of how many, and which are the
// least done. Flows of programs do not count.
func TestUnfinished(t *testing.T) {
	e := analysistest.ThreeFlow()
	e.Rates = map[string][3]float64{"baseline": e.Rates["baseline"]}
	e.Open = true
	f := e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Flows = append(m.Flows, runfolder.Flow{Flow: 3, Name: "h0-h3 app"}) // without a size
	})
	r := numbers(t, f)
	want := []Progress{
		{Variant: "baseline", Seed: 1, Flows: 3, Completed: 2, CutOff: true, Least: []Done{{"0-3", 0.75}}},
		{Variant: "baseline", Seed: 2, Flows: 3, Completed: 3}, {Variant: "baseline", Seed: 3, Flows: 3, Completed: 3},
	}
	if d := cmp.Diff(r.Progress, want); d != "" {
		t.Errorf("progress (-got +want):\n%s", d)
	}
	if d := cmp.Diff(r.Unfinished(), want[:1]); d != "" {
		t.Errorf("unfinished (-got +want):\n%s", d)
	}
	// A check that says that a transport is stuck: the end is not the cause.
	f.Manifest.Runs[0].Checks = []runfolder.Check{{Name: "completion", Detail: "flow 0-3 did not complete, and nothing is left to do"}}
	if p := numbers(t, f).Progress[0]; p.CutOff || p.Open() != 1 {
		t.Errorf("a run whose transport is stuck: %+v", p)
	}
}

func TestLeastDone(t *testing.T) {
	var least []Done
	for _, d := range []Done{{"a", 0.5}, {"b", 0.1}, {"c", 0.9}, {"d", 0.1}, {"e", 0}, {"f", 0.1}} {
		least = addLeast(least, d)
	}
	if d := cmp.Diff(least, []Done{{"e", 0}, {"b", 0.1}, {"d", 0.1}}); d != "" {
		t.Errorf("least done (-got +want):\n%s", d)
	}
}

// The distribution of completion times ends where flows did not complete.
func TestDistribution(t *testing.T) {
	of := func(fcts ...float64) []Line {
		return fct(&Scope{Transfers: 9, FCTs: fcts}).Panels()[0].Lines
	}
	seeds := append(append(of(1, 2, 3, 4, 5, 6, 7, 8, 9), of(2, 3, 4, 5, 6, 7, 8)...), of(3, 4, 5, 6, 7, 8, 9, 10)...)
	var l Line
	l.join(seeds)
	// Of rank 8 two of three seeds have a flow, of rank 9 one.
	want := Values{2, 3, 4, 5, 6, 7, 8, 9, math.NaN()}
	if d := cmp.Diff([]Values{l.Values, l.Low, l.High}, []Values{want, {1, 2, 3, 4, 5, 6, 7, 8, math.NaN()}, {3, 4, 5, 6, 7, 8, 9, 10, math.NaN()}}, equateNaNs); d != "" {
		t.Errorf("distribution (-got +want):\n%s", d)
	}
	if l.Flows != 9 {
		t.Errorf("of %d flows, want 9", l.Flows)
	}
	if panels := fct(&Scope{Transfers: MaxGroups, FCTs: []float64{1}}).Panels(); panels != nil {
		t.Errorf("a distribution of few flows: %v", panels)
	}
	// Of many flows it has maxRanks points, the first and the last flow among them.
	for i, want := range map[int]int{0: 1, 100: 2501, 200: 5000} {
		if got := Rank(i, maxRanks, 5000); got != want {
			t.Errorf("point %d of %d is rank %d of 5000, want %d", i, maxRanks, got, want)
		}
	}
}

// Values of seeds that begin and end at different points.
func TestBand(t *testing.T) {
	var l Line
	l.join([]Line{{First: 2, Values: Values{1, 2, 3}}, {First: 3, Values: Values{4, math.NaN(), 6}}})
	nan := math.NaN()
	if d := cmp.Diff(l, Line{First: 2, Values: Values{1, 3, 3, 6}, Low: Values{1, 2, 3, 6}, High: Values{1, 4, 3, 6}}, equateNaNs); d != "" {
		t.Errorf("two seeds (-got +want):\n%s", d)
	}
	l = Line{}
	l.join([]Line{{First: 2, Values: Values{1, nan}}})
	if d := cmp.Diff(l, Line{First: 2, Values: Values{1, nan}}, equateNaNs); d != "" {
		t.Errorf("one seed (-got +want):\n%s", d)
	}
}
