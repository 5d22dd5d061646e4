package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/suites"
)

const regressedExperiment = `
schema: 1
name: small
topology: {dumbbell: {left: 2, right: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 500kB, 1 -> 3 500kB]}
`

const smallSuite = `
schema: 1
name: small
seeds: {first: 5, most: 9}
experiments:
  - experiment: small.yaml
    metrics: {fct_us.max: 5%, flows.incomplete: 0.5}
  - name: marks
    experiment: small.yaml
    set: [hosts.cc=dctcp]
    metrics: {fct_us.max: 20%}
`

// smallRegression writes a suite that takes a second or two, and puts csiglab on PATH.
func smallRegression(t *testing.T) (suite string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"small.yaml": regressedExperiment, "suite.yaml": smallSuite} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	return filepath.Join(dir, "suite.yaml")
}

// readVerdict returns the verdict in a folder, without what differs from one campaign to
// another: times, names of folders, and how often and by which commands it was run.
func readVerdict(t *testing.T, folder string) (*verdict.Document, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d verdict.Document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	same := d
	same.Seconds, same.Building, same.Started, same.Command = 0, 0, time.Time{}, nil
	same.Experiments = nil
	for _, e := range d.Experiments {
		e.Seconds = 0
		same.Experiments = append(same.Experiments, e)
	}
	text, err := json.MarshalIndent(same, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return &d, string(text)
}

// worse are flags of a candidate that is worse in one experiment: a fixed, small window.
var worse = []string{"--candidate-set", "hosts.cc.cwnd=10kB"}

// TestRegress compares parameter sets by real runs, with all outputs, exit codes, and a
// stored baseline.
func TestRegress(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	suite := smallRegression(t)
	dir := t.TempDir()
	t.Run("itself", func(t *testing.T) {
		out := filepath.Join(dir, "itself")
		code, said := csiglabProcess("regress", suite, "--baseline", "self", "--out", out).run(t)
		d, _ := readVerdict(t, out)
		if code != command.ExitOK || d.Outcome != verdict.Pass || !d.Experiments[0].Identical || d.Experiments[0].Metrics[0].By != "fingerprint" || len(d.Notes) == 0 {
			t.Errorf("exit code %d, %+v\n%s", code, d, said)
		}
		journal, err := trial.ReadJournal(out)
		if err != nil || journal.Len() != 10 { // each run is both the baseline's and the candidate's
			t.Errorf("%v; %d trials, want 10", err, journal.Len())
		}
	})
	t.Run("worse", func(t *testing.T) {
		out := filepath.Join(dir, "worse")
		code, said := csiglabProcess(append([]string{"regress", suite, "--out", out}, worse...)...).run(t)
		d, _ := readVerdict(t, out)
		if code != command.ExitFailed || d.Outcome != verdict.Fail || d.Experiments[0].Metrics[0].Outcome != verdict.Fail || !strings.Contains(said, "fct_us.max") {
			t.Errorf("exit code %d, %s\n%s", code, d.Outcome, said)
		}
		for _, name := range []string{"verdict.md", "verdict.html", "junit.xml"} {
			data, err := os.ReadFile(filepath.Join(out, name))
			if err != nil || !bytes.Contains(data, []byte("fct_us.max")) {
				t.Errorf("%s: %v, %d bytes without the metric", name, err, len(data))
			}
		}
		// The command that reproduces it, as a user would paste it.
		reproduce := strings.Fields(d.Experiments[0].Reproduce)
		again := filepath.Join(dir, "again")
		code, said = csiglabProcess(append(reproduce[1:], "--out", again, "--json")...).run(t)
		var printed verdict.Document
		if err := json.Unmarshal([]byte(said[strings.Index(said, "{"):]), &printed); err != nil || code != command.ExitFailed || len(printed.Experiments) != 1 ||
			fmt.Sprint(printed.Experiments[0].Metrics[0].Pairs) != fmt.Sprint(d.Experiments[0].Metrics[0].Pairs) {
			t.Errorf("%s: exit code %d, %v\n%s", d.Experiments[0].Reproduce, code, err, said)
		}
	})
	t.Run("changed", func(t *testing.T) {
		// A gain that is a little larger moves traces, and no metric by 20 %.
		args := []string{"regress", suite, "--only", "marks", "--candidate-set", "hosts.cc.mark_gain=0.07"}
		const first = "(experiment: 0 identical, 1 changed but not worse, 0 worse)."
		code, said := csiglabProcess(append(args, "--out", filepath.Join(dir, "changed"))...).run(t)
		if code != command.ExitOK || !strings.Contains(said, "PASS: none of 1 metric got worse "+first) {
			t.Errorf("exit code %d\n%s", code, said)
		}
		strict := filepath.Join(dir, "strict")
		code, said = csiglabProcess(append(args, "--strict", "--out", strict)...).run(t)
		d, _ := readVerdict(t, strict)
		if code != command.ExitFailed || d.Experiments[0].Change != verdict.Changed || d.Counts.Changed != 1 || !strings.Contains(said, "FAIL: 1 of 1 experiment changed, which --strict refuses; none of 1 metric got worse "+first) {
			t.Errorf("exit code %d, %+v\n%s", code, d.Counts, said)
		}
	})
	t.Run("inconclusive", func(t *testing.T) {
		args := []string{"regress", "--experiment", filepath.Join(filepath.Dir(suite), "small.yaml"), "--metric", "fct_us.max", "--delta", "0.001%", "--seeds", "3", "--candidate-set", "links.queue=100kB"}
		out := filepath.Join(dir, "inconclusive")
		if code, said := csiglabProcess(append(args, "--out", out)...).run(t); code != command.ExitInconclusive {
			t.Errorf("exit code %d, want %d\n%s", code, command.ExitInconclusive, said)
		}
		if code, said := csiglabProcess("regress", "--resume", out, "--accept-inconclusive").run(t); code != command.ExitOK {
			t.Errorf("accepted: exit code %d\n%s", code, said)
		}
	})
	t.Run("stored", func(t *testing.T) { testStored(t, suite) })
}

func testStored(t *testing.T, suite string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "baseline.json")
	if code, said := csiglabProcess("baseline", "save", suite, "--only", "small", "-o", file).run(t); code != command.ExitOK || !strings.Contains(said, ": 9 runs of 1 experiment; self") {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// It is the same text again, also from another folder.
	t.Chdir(dir)
	if code, said := csiglabProcess("baseline", "save", suite, "--only", "small", "-o", "again.json", "--parallel", "1").run(t); code != command.ExitOK {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	if again, err := os.ReadFile("again.json"); err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v; it is another text the second time:\n%s\n%s", err, text, again)
	}
	if code, said := csiglabProcess("regress", suite, "--only", "small", "--baseline", file, "--out", "equal").run(t); code != command.ExitOK {
		t.Errorf("equal: exit code %d\n%s", code, said)
	} else if d, _ := readVerdict(t, "equal"); !d.Experiments[0].Identical || d.Baseline.Kind != regress.KindStored {
		t.Errorf("equal: %+v", d)
	}
	if code, said := csiglabProcess(append([]string{"regress", suite, "--only", "small", "--baseline", "stored:" + file, "--out", "worse"}, worse...)...).run(t); code != command.ExitFailed {
		t.Errorf("worse: exit code %d\n%s", code, said)
	}
	// Damaged, or of something else: exit code 2, with the place, and no folder is left.
	experiment := filepath.Join(filepath.Dir(suite), "small.yaml")
	for _, test := range []struct{ name, old, fresh, want string }{
		{"cut", string(text[len(text)-200:]), "", "the file ends in"},
		{"no number", `"seed": 3`, `"seed": x`, `:16:18: invalid character 'x'`},
		{"unknown key", `"clock"`, `"clocks"`, `:10:7: unknown key "clocks" of an experiment of a baseline (did you mean "clock"?)`},
		{"another seed", `"seed": 3,`, `"seed": 4,`, "the run of seed 4; want that of seed 3"},
		{"another value", `"values": [`, `"values": [1`, "changed.json: it differs from its digest"},
		{"sealed: another experiment", `"name": "small"`, `"name": "smal"`, `it has no values of small (did you mean "smal"?)`},
		{"sealed: another metric", `"fct_us.max", "flows.incomplete"`, `"fct_us.p99", "flows.incomplete"`, "it has no values of fct_us.max"},
		{"sealed: another text", `"content": "`, `"content": "0`, "the text or the files of the experiment have changed"},
	} {
		changed := strings.Replace(string(text), test.old, test.fresh, 1)
		if changed == string(text) {
			t.Fatalf("%s: the file has no %q:\n%s", test.name, test.old, text)
		}
		if strings.HasPrefix(test.name, "sealed: ") {
			before, _, _ := strings.Cut(changed, ",\n  \"sha256\"")
			changed = fmt.Sprintf("%s,\n  \"sha256\": \"%x\"\n}\n", before, sha256.Sum256([]byte(before)))
		}
		if err := os.WriteFile("changed.json", []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		code, said := csiglabProcess("regress", suite, "--only", "small", "--baseline", "changed.json", "--out", "refused").run(t)
		if code != command.ExitUsage || !strings.Contains(said, "changed.json:") || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", test.name, code, command.ExitUsage, test.want, said)
		}
		if _, err := os.Stat("refused"); err == nil {
			t.Errorf("%s: a folder is left", test.name)
		}
	}
	code, said := csiglabProcess("regress", suite, "--only", "small", "--baseline", file, "--seeds", "10", "--out", "refused").run(t)
	if want := "it has the seeds up to 9; want them up to 10"; code != command.ExitUsage || !strings.Contains(said, want) {
		t.Errorf("more seeds: exit code %d, want %d and %q\n%s", code, command.ExitUsage, want, said)
	}
	if err := os.WriteFile(experiment, []byte(regressedExperiment+"# changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, said = csiglabProcess("regress", suite, "--only", "small", "--baseline", file, "--out", "refused").run(t)
	if want := "the text or the files of the experiment have changed"; code != command.ExitUsage || !strings.Contains(said, want) {
		t.Errorf("a changed experiment: exit code %d, want %d and %q\n%s", code, command.ExitUsage, want, said)
	}
}

// TestRegressKilled: a regression that is killed half way, with kill -9 or Ctrl-C, and
// resumed has the verdict of one that was not.
func TestRegressKilled(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	suite := smallRegression(t)
	dir := t.TempDir()
	args := append([]string{"regress", suite, "--only", "small", "--parallel", "1"}, worse...)
	whole := filepath.Join(dir, "whole")
	wantCode, said := csiglabProcess(append(args, "--out", whole)...).run(t)
	if wantCode != command.ExitFailed {
		t.Fatalf("exit code %d\n%s", wantCode, said)
	}
	_, want := readVerdict(t, whole)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			trials := func(folder string) int {
				data, _ := os.ReadFile(filepath.Join(folder, trial.JournalFile))
				return bytes.Count(data, []byte("\n"))
			}
			half := trials(whole) / 2
			run := csiglabProcess(append(args, "--out", out)...)
			code, said := run.runWhile(t, func() {
				run.eventually(t, "half of the trials end", func() bool { return trials(out) >= half })
				run.cmd.Process.Signal(signal)
			})
			if _, err := os.Stat(filepath.Join(out, "verdict.json")); err == nil {
				t.Error("it has a verdict already")
			}
			if signal == syscall.SIGINT {
				failed(t, code, said, "interrupted", "csiglab regress --resume "+out+" does the rest")
			}
			before := trials(out)
			if code, said = csiglabProcess("regress", "--resume", out).run(t); code != wantCode {
				t.Fatalf("resumed: exit code %d, want %d\n%s", code, wantCode, said)
			}
			if _, got := readVerdict(t, out); got != want {
				t.Errorf("resumed:\n%s\nwant\n%s", got, want)
			}
			if got := trials(out); got != trials(whole) || before < half {
				t.Errorf("%d trials before and %d in all, want %d", before, got, trials(whole))
			}
			for _, left := range []string{regress.RunsFolder, regress.ProgramsFolder} {
				if _, err := os.Stat(filepath.Join(out, left)); err == nil {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}

// TestRegressInvalid: a run that is killed by a signal makes its experiment invalid, with
// exit code 3.
func TestRegressInvalid(t *testing.T) {
	checkout.SkipSlowRace(t)
	suite := smallRegression(t)
	program := filepath.Join(t.TempDir(), "csiglab-killed")
	script := "#!/bin/sh\ncase \"$*\" in *'--seed 3 '*hosts.cc=dctcp*) kill -9 $$;; esac\nexec csiglab \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	code, said := csiglabProcess("regress", suite, "--baseline", "self", "--candidate", "program:"+program, "--out", out).run(t)
	failed(t, code, said, "marks", "candidate, seed 3: csiglab was killed (SIGKILL)")
	d, _ := readVerdict(t, out)
	if d.Outcome != verdict.Invalid || d.Experiments[0].Outcome != verdict.Pass || d.Experiments[1].Outcome != verdict.Invalid {
		t.Errorf("%s: %s, %s", d.Outcome, d.Experiments[0].Outcome, d.Experiments[1].Outcome)
	}
}

// TestRegressDisk: a disk that is full ends the regression with exit code 3, and with room
// again it is resumed.
func TestRegressDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	suite := smallRegression(t)
	dir := smallDisk(t, 8<<20)
	out := filepath.Join(dir, "out")
	args := append([]string{"regress", suite, "--only", "small", "--parallel", "1", "--out", out}, worse...)
	run := csiglabProcess(args...)
	filler := filepath.Join(dir, "filler")
	code, said := run.runWhile(t, func() {
		run.eventually(t, "a trial ends", func() bool {
			data, _ := os.ReadFile(filepath.Join(out, trial.JournalFile))
			return bytes.Count(data, []byte("\n")) > 2
		})
		file, err := os.Create(filler)
		if err == nil {
			io.Copy(file, neverEnding{}) //nolint:errcheck // it ends with ENOSPC
			err = file.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	failed(t, code, said, unix.ENOSPC.Error(), "csiglab regress --resume "+out)
	if _, err := os.Stat(filepath.Join(out, "verdict.json")); err == nil {
		t.Error("there is a verdict")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if code, said := csiglabProcess("regress", "--resume", out).run(t); code != command.ExitFailed {
		t.Errorf("resumed: exit code %d, want %d\n%s", code, command.ExitFailed, said)
	}
}

// TestRegressNodeDies: a node of a run with real frames that is killed makes the experiment
// invalid, with exit code 3.
func TestRegressNodeDies(t *testing.T) {
	if !alone(t) {
		return
	}
	f := newFaults(t, false)
	out := filepath.Join(t.TempDir(), "out")
	run := csiglabProcess("regress", "--experiment", four(t, "30MB"), "--metric", "fct_us.max", "--delta", "5%", "--seeds", "1",
		"--set", "runtime=netns", "--set", "clock=lockstep", "--candidate-set", "links.queue=100kB", "--parallel", "1", "--out", out)
	code, said := run.runWhile(t, func() {
		all := run.running(t)
		if pid := all["h0"]; pid != 0 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	failed(t, code, said, "seed 1: ", "INVALID")
	if d, _ := readVerdict(t, out); d.Outcome != verdict.Invalid || len(d.Experiments[0].Reasons) == 0 {
		t.Errorf("%s, %q", d.Outcome, d.Experiments[0].Reasons)
	}
	f.nothingLeft(t)
}

// TestEmbeddedSuites: the suites that csiglab brings along can be run, and are documented.
func TestEmbeddedSuites(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, name := range suites.Names() {
		s, err := regress.FindSuite(name)
		if err != nil {
			t.Fatal(err)
		}
		c := regress.Campaign{Suite: s, Folder: t.TempDir(), Baseline: regress.Side{Side: verdict.Side{Kind: regress.KindSelf}}, Candidate: regress.Side{Side: verdict.Side{Kind: regress.KindSelf}}}
		if err := c.Prepare(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Name != name || s.Description == "" {
			t.Errorf("%s: name %q, description %q", name, s.Name, s.Description)
		}
		if notes := c.Unfit(); len(notes) > 0 {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

// TestRegressUsage: wrong input ends with exit code 2 before anything is run or made.
func TestRegressUsage(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("bad.yaml", "schema: 1\nname: bad\nexperiments:\n  - experiment: incast\n    metrics: {fct_us.p98: 5%}\n    seed: 3\n")
	for _, test := range []struct {
		args, want string
		env        []string
	}{
		{args: "regress standard", want: "--baseline is missing"},
		{args: "regress --baseline self", want: "name a suite"},
		{args: "regress standrd --baseline self", want: `(did you mean "standard"?)`},
		{args: "regress bad.yaml --baseline self", want: `bad.yaml:6:5: experiments[0].seed: unknown key (did you mean "seeds"?)`},
		{args: "regress . --baseline self", want: "a folder; name a file in it"},
		{args: "regress standard --baseline gti:main", want: `unknown kind of side (did you mean "git"?)`},
		{args: "regress standard --baseline git:", want: "the name after git: is missing"},
		{args: "regress standard --baseline missing.json", want: "missing.json: no such file; csiglab baseline save SUITE -o missing.json writes one"},
		{args: "regress standard --baseline self --only incasst", want: `(did you mean "incast"?)`},
		{args: "regress standard --baseline self --only lb-failure/reps9", want: `(did you mean "reps8"?)`},
		{args: "regress standard --baseline self --only incast --candidate-set hosts.ccc=1", want: `--candidate-set hosts.ccc=1: hosts.ccc: unknown key "ccc" (did you mean "cc"?)`},
		{args: "regress standard --baseline self --candidate-set x", want: "want path=value"},
		{args: "regress standard --candidate file:incast", want: "takes the place of one experiment, and the suite standard has "},
		{args: "regress standard --baseline self --seeds 0", want: "--seeds 0: want at least 1"},
		{args: "regress standard --baseline self --metric x", want: "--metric goes with --experiment"},
		{args: "regress standard --baseline self --experiment incast", want: "exclude each other"},
		{args: "regress --baseline self --experiment incast", want: "--metric is missing"},
		{args: "regress --baseline self --experiment incast --metric fct_us.p99", want: "--delta is missing"},
		{args: "regress --baseline self --experiment incast --metric fct_us.p99 --delta 5", want: `--delta: "5" has no unit; write 5% for a share of the baseline's value, or 5us`},
		{args: "regress --baseline self --experiment incast --metric fct_us.p99 --delta 5ms", want: `--delta: "5ms" is no smallest effect`},
		{args: "regress --baseline self --experiment incast --metric fct_us.p99 --delta 0%", want: "no smallest effect"},
		{args: "regress --baseline self --experiment incast --metric fct_us.p99 --delta 5% --of p100", want: "want median, or p1 to p99"},
		{args: "regress --baseline self --experiment incast --metric fct_us.p98 --delta 5%", want: `(did you mean "fct_us.p99"?)`},
		{args: "regress --baseline self --experiment incast --metric packets.new --delta 5%", want: "better: lower"},
		{args: "regress standard --baseline self --only incast", want: "CSIGLAB_HOSTS_CC: it would change the experiments of both sides", env: []string{"CSIGLAB_HOSTS_CC=nscc"}},
		{args: "regress --resume nowhere", want: "not the folder of a regression"},
		{args: "regress standard --resume nowhere", want: "exclude each other"},
		{args: "regress --resume nowhere --seeds 3", want: "--seeds and --resume nowhere exclude each other"},
		{args: "regress standard --baseline self --out full", want: "the folder is not empty"},
		{args: "baseline save standard", want: "-o is missing"},
		{args: "baseline save standard -o nowhere/x.json", want: "no folder nowhere"},
		{args: "baseline save standard -o x.json --baseline y.json", want: "no such file"},
	} {
		if strings.Contains(test.args, "--out full") {
			if err := os.MkdirAll("full/x", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		code, stdout, stderr := csiglab(&fakeLab{}, test.env, strings.Fields(test.args)...)
		if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", test.args, code, command.ExitUsage, test.want, stdout, stderr)
		}
	}
	if _, err := os.Stat("regressions"); err == nil {
		t.Error("a folder is left")
	}
}
