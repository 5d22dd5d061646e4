package reports

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/reports/analysis"
)

// The fluid model is compared with what it predicts, the mean of the second half of the
// iterations: medians of iterations that alternate say nothing.
func TestFluidModelAgainstSettledIterations(t *testing.T) {
	j := &analysis.SharedJob{MedianUS: 201_000, MeanUS: 170_000, SettledUS: 168_000, Prediction: &analysis.Prediction{FluidUS: 160_000, Law: "fair"}}
	table := jobGroups(&analysis.Result{JobGroups: []analysis.JobGroup{{Jobs: []analysis.SharedJob{*j}}}})
	at := slices.IndexFunc(table.Columns, func(c column) bool { return c.Name == "settled is off by" })
	if got := table.Rows[0][at].Text; got != "+5.0 %" {
		t.Errorf("settled against the model: %q, want +5.0 %%", got)
	}
}
