package experiment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvalDerived(t *testing.T) {
	metrics := map[string]float64{"rate_gbps.0-2": 80, "rate_gbps.9-10": 90, "rate_gbps.1-10": 17, "trims": 3}
	got, err := EvalDerived([]Derived{
		{"fairness_ratio", `mean(m("rate_gbps.0-2"), m("rate_gbps.9-10")) / m("rate_gbps.1-10")`},
		{"twice", "2 * fairness_ratio"},
		{"mixed", `max(trims, 7) + min(trims, 7) + median(1, 9, trims) + sum(1, 2.5) + abs(-trims)`},
		{"choice", `trims > 2 ? 1 : 0`},
	}, metrics)
	want := map[string]float64{"fairness_ratio": 5, "twice": 10, "mixed": 7 + 3 + 3 + 3.5 + 3, "choice": 1}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if len(metrics) != 4 {
		t.Errorf("the caller's metrics were changed: %v", metrics)
	}
}

func TestEvalDerivedErrors(t *testing.T) {
	metrics := map[string]float64{"trims": 3, "fct_us.max": 1}
	for _, c := range []struct{ expr, want string }{
		{"trimz + 1", `derived metric x: unknown metric "trimz" (did you mean "trims"?)`},
		{`m("fct_us.mox")`, `derived metric x: unknown metric "fct_us.mox" (did you mean "fct_us.max"?)`},
		{"trims / 0", "derived metric x: the result is +Inf"},
		{"mean()", "derived metric x: a mean, sum, min, max or median needs at least one number"},
	} {
		_, err := EvalDerived([]Derived{{"x", c.expr}}, metrics)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.expr, err, c.want)
		}
		if strings.Contains(c.want, "unknown metric") && !errors.Is(err, ErrUnknownMetric) {
			t.Errorf("%s: %v is no ErrUnknownMetric", c.expr, err)
		}
	}
}

func TestEvalExpect(t *testing.T) {
	run := func(v float64) map[string]float64 { return map[string]float64{"ratio": v, "fct_us.1-10": 10 * v} }
	runs := map[string][]map[string]float64{
		"baseline": {run(4), run(5), run(9)},
		"csig":     {run(2), run(4), run(3)},
		"csig-2":   {run(1), run(1), run(1)},
	}
	for _, c := range []struct {
		expr  string
		ok    bool
		value any
		err   string
	}{
		{"baseline.ratio > 4", true, 5.0, ""},
		{"baseline.ratio < 4", false, 5.0, ""},
		{"4 < baseline.ratio", true, 5.0, ""},
		{"baseline.ratio / csig.ratio >= 1.7", false, 5.0 / 3, ""},
		{`csig["fct_us.1-10"] == 30`, true, 30.0, ""},
		{`m("csig-2", "fct_us.1-10") == 10`, true, 10.0, ""},
		{"between(csig.ratio, 3, 3)", true, 3.0, ""},
		{"not between(csig.ratio, 3, 3)", false, nil, ""},
		{"csig.ratio > 1 and csig.ratio < 2", false, 3.0, ""},
		{"min_over_seeds(baseline.ratio / csig.ratio) > 1.2", true, 1.25, ""},
		{"max_over_seeds(baseline.ratio / csig.ratio) < 3", false, 3.0, ""},
		{"every_seed(baseline.ratio > csig.ratio)", true, nil, ""},
		{"every_seed(baseline.ratio > csig.ratio + 1)", false, nil, ""},
		{"every_seed(m(\"csig-2\", \"ratio\") == 1) and baseline.ratio > 1", true, nil, ""},
		{"csig.rato > 1", false, nil, `unknown metric "csig.rato" (did you mean "csig.ratio"?)`},
		{"csgi.ratio > 1", false, nil, `unknown variant "csgi"; known: baseline csig csig-2 (did you mean "csig"?)`},
		{"min_over_seeds(min_over_seeds(csig.ratio)) > 1", false, nil, `min_over_seeds: unknown name min_over_seeds`},
		{"baseline > 1", false, nil, `baseline is a variant; write baseline.METRIC`},
		{"csig.ratio / 0 > 1", false, nil, "the result is +Inf"},
	} {
		got := EvalExpect([]string{c.expr}, runs)
		if diff := cmp.Diff(got, []Expectation{{c.expr, c.ok, c.value, c.err}}); diff != "" {
			t.Errorf("%s: got - want +:\n%s", c.expr, diff)
		}
	}
}

func TestOverSeedsNeedsEqualRuns(t *testing.T) {
	got := EvalExpect([]string{"every_seed(a.x < b.x)"}, map[string][]map[string]float64{
		"a": {{"x": 1}, {"x": 1}}, "b": {{"x": 2}},
	})
	if got[0].OK || !strings.Contains(got[0].Err, "runs, another") {
		t.Errorf("got %+v, want an error about the number of runs", got[0])
	}
}
