package experiment_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// compared has a variant with CSIG and one without; the lines of results follow it.
const compared = `schema: 1
name: compared
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 64kB, 1 -> 2 64kB]}
variants:
  off: {}
  "on": {csig.format: compact}
`

// single has one variant.
const single = `schema: 1
name: single
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 64kB, 1 -> 2 64kB]}
`

// TestWrongMetrics has results with metrics that no run can have, and the whole message.
// Every error is listed, those of form and type too.
func TestWrongMetrics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"misspelt statistic", single + "expect:\n  - run[\"fct_us.p9\"] < 3\n",
			`x.yaml:6:5: expect[0]: unknown metric "fct_us.p9" (did you mean "fct_us.p99"?)`},
		{"flow that is not there", single + "expect:\n  - 'run[\"fct_us.0-2\"] < 3'\n",
			`x.yaml:6:6: expect[0]: unknown metric "fct_us.0-2" (did you mean "fct_us.0-3"?)`},
		{"misspelt name", single + "expect:\n  - 1 > run.dorps\n",
			`x.yaml:6:9: expect[0]: unknown metric "dorps" (did you mean "drops"?)`},
		{"action of another CC", single + "expect:\n  - run[\"cc_share.0-3.no_op\"] < 3\n",
			`x.yaml:6:5: expect[0]: unknown metric "cc_share.0-3.no_op" (did you mean "cc_share.0-3.noop"?)`},
		{"no CSIG", single + "expect:\n  - run[\"samples.0-3\"] > 3\n",
			`x.yaml:6:5: expect[0]: variant run has no metric "samples.0-3": it has no CSIG`},
		{"no programs", single + "expect:\n  - sum(\"programs.*\") > 3\n",
			`x.yaml:6:9: expect[0]: variant run has no metric "programs.*": it has no programs`},
		{"pattern that matches nothing", single + "expect:\n  - max(\"fct_u.*\") > 3\n",
			`x.yaml:6:9: expect[0]: no metric matches "fct_u.*" (did you mean "fct_us.*"?)`},
		{"CSIG of the other variant", compared + "expect:\n  - every_seed(on[\"samples.0-3\"] > off[\"samples.0-3\"])\n",
			`x.yaml:9:36: expect[0]: variant off has no metric "samples.0-3": it has no CSIG`},
		{"of a variant", compared + "expect:\n  - m(\"off\", \"drop\") == 0\n",
			`x.yaml:9:14: expect[0]: unknown metric "drop" of variant off (did you mean "drops"?)`},
		{"derived", compared + "derived:\n  - {name: x, expr: drop / 2}\n",
			`x.yaml:9:21: derived[0].expr: unknown metric "drop" (did you mean "drops"?)`},
		{"derived before what it is made of", compared + "derived:\n  - {name: x, expr: y / 2}\n  - {name: y, expr: drops / 2}\n",
			`x.yaml:9:21: derived[0].expr: "y" comes later; a derived metric is made of those before it`},
		{"derived of itself", compared + "derived:\n  - {name: x, expr: 1 + x}\n",
			`x.yaml:9:25: derived[0].expr: "x" is made of itself`},
		{"derived that a variant lacks", compared + "derived:\n  - {name: x, expr: 'm(\"samples.0-3\") / 2'}\nexpect:\n  - on.x > off.x\n",
			`x.yaml:11:12: expect[0]: variant off has no metric "x": it has no samples.0-3, as it has no CSIG`},
		{"published", compared + "published:\n  - {variant: \"on\", metric: fct_us.p9, value: 1, low: 0, high: 2, source: y}\n",
			`x.yaml:9:29: published[0].metric: unknown metric "fct_us.p9" of variant on (did you mean "fct_us.p99"?)`},
		{"texts that are not as in the file", single + `expect:
  - >-
    run.drops == 0 and
    run.dorps == 1
  - |
    run.drops == 0 and
      run.dorps == 1
  - run.drops ==
      0 and run.dorps == 1
  - "run.\u0064rops == 0 and run.dorps == 1"
  - "run.drops == 0 and run.dorps == 1"
  - run.größe > 1 and run.dorps == 1
`,
			`x.yaml:6:5: expect[0]: unknown metric "dorps" (did you mean "drops"?)
x.yaml:9:5: expect[1]: unknown metric "dorps" (did you mean "drops"?)
x.yaml:12:5: expect[2]: unknown metric "dorps" (did you mean "drops"?)
x.yaml:14:5: expect[3]: unknown metric "dorps" (did you mean "drops"?)
x.yaml:15:25: expect[4]: unknown metric "dorps" (did you mean "drops"?)
x.yaml:16:5: expect[5]: unknown metric "größe"
x.yaml:16:23: expect[5]: unknown metric "dorps" (did you mean "drops"?)`},
		{"all errors together", compared + "derived:\n  - {name: x, expr: drop + dorps}\nexpect:\n  - on.x > 1 and off[\"fct_us.p9\"]\n  - on.y = 1\n",
			`x.yaml:9:21: derived[0].expr: unknown metric "drop" (did you mean "drops"?)
x.yaml:9:28: derived[0].expr: unknown metric "dorps" (did you mean "drops"?)
x.yaml:11:18: expect[0]: off["fct_us.p9"] is a number; want true or false
x.yaml:11:18: expect[0]: unknown metric "fct_us.p9" of variant off (did you mean "fct_us.p99"?)
x.yaml:12:10: expect[1]: "=" is no operator (did you mean "=="?)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := experiment.Options{Tables: experiment.StandardTables(), Names: measure.NamesOfSet}
			set, err := experiment.Parse("x.yaml", "", []byte(c.text), opts)
			if err == nil {
				names, named := measure.NamesOfSet(set)
				if named != nil {
					t.Fatal(named)
				}
				err = set.CheckMetrics(names)
			}
			if !errors.As(err, new(*experiment.Error)) || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// A derived metric may be made of what only some variants have. A set that is reduced to
// the others is right all the same.
func TestDerivedOfSomeVariants(t *testing.T) {
	text := compared + "derived:\n  - {name: x, expr: 'm(\"samples.0-3\") / 2'}\nexpect:\n  - on.x > 1\n"
	set, err := experiment.Parse("x.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		names, err := measure.NamesOfSet(set)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.CheckMetrics(names); err != nil {
			t.Errorf("%d variants: %v", len(set.Variants), err)
		}
	}
	check()
	if got := set.MentionedMetrics(); len(got) != 2 || got[0] != "samples.0-3" || got[1] != "x" {
		t.Errorf("the set mentions %q", got)
	}
	set.Variants = set.Variants[:1] // off
	check()
	want := "skipped: the derived metric x, because variant off cannot have it: it has no samples.0-3, as it has no CSIG"
	if len(set.Base.Derived) != 0 || len(set.Notes) != 1 || set.Notes[0] != want {
		t.Errorf("%d derived metrics, notes %q, want none and %q", len(set.Base.Derived), set.Notes, want)
	}
}

// The patterns of docs/reference/experiment.md fit the experiment at its top.
func TestDocumentedPatterns(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "experiment.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "```yaml\n")
	text, _, _ = strings.Cut(text, "\nderived:")
	_, results, _ := strings.Cut(string(guide), "\n**Several metrics.**")
	_, results, _ = strings.Cut(results, "```\n")
	results, _, ok := strings.Cut(results, "```\n")
	if !ok || !strings.HasPrefix(results, "derived:\n") {
		t.Fatalf("docs/reference/experiment.md has no patterns: %q", results)
	}
	set, err := experiment.Parse("docs/reference/experiment.md", "", []byte(text+"\n"+results), experiment.Options{Tables: experiment.StandardTables(), Names: measure.NamesOfSet})
	if err != nil {
		t.Fatal(err)
	}
	names, err := measure.NamesOfSet(set)
	if err == nil {
		err = set.CheckMetrics(names)
	}
	if err != nil || len(set.Base.Derived) != 2 || len(set.Base.Expect) != 3 {
		t.Errorf("%d derived metrics, %d expectations: %v", len(set.Base.Derived), len(set.Base.Expect), err)
	}
}
