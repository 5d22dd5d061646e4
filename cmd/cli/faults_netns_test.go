package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFaultsNetns does faults to runs in network namespaces: each ends with exit
// code 3 and words about what broke, and csiglab clean makes the machine what it
// was. It needs root, to look at all of that; it is skipped without.
func TestFaultsNetns(t *testing.T) {
	if !alone(t) {
		return
	}
	f := newFaults(t, false)
	t.Run("csiglab killed", f.testKilledNetns)
	t.Run("supervisor killed", f.testSupervisorKilled)
	t.Run("interface deleted", f.testInterfaceDeletedNetns)
}

func runNetns(experiment, folder string, more ...string) *process {
	return csiglabProcess(append([]string{"run", experiment, "--runtime", "netns", "--clock", "lockstep", "--out", folder}, more...)...)
}

// sendTo sends a signal to a process that was found. The number 0 stands for this test's
// own group, and nobody's: it is of a process that was not found.
func sendTo(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if pid <= 0 {
		t.Errorf("there is no process to send %v to", sig)
	} else if err := syscall.Kill(pid, sig); err != nil {
		t.Errorf("send %v to process %d: %v", sig, pid, err)
	}
}

// supervisor returns the supervisor of the run of p, 0 if it has none, and how
// many network namespaces it holds open.
func (p *process) supervisor() (pid, spaces int) {
	pid = supervisorOf(p.cmd.Process.Pid)
	found := map[string]bool{}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "net:[") {
			found[target] = true
		}
	}
	return pid, len(found)
}

// supervisorOf returns the supervisor that a csiglab has started, 0 for none.
func supervisorOf(csiglab int) (pid int) {
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", csiglab))
	if err != nil {
		return 0
	}
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if strings.HasSuffix(string(line), "netns-supervisor\x00") {
				fmt.Sscan(field, &pid)
			}
		}
	}
	return pid
}

// testKilledNetns kills csiglab with kill -9 at each stage of a run.
func (f *faults) testKilledNetns(t *testing.T) {
	// The supervisor holds its own namespace and one for each node.
	spaces := func(n int) func(*process) bool {
		return func(p *process) bool { _, open := p.supervisor(); return open >= 1+n }
	}
	for _, stage := range []struct {
		name string
		flow string
		come func(*process) bool
	}{
		{"a namespace made", lasting, spaces(1)},
		{"namespaces made", lasting, spaces(nodes)},
		{"a node started", lasting, func(*process) bool { return len(nodesOfRuns()) > 0 }},
		{"nodes started", lasting, func(*process) bool { return len(nodesOfRuns()) == nodes }},
	} {
		t.Run(stage.name, func(t *testing.T) {
			killed := runNetns(four(t, stage.flow), filepath.Join(t.TempDir(), "run"))
			code, said := killed.runWhile(t, func() {
				killed.eventually(t, stage.name, func() bool { return stage.come(killed) })
				killed.kill()
			})
			if code != -1 {
				t.Errorf("exit code %d, not killed: %s", code, said)
			}
			f.clean(t)
		})
	}
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprintf("running, one process %v", one), func(t *testing.T) {
			var more []string
			if one {
				more = []string{"--processes", "one"}
			}
			killed := runNetns(four(t, lasting), filepath.Join(t.TempDir(), "run"), more...)
			code, said := killed.runWhile(t, func() {
				if one {
					killed.eventually(t, "all namespaces", func() bool { return spaces(nodes)(killed) })
				} else {
					killed.running(t)
				}
				killed.kill()
			})
			if code != -1 {
				t.Errorf("exit code %d, not killed: %s", code, said)
			}
			f.clean(t)
		})
	}
}

func (f *faults) testSupervisorKilled(t *testing.T) {
	run := runNetns(four(t, lasting), filepath.Join(t.TempDir(), "run"))
	code, said := run.runWhile(t, func() {
		run.running(t)
		pid, _ := run.supervisor()
		sendTo(t, pid, syscall.SIGKILL)
	})
	failed(t, code, said, "node supervisor: ended early: signal: killed")
	f.nothingLeft(t)
	f.clean(t)
}

// testInterfaceDeletedNetns takes a link away from between running nodes.
func (f *faults) testInterfaceDeletedNetns(t *testing.T) {
	run := runNetns(four(t, lasting), filepath.Join(t.TempDir(), "run"))
	code, said := run.runWhile(t, func() {
		deleteInterface(t, fmt.Sprintf("/proc/%d/ns/net", run.running(t)["r1"]), "p0")
	})
	failed(t, code, said, "link h1-r1: ")
	f.nothingLeft(t)
	f.clean(t)
}
