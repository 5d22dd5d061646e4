package reports

import (
	"strings"
	"testing"

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
