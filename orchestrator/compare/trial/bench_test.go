package trial

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// BenchmarkTogether runs the smallest experiment with 50 seeds, with a process for each and
// together, in turn, one at a time. It reports the CPU time of a trial together, and the ratios
// to one alone.
func BenchmarkTogether(b *testing.B) {
	program := filepath.Join(programstest.Built(b), "csiglab")
	defer programstest.Remove()
	var trials []Trial
	for seed := range uint64(50) {
		trials = append(trials, Trial{Experiment: "one", Seed: seed + 1})
	}
	perform := func(together bool) (cpu, wall time.Duration) {
		l := &Local{Program: program, Folder: b.TempDir(), Together: together}
		before, start := childrenCPU(b), time.Now()
		outcomes, err := All(b.Context(), l, nil, trials, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, out := range outcomes {
			if !out.Counts() {
				b.Fatal(out.Reasons)
			}
		}
		return childrenCPU(b) - before, time.Since(start)
	}
	var cpu, wall [2]time.Duration // alone, together
	for b.Loop() {
		for i := range cpu {
			c, w := perform(i == 1)
			cpu[i], wall[i] = cpu[i]+c, wall[i]+w
		}
	}
	b.ReportMetric(float64(cpu[1].Milliseconds())/float64(b.N*len(trials)), "cpu-ms/trial")
	b.ReportMetric(cpu[1].Seconds()/cpu[0].Seconds(), "cpu-ratio")
	b.ReportMetric(wall[1].Seconds()/wall[0].Seconds(), "wall-ratio")
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
