package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/stress"
)

// shortStress is an experiment of two short flows: what it expects of a time holds at one rate
// alone, and what it expects of their number everywhere.
const shortStress = `
schema: 1
name: small
topology: {dumbbell: {left: 1, right: 1, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 SIZE, 1 -> 0 SIZE]}
expect:
  - run["fct_us.max"] < 40
  - run["flows.incomplete"] == 0
`

func stressFile(t *testing.T, size, rest string) string {
	t.Helper()
	return write(t, "small.yaml", strings.ReplaceAll(shortStress, "SIZE", size)+rest)
}

// A stress of real runs: the table, the files, and the exit codes of promises.
func TestStressCommand(t *testing.T) {
	file := stressFile(t, "100kB", "")
	dir := filepath.Join(t.TempDir(), "stress")
	args := []string{"stress", file, "--seeds", "2", "--setting-seeds", "1", "--parallel", "2", "--out", dir}
	code, out, said := separately(t, args...)
	if code != command.ExitOK || !strings.Contains(said, "small: 8 runs\n") {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	for _, want := range []string{
		"small, 2 unseen seeds from 101 on: 8 runs of ", "seeds  rate x0.25", "\n  1  held   failed ", "\n  2  held   held ",
		`1  run["fct_us.max"] < 40`, "format wide does not apply: it has no CSIG\n", "tables  " + dir + "/stress.md",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if got, want := names(t, dir), []string{"small", "stress.json", "stress.md"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if got, want := names(t, filepath.Join(dir, "small")), []string{"results.parquet", "sweep.json", "trials.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	markdown, err := os.ReadFile(filepath.Join(dir, "stress.md"))
	if err != nil || !strings.Contains(string(markdown), "| `run[\"flows.incomplete\"] == 0` | held | held |") {
		t.Errorf("%v\n%s", err, markdown)
	}
	if _, again, said := separately(t, args...); again != out || !strings.Contains(said, "8 runs; 8 have ended already") {
		t.Errorf("again:\n%s%s", again, said)
	}
	var r stress.Results
	_, out, _ = separately(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Experiments) != 1 || r.Experiments[0].Rows[0].Cells[1].Verdict != stress.Failed {
		t.Errorf("--json: %v\n%s", err, out)
	}
	for robust, want := range map[string]int{
		"[{settings: [seeds]}]": command.ExitOK, "[{settings: [rate], expect: [\"*incomplete*\"]}]": command.ExitOK, "[{settings: [rate]}]": command.ExitFailed,
	} {
		code, out, said := separately(t, "stress", file, "--set", "robust="+robust, "--promised", "--seeds", "1", "--out", filepath.Join(t.TempDir(), "s"))
		if code != want || strings.Contains(out, "PROMISE BROKEN: 1, rate x0.25: run[\"fct_us.max\"] = ") != (want == command.ExitFailed) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", robust, code, want, out, said)
		}
	}
}

func TestStressRefuses(t *testing.T) {
	file := stressFile(t, "10kB", "")
	t.Chdir(filepath.Dir(file))
	for _, c := range []struct{ args, want string }{
		{"", "name an experiment, or give --all; embedded: "},
		{"--all small.yaml", "--all and [\"small.yaml\"] exclude each other"},
		{"absent.yaml", "absent.yaml: no such file"},
		{"small.yaml --seeds 0", "--seeds 0 --setting-seeds 3: want at least 1"},
		{"small.yaml --parallel 0", "--parallel 0: want at least 1"},
		{"small.yaml --for 0s", "--for 0s: want more than 0"},
		{"small.yaml --setting rtt4", `unknown setting "rtt4"; known: seeds, rate x0.25, `},
		{"small.yaml --set links.mtuu=1kB", `unknown key "mtuu" (did you mean "mtu"?)`},
		{"small.yaml --set robust=[{settings:[sedes]}]", "robust"},
		{"small.yaml small.yaml", "another experiment is called small, too"},
	} {
		code, out, said := separately(t, append([]string{"stress"}, strings.Fields(c.args)...)...)
		if code != command.ExitUsage || !strings.Contains(said, c.want) || out != "" {
			t.Errorf("%s: exit code %d\n%s%s\nwant %s", c.args, code, out, said, c.want)
		}
	}
	if _, err := os.Stat("stress"); err == nil {
		t.Error("a refused stress has made a folder")
	}
}

// Ctrl-C keeps what has ended, and the same command goes on; so does a stress whose time was
// over. Neither leaves a process or a run folder.
func TestInterruptedStress(t *testing.T) {
	checkout.SkipSlowRace(t)
	file := stressFile(t, "20MB", "robust: [{settings: [all], expect: [\"*incomplete*\"]}]\n")
	dir := filepath.Join(t.TempDir(), "stress")
	args := []string{"stress", file, "--seeds", "4", "--setting-seeds", "1", "--parallel", "1", "--out", dir}
	cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	children := awaitTrials(t, cmd.Process.Pid, filepath.Join(dir, "small"), 2)
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait() //nolint:errcheck // the exit code is checked
	for _, pid := range children {
		ended(t, pid)
	}
	if code := cmd.ProcessState.ExitCode(); code != command.ExitInfrastructure || !strings.Contains(said.String(), "csiglab: interrupted\nthe stress of small is incomplete: ") ||
		!strings.Contains(said.String(), "the same command with --out "+dir+" does the rest") {
		t.Errorf("exit code %d\n%s", code, &said)
	}
	if got, want := names(t, filepath.Join(dir, "small")), []string{"sweep.json", "trials.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	// The time is over at once: what was kept is judged, and the rest has no answer.
	code, out, text := separately(t, append(args, "--for", "1ns")...)
	if code != command.ExitInconclusive || !strings.Contains(out, "not run*") {
		t.Errorf("--for: exit code %d\n%s%s", code, out, text)
	}
	code, out, text = separately(t, args...)
	if code != command.ExitOK || !strings.Contains(text, " have ended already") || strings.Contains(out, "not run") {
		t.Errorf("exit code %d\n%s%s", code, out, text)
	}
}
