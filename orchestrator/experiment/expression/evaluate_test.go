package expression_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
)

// why is why runs lack metrics.
func why(metric string) string {
	return map[string]string{"fct_us.0-8": "the flow did not complete", "some.x": "nothing came"}[metric]
}

func TestDerive(t *testing.T) {
	metrics := map[string]float64{"rate_gbps.0-2": 80, "rate_gbps.9-10": 90, "rate_gbps.1-10": 17, "trims": 3, "drops": 0}
	var derived []expression.Named
	for _, d := range [][2]string{
		{"fairness_ratio", `mean(m("rate_gbps.0-2"), m("rate_gbps.9-10")) / m("rate_gbps.1-10")`},
		{"twice", "2 * fairness_ratio"},
		{"mixed", `max(trims, 7) + min(trims, 7) + median(1, 9, trims) + sum(1, 2.5) + abs(-trims)`},
		{"choice", `trims > 2 ? 1 : 0`},
		{"order", `-2 ** 2 + 2 ** 3 ** 2 - 10 - 4 - 7 % 4 + 1_000.5e-1 + (not trims > 2 and true ? .5 : 4)`},
		{"hottest", `max("rate_gbps.*")`},
		{"spread", `max("rate_gbps.*", 5) - min("rate_gbps.*", trims) + count("rate_gbps.*") + count("rate*", 1) + count("none.*")`},
		{"p50", `percentile("rate_gbps.*", 50) + percentile(m("rate_gbps.*"), 100) + percentile(trims, 0)`},
		{"one", `sum("trims", "drops")`},
		{"index", `jain("rate_gbps.*")`},
		{"fair", `jain(7, 7, 7) + jain(0, 0, 1, 0)`},
		{"lazy", `drops > 0 ? trims / drops : 5`},
		{"picked", `max(trims > 0 ? m("rate_gbps.*") : m("none.*"))`},
		{"absent", `trims / drops`},
		{"hidden", `1 + absent`},
		{"zero", `0 / drops`},
		{"root", `(-trims) ** 0.5`},
		{"huge", `10 ** 400`},
		{"missing", `m("fct_us.0-8")`},
		{"empty", `max("none.*")`},
		{"jainless", `jain(drops, drops)`},
		{"fine", `twice`},
	} {
		derived = append(derived, expression.Named{Name: d[0], Expr: mustCompile(t, d[1], expression.Scope{})})
	}
	got, absent := expression.Derive(derived, metrics, why)
	want := map[string]float64{
		"fairness_ratio": 5, "twice": 10, "mixed": 7 + 3 + 3 + 3.5 + 3, "choice": 1, "order": -4 + 512 - 10 - 4 - 3 + 100.05 + 4,
		"hottest": 90, "spread": 90 - 3 + 3 + 4 + 0, "p50": 80 + 90 + 3, "one": 3,
		"index": (80. + 90 + 17) * (80 + 90 + 17) / (3 * (80*80 + 90*90 + 17*17)), "fair": 1.25, "lazy": 5, "picked": 90, "fine": 10,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if diff := cmp.Diff(absent, []expression.Absent{
		{"absent", "trims / drops divides by zero"},
		{"hidden", "there is no absent"},
		{"zero", "0 / drops divides by zero"},
		{"root", "(-trims) ** 0.5 is not a finite number"},
		{"huge", "10 ** 400 is not a finite number"},
		{"missing", "there is no fct_us.0-8 (the flow did not complete)"},
		{"empty", `max("none.*") has no values, as the runs have no metric that matches`},
		{"jainless", "jain(drops, drops) is not a finite number"},
	}); diff != "" {
		t.Errorf("absent: got - want +:\n%s", diff)
	}
	if len(metrics) != 5 {
		t.Errorf("the caller's metrics were changed: %v", metrics)
	}
}

// results are those of three seeds, 3, 5 and 8.
func results() *expression.Results {
	run := func(seed uint64, v float64) expression.Run {
		r := expression.Run{Seed: seed, Metrics: map[string]float64{
			"ratio": v, "fct_us.1-10": 10 * v, "fct_us.p99": 1000 + v/3, "q.p99.a b": v, "q.p99.c#2": 2 * v, "some.x": v, "zero": 0,
		}}
		if seed == 5 {
			delete(r.Metrics, "some.x")
		}
		return r
	}
	return expression.NewResults(map[string][]expression.Run{
		"base":   {run(3, 4), run(5, 5), run(8, 9)},
		"csig":   {run(3, 2), run(5, 4), run(8, 3)},
		"csig-2": {run(3, 1), run(5, 1), run(8, 1)},
	}, why)
}

var variants = expression.Scope{Expectation: true, Variants: []string{"base", "csig", "csig-2"}}

func TestExpect(t *testing.T) {
	for _, c := range []struct {
		expr   string
		ok     bool
		value  float64 // NaN: none
		text   string
		reason string
	}{
		{"base.ratio > 4", true, 5, "base.ratio = 5 > 4", ""},
		{"4 > base.ratio", false, 5, "4 > base.ratio = 5", ""},
		{`csig["fct_us.p99"] < csig.ratio`, false, 1001, `csig["fct_us.p99"] = 1001 < csig.ratio = 3`, ""},
		{`base["fct_us.p99"] < csig["fct_us.p99"]`, false, 1000 + 5./3, `base["fct_us.p99"] = 1001.67 < csig["fct_us.p99"] = 1001`, ""},
		{"base.ratio / csig.ratio >= 1.7", false, 5. / 3, "base.ratio / csig.ratio = 1.66667 >= 1.7", ""},
		{"1.6666666 > base.ratio / csig.ratio", false, 5. / 3, "1.6666666 > base.ratio / csig.ratio = 1.6666666666666667", ""},
		{`m("csig-2", "fct_us.1-10") == 10`, true, 10, `m("csig-2", "fct_us.1-10") = 10 == 10`, ""},
		{"between(csig.ratio, 3, 3)", true, 3, "between(csig.ratio = 3, 3, 3)", ""},
		{"between(csig.ratio, base.ratio, 9)", false, 3, "between(csig.ratio = 3, base.ratio = 5, 9)", ""},
		{"not between(csig.ratio, 3, 3)", false, math.NaN(), "not between(csig.ratio = 3, 3, 3) (true)", ""},
		{"csig.ratio > 1 and  csig.ratio < 2", false, 3, "csig.ratio = 3 > 1 (true) and csig.ratio = 3 < 2 (false)", ""},
		{"(csig.ratio > 4 or base.ratio > 6) and (1 < 2)", false, 3, "(csig.ratio = 3 > 4 (false) or base.ratio = 5 > 6 (false)) and (1 < 2 (true))", ""},
		{"3 * (base.ratio - csig.ratio) == 7", false, 6, "3 * (base.ratio - csig.ratio) = 6 == 7", ""},
		{"(base.ratio > 1) == (csig.ratio > 9)", false, math.NaN(), "(base.ratio = 5 > 1 (true)) == (csig.ratio = 3 > 9 (false))", ""},
		{"base.ratio > 1 ? csig.ratio > 9 : false", false, math.NaN(), "base.ratio = 5 > 1 (true) ? csig.ratio = 3 > 9 : false", ""},
		{"min_over_seeds(base.ratio / csig.ratio) > 1.2", true, 1.25, "min_over_seeds(base.ratio / csig.ratio) = 1.25 (seed 5) > 1.2", ""},
		{"max_over_seeds(base.ratio / csig.ratio) < 3", false, 3, "max_over_seeds(base.ratio / csig.ratio) = 3 (seed 8) < 3", ""},
		{"max_over_seeds(base.ratio / csig.ratio) == 3", true, 3, "max_over_seeds(base.ratio / csig.ratio) = 3 (seed 8) == 3", ""},
		{"every_seed(base.ratio > csig.ratio)", true, math.NaN(), "every_seed(base.ratio > csig.ratio)", ""},
		{"every_seed(base.ratio > csig.ratio + 1)", false, math.NaN(), "every_seed(base.ratio > csig.ratio + 1) (not in seed 5: base.ratio = 5 > csig.ratio + 1 = 5)", ""},
		{"base.ratio > 1 and every_seed(csig.ratio > 5)", false, 5, "base.ratio = 5 > 1 (true) and every_seed(csig.ratio > 5) (not in seed 3: csig.ratio = 2 > 5; seed 5: csig.ratio = 4 > 5; and in 1 more) (false)", ""},
		{`max(csig["q.p99.*"]) < 6`, false, 6, `max(csig["q.p99.*"]) = 6 (q.p99.c#2) < 6`, ""},
		{`every_seed(max(csig["q.p99.*"]) < 7)`, false, math.NaN(), `every_seed(max(csig["q.p99.*"]) < 7) (not in seed 5: max(csig["q.p99.*"]) = 8 (q.p99.c#2) < 7)`, ""},
		{`sum(csig["q.p99.*"]) == 9 and count(csig["*"]) == 6`, true, 9, `sum(csig["q.p99.*"]) = 9 == 9 (true) and count(csig["*"]) = 6 == 6 (true)`, ""},

		{`base["some.x"] > 1`, false, math.NaN(), `base["some.x"] (absent) > 1`, "there is no some.x of variant base in seed 5 (nothing came)"},
		{`base["none"] > csig.ratio`, false, math.NaN(), `base["none"] (absent) > csig.ratio = 3`, "there is no none of variant base in any seed"},
		{`every_seed(base["some.x"] > 1)`, false, math.NaN(), `every_seed(base["some.x"] > 1) (not in seed 5: base["some.x"] (absent) > 1)`, "there is no some.x of variant base in seed 5 (nothing came)"},
		{`not every_seed(base["some.x"] > 1)`, false, math.NaN(), `not every_seed(base["some.x"] > 1) (not in seed 5: base["some.x"] (absent) > 1)`, "there is no some.x of variant base in seed 5 (nothing came)"},
		{`not every_seed(base["some.x"] > 1 and base.ratio < 9)`, true, math.NaN(), `not every_seed(base["some.x"] > 1 and base.ratio < 9) (not in seed 5: base["some.x"] (absent) > 1 and base.ratio = 5 < 9 (true); seed 8: base["some.x"] = 9 > 1 (true) and base.ratio = 9 < 9 (false)) (false)`, ""},
		{`min_over_seeds(base["some.x"]) > 1`, false, math.NaN(), `min_over_seeds(base["some.x"]) (absent) > 1`, "there is no some.x of variant base in seed 5 (nothing came)"},
		{`max(base["some.*"]) > 1`, false, math.NaN(), `max(base["some.*"]) (absent) > 1`, `max(base["some.*"]) has no values, as the runs have no metric that matches`},
		{"csig.ratio / csig.zero > 1", false, math.NaN(), "csig.ratio / csig.zero (absent) > 1", "csig.ratio / csig.zero divides by zero"},
		{"csig.zero > 1 and csig.none > 1", false, 0, "csig.zero = 0 > 1 (false) and csig.none (absent) > 1", ""},
	} {
		got := results().Expect(mustCompile(t, c.expr, variants))
		value := math.NaN()
		if got.Value != nil {
			value = got.Value.(float64)
		}
		if got.OK != c.ok || got.Text != c.text || got.Reason != c.reason || value != c.value && !(math.IsNaN(value) && math.IsNaN(c.value)) {
			t.Errorf("%s:\ngot  %v %v %s | %s\nwant %v %v %s | %s", c.expr, got.OK, value, got.Text, got.Reason, c.ok, c.value, c.text, c.reason)
		}
	}
}

// A pattern says which metrics it left out.
func TestLeftOut(t *testing.T) {
	got := results().Expect(mustCompile(t, `count(base["*o*.x"]) == 0 and every_seed(count(base["*.x"]) < 2)`, variants))
	want := []string{`"*o*.x" of variant base leaves out some.x, which not every seed has`}
	if diff := cmp.Diff(got.Notes, want); !got.OK || diff != "" {
		t.Errorf("%s, notes (-got +want):\n%s", got.Text, diff)
	}
}

// The operands are the metrics, the sides and the lists, each once, with their seeds.
func TestOperands(t *testing.T) {
	got := results().Expect(mustCompile(t, `max(base["q.*"]) / csig.ratio > base.ratio and max_over_seeds(csig.ratio + 1) < csig.ratio and every_seed(base.ratio < 5)`, variants))
	var list []string
	for _, o := range got.Operands {
		text := o.Expr
		if o.Value != nil {
			text += fmt.Sprint(" = ", *o.Value)
		}
		if o.Count > 0 {
			text += fmt.Sprint(" of ", o.Count)
		}
		if o.Metric != "" {
			text += " from " + o.Metric
		}
		if o.Seed != nil {
			text += fmt.Sprint(" in seed ", *o.Seed)
		}
		list = append(list, text)
	}
	want := `max(base["q.*"]) / csig.ratio = 3.3333333333333335
max(base["q.*"]) = 10 from q.p99.c#2
base["q.*"] of 2
csig.ratio = 3
base.ratio = 5
max_over_seeds(csig.ratio + 1) = 5 in seed 5
csig.ratio + 1 = 5 in seed 5
csig.ratio = 4 in seed 5
base.ratio = 5 in seed 5
base.ratio = 9 in seed 8`
	if text := strings.Join(list, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if diff := cmp.Diff(got.Seeds, []uint64{5, 8}); diff != "" {
		t.Errorf("seeds of every_seed (-got +want):\n%s", diff)
	}
}

// A figure is the measured side of a comparison, or the ratio of two measured ones.
func TestFigure(t *testing.T) {
	r := results()
	scope := expression.Scope{Expectation: true, Variants: []string{"base", "csig", "csig-2"}}
	for text, want := range map[string]float64{
		"base.ratio > 4": 5, "4 > base.ratio": 5, "between(csig.ratio, 1, 2)": 3, "base.ratio < 2 * csig.ratio": 5. / 6, "every_seed(base.ratio > csig.ratio)": 5. / 3,
		"min_over_seeds(base.ratio / csig.ratio) > 1.2": 1.25, "base.ratio < csig.ratio - 3": math.NaN(), "not base.ratio > 4": math.NaN(),
	} {
		got := r.Figure(mustCompile(t, text, scope))
		if math.IsNaN(want) != (got == nil) || got != nil && math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestOverSeedsNeedsEqualRuns(t *testing.T) {
	r := expression.NewResults(map[string][]expression.Run{
		"a": {{Seed: 1, Metrics: map[string]float64{"x": 1}}, {Seed: 2, Metrics: map[string]float64{"x": 1}}}, "b": {{Seed: 1, Metrics: map[string]float64{"x": 2}}},
	}, nil)
	got := r.Expect(mustCompile(t, "every_seed(a.x < b.x)", expression.Scope{Expectation: true, Variants: []string{"a", "b"}}))
	if want := "every_seed: variant a has 2 runs, b has 1"; got.OK || got.Reason != want {
		t.Errorf("got %+v, want the reason %q", got, want)
	}
}

// Whatever the text is, compiling and evaluating it ends without a panic.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{`every_seed(max(a["q.*"]) < m("b", "x") ** 2)`, `between(a.x, 1, 3e2) or not a.x > "x"`, `a.x ? 1 : (2)`, `percentile(a["*"], 99) % 3 == -1`} {
		f.Add(text)
	}
	r := expression.NewResults(map[string][]expression.Run{
		"a": {{Seed: 1, Metrics: map[string]float64{"x": 1, "q.1": 2}}}, "b": {{Seed: 1, Metrics: map[string]float64{"x": 2}}},
	}, nil)
	f.Fuzz(func(t *testing.T, text string) {
		if e, errs := expression.Compile(text, expression.Scope{Expectation: true, Variants: []string{"a", "b"}}); len(errs) == 0 {
			if out := r.Expect(e); out.OK && out.Reason != "" {
				t.Errorf("%q holds, and could not be computed: %s", text, out.Reason)
			}
		}
		if e, errs := expression.Compile(text, expression.Scope{}); len(errs) == 0 {
			expression.Derive([]expression.Named{{Name: "d", Expr: e}}, map[string]float64{"x": 1, "q.1": 2}, nil)
		}
	})
}

func ExampleResults_Expect() {
	r := expression.NewResults(map[string][]expression.Run{
		"before": {{Seed: 1, Metrics: map[string]float64{"fct_us.max": 200}}, {Seed: 2, Metrics: map[string]float64{"fct_us.max": 240}}},
		"after":  {{Seed: 1, Metrics: map[string]float64{"fct_us.max": 190}}, {Seed: 2, Metrics: map[string]float64{"fct_us.max": 250}}},
	}, nil)
	scope := expression.Scope{Expectation: true, Variants: []string{"before", "after"}}
	for _, text := range []string{`after["fct_us.max"] < before["fct_us.max"]`, `every_seed(after["fct_us.max"] < before["fct_us.max"])`} {
		e, _ := expression.Compile(text, scope)
		out := r.Expect(e)
		fmt.Println(out.OK, out.Text)
	}
	// Output:
	// false after["fct_us.max"] = 220 < before["fct_us.max"] = 220
	// false every_seed(after["fct_us.max"] < before["fct_us.max"]) (not in seed 2: after["fct_us.max"] = 250 < before["fct_us.max"] = 240)
}

// Mentions of one pattern share what they find: 70,000 of them over 2000 metrics took half a
// minute when each went through all names.
func TestManyMentionsOfAPattern(t *testing.T) {
	metrics := map[string]float64{}
	for i := range 2000 {
		metrics[fmt.Sprintf("rate.%d", i)] = 1
	}
	const mentions = 700
	var derived []expression.Named
	for i := range 100 {
		text := strings.Repeat(`count("*") + `, mentions) + "0"
		derived = append(derived, expression.Named{Name: fmt.Sprintf("m%d", i), Expr: mustCompile(t, text, expression.Scope{})})
	}
	begin := time.Now()
	got, _ := expression.Derive(derived, metrics, nil)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for i := range derived { // each counts those before it, too
		if want := float64(mentions * (len(metrics) + i)); got[derived[i].Name] != want {
			t.Fatalf("%s is %v, want %v", derived[i].Name, got[derived[i].Name], want)
		}
	}
}
