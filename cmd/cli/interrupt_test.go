package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// largeText is two runs of 1024 hosts.
const largeText = `
schema: 1
name: large
topology:
  fat_tree:
    hosts: 1024
    pod: 64
    tiers:
      - {down: 8, up: 8, rate: 100Gbps, delay: 1us}
      - {down: 8, up: 8, rate: 100Gbps, delay: 1us}
      - {down: 16, rate: 100Gbps, delay: 1us}
workload: {permutation: {size: 100kB}}
seeds: [1, 2]
`

// A run of 1024 hosts that gets SIGINT at any time ends with exit code 3 and a word about
// what is kept, and leaves nothing but that. It takes less than 100 ms of CPU time after
// the signal; wall time says nothing on a machine that does other work.
func TestInterruptedAtAnyTime(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	points := 8
	if checkout.Long(t) {
		points = 3
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "large.yaml")
	if err := os.WriteFile(file, []byte(largeText), 0o600); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(builtPrograms(t), "csiglab")
	start := func(out string) (*exec.Cmd, *bytes.Buffer) {
		run := exec.Command(self, "run", file, "--parallel", "2", "--out", out)
		var said bytes.Buffer
		run.Stdout, run.Stderr = &said, &said
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		return run, &said
	}
	whole, said := start(filepath.Join(folder, "whole"))
	if err := whole.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	total := used(whole)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	var took []time.Duration
	for i := range points {
		out := filepath.Join(folder, fmt.Sprint("cut", i))
		run, said := start(out)
		// The signal comes after so much CPU time that the points are spread evenly.
		at := time.Duration((float64(i) + r.Float64()) / float64(points) * float64(total))
		for at > 30*time.Millisecond && cpuOf(t, run.Process.Pid) < at && exists(t, run.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
		if _, err := os.Stat(out); err != nil {
			for { // csiglab does not handle signals yet, or has not begun
				if _, err := os.Stat(out); err == nil || !exists(t, run.Process.Pid) {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		before := cpuOf(t, run.Process.Pid)
		run.Process.Signal(syscall.SIGINT)
		run.Wait() //nolint:errcheck // the exit code is checked
		after := used(run) - before
		what := fmt.Sprintf("seed %d, SIGINT after %v of %v, took %v of CPU time more:\n%s", seed, before, total, after, said)
		code, text := run.ProcessState.ExitCode(), said.String()
		if code == command.ExitOK { // it had ended
			continue
		}
		took = append(took, after)
		if code != command.ExitInfrastructure || !strings.Contains(text, "interrupted") {
			t.Errorf("exit code %d, %s", code, what)
		}
		files := names(t, out)
		switch {
		case strings.Contains(text, "the run is whole"):
			if !slices.Contains(files, "summary.json") || slices.Contains(files, "parts") {
				t.Errorf("%s\nfiles %q", what, files)
			}
		case strings.Contains(text, "--resume"):
			if want := []string{"experiment.yaml", "log.jsonl", "manifest.json", "parts"}; !slices.Equal(files, want) {
				t.Errorf("%s\nfiles %q, want %q", what, files, want)
			}
			kept := 0
			for _, name := range names(t, filepath.Join(out, "parts")) {
				if !strings.HasSuffix(name, ".run") {
					t.Errorf("%s\n%s is left", what, name)
				}
				kept++
			}
			if words := [...]string{"no run has finished", "1 of 2 runs has finished", "2 of 2 runs have finished"}[kept]; !strings.Contains(text, words) {
				t.Errorf("%s\nwant %q", what, words)
			}
		default:
			t.Errorf("no word on what is kept: %s", what)
		}
	}
	slices.Sort(took)
	t.Logf("CPU time after the signal: %v", took)
	if len(took) < points/2 || took[len(took)/2] > 100*time.Millisecond {
		t.Errorf("CPU time after the signal of %d runs: %v, want at most 100 ms", len(took), took)
	}
}

// names returns the names in a folder, sorted.
func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// used returns the CPU time of a process that has ended.
func used(c *exec.Cmd) time.Duration { return c.ProcessState.UserTime() + c.ProcessState.SystemTime() }

// cpuOf returns the CPU time of a process so far, in steps of 10 ms; see proc_pid_stat(5).
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// exists reports whether a child has not ended.
func exists(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}
