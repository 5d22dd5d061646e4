package netns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// longText is backendtest.Small with flows that take some seconds.
var longText = strings.ReplaceAll(backendtest.Small, "00kB", "00MB")

// TestRootless runs the tests again as a user without privileges.
func TestRootless(t *testing.T) {
	checkout.SkipSlowRace(t)
	if os.Geteuid() != 0 {
		t.Skip("this is the unprivileged user already")
	}
	dir, err := os.MkdirTemp("", "csiglab-rootless")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "netns.test")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(dir, 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.v", "-test.run", "^(TestParity|TestDropNamesTheLink|TestFramesOnTheWire|TestKilledRunner)$")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v:\n%s", err, output)
	case bytes.Contains(output, []byte("--- SKIP")):
		t.Skipf("user namespaces are not available:\n%s", output)
	case bytes.Count(output, []byte("\n--- PASS")) != 4:
		t.Errorf("not every test ran:\n%s", output)
	}
}

// TestDropNamesTheLink: a frame lost on a real link ends the run with its name.
func TestDropNamesTheLink(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	i, err := emu.ParseInjection("drop=tor2-h5:3", p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []bool{false, true} {
		f := newRun(t, p)
		f.Processes, f.Inject, f.FrameTimeout = processes(one), []emu.Injection{i}, time.Second
		_, err = run(t, f)
		var got *emu.LinkError
		if !errors.As(err, &got) {
			t.Fatalf("one process %v: error %v, want a LinkError", one, err)
		}
		want := emu.LinkError{Link: "h5-tor2", From: "tor2", To: "h5", Frame: 3, Reason: "did not arrive within 1s"}
		if *got != want {
			t.Errorf("one process %v: got %+v, want %+v", one, *got, want)
		}
	}
	nothingLeft(t)
}

// TestFlipBreaksParity: a bit that flips on a link shows in the trace of the
// node that received it.
func TestFlipBreaksParity(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	i, err := emu.ParseInjection("flip=h1-tor0:5", p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	f := newRun(t, p)
	f.Inject = []emu.Injection{i}
	out, err := run(t, f)
	if err != nil {
		t.Fatal(err)
	}
	tor := p.Graph.Links[i.Link].B.Node
	if out.Nodes[tor].TraceHash == backendtest.Virtual(t, p, nil)[tor].TraceHash {
		t.Error("a flipped bit left the trace as it was")
	}
}

// TestLostNode: a node that is killed or stopped ends the run with its name.
func TestLostNode(t *testing.T) {
	p := backendtest.Compile(t, longText)
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGKILL: "was killed by signal 9 (killed)",
		syscall.SIGSTOP: "is stopped and all others wait for it",
	} {
		signalled := false
		_, err := perform(context.Background(), newRun(t, p), func(units.Time) {
			if signalled {
				return
			}
			signalled = true
			for _, pid := range ownRun(t).Processes {
				environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
				if bytes.Contains(environment, []byte("CSIGLAB_NODE=agg1\x00")) {
					if err := syscall.Kill(pid, signal); err != nil {
						t.Error(err)
					}
					return
				}
			}
			t.Error("there is no process of node agg1")
		})
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		var got *backend.NodeError
		if !errors.As(err, &got) {
			t.Fatalf("%v: error %v, want a NodeError", signal, err)
		}
		if diff := cmp.Diff(*got, backend.NodeError{Name: "agg1", Reason: want}); diff != "" {
			t.Errorf("%v: (-got +want)\n%s", signal, diff)
		}
		nothingLeft(t)
	}
}

// TestCancel: when the context ends, so does the run, at once and with all that
// belongs to it. Meanwhile no interface appears outside.
func TestCancel(t *testing.T) {
	p := backendtest.Compile(t, longText)
	for _, one := range []bool{false, true} {
		before := interfaces(t)
		ctx, cancel := context.WithCancel(context.Background())
		f := newRun(t, p)
		f.Processes = processes(one)
		var cancelled time.Time
		_, err := perform(ctx, f, func(units.Time) {
			if diff := cmp.Diff(interfaces(t), before); diff != "" {
				t.Errorf("interfaces outside changed (-got +want):\n%s", diff)
			}
			cancelled = time.Now()
			cancel()
		})
		cancel()
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("one process %v: error %v, want context canceled", one, err)
		}
		if took := time.Since(cancelled); took > 3*time.Second {
			t.Errorf("one process %v: the run ended %v after it was cancelled", one, took)
		}
		if diff := cmp.Diff(interfaces(t), before); diff != "" {
			t.Errorf("interfaces outside changed (-got +want):\n%s", diff)
		}
		nothingLeft(t)
	}
}

// interfaces returns the names of the interfaces here, without those of
// containerlab, which other tests make at the same time.
func interfaces(t *testing.T) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if !strings.HasPrefix(i.Name, "clab-") && !strings.HasPrefix(i.Name, "br-") && !strings.HasPrefix(i.Name, "veth") {
			names = append(names, i.Name)
		}
	}
	return names
}

// ownRun returns the run of this test.
func ownRun(t *testing.T) runs.Run {
	t.Helper()
	list, err := runs.List(context.Background(), netns.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.PID == os.Getpid() && r.Name == t.Name() {
			if r.State != runs.Running {
				t.Errorf("run %s is listed as dead", r.ID)
			}
			return r
		}
	}
	t.Fatal("the run is not listed")
	return runs.Run{}
}

// nothingLeft checks that no run of this process is listed.
func nothingLeft(t *testing.T) {
	t.Helper()
	list, err := runs.List(context.Background(), netns.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.PID == os.Getpid() && r.State != runs.Dead { // a dead run may have had our number
			t.Errorf("run %s is still listed, with processes %v", r.ID, r.Processes)
		}
	}
}

// runUntilKilled is what the process of TestKilledRunner does.
func runUntilKilled() int {
	set, err := experiment.Parse("test.yaml", "", []byte(longText), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var t testing.T
	f := newRun(&t, p)
	f.Name = "killed"
	_, err = perform(context.Background(), f, func(units.Time) { fmt.Println("running") })
	fmt.Println(err)
	return 1
}

// TestKilledRunner: kill -9 of csiglab leaves no process, and an entry that Clean
// removes, once.
func TestKilledRunner(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "test-run")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("running"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "running" {
		rest, _ := io.ReadAll(out)
		cmd.Wait()
		if bytes.Contains(rest, []byte("not available")) {
			t.Skipf("%s%s", said, rest)
		}
		t.Fatalf("the run did not start: %s%s", said, rest)
	}
	find := func() (runs.Run, bool) {
		list, err := runs.List(context.Background(), netns.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.PID == cmd.Process.Pid {
				return r, true
			}
		}
		return runs.Run{}, false
	}
	r, ok := find()
	if !ok || r.State != runs.Running || len(r.Processes) < 10 {
		t.Errorf("the run is listed as %+v", r)
	}
	if _, err := runs.Clean(context.Background(), r.ID, false, netns.Backend{}); err == nil {
		t.Error("Clean touched a run that is under way")
	}
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(3 * time.Second); ; {
		if r, ok = find(); len(r.Processes) == 0 || time.Now().After(deadline) {
			break
		}
	}
	if !ok || r.State != runs.Dead || len(r.Processes) > 0 {
		t.Errorf("after kill -9 the run is listed as %+v, want no processes", r)
	}
	for i, want := range []int{1, 0} {
		removed, err := runs.Clean(context.Background(), r.ID, false, netns.Backend{})
		if err != nil || len(removed) != want {
			t.Errorf("Clean %d removed %q, %v, want %d things", i+1, removed, err, want)
		}
	}
}
