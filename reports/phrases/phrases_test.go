package phrases

import (
	"testing"

	"github.com/csiglab/csiglab/reports/reading"
)

// Statistics of completion times say over how many of how many flows they are.
func TestMetric(t *testing.T) {
	f := &reading.Facts{Variants: []reading.Variant{{Name: "a"}, {Name: "b"}}, Progress: []reading.Progress{
		{Variant: "a", Seed: 1, Flows: 240, Completed: 240}, {Variant: "b", Seed: 1, Flows: 240, Completed: 238}}}
	for _, c := range []struct {
		metric   string
		variants []string
		want     string
	}{
		{"fct_us.p99", nil, "fct_us.p99 (of 238 to 240 of 240 flows)"},
		{"fct_us.p99", []string{"b"}, "fct_us.p99 (of 238 of 240 flows)"},
		{"fct_us.p99", []string{"a"}, "fct_us.p99 (of all 240 flows)"},
		{"fct_us.p999", []string{"b"}, "fct_us.p999 (of 238 of 240 flows)"},
		{"fct_us.mean", []string{"b"}, "fct_us.mean (of 238 of 240 flows)"},
		{"slowdown.p50", []string{"b"}, "slowdown.p50 (of 238 of 240 flows)"},
		{"fct_us.0-8", nil, "fct_us.0-8"},
		{"fct_us.p-8", nil, "fct_us.p-8"},
		{"rate_gbps.0-8", nil, "rate_gbps.0-8"},
		{"trims", nil, "trims"},
	} {
		if got := Metric(f, c.metric, c.variants...); got != c.want {
			t.Errorf("%s of %v: %q, want %q", c.metric, c.variants, got, c.want)
		}
	}
	if got := Metric(&reading.Facts{Variants: f.Variants}, "fct_us.p99"); got != "fct_us.p99" {
		t.Errorf("without transfers: %q", got)
	}
}
