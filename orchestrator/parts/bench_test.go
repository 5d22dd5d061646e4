package parts_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/parts"
)

// BenchmarkCut runs three-flow with CSIG in lockstep in one part and in two, in turn, and
// reports the wall and CPU seconds of both, and how many times the two parts take. Set-up
// is included.
func BenchmarkCut(b *testing.B) {
	b.Setenv(runs.EnvironmentList, filepath.Join(b.TempDir(), "list"))
	p := backendtest.Embedded(b, "three-flow", 1)
	whole := netns.Backend{HostProgram: nodes, SwitchProgram: nodes}
	run := func(of backend.Backend, n int) (results []backendtest.Result, wall, cpu float64) {
		records := backendtest.NewRecords(len(p.Nodes))
		r := &backend.Run{Name: "parts", Plan: p, Processes: backend.ProcessPerNode, Folder: b.TempDir(), Shards: n}
		start, before := time.Now(), childrenCPU(b)
		_, err := backend.Perform(b.Context(), backend.Runtime{Runtime: runtimes.Get(runtimes.Netns), Backend: of}, r, backend.Control{Records: records})
		if errors.Is(err, backend.ErrUnavailable) {
			b.Skip(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		return records.Results(), time.Since(start).Seconds(), (childrenCPU(b) - before).Seconds()
	}
	var wall, cpu [2]float64 // whole, cut
	for b.Loop() {
		want, w, c := run(whole, 0)
		wall[0], cpu[0] = wall[0]+w, cpu[0]+c
		got, w, c := run(parts.Local{Backend: whole}, 2)
		wall[1], cpu[1] = wall[1]+w, cpu[1]+c
		backendtest.Same(b, got, want)
	}
	for i, name := range []string{"whole", "cut"} {
		b.ReportMetric(wall[i]/float64(b.N), "wall-s/"+name)
		b.ReportMetric(cpu[i]/float64(b.N), "cpu-s/"+name)
	}
	b.ReportMetric(wall[1]/wall[0], "wall-ratio")
	b.ReportMetric(cpu[1]/cpu[0], "cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// childrenCPU returns the CPU time of the processes that have ended below this one.
func childrenCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
