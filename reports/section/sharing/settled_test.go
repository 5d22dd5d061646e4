package sharing

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// The fluid model is compared with what it predicts, the mean of the second half of the
// iterations: medians of iterations that alternate say nothing.
func TestFluidModelAgainstSettledIterations(t *testing.T) {
	j := jobOf("a", 0, 1841, 3)
	j.MedianUS, j.MeanUS, j.SettledUS, j.Prediction = 201_000, 170_000, 168_000, &Prediction{FluidUS: 160_000, Law: "fair"}
	table := sectionOf(groupOf("fair", j)).table()
	at := slices.IndexFunc(table.Columns, func(c section.Column) bool { return c.Name == "settled is off by" })
	if at < 0 {
		t.Fatalf("columns %+v", table.Columns)
	}
	if got := sectiontest.Rows(table)[0][at]; got != "+5.0 %" {
		t.Errorf("settled against the model: %q, want +5.0 %%", got)
	}
}
