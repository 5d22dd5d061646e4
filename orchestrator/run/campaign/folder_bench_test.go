package campaign

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// BenchmarkRunFolder reports what a run costs in CPU time with its run folder, against the
// same run whose records are not written, the two in turn: a permutation of 128 hosts
// of 20 MB each, and three-flow with windows of 10 us.
func BenchmarkRunFolder(b *testing.B) {
	for name, load := range map[string]func() *experiment.Set{
		"permutation": func() *experiment.Set {
			return parseText(b, strings.Replace(permutation(128, 4), "size: 2MB", "size: 20MB", 1))
		},
		"small windows": func() *experiment.Set {
			set, err := experiment.Load("three-flow", experiment.Options{
				Tables: experiment.StandardTables(), Override: []experiment.Override{{Path: "telemetry.interval", Value: "10us"}}, Variants: []string{"csig"}, Seeds: 1,
			})
			if err != nil {
				b.Fatal(err)
			}
			return set
		},
	} {
		b.Run(name, func(b *testing.B) {
			var with, without float64
			for b.Loop() {
				set := load()
				start := processCPU(b)
				p, err := plan.Compile(set.Variants[0].Experiment, 1)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := packets.Virtual(b.Context(), &backend.Run{Plan: p}, nil, measure.NewRecords(p, nil), nil); err != nil {
					b.Fatal(err)
				}
				between := processCPU(b)
				if _, err := Run(b.Context(), set, Options{Out: filepath.Join(b.TempDir(), "run"), Parallel: 1}); err != nil {
					b.Fatal(err)
				}
				with, without = with+processCPU(b)-between, without+between-start
			}
			b.ReportMetric(with/float64(b.N), "cpu-s/run")
			b.ReportMetric(with/without, "ratio")
		})
	}
}

// processCPU returns the CPU time that this process has taken, in seconds.
func processCPU(b *testing.B) float64 {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return float64(t.Nano()) / 1e9
}
