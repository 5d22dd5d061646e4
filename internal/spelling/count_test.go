package spelling_test

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/internal/spelling"
)

func TestPlural(t *testing.T) {
	for want, got := range map[string]string{
		"0 runs": spelling.Plural(0, "run"), "1 switch": spelling.Plural(1, "switch"), "2 switches": spelling.Plural(2, "switch"), "3 buses": spelling.Plural(3, "bus"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{"12": 12, "1.235": 1.23456, "12346": 12345.6, "1e-07": 1e-7, "+Inf": math.Inf(1)} {
		if got := spelling.Number(v, true); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := spelling.Number(1, false); got != "-" {
		t.Errorf("without a value: got %q", got)
	}
}
