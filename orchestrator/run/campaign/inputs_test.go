package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// Files of the reference's formats with values that csiglab does not use.
const (
	noteTopo = "Nodes 4\nTiers 2\nPodsize 4\n" +
		"Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 1\nOversubscribed 2\nDownlink_Latency_ns 1000\nQueue_Down 100000\n" +
		"Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n"
	noteMatrix = "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 100000\n1->2 id 2 start 3 prio 2 size 50000\n"
)

func noteSet(t *testing.T, more string) *experiment.Set {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"x.topo": noteTopo, "y.cm": noteMatrix} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := "schema: 1\nname: t\ntopology: {file: x.topo}\nworkload: {file: y.cm}\n" + more
	set, err := experiment.Parse("t.yaml", dir, []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// No input is ever silently ignored: what is assumed and what is not used
// reaches the user and the log, once.
func TestNotes(t *testing.T) {
	set := noteSet(t, "seeds: [1, 2]\nmeasure: {to: 1s}\n")
	wants := []string{"Queue_Up and Queue_Down are not used", "start times are read as microseconds", "prio is not used"}
	v, err := predict.Validate(set, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkNotes(t, "Validate", v.Notes, wants)
	folder := filepath.Join(t.TempDir(), "run")
	r, err := Run(context.Background(), set, Options{Out: folder})
	if err != nil {
		t.Fatal(err)
	}
	wants = append(wants, "variant run, seeds 1, 2: the measuring window goes on to 1s, and the run ends at")
	checkNotes(t, "Run", r.Notes, wants)
	log, err := os.ReadFile(filepath.Join(folder, runfolder.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wants {
		if n := strings.Count(string(log), want); n != 1 {
			t.Errorf("log.jsonl has %q %d times, want once:\n%s", want, n, log)
		}
	}
	// The manifest keeps them for the report: by variant and by run.
	opened, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	m := opened.Manifest
	checkNotes(t, "Manifest.Variants", m.Variants[0].Notes, wants[:3])
	for _, run := range m.Runs {
		checkNotes(t, "Manifest.Runs", run.Notes, []string{"the measuring window goes on to 1s, and the run ends at"})
	}
}

func checkNotes(t *testing.T, from string, got, wants []string) {
	t.Helper()
	if len(got) != len(wants) {
		t.Errorf("%s: %d notes, want %d: %q", from, len(got), len(wants), got)
	}
	for i, want := range wants {
		if i < len(got) && !strings.Contains(got[i], want) {
			t.Errorf("%s: note %d is %q, want %q in it", from, i, got[i], want)
		}
	}
}

// Mistakes that show when the parts are put together are found before anything
// is run: they leave no folder.
func TestRefusedPlans(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"workload: {transfers: [0 -> 1 1MB], control_delay: 1ns}", "test.yaml:12:52: workload.control_delay: 1ns is below the smallest link delay, 1us"},
		{"workload: {transfers: [0 -> 1 1MB]}\nhosts: {cc: {name: nscc, cwnd: 100B}}", "test.yaml:13:32: hosts.cc.cwnd: 100B is not from one packet, 4.15kB, to the largest window, 262.926kB"},
		{"workload: {transfers: [0 -> 1 1MB]}\nlinks: {ecn: {high: 10kB}}", "test.yaml:13:15: links.ecn.low: 37.35kB lies above links.ecn.high, 10kB, at a port of 100Gbps"},
		{"workload: {transfers: [0 -> 1 1MB]}\nlinks: {aqm: {high: 10kB}}", "test.yaml:13:15: links.aqm.low: 37.35kB is not from 0B to high, 10kB"},
		{"workload: {transfers: [0 -> 1 1MB]}\nlinks: {aqm: {low: 2kB, high: 1kB}}", "test.yaml:13:20: links.aqm.low: 2kB is not from 0B to high, 1kB"},
		{"workload: {transfers: [0 -> 1 1MB]}\ncsig: {format: compact, ports: [{switch: tro0, policy: pass}]}", `test.yaml:13:42: csig.ports[0].switch: no switch is called "tro0"; they go from tor0 to core3 (did you mean "tor0"?)`},
		{"workload: {transfers: [0 -> 1 1MB]}\ncsig: {format: compact, ports: [{switch: tor*, port: 4, policy: pass}]}", "test.yaml:13:54: csig.ports[0].port: tor* has no port 4; ports go from 0 to 3"},
		{"workload: {transfers: [0 -> 1 1MB]}\ncsig: {format: compact, ports: [{tier: core, to: host, policy: pass}]}", "test.yaml:13:34: csig.ports[0]: no port of the fabric is meant: switch *, tier core, to host"},
	} {
		folder := filepath.Join(t.TempDir(), "run")
		_, err := Run(context.Background(), parseText(t, fatTree16+c.more+"\n"), Options{Out: folder})
		if !errors.Is(err, failure.ErrConfiguration) || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.more, err, c.want)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder is there (%v)", c.more, err)
		}
	}
}

// A place for the run folder that cannot be used is the user's mistake; a full
// disk is the machine's, and told in one line.
func TestFolderErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	set := parseText(t, fatTree16+"workload: {transfers: [0 -> 1 1MB]}\n")
	below := filepath.Join(file, "run")
	_, err := Run(context.Background(), set, Options{Out: below})
	if want := "run folder " + below + ": not a directory; choose another with --out"; !errors.Is(err, failure.ErrConfiguration) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = Run(context.Background(), set, Options{Out: filepath.Dir(file)})
	if !errors.Is(err, failure.ErrConfiguration) || !errors.Is(err, runfolder.ErrNotEmpty) {
		t.Errorf("folder with a file: got %v", err)
	}
	full := &fs.PathError{Op: "write", Path: "x/ports.parquet", Err: unix.ENOSPC}
	err = writeError("x", errors.Join(fmt.Errorf("x/ports.parquet: %w", full), full))
	if want := "run folder x: no space left on device; make room, or choose another disk with --out"; !errors.Is(err, failure.ErrInfrastructure) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
