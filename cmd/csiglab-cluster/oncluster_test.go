package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/compare/batch"
	"github.com/csiglab/csiglab/orchestrator/compare/batch/batchtest"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// pointsFile returns an experiment with a sweep of short runs: two points and two seeds of
// each. Transfers have a size; rest follows.
func pointsFile(t *testing.T, size, rest string) string {
	t.Helper()
	const text = `
schema: 1
name: points
topology: {dragonfly: {p: 1, a: 1, h: 1, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 SIZE, 1 -> 0 SIZE]}
seeds: 1..2
sweep: {grid: {links.mtu: [1500B, 4kB]}}
`
	file := filepath.Join(t.TempDir(), "points.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "SIZE", size)+rest), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// podsOf returns a cluster in memory whose pods are processes: csiglab trial.
func podsOf(t *testing.T, program string) *batchtest.Cluster {
	t.Helper()
	dir := t.TempDir()
	return &batchtest.Cluster{Nodes: []string{"node-a", "node-b"}, Slots: 2, Run: func(ctx context.Context, p batchtest.Pod, log io.Writer) int {
		at := func(name string) string { return filepath.Join(dir, p.Name, name) }
		err := os.MkdirAll(at("work"), 0o755)
		for _, data := range p.Config {
			err = errors.Join(err, os.WriteFile(at("payload"), data, 0o600))
		}
		if err != nil {
			fmt.Fprintln(log, err)
			return 3
		}
		cmd := exec.CommandContext(ctx, program, append(slices.Clone(p.Args), "--payload", at("payload"), "--work", at("work"), "--programs", at("programs"))...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", batch.IndexVariable, p.Index), "HOME="+at("work"))
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			return 3
		}
		return cmd.ProcessState.ExitCode()
	}}
}

// ofProgram gives trials another program than this one.
type ofProgram struct {
	trial.Runner
	program string
}

func (r ofProgram) Run(ctx context.Context, t trial.Trial) (trial.Outcome, error) {
	t.Program = r.program
	return r.Runner.Run(ctx, t)
}

// The table of a sweep on a cluster is, byte for byte, that of a sweep on this machine, also
// where an expectation fails.
func TestTableOfCluster(t *testing.T) {
	program := filepath.Join(programstest.Built(t), "csiglab")
	identity, err := trial.Identity(program)
	if err != nil {
		t.Fatal(err)
	}
	file := pointsFile(t, "10kB", "expect:\n  - run[\"fct_us.p99\"] < 0\n")
	request := sweep.Request{Experiment: file, Identity: identity, Parallel: 2, Options: experiment.Options{Tables: experiment.StandardTables()}}
	plan, err := request.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fake := podsOf(t, program)
	remote := &batch.Runner{Cluster: fake, Image: "lab.invalid/csiglab", ID: batch.NewID("sweep", "points")}
	var tables [][]byte
	for name, runner := range map[string]trial.Runner{"here": &trial.Local{}, "there": remote} {
		copied := *plan
		s, err := sweep.Create(filepath.Join(t.TempDir(), name), &copied)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Run(t.Context(), ofProgram{runner, program}, batch.MostTrials, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Finish(func(metrics []string) []string { return metrics }); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(s.Folder, results.File))
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, data)
		if rows := rowsOf(t, filepath.Join(s.Folder, results.File)); rows != 4 {
			t.Errorf("%s: %d rows", name, rows)
		}
	}
	if !bytes.Equal(tables[0], tables[1]) {
		t.Errorf("the tables differ: %d and %d bytes", len(tables[0]), len(tables[1]))
	}
	if len(fake.Specs()) != 1 {
		t.Errorf("%d Jobs", len(fake.Specs()))
	}
	if err := remote.Close(t.Context()); err != nil || fake.Objects() != 0 {
		t.Errorf("%d objects remain, %v", fake.Objects(), err)
	}
}

// rowsOf counts the rows of a sweep's table.
func rowsOf(t *testing.T, file string) (rows int) {
	t.Helper()
	table, err := results.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for _, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	return rows
}

// Wrong input about a cluster has a message and its exit code, and leaves no folder.
func TestOnClusterRefuses(t *testing.T) {
	file := pointsFile(t, "10kB", "")
	dir := filepath.Dir(file)
	t.Chdir(dir)
	var mu sync.Mutex
	var asked []string
	part := kubernetes{connect: func(_ context.Context, contextName, namespace string) (batch.Cluster, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, contextName+"/"+namespace)
		if contextName == "absent" {
			return nil, fmt.Errorf("%w: it has no context absent", cluster.ErrContext)
		}
		return nil, fmt.Errorf("%w: connection refused", cluster.ErrUnreachable)
	}}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"sweep points.yaml --on kubernets", 2, `--on "kubernets": want kubernetes or kubernetes:CONTEXT`},
		{"sweep points.yaml --on kubernetes: --image x", 2, `--on "kubernetes:": the name of the context is missing`},
		{"sweep points.yaml --on kubernetes", 2, "--image is missing: the image of this csiglab, which csiglab image push REF makes"},
		{"sweep points.yaml --image x", 2, "--image goes with --on kubernetes"},
		{"sweep points.yaml --results pvc:x", 2, "--results goes with --on kubernetes"},
		{"sweep points.yaml --on kubernetes --image x --results disk", 2, `--results "disk": want pvc:NAME or s3://BUCKET/PREFIX`},
		{"sweep points.yaml --on kubernetes --image x --results s3://lab", 2, "the environment variable AWS_ACCESS_KEY_ID is missing"},
		{"sweep points.yaml --on kubernetes:absent --image x", 2, "--on kubernetes:absent: kubeconfig: it has no context absent"},
		{"sweep points.yaml --on kubernetes --namespace lab --image x", 3, "--on kubernetes: cluster is not reachable: connection refused"},
		{"sweep absent.yaml --on kubernetes --image x", 2, "absent.yaml: no such file"},
		{"sweep --merge a --out x --on kubernetes", 2, "--on and --merge exclude each other"},
		{"regress standard --only incast --candidate-set hosts.cc=dcqcn --on kubernetes:absent --image x", 2, "it has no context absent"},
		{"regress standard --only incast --candidate-set hosts.cc=dcqcn --image x", 2, "--image goes with --on kubernetes"},
		{"baseline save standard --only incast -o x.json --on kubernetes:absent --image x", 2, "it has no context absent"},
		{"trial", 2, "JOB_COMPLETION_INDEX is \"\": this command is for the pods"},
	} {
		var out, said bytes.Buffer
		code := cli.Execute(t.Context(), command.Linked{Cluster: part}, strings.Fields(c.args), nil, &out, &said)
		if code != c.code || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", c.args, code, &said, c.code, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if want := []string{"absent/", "/lab", "absent/", "absent/"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
