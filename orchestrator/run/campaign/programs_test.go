package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// programsText is an experiment of two hosts whose programs are lines of a shell.
func programsText(t *testing.T, lines ...string) *experiment.Set {
	t.Helper()
	text := `
schema: 1
name: programs
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}
runtime: netns
clock: wall
wall: {dilation: 1}
applications:
  hosts: [0, 1]
  programs:
`
	for _, line := range lines {
		background := strings.HasPrefix(line, "&")
		text += fmt.Sprintf("    - {host: 0, background: %v, run: %q}\n", background, fmt.Sprintf("sh -c %q", strings.TrimPrefix(line, "&")))
	}
	return parseText(t, text)
}

// running reports whether a process of this machine has a mark in its command line.
func running(mark string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte("sleep\x00"+mark)) {
			return true
		}
	}
	return false
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// A program with a code other than 0 makes the run invalid, and the folder has
// what all of them wrote.
func TestProgramFails(t *testing.T) {
	buildNodes(t)
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(context.Background(), programsText(t, "sleep 0.5; echo well", "echo oh >&2; exit 7", "& echo ready; sleep 99999"), Options{Out: folder})
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := `programs: "sh" on h0 exited with 7 at `
	if reasons := strings.Join(result.Summary.Reasons, "\n"); result.Summary.Valid || !strings.Contains(reasons, want) || !strings.Contains(reasons, "programs/run-1/h0-1.txt") {
		t.Errorf("valid %v, reasons %q, want %q", result.Summary.Valid, reasons, want)
	}
	for name, want := range map[string]string{"h0-0.txt": "well\n", "h0-1.txt": "oh\n", "h0-2.txt": "ready\n"} {
		if text, err := os.ReadFile(filepath.Join(folder, "programs", "run-1", name)); err != nil || string(text) != want {
			t.Errorf("%s: %v, %q, want %q", name, err, text, want)
		}
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	programs := f.Manifest.Runs[0].Programs
	if p := programs[1]; p.Code != 7 || p.StartUS == nil || p.EndUS == nil || *p.EndUS < *p.StartUS {
		t.Errorf("the manifest has %+v", p)
	}
	if p := programs[2]; !p.Stopped {
		t.Errorf("the one in the background was not ended with the run: %+v", p)
	}
}

// A program that is not there is found out before anything is made.
func TestProgramMissing(t *testing.T) {
	set := programsText(t, "true")
	set.Variants[0].Experiment.Applications.Programs[0].Run = "no-such-program --flag"
	folder := filepath.Join(t.TempDir(), "run")
	_, err := Run(context.Background(), set, Options{Out: folder})
	want := `test.yaml:12:41: applications.programs[0].run: run "no-such-program" on h0: executable file not found in $PATH`
	if !errors.Is(err, failure.ErrConfiguration) || err.Error() != want {
		t.Errorf("got %v, want a configuration error: %s", err, want)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("it left a run folder")
	}
}

// An image that the engine has not got is found out before anything is made, and
// told where the experiment names it.
func TestImageMissing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("containers need root")
	}
	containerlabtest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/images/here:1/json") {
			fmt.Fprint(w, `{"Id": "sha256:1"}`)
		} else if strings.Contains(r.URL.Path, "/images/") {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	const text = `
schema: 1
name: programs
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}
runtime: containerlab
clock: wall
applications:
  hosts: [0, 1]
  image: here:1
  programs:
    - {host: 0, run: x}
`
	for _, test := range []struct{ text, want string }{
		{strings.Replace(text, "here:1", "none:1", 1), "test.yaml:10:10: applications.image: none:1: "},
		{text + "variants:\n  a: {}\n  b: {applications.image: none:2}\n", "test.yaml:15:27: variants.b.applications.image: none:2: "},
	} {
		folder := filepath.Join(t.TempDir(), "run")
		_, err := Run(t.Context(), parseText(t, test.text), Options{Out: folder})
		if want := test.want + "the engine has no such image, and none is pulled"; !errors.Is(err, failure.ErrConfiguration) || err.Error() != want {
			t.Errorf("got %v, want a configuration error: %s", err, want)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Error("it left a run folder")
		}
	}
}

// Programs need real time, whatever the options say.
func TestProgramsNeedRealTime(t *testing.T) {
	for _, opts := range []Options{{Clock: runtimes.Virtual}, {Clock: runtimes.Lockstep}, {Runtime: runtimes.Inproc}} {
		opts.Out = filepath.Join(t.TempDir(), "run")
		_, err := Run(context.Background(), programsText(t, "true"), opts)
		if want := "applications: programs need clock wall; "; !errors.Is(err, failure.ErrConfiguration) || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%+v: got %v, want a configuration error that begins with %q", opts, err, want)
		}
	}
}

// Programs and what they have started end with the run: interrupted, at its end,
// or with a csiglab that is killed.
func TestProgramsEndWithTheRun(t *testing.T) {
	mark := fmt.Sprintf("35%d", 1000+os.Getpid()%1000) // a number of seconds that no other sleep has
	line := "setsid sleep " + mark + " & trap '' TERM; while :; do sleep " + mark + "; done"
	if folder := os.Getenv("ORCHESTRATOR_TEST_PROGRAMS"); folder != "" {
		_, err := Run(context.Background(), programsText(t, os.Getenv("ORCHESTRATOR_TEST_LINE")), Options{Out: folder})
		t.Fatal("not killed: ", err)
	}
	buildNodes(t)
	t.Run("end", func(t *testing.T) {
		set := programsText(t, line)
		for _, v := range set.Variants {
			v.Experiment.End = 300e9 // 0.3 s
		}
		result, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "run")})
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		if err != nil || strings.Contains(strings.Join(result.Summary.Reasons, " "), "programs: ") {
			t.Fatal(err, result.Summary.Reasons)
		}
		if end := result.Summary.Variants["run"].Metrics["model_ms"]; end > 301 {
			t.Errorf("the run ended at %v ms", end)
		}
		await(t, "a program is left after the run's end", func() bool { return !running(mark) })
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			for !running(mark) && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			cancel()
		}()
		_, err := Run(ctx, programsText(t, line), Options{Out: filepath.Join(t.TempDir(), "run")})
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		await(t, "a program is left after Ctrl-C", func() bool { return !running(mark) })
	})
	t.Run("killed", func(t *testing.T) {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestProgramsEndWithTheRun$")
		folder := filepath.Join(t.TempDir(), "run")
		cmd.Env = append(os.Environ(), "ORCHESTRATOR_TEST_PROGRAMS="+folder, "ORCHESTRATOR_TEST_LINE="+line)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill() //nolint:errcheck // it may be dead
		await(t, "the program does not start", func() bool { return running(mark) })
		cmd.Process.Kill()
		await(t, "a program is left after kill -9 of its csiglab", func() bool { return !running(mark) })
		cmd.Wait() //nolint:errcheck // it was killed
		list, err := runs.List(context.Background(), netns.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.Folder == folder {
				if _, err := runs.Clean(context.Background(), r.ID, false, netns.Backend{}); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
