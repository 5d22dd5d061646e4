package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// fakeMain is a program with csiglab's module path, quick to build, whose runs are what its
// package core says. Nothing calls its package spare.
const fakeMain = `package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/csiglab/csiglab/core"
	"github.com/csiglab/csiglab/spare"
)

func main() {
	if os.Args[1] == "version" {
		fmt.Println("csiglab fake, go1")
		return
	}
	seed, variant := "", ""
	for i, arg := range os.Args {
		if arg == "--seed" {
			seed = os.Args[i+1]
		}
		if v, ok := strings.CutPrefix(arg, "--variant="); ok {
			variant = v
		}
	}
	if len(os.Args) > 100 {
		spare.Run()
	}
	value, failed := core.Run()
	fmt.Printf("{\"schema\": SCHEMA, \"valid\": %v, \"variants\": {%q: {\"runs\": [{\"seed\": %s, \"traceHash\": \"%064x\", \"metrics\": {\"fairness_ratio\": %v}", failed == "", variant, seed, value, value)
	if failed != "" {
		fmt.Printf(", \"failed\": [%q]}]}}, \"reasons\": [\"%s: it is broken\"]}\n", failed, failed)
		os.Exit(3)
	}
	fmt.Println("}]}}}")
}
`

// fakeSource writes the source of such a program, and returns its folder.
func fakeSource(t *testing.T, value int, failed, spare string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module github.com/csiglab/csiglab\n\ngo 1.26.0\n", "go.sum": "",
		"cmd/csiglab/main.go": strings.Replace(fakeMain, "SCHEMA", fmt.Sprint(runfolder.SummarySchema), 1),
		"core/core.go":        fmt.Sprintf("package core\n\nfunc Run() (value int, failed string) { return %d, %q }\n", value, failed),
		"spare/spare.go":      "package spare\n\nfunc Run() { " + spare + " }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// "A refactoring that nothing executes, a change that makes something 40 % better, a change that
// breaks losslessness: the three verdicts" (issue 38), of programs that are built from source.
func TestRegressVerdicts(t *testing.T) {
	checkout.SkipSlowRace(t)
	checkout.NeedModules(t)
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	t.Setenv("GOPROXY", "off")
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	suite := filepath.Join(dir, "suite.yaml")
	if err := os.WriteFile(suite, []byte(`schema: 1
name: fair
seeds: {first: 8, most: 8}
experiments:
  - {experiment: three-flow, variants: [csig], metrics: {fairness_ratio: {delta: 5%, better: same}}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	baseline := fakeSource(t, 100, "", "println(1)")
	for _, test := range []struct {
		name, candidate string
		code            int
		outcome         verdict.Outcome
		says            []string
		changed, notRun int
	}{
		{"nothing executes it", fakeSource(t, 100, "", "println(2)"), command.ExitOK, verdict.Pass,
			[]string{"PASS: no run executed what the candidate changes (1 function), so that nothing is known of it", "no run of the suite executed 1, so that the verdict is not about them: spare.Run"}, 1, 1},
		{"comments", fakeSource(t, 100, "", "/* one */ println(1)"), command.ExitOK, verdict.Pass, []string{"PASS: no run changed, the traces of both sides are identical"}, 0, 0},
		{"40 % better", fakeSource(t, 60, "", "println(2)"), command.ExitFailed, verdict.Fail,
			[]string{"FAIL: 1 of 1 metric moved without a reason", "−40", "allowed ±5", "the suite says that it has no reason to move", "executed 1, so that the verdict is not about them: spare.Run"}, 2, 1},
		{"lossless", fakeSource(t, 100, "lossless", "println(1)"), command.ExitFailed, verdict.Fail,
			[]string{"FAIL: 1 of 1 metric got worse", "promises", "the candidate breaks what csiglab promises (lossless) under 8 of 8 seeds, and the baseline under none"}, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "out")
			code, said := csiglabProcess("regress", suite, "--baseline", "folder:"+baseline, "--candidate", "folder:"+test.candidate, "--out", folder).run(t)
			if code != test.code {
				t.Fatalf("exit code %d, want %d\n%s", code, test.code, said)
			}
			d, _ := readVerdict(t, folder)
			if d.Outcome != test.outcome {
				t.Errorf("%s, want %s", d.Outcome, test.outcome)
			}
			for _, want := range test.says {
				if !strings.Contains(said, want) {
					t.Errorf("%q is missing in\n%s", want, said)
				}
			}
			changed, notRun := 0, 0
			if d.Execution != nil {
				changed, notRun = d.Execution.Changed, len(d.Execution.NotRun)
			}
			if changed != test.changed || notRun != test.notRun {
				t.Errorf("%d functions changed and %d of them did not run, want %d and %d", changed, notRun, test.changed, test.notRun)
			}
		})
	}
}
