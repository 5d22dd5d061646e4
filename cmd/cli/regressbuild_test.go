package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// TestRegressBuildKilled: a regression that is killed while it gets its programs is resumed.
// One whose program cannot be had leaves no folder, except the user's.
func TestRegressBuildKilled(t *testing.T) {
	checkout.SkipSlowRace(t)
	suite := smallRegression(t)
	dir := t.TempDir()
	slow, began, out := filepath.Join(dir, "slow"), filepath.Join(dir, "began"), filepath.Join(dir, "out")
	program := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return name
	}
	waits := program("waits", "if [ -e "+slow+" ]; then touch "+began+"; exec sleep 15; fi\nexec csiglab \"$@\"\n")
	if err := os.WriteFile(slow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := csiglabProcess("regress", suite, "--only", "marks", "--seeds", "5", "--baseline", "self", "--candidate", "program:"+waits, "--out", out)
	run.runWhile(t, func() {
		run.eventually(t, "its program is asked for its version", func() bool { _, err := os.Stat(began); return err == nil })
		run.cmd.Process.Kill()
	})
	if err := os.Remove(slow); err != nil {
		t.Fatal(err)
	}
	if code, said := csiglabProcess("regress", "--resume", out).run(t); code != command.ExitOK {
		t.Fatalf("resumed: exit code %d\n%s", code, said)
	}
	d, _ := readVerdict(t, out)
	if want := "--candidate program:" + waits; !strings.Contains(d.Experiments[0].Reproduce, want) {
		t.Errorf("%s\nwant %s in it", d.Experiments[0].Reproduce, want)
	}

	wrong := program("wrong", "exit 1\n")
	mine, other, killed := filepath.Join(dir, "mine"), filepath.Join(dir, "other"), filepath.Join(dir, "killed")
	for _, folder := range []string{mine, killed} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Of a process that was killed before it wrote its plan.
	if err := os.WriteFile(filepath.Join(killed, trial.JournalFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{mine, other, killed} {
		if code, said := csiglabProcess("regress", suite, "--candidate", "program:"+wrong, "--out", folder).run(t); code != command.ExitUsage || !strings.Contains(said, "it is no csiglab") {
			t.Errorf("exit code %d, want %d\n%s", code, command.ExitUsage, said)
		}
		list, err := os.ReadDir(folder)
		if there := err == nil; there != (folder != other) || len(list) > 0 {
			t.Errorf("%s: %v, it has %v", folder, err, list)
		}
	}
}

// TestBaselineSaveKilled: kill -9 leaves nothing in the system's temporary folder, and the
// next build removes what it leaves beside the builds.
func TestBaselineSaveKilled(t *testing.T) {
	checkout.SkipSlowRace(t)
	suite := smallRegression(t)
	dir := t.TempDir()
	began, temporary, cache := filepath.Join(dir, "began"), t.TempDir(), t.TempDir()
	waits := filepath.Join(dir, "waits")
	if err := os.WriteFile(waits, []byte("#!/bin/sh\ntouch "+began+"\nexec sleep 15\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	run := csiglabProcess("baseline", "save", suite, "--baseline", "program:"+waits, "-o", filepath.Join(dir, "b.json"))
	run.cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	run.runWhile(t, func() {
		run.eventually(t, "its program is asked for its version", func() bool { _, err := os.Stat(began); return err == nil })
		run.cmd.Process.Kill()
	})
	if list, err := os.ReadDir(temporary); err != nil || len(list) > 0 {
		t.Errorf("%v; it leaves %v", err, list)
	}
	pattern := filepath.Join(cache, "csiglab", "*", "tmp-*")
	if left, _ := filepath.Glob(pattern); len(left) != 1 {
		t.Errorf("%s: %q; want one folder", pattern, left)
	}
	_, remove, err := builder.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if left, _ := filepath.Glob(pattern); len(left) > 0 {
		t.Errorf("a build leaves %q", left)
	}
}
