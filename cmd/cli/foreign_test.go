package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// A run of another csiglab is listed as foreign and cannot be entered or ended.
func TestForeign(t *testing.T) {
	f := &fakeLab{runs: []runs.Run{{ID: "f1", Name: "three-flow", Runtime: "containerlab", State: runs.Foreign, Containers: 29, Folder: "/runs/theirs"}}}
	if code, stdout, _ := csiglab(f, nil, "ps"); code != 0 || !strings.Contains(stdout, "f1   three-flow  containerlab  -      foreign  -      ") {
		t.Errorf("ps: exit %d:\n%s", code, stdout)
	}
	if code, stdout, _ := csiglab(f, nil, "ps", "--json"); code != 0 || !strings.Contains(stdout, `"state":"foreign","nodes":0,"processes":0,"containers":29`) {
		t.Errorf("ps --json: exit %d:\n%s", code, stdout)
	}
	for _, args := range []string{"down f1", "exec f1 h0 true", "capture f1 --link a-b"} {
		if code, _, stderr := csiglab(f, nil, strings.Fields(args)...); code != command.ExitUsage || !strings.Contains(stderr, "run f1 is of another csiglab") {
			t.Errorf("%s: exit %d: %s", args, code, stderr)
		}
	}
	if code, stdout, _ := csiglab(f, nil, "down", "--all"); code != 0 || stdout != "no lab is up\n" {
		t.Errorf("down --all: exit %d: %s", code, stdout)
	}
	if len(f.did) > 0 {
		t.Errorf("did %q", f.did)
	}
}

// Every command that lists runs names a damaged entry and goes on.
func TestDamagedEntryIsNamed(t *testing.T) {
	f := &fakeLab{runs: someRuns(), damaged: []runs.Damaged{{ID: "0bad", File: "/run/csiglab/0bad.json", Err: errors.New("unexpected end of JSON input")}}}
	for _, args := range []string{"ps", "inspect lab1", "exec lab1 h0 true", "down lab1"} {
		code, _, stderr := csiglab(f, nil, strings.Fields(args)...)
		if want := "note: left out: /run/csiglab/0bad.json: unexpected end of JSON input; csiglab clean removes the entry\n"; code != 0 || stderr != want {
			t.Errorf("%s: exit %d: got %q, want %q", args, code, stderr, want)
		}
	}
}

// Every command that prints a result ends without words if the reader of its standard output has
// gone, as head does, with the exit code that shells give a program which that ended.
func TestStandardOutputClosed(t *testing.T) {
	if os.Geteuid() == 0 && !alone(t) { // the list of runs is not the machine's
		return
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	program := filepath.Join(builtPrograms(t), "csiglab")
	folder := filepath.Join(t.TempDir(), "run")
	small := `
schema: 1
name: small
topology:
  dragonfly: {p: 1, a: 1, h: 1, rate: 100Gbps, delay: 1us}
workload:
  transfers: [0 -> 1 1kB]
`
	file := write(t, "small.yaml", small)
	for _, args := range []string{
		"run " + file + " --out " + folder, // the first: report needs its folder
		"run " + file + " --json --out " + folder + "-json", "report --json " + folder, "report --markdown " + folder, "report " + folder,
		"version", "help", "run --help", "list", "list cc --json", "ps", "ps --json", "clean", "down --all", "doctor", "doctor --json",
		"validate " + file, "validate --json " + file, "graph " + file, "topo export " + file + " --format clab", "dissector",
		"completion bash", "selftest --only rate", "selftest --only rate --json", "capture " + folder + " --link r0-r1 --out -",
	} {
		const gone = `mkfifo "$0" && exec 5<>"$0" 6>"$0" 5<&- && rm "$0" && exec "$@" >&6`
		cmd := exec.Command("bash", append([]string{"-c", gone, filepath.Join(t.TempDir(), "pipe"), program}, strings.Fields(args)...)...)
		cmd.Dir = filepath.Dir(folder) // doctor wants one that this user may write to
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if code := cmd.ProcessState.ExitCode(); code != command.ExitPipe || err != nil && !errors.As(err, &exit) || strings.Contains(string(out), "broken pipe") {
			t.Errorf("%s: exit %d, %v:\n%s", args, code, err, out)
		}
		if strings.HasPrefix(args, "run "+file) {
			continue // a folder is written once
		}
		cmd = exec.Command("bash", append([]string{"-c", `exec "$@" >/dev/null`, "bash", program}, strings.Fields(args)...)...)
		cmd.Dir = filepath.Dir(folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s to /dev/null: %v:\n%s", args, err, out)
		}
	}
}
