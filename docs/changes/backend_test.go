package changes_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// newBackend has testdata/memory, its line in the table of backends, and its import.
var newBackend = addition{
	edits: map[string][]edit{
		"orchestrator/run/campaign/backends.go": {
			{"\t\"github.com/csiglab/csiglab/orchestrator/backend/inproc\"\n", "\t\"github.com/csiglab/csiglab/orchestrator/backend/memory\"\n"},
			{"\tinproc.Runtime,\n", "\tmemory.Runtime,\n"},
		},
	},
	added: map[string]string{"orchestrator/backend/memory/memory.go": "testdata/memory/memory.go"},
}

// TestBackend has a csiglab with one more backend, its package and its line, and runs
// an experiment on it: the run is valid and has the trace of the virtual one. The
// commands, the experiment file and the run folder know the name.
func TestBackend(t *testing.T) {
	program := withAdditions(t)
	dir := t.TempDir()
	command := func(args ...string) (stdout, stderr string, err error) {
		var out, errs bytes.Buffer
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}

	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables(), Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	virtual, err := campaign.Run(t.Context(), set, campaign.Options{Out: filepath.Join(dir, "virtual"), Runtime: runtimes.Inproc, Clock: runtimes.Virtual})
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := command("run", "three-flow", "--seeds", "1", "--runtime", "memory", "--clock", "lockstep", "--check-parity", "--json", "--out", "run")
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	var got runfolder.Summary
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Valid || len(got.Variants) != len(virtual.Summary.Variants) {
		t.Errorf("valid %v, %d variants; reasons %q", got.Valid, len(got.Variants), got.Reasons)
	}
	for name, want := range virtual.Summary.Variants {
		if got := got.Variants[name].TraceHash; got != want.TraceHash {
			t.Errorf("variant %s: trace hash %s, want %s", name, got, want.TraceHash)
		}
	}
	folder, err := runfolder.Open(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if m := folder.Manifest; m.Runtime != "memory" {
		t.Errorf("the manifest has runtime %q, want memory", m.Runtime)
	}

	// The runtime alone settles the clock, and a clock that does not fit is refused.
	file := filepath.Join(dir, "one.yaml")
	if err := os.WriteFile(file, []byte("schema: 1\nname: one\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 10Gbps, delay: 1us}}\n"+
		"workload: {transfers: [0 -> 1 10kB]}\nruntime: memory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, err := command("run", file, "--out", "settled"); err != nil {
		t.Errorf("runtime: memory: %v\n%s%s", err, stdout, stderr)
	}
	for clock, want := range map[string]string{
		"wall":    "wall needs runtime netns, containerlab or kubernetes; the runtime memory has no frames to send in time",
		"virtual": "virtual needs runtime inproc; nodes of their own keep in step with lockstep",
	} {
		if _, stderr, err := command("validate", file, "--runtime", "memory", "--clock", clock); err == nil || !strings.Contains(stderr, want) {
			t.Errorf("--clock %s: %v, %s; want %s", clock, err, stderr, want)
		}
	}
	if _, stderr, err := command("validate", file, "--runtime", "mars"); err == nil || !strings.Contains(stderr, "known: inproc netns containerlab kubernetes memory") {
		t.Errorf("--runtime mars: %v, %s; want a refusal that lists memory", err, stderr)
	}
	if stdout, stderr, err := command("ps"); err != nil {
		t.Errorf("ps: %v\n%s%s", err, stdout, stderr)
	}
}
