package expression_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
)

// Wrong texts have all their errors, each with its place.
func TestCompileErrors(t *testing.T) {
	derived := expression.Scope{}
	one := expression.Scope{Expectation: true, Variants: []string{"run"}}
	two := expression.Scope{Expectation: true, Variants: []string{"base", "csig", "csig-wide"}}
	for _, c := range []struct {
		scope expression.Scope
		text  string
		want  string // line:column message, one a line
	}{
		{derived, "", `1:0 the expression is empty`},
		{derived, "a +", `1:3 the expression ends too soon`},
		{derived, "(a + b", `1:6 the expression ends too soon; ")" is missing`},
		{derived, "a + b)", `1:5 ")" does not fit here`},
		{derived, "a b", `1:2 "b" does not fit here; is an operator missing before it?`},
		{derived, "a = 1", `1:2 "=" is no operator (did you mean "=="?)`},
		{derived, "a ^ 2", `1:2 "^" is no operator (did you mean "**"?)`},
		{derived, "3ms + a", `1:0 "3ms" is no number`},
		{derived, `m("a`, `1:2 the text is not closed with "`},
		{derived, "a;b", `1:1 ";" is no operator`},
		{derived, "1 +\n  * 2", `2:2 "*" does not fit here`},
		{derived, strings.Repeat("(", 600), `1:500 the expression is nested more than 500 deep`},
		{derived, strings.Repeat("-", 600) + "1", `1:500 the expression is nested more than 500 deep`},
		{derived, "1" + strings.Repeat("+1", 5000), `1:0 an expression of 10001 bytes is too long; the most is 10000`},
		{derived, "a > 1", `1:0 a > 1 is true or false; want a number`},
		{derived, "avg(a, b)", `1:0 unknown function "avg" (did you mean "abs"?)`},
		{derived, "a + (b > 2)", `1:5 b > 2 is true or false; want a number`},
		{derived, "max", `1:0 max is a function; write max(…)`},
		{derived, "max()", `1:0 max() has no values; max(1, 2) and max("rate_gbps.*") have some`},
		{derived, `m("rate.*") / 2`, `1:0 m("rate.*") is a list of numbers, of the metrics that match it; put min, max, mean, sum, median, count, percentile or jain around it`},
		{derived, `"rate.0-8" / 2`, `1:0 "rate.0-8" is a text; a metric is m("rate.0-8")`},
		{derived, `"rate.*" / 2`, `1:0 "rate.*" is a text; the metrics that match it are max(m("rate.*")) and so on`},
		{derived, "fct_us.max + 1", `1:0 fct_us.max is no metric; one whose name is not an identifier is m("fct_us.max")`},
		{derived, `m(a)`, `1:2 a is no name; write it in quotation marks: m("METRIC")`},
		{derived, `m("a", "b")`, `1:0 m has 2 arguments; want 1: m("METRIC")`},
		{derived, "abs(1, 2)", `1:0 abs has 2 arguments; want 1: abs(x)`},
		{derived, `percentile("a.*", 101)`, `1:18 101 is no percentile; want 0 to 100`},
		{derived, "every_seed(a)", `1:0 every_seed belongs into expectations; a derived metric is of one seed`},
		{derived, "a ? 1 : 2", `1:0 a is a number; want true or false`},
		{derived, "a > 1 ? 1 : (2 > 1)", `1:13 2 > 1 is true or false, but 1 is a number; both sides of : are of one type`},
		{derived, "mean(a > 1, b)", `1:5 a > 1 is true or false; want a number, or a list`},
		{derived, "ab(1) + (2 > 1)\n+ min(true)", "1:0 unknown function \"ab\" (did you mean \"abs\"?)\n1:9 2 > 1 is true or false; want a number\n2:6 true is true or false; want a number, or a list"},

		{one, "run.a", `1:0 run.a is a number; want true or false`},
		{one, "run > 1", `1:0 run is a variant; write run.METRIC`},
		{one, "drops > 1", `1:0 unknown name "drops"; a metric is run.drops`},
		{one, `run["a"] > "x"`, `1:11 "x" is a text; a metric is run["x"]`},
		{one, `run[1] > 1`, `1:4 1 is no name of a metric; write it in quotation marks`},
		{one, `run["rate.*"] > 1`, `1:0 run["rate.*"] is a list of numbers, of the metrics that match it; put min, max, mean, sum, median, count, percentile or jain around it`},
		{one, "run.a > 1 and 3", `1:14 3 is a number; want true or false`},
		{one, "not run.a", `1:4 run.a is a number; want true or false`},
		{one, "run.a < run.b < run.c", `1:0 comparisons make no chain; write between(run.b, …) or two of them with and`},
		{one, "(run.a < 1) == 1", `1:0 run.a < 1 is true or false and 1 is a number; they cannot be compared`},
		{one, "(run.a < 1) < (run.b < 1)", `1:0 run.a < 1 is true or false; < compares numbers`},
		{one, "every_seed(run.a)", `1:11 run.a is a number; want true or false`},
		{one, "min_over_seeds(run.a > 1) > 1", `1:15 run.a > 1 is true or false; want a number`},
		{one, "min_over_seeds(min_over_seeds(run.a)) > 1", `1:15 min_over_seeds is within another function over seeds`},
		{one, `m("run") > 1`, `1:0 m has 1 arguments; want 2: m("VARIANT", "METRIC")`},
		{one, "between(run.a, 1) ", `1:0 between has 2 arguments; want 3: between(x, low, high)`},
		{two, "bsae.x > 1 and csgi.x > 1", "1:0 unknown variant \"bsae\"; known: base csig csig-wide (did you mean \"base\"?)\n1:15 unknown variant \"csgi\"; known: base csig csig-wide (did you mean \"csig\"?)"},
		{two, "csig-wide.share > 1", `1:0 the name of variant csig-wide contains a minus sign; write m("csig-wide", "share")`},
		{two, `max("rate.*") > 1`, `1:4 "rate.*" of which variant? Write csig-wide["rate.*"]`},
		{two, `m("cisg", "x") > 1`, `1:2 unknown variant "cisg"; known: base csig csig-wide (did you mean "csig"?)`},
		{two, "bse > 1", `1:0 unknown name "bse"; a metric is VARIANT.bse (did you mean "base"?)`},
	} {
		_, errs := expression.Compile(c.text, c.scope)
		var got []string
		for _, e := range errs {
			got = append(got, fmt.Sprintf("%d:%d %v", e.Line, e.Column, e))
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%.40q:\ngot  %s\nwant %s", c.text, text, c.want)
		}
	}
}

// The manifest of a damaged folder may have no variants.
func TestCheckDerivedWithoutVariants(t *testing.T) {
	e := mustCompile(t, "a + 1", expression.Scope{})
	if d := expression.CheckDerived("more", e, nil, nil); len(d.Errors) > 0 || d.Lacks != "" {
		t.Errorf("got %+v", d)
	}
}

// names are those of a variant: the keys; the values are why it lacks them, or "".
type names map[string]string

func (n names) Has(name string) bool     { lacks, ok := n[name]; return ok && lacks == "" }
func (n names) Lacks(name string) string { return n[name] }
func (n names) Nearest(text string) string {
	return spelling.Nearest(text, slices.Sorted(maps.Keys(n)))
}
func (n names) Match(pattern string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range slices.Sorted(maps.Keys(n)) {
			if n.Has(name) && wildcard.Match(pattern, name) && !yield(name) {
				return
			}
		}
	}
}

func mustCompile(t testing.TB, text string, scope expression.Scope) *expression.Expr {
	t.Helper()
	e, errs := expression.Compile(text, scope)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", text, errs)
	}
	return e
}

func TestCheckMetrics(t *testing.T) {
	known := func() []*expression.Known {
		return []*expression.Known{
			expression.NewKnown("base", names{"drops": "", "fct_us.p99": "", "samples.0-8": "it has no CSIG"}, true),
			expression.NewKnown("csig", names{"drops": "", "fct_us.p99": "", "samples.0-8": "", "extra": ""}, true),
		}
	}
	variants := known()
	var got []string
	derive := func(name, text string, later ...string) {
		for _, e := range expression.CheckDerived(name, mustCompile(t, text, expression.Scope{}), later, variants).Errors {
			got = append(got, fmt.Sprintf("%s %d:%d %v", name, e.Line, e.Column, e))
		}
	}
	derive("rate", `m("samples.0-8") / drops`)
	derive("twice", "rate * 2")
	derive("wrong", "drop + late + wrong + sum(\"f.*\") + extra", "late")
	derive("late", "1")
	for _, text := range []string{
		`csig.rate > 1 and csig.twice > 1 and csig.extra > 1 and base.late > 0 and max(csig["*"]) > 1`,
		`base.rate > 1`, `base.twice > 1`, `base["samples.0-8"] > 1`, `every_seed(base["fct_us.p9"] < csig.late)`, `base.extra > base.lat`,
		`max(base["samples.*"]) > 0`, `max(csig["smpls.0-8*"]) > 0`,
	} {
		for _, e := range expression.CheckExpectation(mustCompile(t, text, expression.Scope{Expectation: true, Variants: []string{"base", "csig"}}), variants) {
			got = append(got, fmt.Sprintf("%s %d:%d %v", text, e.Line, e.Column, e))
		}
	}
	want := []string{
		`wrong 1:0 unknown metric "drop" (did you mean "drops"?)`,
		`wrong 1:7 "late" comes later; a derived metric is made of those before it`,
		`wrong 1:14 "wrong" is made of itself`,
		`wrong 1:26 no metric matches "f.*"`,
		`base.rate > 1 1:0 variant base has no metric "rate": it has no samples.0-8, as it has no CSIG`,
		`base.twice > 1 1:0 variant base has no metric "twice": it has no rate, as it has no samples.0-8, as it has no CSIG`,
		`base["samples.0-8"] > 1 1:0 variant base has no metric "samples.0-8": it has no CSIG`,
		`every_seed(base["fct_us.p9"] < csig.late) 1:11 unknown metric "fct_us.p9" of variant base (did you mean "fct_us.p99"?)`,
		`base.extra > base.lat 1:0 unknown metric "extra" of variant base`,
		`base.extra > base.lat 1:13 unknown metric "lat" of variant base (did you mean "late"?)`,
		`max(base["samples.*"]) > 0 1:4 no metric of variant base matches "samples.*" (did you mean "samples.0-8"?)`,
		`max(csig["smpls.0-8*"]) > 0 1:4 no metric of variant csig matches "smpls.0-8*" (did you mean "samples.0-8"?)`,
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}
