package campaign

import (
	"maps"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// checkNames compares the metrics of a run with the names that its plan declares. A
// run has no other metric, and it lacks only those of which measure.WhyAbsent says why.
func checkNames(t testing.TB, p *plan.Plan, m map[string]float64) {
	t.Helper()
	names := measure.Names(p)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !names.Has(name) {
			t.Errorf("the run has %s, which measure.Names does not declare", name)
		}
	}
	for name := range names.All() {
		if _, ok := m[name]; !ok && measure.WhyAbsent(name) == "" {
			t.Errorf("the run has no %s, and nothing says why it may lack it", name)
		}
	}
}
