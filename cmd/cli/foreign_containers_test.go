package cli

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// TestTwoOnOneEngine: two csiglabs with their own lists of runs use one Docker engine, as
// two CI containers do. Neither touches what the other has under way, and each removes
// what the other left when it was killed. It needs root and dockerd.
func TestTwoOnOneEngine(t *testing.T) {
	needTime(t)
	containerlabtest.Program(t)
	if !alone(t) {
		return
	}
	f := newFaults(t, true)
	t.Run("it runs", f.testOtherRuns)
	t.Run("it is killed", f.testOtherKilled)
	t.Run("it is removed by force", f.testOtherForced)
	t.Run("a lab", f.testOtherLab)
}

// other returns a csiglab that has a /run, and so a list of runs, of its own.
func other(args ...string) *process {
	p := csiglabProcess(args...)
	script := `mount -n -t tmpfs none /run && exec csiglab "$@"`
	p.cmd.Args = append([]string{"unshare", "--mount", "sh", "-c", script, "sh"}, args...)
	p.cmd.Path, p.cmd.Err = exec.LookPath("unshare")
	return p
}

func otherRuns(t *testing.T, flow string) *process {
	return other("run", four(t, flow), "--runtime", "containerlab", "--clock", "lockstep", "--check-parity", "--out", filepath.Join(t.TempDir(), "run"))
}

// listed returns the runs that ps of this csiglab lists.
func listed(t *testing.T) (list []labs.Entry) {
	t.Helper()
	code, said := csiglabProcess("ps", "--json").run(t)
	if err := json.Unmarshal([]byte(said), &list); err != nil || code != command.ExitOK {
		t.Errorf("ps: exit code %d, %v:\n%s", code, err, said)
	}
	return list
}

// foreignRun returns the run of the other csiglab.
func foreignRun(t *testing.T) labs.Entry {
	t.Helper()
	list := listed(t)
	if len(list) != 1 || list[0].State != runs.Foreign || list[0].Containers != nodes || list[0].Name != "faults" || list[0].Started.IsZero() {
		t.Errorf("ps lists %+v, want one foreign run with %d containers", list, nodes)
	}
	if len(list) == 0 {
		return labs.Entry{}
	}
	return list[0]
}

func (f *faults) testOtherRuns(t *testing.T) {
	run := otherRuns(t, "1GB")
	code, said := run.runWhile(t, func() {
		run.running(t)
		id := foreignRun(t).ID
		for _, args := range [][]string{{"clean"}, {"clean", "--all"}, {"down", "--all"}} {
			code, said := csiglabProcess(args...).run(t)
			if code != command.ExitOK || args[0] == "clean" && (!strings.Contains(said, "left alone: run "+id+" of another csiglab, since ") || !strings.Contains(said, "nothing to remove\n")) {
				t.Errorf("%q: exit code %d:\n%s", args, code, said)
			}
		}
		if code, said := csiglabProcess("clean", id).run(t); code != command.ExitInfrastructure || !strings.Contains(said, "csiglab clean --force "+id) {
			t.Errorf("clean %s: exit code %d:\n%s", id, code, said)
		}
		foreignRun(t)
	})
	if code != command.ExitOK || !strings.Contains(said, "parity: ") {
		t.Errorf("the other's run: exit code %d:\n%s", code, said)
	}
	f.nothingLeft(t)
}

func (f *faults) testOtherKilled(t *testing.T) {
	run := otherRuns(t, lasting)
	run.runWhile(t, func() {
		run.running(t)
		foreignRun(t)
		run.kill()
	})
	if list := listed(t); len(list) != 1 || list[0].State != runs.Dead {
		t.Errorf("ps lists %+v, want a dead run", list)
	}
	f.clean(t)
}

func (f *faults) testOtherForced(t *testing.T) {
	for _, named := range []bool{false, true} {
		run := otherRuns(t, lasting)
		code, said := run.runWhile(t, func() {
			run.running(t)
			args := []string{"clean", "--force"}
			if id := foreignRun(t).ID; named {
				args = append(args, id)
			}
			if code, said := csiglabProcess(args...).run(t); code != command.ExitOK || !strings.Contains(said, "removed run ") {
				t.Errorf("%q: exit code %d:\n%s", args, code, said)
			}
		})
		failed(t, code, said)
		f.nothingLeft(t)
	}
}

// testOtherLab does the same to a lab, whose holder is no child of the test.
func (f *faults) testOtherLab(t *testing.T) {
	up := other("up", four(t, lasting), "--runtime", "containerlab", "--out", filepath.Join(t.TempDir(), "run"))
	if code, said := up.run(t); code != command.ExitOK {
		t.Fatalf("up: exit code %d:\n%s", code, said)
	}
	r := foreignRun(t)
	if code, said := csiglabProcess("clean", "--all").run(t); code != command.ExitOK || strings.Contains(said, "removed") {
		t.Errorf("clean --all: exit code %d:\n%s", code, said)
	}
	foreignRun(t)
	if r.PID == 0 {
		t.Fatal("the holder is not known")
	}
	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	ended(t, r.PID)
	f.clean(t)
}
