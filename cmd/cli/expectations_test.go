package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/experiments"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// twoVariants has flows that do not complete in one of its variants: off ends first.
const twoVariants = `schema: 1
name: two
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 64kB, 1 -> 3 640kB]}
seeds: [3, 5]
variants:
  off: {end: 40us}
  "on": {csig.format: compact}
derived:
  - {name: fair, expr: 'jain("goodput_gbps.*")'}
  - {name: odd, expr: 'm("fct_us.0-3") / drops'}
`

// executed runs csiglab as it is and returns what it prints.
func executed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), command.Linked{}, newWork(command.Linked{}), args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

// TestWrongExpectationsRunNothing: a mistake in an expression has exit code 2 and the same
// words from validate and run, and nothing is run: there is no folder.
func TestWrongExpectationsRunNothing(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Parallel()
	for _, c := range []struct{ name, expect, want string }{
		{"unknown metric", `on["fct_us.p9"] < 1`, `:13:5: expect[0]: unknown metric "fct_us.p9" of variant on (did you mean "fct_us.p99"?)`},
		{"unknown flow", `on["rate_gbps.0-2"] < 1`, `:13:5: expect[0]: unknown metric "rate_gbps.0-2" of variant on (did you mean "rate_gbps.0-3"?)`},
		{"no CSIG", `off["samples.0-3"] < 1`, `:13:5: expect[0]: variant off has no metric "samples.0-3": it has no CSIG`},
		{"pattern", `max(off["csig_delay_us.*"]) < 1`, `:13:9: expect[0]: variant off has no metric "csig_delay_us.*": it has no CSIG`},
		{"pattern without a match", `max(on["rate_gpbs.*"]) < 1`, `:13:9: expect[0]: no metric of variant on matches "rate_gpbs.*" (did you mean "rate_gbps.*"?)`},
		{"list", `on["fct_us.*"] < 1`, `:13:5: expect[0]: on["fct_us.*"] is a list of numbers, of the metrics that match it; put min, max, mean, sum, median, count, percentile or jain around it`},
		{"bool with a number", `(on.drops < 1) == 1`, `:13:5: expect[0]: on.drops < 1 is true or false and 1 is a number; they cannot be compared`},
		{"number for a bool", `every_seed(on.drops)`, `:13:16: expect[0]: on.drops is a number; want true or false`},
		{"no comparison", `on.drops + 1`, `:13:5: expect[0]: on.drops + 1 is a number; want true or false`},
		{"variant", `no.drops < 1`, `:13:5: expect[0]: unknown variant "no"; known: off on (did you mean "on"?)`},
		{"derived", `on.fare > 0`, `:13:5: expect[0]: unknown metric "fare" of variant on (did you mean "fair"?)`},
		{"several", "on.dorps > 0 and on.fare\n  - off.x = 1", `:13:5: expect[0]: unknown metric "dorps" of variant on (did you mean "drops"?)
F:13:22: expect[0]: on.fare is a number; want true or false
F:13:22: expect[0]: unknown metric "fare" of variant on (did you mean "fair"?)
F:14:11: expect[1]: "=" is no operator (did you mean "=="?)`},
	} {
		file := write(t, "two.yaml", twoVariants+"expect:\n  - "+c.expect+"\n")
		folder := filepath.Join(t.TempDir(), "run")
		want := "csiglab: F" + c.want + "\n"
		for _, args := range [][]string{{"validate", file}, {"run", file, "--out", folder}, {"run", file, "--out", folder, "--variant", "off"}, {"up", file, "--variant", "off", "--out", folder}} {
			code, stdout, stderr := executed(t, args...)
			if got := strings.ReplaceAll(stderr, file, "F"); code != command.ExitUsage || got != want || stdout != "" {
				t.Errorf("%s: %s: exit code %d\n%s%s\nwant\n%s", c.name, args[0], code, stdout, got, want)
			}
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("%s: there is a folder: %v", c.name, err)
		}
	}
}

// A misspelt metric is a mistake also where one variant alone runs, which could lack what
// the others have.
func TestWrongDerivedMetricOfOneVariant(t *testing.T) {
	t.Parallel()
	file := write(t, "two.yaml", twoVariants+"  - {name: x, expr: drop / 2}\n  - {name: tagged, expr: 'sum(\"samples.*\")'}\n")
	folder := filepath.Join(t.TempDir(), "run")
	const want = `:12:21: derived[2].expr: unknown metric "drop" (did you mean "drops"?)` + "\n"
	for _, args := range [][]string{{"validate", file}, {"run", file, "--variant", "off", "--out", folder}, {"up", file, "--variant", "off", "--out", folder}} {
		if code, _, stderr := executed(t, args...); code != command.ExitUsage || !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: exit code %d: %s", args[0], code, stderr)
		}
	}
	args := []string{"run", file, "--variant", "off", "--out", folder, "--set", "derived.2.expr=drops / 2"}
	code, _, stderr := executed(t, args...)
	if note := "skipped: the derived metric tagged, because variant off cannot have it: it has no samples.*, as it has no CSIG\n"; code != command.ExitOK || !strings.Contains(stderr, note) {
		t.Errorf("exit code %d, no note %q: %s", code, note, stderr)
	}
	// The experiment of the folder runs again as it is.
	if code, _, stderr := executed(t, "validate", filepath.Join(folder, runfolder.ExperimentFile)); code != command.ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestCheck runs an experiment whose expectations fail, and checks its folder again: with
// its own expectations, which leave the same, and with others.
func TestCheck(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Parallel()
	file := write(t, "two.yaml", twoVariants+`expect:
  - on["fct_us.0-3"] < off["fct_us.0-3"]
  - off["fct_us.1-3"] < 100
  - on.drops == 0 and max(on["rate_gbps.*"]) > 500
  - every_seed(off["flows.incomplete"] == 0)
`)
	folder := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := executed(t, "run", file, "--out", folder)
	if code != command.ExitFailed {
		t.Fatalf("run: exit code %d, want %d\n%s%s", code, command.ExitFailed, stdout, stderr)
	}
	before := filesIn(t, folder)
	code, lines, said := executed(t, "check", folder)
	if code != command.ExitFailed || said != "" || !strings.Contains(stdout, "\n\n"+lines+"\n") {
		t.Errorf("check: exit code %d, %s\n%s\nrun printed\n%s", code, said, lines, stdout)
	}
	for _, want := range []string{
		` < off["fct_us.0-3"] = `,
		`off["fct_us.1-3"] (absent) < 100 FAILED: there is no fct_us.1-3 of variant off in any seed (a flow that does not complete has none)` + "\n",
		`on.drops = 0 == 0 (true) and max(on["rate_gbps.*"]) = `, ` (rate_gbps.1-3) > 500 (false) FAILED` + "\n  with 2 values of on[\"rate_gbps.*\"]\n",
		`every_seed(off["flows.incomplete"] == 0) (not in seed 3: off["flows.incomplete"] = 1 == 0; seed 5: off["flows.incomplete"] = 1 == 0) FAILED` + "\n",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("check does not print %q:\n%s", want, lines)
		}
	}
	if want := "variant on, seeds 3, 5: the derived metric odd is absent: m(\"fct_us.0-3\") / drops divides by zero\n"; !strings.Contains(stderr, want) {
		t.Errorf("run does not note %q:\n%s", want, stderr)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string // at the end of what is printed
	}{
		{"only * is special", []string{"--expect", `count(on["fct_us.?-*"]) == 2`}, 2, `no metric of variant on matches "fct_us.?-*" (did you mean "fct_us.*"?)` + "\n"},
		{"patterns", []string{"--expect", `count(on["fct_us.*-3"]) == 2 and count(off["fct_us.1*"]) == 0`}, 0,
			`count(on["fct_us.*-3"]) = 2 == 2 (true) and count(off["fct_us.1*"]) = 0 == 0 (true) OK` + "\n"},
		{"with a derived metric", []string{"--derived", `twice=2 * m("flows.incomplete")`, "--derived", "four=2*twice", "--expect", "off.four == 4", "--expect", "on.four > 0"}, 1,
			"off.four = 4 == 4 OK\non.four = 0 > 0 FAILED\n"},
		{"derived metric without a value", []string{"--derived", "x=drops / 0", "--expect", "on.x > 1"}, 1,
			"on.x (absent) > 1 FAILED: there is no x of variant on in any seed (drops / 0 divides by zero)\n"},
		{"unknown metric", []string{"--expect", `on["fct_us.p9"] > 1 and on.drop == 0`}, 2,
			`csiglab: --expect on["fct_us.p9"] > 1 and on.drop == 0: unknown metric "fct_us.p9" of variant on (did you mean "fct_us.p99"?)` + "\n" +
				`--expect on["fct_us.p9"] > 1 and on.drop == 0: unknown metric "drop" of variant on (did you mean "drops"?)` + "\n"},
		{"no CSIG", []string{"--expect", `off["samples.0-3"] > 1`}, 2, `--expect off["samples.0-3"] > 1: variant off has no metric "samples.0-3": it has no CSIG` + "\n"},
		{"a metric that no run has", []string{"--expect", `off["fct_us.1-3"] > 1`}, 1, "there is no fct_us.1-3 of variant off in any seed (a flow that does not complete has none)\n"},
		{"derived metric that is there", []string{"--derived", "fair=1"}, 2, `--derived fair=1: the name "fair" is taken` + "\n"},
		{"derived metric with a wrong name", []string{"--derived", "a-b=1"}, 2, `--derived a-b=1: "a-b" is no name of a derived metric; want letters, digits and _` + "\n"},
		{"derived metric without a name", []string{"--derived", "1"}, 2, `--derived 1: want NAME=EXPRESSION, such as fairness=jain("goodput_gbps.*")` + "\n"},
		{"wrong derived metric", []string{"--derived", "x=drop / 2"}, 2, `--derived x=drop / 2: unknown metric "drop" (did you mean "drops"?)` + "\n"},
	} {
		code, stdout, stderr := executed(t, append([]string{"check", folder}, c.args...)...)
		if code != c.code || !strings.HasSuffix(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d, want %d\n%s%s\nwant %s", c.name, code, c.code, stdout, stderr, c.want)
		}
	}
	code, stdout, _ = executed(t, "check", folder, "--json", "--expect", "on.fair > off.fair", "--expect", `off["fct_us.1-3"] > 1`)
	var out experiments.CheckedRun
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != command.ExitFailed || !out.Valid || len(out.Expectations) != 2 {
		t.Fatalf("--json: exit code %d, %v:\n%s", code, err, stdout)
	}
	if e := out.Expectations[0]; len(e.Operands) != 2 || e.Operands[1].Expr != "off.fair" || e.Operands[1].Value == nil || !strings.HasPrefix(e.Text, "on.fair = ") {
		t.Errorf("--json: got %+v", e)
	}
	if e := out.Expectations[1]; e.OK || e.Reason == "" || e.Value != nil {
		t.Errorf("--json: got %+v", e)
	}
	if after := filesIn(t, folder); after != before {
		t.Errorf("check changed the folder: before\n%s\nafter\n%s", before, after)
	}
	for name, wrong := range map[string]struct {
		path string
		code int
	}{"no folder": {filepath.Join(folder, "none"), 2}, "another folder": {filepath.Dir(file), 2}, "incomplete": {incomplete(t), 3}} {
		if code, _, stderr := executed(t, "check", wrong.path); code != wrong.code {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, wrong.code, stderr)
		}
	}
}

// Metrics of single ports of a large fabric are in the table of metrics alone. Check finds
// them there, also where the experiment cannot be compiled any more.
func TestCheckReadsTheTableOfMetrics(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Parallel()
	matrix := write(t, "one.cm", "Nodes 128\nConnections 1\n0->100 id 1 start 0 size 200000\n")
	file := write(t, "large.yaml", `schema: 1
name: large
topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}
workload: {file: `+matrix+`}
seeds: 1..2
`)
	folder := filepath.Join(t.TempDir(), "run")
	if code, stdout, stderr := executed(t, "run", file, "--out", folder); code != command.ExitOK {
		t.Fatalf("run: exit code %d\n%s%s", code, stdout, stderr)
	}
	if text, err := os.ReadFile(filepath.Join(folder, runfolder.SummaryFile)); err != nil || strings.Contains(string(text), "queue_kb.p99.tor0-") {
		t.Fatalf("summary.json has metrics of ports, or there is none: %v", err)
	}
	args := []string{"check", folder, "--expect", `count(run["queue_kb.p99.tor*"]) == 256 and run["utilisation.tor25-h100"] > 0`, "--derived", `busy=max("utilisation.tor*")`, "--expect", "every_seed(run.busy > 0)"}
	const want = `count(run["queue_kb.p99.tor*"]) = 256 == 256 (true) and run["utilisation.tor25-h100"] = `
	for _, what := range []string{"compiled", "not compiled"} {
		code, stdout, stderr := executed(t, args...)
		if code != command.ExitOK || !strings.HasPrefix(stdout, want) || !strings.HasSuffix(stdout, "every_seed(run.busy > 0) OK\n") {
			t.Errorf("%s: exit code %d\n%s%s\nwant\n%s", what, code, stdout, stderr, want)
		}
		if code, _, stderr := executed(t, "check", folder, "--expect", `run["utilisation.tor25-h10"] > 0`); code != command.ExitUsage || !strings.Contains(stderr, "did you mean \"utilisation.tor2-h10\"") {
			t.Errorf("%s: exit code %d: %s", what, code, stderr)
		}
		if err := os.Remove(matrix); err != nil && what == "compiled" {
			t.Fatal(err)
		}
	}
}

// A folder whose experiment can no longer be compiled is checked by what its runs have; one
// with invalid runs has exit code 3.
func TestCheckOfOldFolders(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "old")
	w, err := runfolder.Create(dir, runfolder.Manifest{Name: "old", Variants: []runfolder.Variant{{Name: "run"}}, Expectations: []string{"run.share > 2"}})
	if err != nil {
		t.Fatal(err)
	}
	s := runfolder.NewSummary("old", runfolder.RunMetrics{Variant: "run", Seed: 1, Metrics: map[string]float64{"share": 3}})
	s.Valid, s.Reasons = false, []string{"a frame went missing"}
	if err := w.Finish(s); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := executed(t, "check", dir)
	if want := "run.share = 3 > 2 OK\nINVALID: do not use these figures.\n  a frame went missing\n"; code != command.ExitInfrastructure || stdout != want || stderr != "" {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
	if code, _, stderr := executed(t, "check", dir, "--expect", "run.shar > 2"); code != command.ExitUsage || !strings.Contains(stderr, `unknown metric "shar" (did you mean "share"?)`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// incomplete returns a run folder whose run did not end.
func incomplete(t *testing.T) string {
	t.Helper()
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "cut"), runfolder.Manifest{Name: "cut"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

// filesIn returns the names and the contents of the files in a folder.
func filesIn(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, path))
		b.WriteString(path + "\n" + string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
