package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/experiments"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// meteredName is the name by which this program runs csiglab and writes what it took into
// a file. It is a process in between, because Linux counts the memory of a process as that
// of its children, and a test's is large.
const meteredName = "metered"

// consumed is what a csiglab took.
type consumed struct {
	CPU    float64 // s
	Memory float64 // bytes at the peak
}

// metered is the main function of the process in between. Its arguments are the file and
// those of csiglab.
func metered() int {
	cmd := perform.Self(context.Background(), os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return command.ExitInfrastructure
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	text, err := json.Marshal(consumed{(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), float64(usage.Maxrss) * 1024})
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return command.ExitInfrastructure
	}
	return cmd.ProcessState.ExitCode()
}

// meter runs csiglab and returns what it took.
func meter(t *testing.T, args ...string) (u consumed) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "consumed")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{file}, args...)...)
	cmd.Args[0] = meteredName
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != command.ExitFailed {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &u)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Bounds of the ratio of a prediction to what a run took. Memory hardly depends on what
// else the machine does. CPU time does: the caches are shared, and on the machine of
// docs/explanation/performance.md the same run took up to 1.6 times as much beside others. The
// calibration and the run see different neighbours.
const (
	memoryFactor = 1.5
	cpuFactor    = 2.5
)

// predicted is an experiment that is predicted and run.
type predicted struct {
	name, text string // text "": the embedded experiment
	args       []string
	long       bool // takes more than some seconds
}

func threeTierFabric(hosts, radix int) string {
	return fmt.Sprintf("topology: {fat_tree: {hosts: %d, pod: %d, tiers: [{down: %d, up: %[3]d, rate: 100Gbps, delay: 1us}, {down: %[3]d, up: %[3]d, rate: 100Gbps, delay: 1us}, {down: %d, rate: 100Gbps, delay: 1us}]}}\n",
		hosts, radix*radix, radix, 2*radix)
}

var predictedExperiments = []predicted{
	{name: "three-flow", args: []string{"--seeds", "1"}},
	{name: "permutation of 128", text: threeTierFabric(128, 4) + "workload: {permutation: {size: 2MB}}\nseeds: [1, 2]\n"},
	{name: "permutation of 128, tags", text: threeTierFabric(128, 4) + "workload: {permutation: {size: 2MB}}\ncsig: {format: compact}\n"},
	{name: "permutation of 128, windows of 2 us", text: threeTierFabric(128, 4) + "workload: {permutation: {size: 1MB}}\ntelemetry: {interval: 2us}\n"},
	{name: "permutation of 1024", text: threeTierFabric(1024, 8) + "workload: {permutation: {size: 64kB}}\n"},
	{name: "all-to-all of 48", text: "topology: {leaf_spine: {leaves: 6, spines: 4, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 32kB, parallel: 4}}\n"},
	{name: "incast of 127", text: "topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}\nworkload: {incast: {fan_in: 127, size: 500kB}}\n"},

	{name: "three-flow", long: true},
	{name: "incast", long: true},
	{name: "permutation of 16, 20 MB", text: "topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 20MB}}\n", long: true},
	{name: "permutation of 128, 20 MB", text: threeTierFabric(128, 4) + "workload: {permutation: {size: 20MB}}\n", long: true},
	{name: "permutation of 1024, 2 MB", text: threeTierFabric(1024, 8) + "workload: {permutation: {size: 2MB}}\n", long: true},
	{name: "permutation of 1024, 2 MB, tags", text: threeTierFabric(1024, 8) + "workload: {permutation: {size: 2MB}}\ncsig: {format: compact}\n", long: true},
	{name: "permutation of 1024, 2 MB, one path", text: threeTierFabric(1024, 8) + "workload: {permutation: {size: 2MB}}\nhosts: {lb: single}\n", long: true},
	{name: "permutation of 8192, 64 kB", text: threeTierFabric(8192, 16) + "workload: {permutation: {size: 64kB}}\n", long: true},
	{name: "permutation of 8192, 2 MB", text: threeTierFabric(8192, 16) + "workload: {permutation: {size: 2MB}}\n", long: true},
	{name: "all-to-all of 128", text: "topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 64kB, parallel: 4}}\n", long: true},
	{name: "2000 windows", text: "end: 200ms\nmeasure: {to: 200ms}\ntopology: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, rate: 10Gbps, delay: 1us}}\nworkload: {permutation: {size: 4GB}}\ncsig: {format: compact}\n", long: true},
}

// TestPredictions: what validate predicts is what csiglab run takes, as a process of its
// own, from its start to its report. It prints the table of docs/explanation/performance.md.
func TestPredictions(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for i, e := range predictedExperiments {
		if e.long && os.Getenv("CSIGLAB_E2E") == "" {
			continue
		}
		name := e.name
		if e.text != "" {
			name = write(t, "x.yaml", "schema: 1\nname: x\n"+e.text)
		}
		args := append([]string{"validate", name, "--json"}, e.args...)
		if i == 0 {
			args = append(args, "--calibrate") // short runs are not worth it by themselves
		}
		var stdout, stderr bytes.Buffer
		if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), args, nil, &stdout, &stderr); code != command.ExitOK {
			t.Fatalf("%s: exit %d, %s", e.name, code, stderr.String())
		}
		var check experiments.Check
		if err := json.Unmarshal(stdout.Bytes(), &check); err != nil {
			t.Fatal(err)
		}
		if stderr.Len() > 0 || !check.Fits {
			t.Errorf("%s: fits %v, %s", e.name, check.Fits, stderr.String())
		}
		var cpu, memory float64
		for range 3 { // the best of three, as others use the machine
			took := meter(t, append([]string{"run", name, "--out", filepath.Join(t.TempDir(), "out")}, e.args...)...)
			cpu, memory = check.CPU/took.CPU, float64(check.Memory)/took.Memory
			t.Logf("%-36s CPU s: predicted %6.2f, took %6.2f, ratio %.2f; MB: predicted %4.0f, took %4.0f, ratio %.2f",
				e.name, check.CPU, took.CPU, cpu, float64(check.Memory)/1e6, took.Memory/1e6, memory)
			if inFactor(cpu, cpuFactor) && inFactor(memory, memoryFactor) {
				break
			}
		}
		if !inFactor(cpu, cpuFactor) || !inFactor(memory, memoryFactor) {
			t.Errorf("%s: predicted over taken: CPU time %.2f, want a factor of %v; memory %.2f, want a factor of %v", e.name, cpu, cpuFactor, memory, memoryFactor)
		}
	}
}

func inFactor(ratio, factor float64) bool { return ratio <= factor && ratio >= 1/factor }

// Runs that would not fit in memory are refused before anything is made, with what is
// needed, what there is and what helps; --force runs them.
func TestRefusedForMemory(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH")) // csiglab-lab predicts, too
	const limit = "GOMEMLIMIT=120MiB"
	advice := []string{"126 MB; try --parallel 1", " hosts in place of 1024"}
	file := write(t, "large.yaml", "schema: 1\nname: large\nseeds: [1, 2]\n"+threeTierFabric(1024, 8)+"workload: {permutation: {size: 4kB}}\n")
	for _, c := range []struct {
		args  string
		limit string
		code  int
		wants []string
	}{
		{"run FILE --parallel 2", limit, command.ExitUsage, append([]string{"not enough memory: this needs about ", ", and GOMEMLIMIT allows 126 MB; ", "--force runs it anyway"}, advice...)},
		{"run FILE --parallel 2 --json", limit, command.ExitUsage, []string{"not enough memory"}},
		{"run one", "GOMEMLIMIT=20MiB", command.ExitUsage, []string{"and GOMEMLIMIT allows 21 MB; --force"}},
		{"run one --runtime netns --clock lockstep", "GOMEMLIMIT=20MiB", command.ExitUsage, []string{"not enough memory"}},
		{"run one --runtime containerlab --clock lockstep", "GOMEMLIMIT=20MiB", command.ExitUsage, []string{"not enough memory"}},
		{"up ../../docs/examples/lab.yaml", "GOMEMLIMIT=20MiB", command.ExitUsage, []string{"not enough memory"}},
		{"run one --force", "GOMEMLIMIT=20MiB", command.ExitOK, []string{"forced: this needs about "}},
		{"validate FILE", limit, command.ExitOK, []string{"note: not enough memory: this needs about ", " of 126 MB\n"}},
		{"validate one", "GOMEMLIMIT=20GiB", command.ExitOK, nil},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := strings.Fields(strings.Replace(c.args, "FILE", file, 1))
		if args[0] != "validate" {
			args = append(args, "--out", out)
		}
		cmd := perform.Self(t.Context(), args...)
		cmd.Env = append(os.Environ(), c.limit)
		text, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s", c.args, code, c.code, text)
		}
		for _, want := range c.wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s\nwant %q", c.args, text, want)
			}
		}
		if c.wants == nil && strings.Contains(string(text), "memory may") {
			t.Errorf("%s: %s", c.args, text)
		}
		if _, err := os.Stat(out); err == nil && c.code == command.ExitUsage {
			t.Errorf("%s: left %s", c.args, out)
		}
	}
}

// A run that is a probe does not measure the machine, even if it takes long: it would run
// itself again without end.
func TestProbesDoNotMeasure(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	file := write(t, "long.yaml", "schema: 1\nname: long\nseeds: 1..40\n"+threeTierFabric(128, 4)+"workload: {permutation: {size: 40MB}}\n")
	for flag, want := range map[string]bool{"--force": true, "--probe": false} {
		l, measured := newWork(command.Linked{}), false
		l.Self = func(ctx context.Context, _ ...string) *exec.Cmd {
			measured = true
			return exec.CommandContext(ctx, "false")
		}
		l.Run = func(ctx context.Context, set *experiment.Set, opts campaign.Options) (*campaign.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			opts.Progress = func(campaign.Progress) { cancel() } // once it runs
			return campaign.Run(ctx, set, opts)
		}
		var stderr bytes.Buffer
		code := execute(t.Context(), command.Linked{}, l, []string{"run", file, flag, "--out", filepath.Join(t.TempDir(), "out")}, nil, io.Discard, &stderr)
		if code != command.ExitInfrastructure || measured != want || !strings.Contains(stderr.String(), "predicted: ") {
			t.Errorf("%s: exit %d, measured %v, want %v\n%s", flag, code, measured, want, stderr.String())
		}
	}
}
