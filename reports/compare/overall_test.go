package compare

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/reports/section/variants"
)

// The mean over cases is geometric, of each seed by itself, and its interval is over the seeds.
func TestOverall(t *testing.T) {
	a := []float64{100, 110, 120, 130, 140, 150}
	times := func(factors ...float64) (b []float64) {
		for i := range a {
			b = append(b, a[i]*factors[i%len(factors)])
		}
		return b
	}
	one := func(name string, b ...[]float64) *Comparison {
		c := &Comparison{Confidence: 0.95}
		for i := range b {
			c.Cases = append(c.Cases, CaseComparison{Paired: true, Seeds: []uint64{1, 2, 3, 4, 5, 6}, Metrics: []MetricComparison{{Name: name, Better: "lower", ValuesA: a, ValuesB: b[i]}}})
		}
		return c
	}
	got := one("fct_us.p99", times(0.5), times(0.8, 0.9)).overall()
	if len(got) != 1 || math.Abs(got[0].Effect-(math.Pow(0.4*0.45, 0.25)-1)) > 1e-9 || got[0].Low == nil || math.Abs(*got[0].Low-(math.Sqrt(0.4)-1)) > 1e-9 || math.Abs(*got[0].High-(math.Sqrt(0.45)-1)) > 1e-9 || got[0].Outcome != variants.Better {
		t.Errorf("%+v", got)
	}
	if got := one("trims", times(0.5), times(0)).overall(); got != nil {
		t.Errorf("a value of 0 has no geometric mean: %+v", got)
	}
	if got := one("fct_us.p99", times(0.5)).overall(); got != nil {
		t.Errorf("one case: %+v", got)
	}
	other := one("fct_us.p99", times(0.5), times(0.8))
	other.Cases[1].Seeds = []uint64{1, 2, 3, 4, 5, 7}
	if got := other.overall(); got != nil {
		t.Errorf("other seeds: %+v", got)
	}
}
