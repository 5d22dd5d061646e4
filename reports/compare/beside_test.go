package compare

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/section/variants"
)

// Where the medians of both sides suggest another difference than the estimate, one sentence
// says both and why; where they agree nothing is said.
func TestMediansBesideTheEstimate(t *testing.T) {
	low, high := 0.05, 0.12
	for _, c := range []struct {
		name   string
		a, b   float64
		effect float64
		want   string
	}{
		{"378 to 416", 378, 416, 0.083, "the medians alone differ by +10\u00a0%; the difference is the median of those of each seed"},
		{"outside", 100, 120, 0.083, "+20\u00a0%"},
		{"other sign", 100, 95, 0.083, "−5\u00a0%"},
		{"alike", 100, 108.4, 0.083, ""},
	} {
		m := MetricComparison{A: variants.Side{Median: c.a}, B: variants.Side{Median: c.b}, Effect: c.effect, Low: &low, High: &high}
		if got := m.beside(true); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
