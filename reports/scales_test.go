package reports

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/analysis"
)

// The Markdown form says how ports were used at both scales, and where the bottleneck was.
func TestScalesAndShiftsInMarkdown(t *testing.T) {
	share := func(v float64) analysis.ShiftShare { return analysis.ShiftShare{Share: v} }
	r := &analysis.Result{
		Variants: []analysis.Variant{{Name: "a"}, {Name: "b"}},
		Utilisation: []analysis.Utilisation{{Variant: "run", FineUS: 100, RunMean: true,
			Ports: []analysis.PortUtilisation{{Place: analysis.Place{From: "tor0", To: "agg0"}, WindowShares: analysis.WindowShares{MeanShare: 0.01, P99: 0.5, Peak: 1, FullShare: 0.25}}},
			Tiers: []analysis.TierUtilisation{{Tier: "tor", Direction: "up", Ports: 4}}}},
		Shifts: []analysis.Shift{
			{Before: analysis.ShiftSide{Variant: "a"}, After: analysis.ShiftSide{Variant: "b"}, Basis: analysis.BasisSamples, Signal: "abw-c", From: 0, To: -1, FromTier: 0, ToTier: 1, Agree: 2, Seeds: 3,
				Places: []analysis.ShiftPlace{{Ports: []string{"tor0-agg0", "tor1-agg0", "tor2-agg0", "tor3-agg0"}, Before: share(0.6), After: share(0)}},
				Tiers:  []analysis.ShiftTier{{Tier: "tor", Direction: "up", Before: share(0.9)}, {Tier: "tor", Direction: "down", After: share(1)}}},
			{Fault: "link x down", Before: analysis.ShiftSide{Variant: "a"}, Basis: analysis.BasisWindows, From: -1, To: -1, FromTier: -1, ToTier: -1, Seeds: 1},
		},
	}
	var text strings.Builder
	if err := WriteMarkdown(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| run | tor0 → agg0 | 1 % | 50 % | 100 % | 25 % |", "| run | 4 ports: tor, up | 0 % |", "no more than the mean",
		"| a | b | samples of abw-c | tor, up (90 %); tor0-agg0, tor1-agg0, tor2-agg0 (60 %) or one of 1 others | tor, down (100 %) | 2 of 3 |",
		"| a before link x down | afterwards | windows of switch ports | – | – | 0 of 1 |",
	} {
		if !strings.Contains(strings.ReplaceAll(text.String(), "\u00a0", " "), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	r.Shifts = make([]analysis.Shift, maxRows+5)
	if got := shiftTable(r); len(got.Rows) != maxRows || !strings.Contains(got.Note, "JSON") {
		t.Errorf("%d rows, note %q", len(got.Rows), got.Note)
	}
}
