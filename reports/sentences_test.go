package reports

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSharing holds that flows are called unequal only where their rates
// compare.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		name      string
		open      bool
		sizes     [2]units.Size
		rates     [2]float64
		want, not string
	}{
		{"two alike", true, [2]units.Size{5, 5}, [2]float64{95, 95.2}, "The flows share evenly in run", "suffers"},
		{"two unlike", true, [2]units.Size{5, 5}, [2]float64{30, 70}, "Flow a suffers: against the other it gets 30 against 70 Gb/s", "evenly"},
		{"slow links", true, [2]units.Size{5, 5}, [2]float64{0.003, 0.0071}, "it gets 3 against 7.1 Mb/s in run", "evenly"},
		{"a short one over its own time", true, [2]units.Size{5, 500}, [2]float64{30, 90}, "", "suffers"},
		{"a short one over a window", false, [2]units.Size{5, 500}, [2]float64{30, 90}, "Flow a suffers", "evenly"},
	} {
		f := analysistest.OneWindow(t, c.open, 1,
			analysistest.Flow{Name: "a", Size: c.sizes[0], Gbps: c.rates[0]}, analysistest.Flow{Name: "b", Size: c.sizes[1], Gbps: c.rates[1]},
			analysistest.Flow{Name: "a-b app", Gbps: 1}) // the last of programs, which count for nothing here
		got := strings.Join(build(t, f).Findings, "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Charts have units that fit what is drawn.
func TestScales(t *testing.T) {
	r := &analysis.Result{Groups: []analysis.Group{{Flow: "a", Flows: 1}}, PointUS: 2000}
	r.Setup.Measure.FromUS = 500_000
	for _, c := range []struct {
		point   int
		y, mark float64 // Gb/s
		want    Panel
	}{
		{999, 40, 20, Panel{XLabel: "Time (s)", YLabel: "Throughput (Gb/s)", XMax: 2, YMax: 40, Shade: [2]float64{0.5, 2}, Lines: []Line{{Name: "a", X: []float64{1.999}, Y: []float64{40}}}, Marks: []Mark{{"half 20 Gb/s", 20}}}},
		{399, 0.02, 0.04, Panel{XLabel: "Time (ms)", YLabel: "Throughput (Mb/s)", XMax: 800, YMax: 40, Shade: [2]float64{500, 800}, Lines: []Line{{Name: "a", X: []float64{799}, Y: []float64{20}}}, Marks: []Mark{{"half 40 Mb/s", 40}}}},
	} {
		chart := OverTime(r, &analysis.Chart{Unit: "Gb/s", Panels: []analysis.Panel{{
			Lines:  []analysis.Line{{Group: r.Groups[0], First: c.point, Values: analysis.Values{c.y}}},
			Levels: []analysis.Level{{Name: "half", Value: c.mark}},
		}}}, "Throughput")
		if diff := cmp.Diff(chart.Panels[0], c.want, cmpopts.EquateApprox(1e-9, 0), cmpopts.IgnoreUnexported(Panel{})); diff != "" {
			t.Errorf("point %d, %v Gb/s (-got +want):\n%s", c.point, c.y, diff)
		}
	}
}

// Values of a unit that no scale knows keep it.
func TestUnknownUnit(t *testing.T) {
	for unit, want := range map[string]string{"furlongs": "Length (furlongs)", "": "Length"} {
		chart := OverTime(&analysis.Result{PointUS: 100}, &analysis.Chart{Unit: unit, Panels: []analysis.Panel{{Lines: []analysis.Line{{Group: analysis.Group{Flows: 2}, Values: analysis.Values{4e6}}}}}}, "Length")
		if p := chart.Panels[0]; p.YLabel != want || p.YMax != 4e6 {
			t.Errorf("unit %q: axis %q to %v, want %q to 4e6", unit, p.YLabel, p.YMax, want)
		}
	}
}
