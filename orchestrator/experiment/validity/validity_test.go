package validity_test

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment/validity"
	"github.com/csiglab/csiglab/units"
)

// Places on points, between points, and outside what was measured.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		rate       units.Rate
		bdp, flows float64
		measured   bool
		harm       bool
	}{
		{100 * units.Gbps, 14, 8.5, true, true},
		{100 * units.Gbps, 16, 10, true, true},
		{100 * units.Gbps, 100, 10, true, false},
		{100 * units.Gbps, 28.16, 2, true, false}, // three-flow has two flows per link
		{50 * units.Gbps, 20, 10, true, true},
		{100 * units.Gbps, 9, 8.5, false, false},
		{100 * units.Gbps, 14, 30, false, false},
		{800 * units.Gbps, 14, 8.5, false, false},
		{25 * units.Gbps, 14, 2, false, false}, // at 100 Gb/s alone
	} {
		place, ok := validity.At(c.rate, c.bdp, c.flows)
		if ok != c.measured || place.Harm != c.harm {
			t.Errorf("%v, %v packets, %v flows: got %v, %v; want measured %v, harm %v", c.rate, c.bdp, c.flows, place, ok, c.measured, c.harm)
		}
	}
}

// Text of a place for each sign.
func TestPlaceInWords(t *testing.T) {
	for want, p := range map[string]validity.Place{
		"lengthened their times by 20 to 35 % (95 % intervals from -4 to +40 %)": {Least: 20.2, Most: 35.1, Shortest: -4, Longest: 40},
		"shortened their times by 9 % (95 % intervals from -12 to -5 %)":         {Least: -9.2, Most: -8.8, Shortest: -12, Longest: -5},
		"changed their times by -3 to +5 % (95 % intervals from -8 to +9 %)":     {Least: -3, Most: 5, Shortest: -8, Longest: 9},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "rate\n", validity.Header + "\nfast,1,2,3,4,5\n", validity.Header + "\n1Gbps,1,2,x,4,5\n"} {
		if points, err := validity.Parse(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, points)
		}
	}
}
