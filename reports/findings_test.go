package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// TestSharing holds that flows are called unequal only where their rates
// compare.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		name      string
		toUS      float64
		sizes     [2]int64
		rates     [2]float64
		want, not string
	}{
		{"two alike", 0, [2]int64{5, 5}, [2]float64{95, 95.2}, "The flows share evenly in run", "suffers"},
		{"two unlike", 0, [2]int64{5, 5}, [2]float64{30, 70}, "Flow a suffers: against the other it gets 30 against 70 Gb/s", "evenly"},
		{"slow links", 0, [2]int64{5, 5}, [2]float64{0.003, 0.0071}, "it gets 3 against 7.1 Mb/s in run", "evenly"},
		{"a short one over its own time", 0, [2]int64{5, 500}, [2]float64{30, 90}, "", "suffers"},
		{"a short one over a window", 100, [2]int64{5, 500}, [2]float64{30, 90}, "Flow a suffers", "evenly"},
	} {
		d := &data{
			manifest: &runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}, Measure: runfolder.Window{ToUS: c.toUS}},
			flows:    []runfolder.Flow{{Name: "a", Size: c.sizes[0]}, {Name: "b", Size: c.sizes[1]}, {Name: "a-b app"}}, // the last of programs, which count for nothing here
			rates:    map[string]map[string]float64{"run": {"a": c.rates[0], "b": c.rates[1], "a-b app": 1}},
		}
		got := d.sharing()
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Over an open window the rate of a flow is the metric's, which is that of the
// flow's own time.
func TestRatesOfOpenWindow(t *testing.T) {
	d := &data{
		manifest: &runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}, Flows: []runfolder.Flow{{Name: "a"}}},
		summary: &runfolder.Summary{Variants: map[string]runfolder.VariantSummary{
			"run": {Metrics: map[string]float64{"rate_gbps.a": 80}},
		}},
		flowRows: []runfolder.FlowRow{{Variant: "run", Seed: 1, FlowName: "a", WireBytes: 1_000_000}},
		ends:     map[run]float64{{"run", 1}: 200},
	}
	d.measureRates()
	if got := d.rates["run"]["a"]; got != 80 {
		t.Errorf("rate over the flow's own time: got %v, want 80", got)
	}
	d.manifest.Measure.ToUS = 200
	d.measureRates()
	if got := d.rates["run"]["a"]; got != 40 {
		t.Errorf("rate over a window of 200 us: got %v, want 40", got)
	}
}

// Charts have units that fit what is drawn.
func TestScales(t *testing.T) {
	d := &data{manifest: &runfolder.Manifest{Measure: runfolder.Window{FromUS: 500_000}}, bin: 2000}
	for _, c := range []struct {
		x, y, mark float64 // ms, Gb/s
		want       Panel
	}{
		{2000, 40, 20, Panel{XLabel: "Time (s)", YLabel: "Throughput (Gb/s)", XMax: 2.001, YMax: 40, Shade: [2]float64{0.5, 2.001}, Lines: []Line{{X: []float64{2}, Y: []float64{40}}}, Marks: []Mark{{"half 20 Gb/s", 20}}}},
		{800, 0.02, 0.04, Panel{XLabel: "Time (ms)", YLabel: "Throughput (Mb/s)", XMax: 801, YMax: 40, Shade: [2]float64{500, 801}, Lines: []Line{{X: []float64{800}, Y: []float64{20}}}, Marks: []Mark{{"half 40 Mb/s", 40}}}},
	} {
		chart := Chart{Panels: []Panel{{Lines: []Line{{X: []float64{c.x}, Y: []float64{c.y}}}, Marks: []Mark{{"half", c.mark}}}}}
		chart.finish(d, "Throughput", scalesOfRates)
		if diff := cmp.Diff(chart.Panels[0], c.want, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%v ms, %v Gb/s (-got +want):\n%s", c.x, c.y, diff)
		}
	}
}
