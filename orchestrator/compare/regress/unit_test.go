package regress

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// A derived metric has the unit that its name says, and the suite has to say what is
// better, although csiglab has a metric of this name.
func TestUnitOfDerivedMetrics(t *testing.T) {
	set := &experiment.Set{Base: &experiment.Experiment{Derived: []experiment.Derived{{Name: "cct_us"}}}}
	j, err := ruleOf(&Rule{Metric: "cct_us", Better: verdict.Lower}, nil, set)
	if err != nil || j.unit != "µs" {
		t.Errorf("unit %q, %v; want µs", j.unit, err)
	}
	if _, err := ruleOf(&Rule{Metric: "cct_us"}, nil, set); err == nil {
		t.Error("csiglab knows what is better of a derived metric")
	}
}
