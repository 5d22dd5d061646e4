package trial

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// What a program does decides whether its numbers count, and never do those of a run that
// has not ended well.
func TestOutcomes(t *testing.T) {
	good := Outcome{TraceHash: strings.Repeat("0", 63) + "3", Metrics: map[string]float64{"fct_us.p99": 300}}
	failed := good
	failed.Exit = 1
	for _, test := range []struct {
		play   string
		want   Outcome // of reasons, what each must have in it
		reason string
	}{
		{"holds", good, ""},
		{"old", Outcome{Exit: 2}, "it is a csiglab of another version, without a flag that this csiglab runs trials with: unknown flag: --" + NoReportFlag},
		{"fails", failed, ""},
		{"invalid", Outcome{Exit: 3, Failed: []string{"conservation"}}, "conservation: 3 packets are missing"},
		{"mistake", Outcome{Exit: 2}, "x.yaml:3:5: links.mtu: 12 is too small"},
		{"breaks", Outcome{Exit: 3}, "node h3 died"},
		{"panics", Outcome{Exit: 3, Failed: []string{Crash}}, "panic: at the disco"},
		{"strange exit", Outcome{Exit: 3}, "exit code 17"},
		{"no text", Outcome{Exit: 3}, "cannot be read"},
		{"other seed", Outcome{Exit: 3}, "want that of seed 3"},
		{"other variant", Outcome{Exit: 3}, `of variant "b"; want "a"`},
		{"flood", Outcome{Exit: 3}, "bytes"},
		{"killed", Outcome{Exit: 3}, "memory"},
	} {
		if checkout.SlowRace(t) && !slices.Contains([]string{"holds", "invalid", "killed"}, test.play) {
			continue // the programs are this one, which starts slowly then
		}
		l := player(t, test.play)
		got, err := l.Run(t.Context(), Trial{Experiment: "x", Variant: "a", Seed: 3})
		if err != nil {
			t.Errorf("%s: %v", test.play, err)
			continue
		}
		if got.Seconds <= 0 {
			t.Errorf("%s took %v s", test.play, got.Seconds)
		}
		said := strings.Join(got.Reasons, "\n")
		if !strings.Contains(said, test.reason) || (said == "") != (test.reason == "") || strings.Contains(said, "--resume") || len(said) > 20000 {
			t.Errorf("%s: reasons %q; want %q", test.play, said, test.reason)
		}
		got.Seconds, got.Reasons = 0, nil
		if diff := cmp.Diff(got, test.want); diff != "" {
			t.Errorf("%s: got, want:\n%s", test.play, diff)
		}
		if left := names(t, l.Folder); len(left) > 0 {
			t.Errorf("%s leaves %q", test.play, left)
		}
	}
}

// A program is told all of a trial. No variable of csiglab reaches it but the place of the
// list of runs.
func TestArguments(t *testing.T) {
	t.Setenv("CSIGLAB_LINKS_MTU", "9000B")
	t.Setenv("CSIGLAB_OUT", "/elsewhere")
	t.Setenv("CSIGLAB_LIST", "/list")
	l := player(t, "tells")
	l.Environment = nil
	t.Setenv(playEnv, "tells")
	trial := Trial{Experiment: "-x.yaml", Variant: "a", Seed: 1 << 63, Set: []string{"links.mtu=1500B", "-y=2"}, Flags: []string{"--runtime", "netns"}}
	out, err := l.Run(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.Reasons[0], "\x1f")
	i := slices.Index(got, "--out")
	if i < 0 || got[i+1] != anyFolder || got[len(got)-1] != l.Folder { // the same reason each time
		t.Fatalf("%q has no run folder in %s", got, l.Folder)
	}
	want := []string{
		"run", "--out", anyFolder, "--json", "--parallel", "1", "--seed", "9223372036854775808", "--" + NoReportFlag, "--" + ProbeFlag,
		"--variant=a", "--set=links.mtu=1500B", "--set=-y=2", "--runtime", "netns", "--", "-x.yaml", "CSIGLAB_LIST=/list", l.Folder,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
}

// Run folders that are kept have the trials' names; what an interrupted trial has left there
// is removed.
func TestKeep(t *testing.T) {
	l := player(t, "holds")
	l.Keep = true
	trial := Trial{Experiment: "x", Variant: "a", Seed: 3}
	stale := filepath.Join(l.Folder, trial.Name(), "stale")
	if err := os.MkdirAll(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := l.Run(t.Context(), trial)
	if err != nil || out.Folder != filepath.Join(l.Folder, trial.Name()) {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", stale, err)
	}
}

// A machine on which no trial can go on ends the campaign: its disk is full, the program is
// not there, or is replaced on the way.
func TestMachine(t *testing.T) {
	if _, err := player(t, "full").Run(t.Context(), Trial{}); !failure.DiskFull(err) || !errors.Is(err, failure.ErrInfrastructure) {
		t.Errorf("full disk: %v", err)
	}
	if _, err := (&Local{Program: "/nowhere/csiglab"}).Run(t.Context(), Trial{}); !errors.Is(err, failure.ErrInfrastructure) {
		t.Errorf("no program: %v", err)
	}
	l := player(t, "holds")
	copied := filepath.Join(t.TempDir(), "csiglab")
	replace := func() {
		os.Remove(copied)
		if err := os.Link(l.Program, copied); err != nil {
			data, err := os.ReadFile(l.Program)
			if err == nil {
				err = os.WriteFile(copied, data, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	replace()
	if _, err := l.Run(t.Context(), Trial{Program: copied}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, []byte("#!/bin/sh\necho other\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(t.Context(), Trial{Program: copied}); !errors.Is(err, ErrProgramChanged) {
		t.Errorf("another program: %v", err)
	}
}

// An interrupted trial has no outcome; its program and its folder are gone when All returns.
func TestInterrupt(t *testing.T) {
	for _, together := range []bool{false, true} {
		l := player(t, "waits")
		l.Together = together
		note := filepath.Join(t.TempDir(), "note")
		l.Environment = append(l.Environment, "TEST_TRIAL_NOTE="+note)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := All(ctx, l, nil, []Trial{{}}, 1, nil)
			ended <- err
		}()
		pid := await(t, note)
		stop()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it goes on")
		}
		if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("process %d: %v", pid, err)
		}
		if left := names(t, l.Folder); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// What a program leaves behind is killed.
func TestOrphans(t *testing.T) {
	l := player(t, "leaves a child")
	note := filepath.Join(t.TempDir(), "note")
	l.Environment = append(l.Environment, "TEST_TRIAL_NOTE="+note)
	l.patience = 100 * time.Millisecond
	out, err := l.Run(t.Context(), Trial{Variant: "a", Seed: 1})
	if err != nil || out.Exit != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	pid := await(t, note)
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("process %d goes on", pid)
		}
	}
}

func TestMessage(t *testing.T) {
	e := &ends{}
	for range 1000 {
		e.Write([]byte(strings.Repeat("note: a note\n", 10)))
	}
	e.Write([]byte("csiglab: x: it broke\nat a place\nthe run is incomplete: y\n"))
	if got := message(e.text()); got != "x: it broke\nat a place" {
		t.Errorf("%q", got)
	}
	if n := len(e.text()); n > 2*maxErrors+10 {
		t.Errorf("%d bytes are kept", n)
	}
	if got := shorten(strings.Repeat("é", math.MaxInt16)); len(got) > maxReason+8 {
		t.Errorf("%d bytes", len(got))
	}
}

// await returns the number that a process writes into a file.
func await(t *testing.T, file string) int {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(file)
		if n, err := strconv.Atoi(string(text)); err == nil {
			return n
		}
	}
	t.Fatalf("nothing in %s", file)
	return 0
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// A trial that is cancelled while its program is asked for its flags says nothing about the
// program: the next one runs.
func TestCancelledBeforeTheFirst(t *testing.T) {
	checkout.SkipSlowRace(t)
	l := player(t, "holds")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	trial := Trial{Experiment: "x", Variant: "a", Seed: 3}
	if _, err := l.Run(cancelled, trial); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := l.Run(t.Context(), trial); err != nil {
		t.Errorf("after one that was cancelled: %v", err)
	}
}

// TestProgramOfIdentity: a program that was replaced between the time when its identity was
// taken and the first trial does not run, nor one with another program for nodes. Such a
// program replaced later ends the trials too.
func TestProgramOfIdentity(t *testing.T) {
	checkout.SkipSlowRace(t)
	dir := t.TempDir()
	self := player(t, "holds").Program
	file, host := filepath.Join(dir, "csiglab"), filepath.Join(dir, "csig-host")
	if err := os.Link(self, file); err != nil {
		if err := os.Symlink(self, file); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(host, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if resolved, err := filepath.EvalSymlinks(file); err != nil || filepath.Dir(resolved) != dir && filepath.Dir(resolved) == filepath.Dir(self) {
		t.Skip("the folder of temporary files is on another disk")
	}
	write("one")
	id, err := FileIdentity(file)
	if err != nil {
		t.Fatal(err)
	}
	l := player(t, "holds")
	trial := Trial{Program: file, Identity: id, Experiment: "x", Variant: "a", Seed: 3}
	if _, err := l.Run(t.Context(), trial); err != nil {
		t.Error(err)
	}
	write("another")
	if _, err := l.Run(t.Context(), trial); !errors.Is(err, ErrProgramChanged) {
		t.Errorf("the program for hosts was replaced: %v", err)
	}
	l = player(t, "holds") // of which no trial ran before
	if _, err := l.Run(t.Context(), trial); !errors.Is(err, ErrProgramChanged) || !errors.Is(err, failure.ErrInfrastructure) {
		t.Errorf("it was replaced before the first trial: %v", err)
	}
	write("one")
	l = player(t, "holds")
	if _, err := l.Run(t.Context(), trial); err != nil {
		t.Errorf("written again with the same content: %v", err)
	}
	if err := os.MkdirAll(file+".programs", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(file+".programs", "csig-switch"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if other, err := FileIdentity(file); err != nil || other == id {
		t.Errorf("with programs of modules: %s, %v", other, err)
	}
}
