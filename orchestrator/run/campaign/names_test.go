package campaign

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
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

// TestNamesOfEmbeddedExperiments runs every embedded experiment that runs in virtual
// time and compares its metrics with those that its plans declare.
func TestNamesOfEmbeddedExperiments(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	t.Parallel()
	families := map[string]bool{}
	for _, b := range experiment.Names() {
		set := load(t, b, shortened(b)...)
		if set.Base.Runtime != runtimes.Inproc {
			continue
		}
		for i, v := range set.Variants {
			if checkout.SlowRace(t) && i > 0 {
				break // without it all variants run
			}
			m, _ := runVirtual(t, v.Experiment, v.Experiment.Seeds[0]) // which calls checkNames
			for name := range m {
				first, _, _ := strings.Cut(name, ".")
				families[first] = true
			}
		}
	}
	for _, name := range []string{"fct_us", "rate_gbps", "cc_share", "csig_delay_us", "samples", "tags", "target_qdelay_us"} {
		if !families[name] {
			t.Errorf("no embedded experiment has %s", name)
		}
	}
}
