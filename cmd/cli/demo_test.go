package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// "Unknown demo name: exit 2 with nearest name."
func TestDemoNames(t *testing.T) {
	for want, args := range map[string][]string{
		`unknown demo "trainingstep" (did you mean "training-step"?); known: three-flow training-step`: {"trainingstep"},
		`unknown demo ""; known: three-flow`: {""},
		"want a demo, got 2":                 {"three-flow", "training-step"},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"demo"}, args...)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d: %s%s, want %q", args, code, stdout, stderr, want)
		}
	}
	// Without a name it is three-flow, as before, and names nothing to look at.
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"demo"}, {"demo", "three-flow"}} {
		f := &fakeLab{summary: summaryOf(map[string]float64{"baseline": 4.65}, runfolder.Expectation{Expr: "1 < 2", OK: true})}
		if code, stdout, stderr := csiglab(f, nil, args...); code != command.ExitOK || f.set.Base.Name != "three-flow" || strings.Contains(stdout, "look at") || !strings.Contains(stderr, "5:1 with NSCC") {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
	f := &fakeLab{summary: summaryOf(map[string]float64{"rails": 1}, runfolder.Expectation{Expr: "1 < 2", OK: true})}
	code, stdout, stderr := csiglab(f, nil, "demo", "training-step")
	if code != command.ExitOK || f.set.Base.Name != "training-step" || len(f.set.Base.Seeds) != 1 {
		t.Errorf("exit %d, %s with %d seeds: %s", code, f.set.Base.Name, len(f.set.Base.Seeds), stderr)
	}
	for _, want := range []string{"Three things to look at:\n1. runs/x/report.html\n", "\n2. runs/x/figures/", "\n3. csiglab serve runs/x\n", "localhost:3000/d/csiglab-training"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
	if _, err := os.Stat("runs/x/figures/index.json"); err != nil {
		t.Error(err)
	}
}

// The demo of a training step from the beginning to what it names; Ctrl-C in the middle
// leaves a folder that can be resumed.
func TestDemoTrainingStep(t *testing.T) {
	needTime(t)
	program := filepath.Join(builtPrograms(t), "csiglab")
	dir := t.TempDir()
	cut := exec.CommandContext(t.Context(), program, "demo", "training-step", "--out", "cut", "--parallel", "1")
	cut.Dir = dir
	var stderr strings.Builder
	cut.Stderr = &stderr
	if err := cut.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := cut.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cut.Wait(); cut.ProcessState.ExitCode() != command.ExitInfrastructure || !strings.Contains(stderr.String(), "csiglab run --resume cut does the rest, then csiglab report cut --figures cut/figures writes the figures") {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	resume := exec.CommandContext(t.Context(), program, "run", "--resume", "cut")
	resume.Dir = dir
	if out, err := resume.CombinedOutput(); err != nil {
		t.Errorf("resume: %v: %s", err, out)
	}
	whole := exec.CommandContext(t.Context(), program, "demo", "training-step", "--out", "talk")
	whole.Dir = dir
	out, err := whole.Output()
	if err != nil || !strings.Contains(string(out), "2. talk/figures/signature-gpt.svg\n") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"report.html", "figures/signature-gpt.svg", "figures/signature-gpt.png"} {
		if info, err := os.Stat(filepath.Join(dir, "talk", name)); err != nil || info.Size() < 5000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A demo that is interrupted says how to get the runs that are left, and the figures.
func TestDemoInterrupted(t *testing.T) {
	f := &fakeLab{err: context.Canceled}
	const want = "csiglab run --resume runs/x does the rest, then csiglab report runs/x --figures runs/x/figures writes the figures"
	if code, _, stderr := csiglab(f, nil, "demo", "training-step"); code != command.ExitInfrastructure || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s, want %q", code, stderr, want)
	}
}
