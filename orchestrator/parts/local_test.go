package parts_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/parts"
	"github.com/csiglab/csiglab/units"
)

// TestMain lets the test binary be a shard, a supervisor and the nodes' programs.
func TestMain(m *testing.M) {
	netns.Supervise()
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "test-node":
			os.Exit(process.Main())
		case parts.Command:
			if err := parts.ServeLocal(context.Background(), netns.Backend{HostProgram: nodes, SwitchProgram: nodes}); err != nil {
				os.Stderr.WriteString(err.Error())
				os.Exit(3)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var nodes = []string{"/proc/self/exe", "test-node"}

// local runs a plan in so many parts on this machine.
func local(t *testing.T, text string, n int, c backend.Control, records *backendtest.Records) (string, *backend.Outcome, error) {
	t.Helper()
	checkout.SkipSlowRace(t)
	t.Setenv(runs.EnvironmentList, filepath.Join(t.TempDir(), "list"))
	p := backendtest.Compile(t, text)
	*records = *backendtest.NewRecords(len(p.Nodes))
	c.Records = records
	r := &backend.Run{Name: "parts", Plan: p, Processes: backend.ProcessPerNode, Folder: t.TempDir(), Shards: n}
	b := parts.Local{Backend: netns.Backend{HostProgram: nodes, SwitchProgram: nodes}}
	out, err := backend.Perform(t.Context(), backend.Runtime{Runtime: runtimes.Get(runtimes.Netns), Backend: b}, r, c)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if left := runs.Processes()[r.ID]; len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if files, _ := os.ReadDir(r.Folder); len(files) > 0 {
		t.Errorf("the folder of the run still has %v", files)
	}
	return r.ID, out, err
}

// A run in parts on this machine leaves the trace of the virtual run. What enters a cut
// link leaves it.
func TestLocalParity(t *testing.T) {
	for _, parts := range []int{2, 3} {
		records := new(backendtest.Records)
		_, out, err := local(t, backendtest.Small, parts, backend.Control{}, records)
		if err != nil {
			t.Fatalf("%d parts: %v", parts, err)
		}
		backendtest.Same(t, records.Results(), backendtest.Virtual(t, backendtest.Compile(t, backendtest.Small), nil))
		if out.Cut == nil || len(out.Cut.Links) == 0 || out.Cut.Exchanges == 0 {
			t.Fatalf("%d parts: cut %+v", parts, out.Cut)
		}
		for _, l := range out.Cut.Links {
			if l.Entered != l.Left || l.Taken != l.Put || l.From == l.To {
				t.Errorf("%d parts: link %+v", parts, l)
			}
		}
	}
}

// long is backendtest.Small with flows that take long.
var long = strings.ReplaceAll(backendtest.Small, "00kB", "00MB")

// A shard that is killed, or stopped, ends the run by its name, and nothing is left.
func TestLocalShardDies(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGKILL: "was killed by signal 9",
		syscall.SIGSTOP: "is stopped", // which takes half a minute to be noticed
	} {
		if signal == syscall.SIGSTOP && checkout.Long(t) {
			continue
		}
		var done atomic.Bool
		var pid atomic.Int64
		c := backend.Control{
			Deployed: func(list []runs.Node, _ []runs.Link) error {
				for _, n := range list {
					if n.Shard == nil {
						t.Errorf("node %s is in no shard", n.Name)
					} else if n.Shard.Index == 1 {
						pid.CompareAndSwap(0, int64(shardOf(t, n.PID)))
					}
				}
				return nil
			},
			Progress: func(now units.Time, _ float64) {
				if now > 0 && pid.Load() > 0 && !done.Swap(true) {
					syscall.Kill(int(pid.Load()), signal)
				}
			},
		}
		began := time.Now()
		_, _, err := local(t, long, 2, c, new(backendtest.Records))
		if err == nil || !strings.Contains(err.Error(), "shard 1 (process ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one of shard 1 that %s", signal, err, want)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%v: the run took %v to end", signal, took)
		}
	}
}

// shardOf returns the shard above a process, a child of this one.
func shardOf(t *testing.T, pid int) int {
	for parent := parentOf(t, pid); parent > 1; pid, parent = parent, parentOf(t, parent) {
		if parent == os.Getpid() {
			return pid
		}
	}
	t.Errorf("process %d is in no shard", pid)
	return 0
}

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid int) (parent int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Error(err)
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	parent, _ = strconv.Atoi(fields[1])
	return parent
}

// When its context ends, a run in parts leaves nothing.
func TestLocalInterrupted(t *testing.T) {
	errEnough := errors.New("enough")
	c := backend.Control{Deployed: func([]runs.Node, []runs.Link) error { return errEnough }}
	if _, _, err := local(t, long, 2, c, new(backendtest.Records)); !errors.Is(err, errEnough) {
		t.Errorf("error %v, want that of the caller", err)
	}
}
