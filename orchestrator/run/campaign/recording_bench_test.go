package campaign

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/units"
)

// BenchmarkRecording reports what records cost: the CPU time of a run whose windows of 100 us
// are written to the run's part, over that of the same run whose only window is longer than
// it is and whose records are dropped; and the same with the tables that are made of the
// part when the run has ended. The two are run in turn. CPU time is that of the process,
// with that of the garbage collector.
func BenchmarkRecording(b *testing.B) {
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		b.Fatal(err)
	}
	for i, v := range set.Variants {
		b.Run(v.Name, func(b *testing.B) { benchRecording(b, set, i) })
	}
	b.Run("permutation-1024", func(b *testing.B) { benchRecording(b, parseText(b, permutation(1024, 8)), 0) })
}

func benchRecording(b *testing.B, set *experiment.Set, variant int) {
	off := *set.Variants[variant].Experiment
	off.Telemetry.Interval = units.Hour
	var loops, tables []float64
	for b.Loop() {
		var without, loop, whole float64
		for turn := range 2 {
			if turn == len(loops)%2 {
				loop, whole = recorded(b, set, variant)
			} else {
				without = unrecorded(b, &off)
			}
		}
		loops, tables = append(loops, loop/without), append(tables, whole/without)
	}
	b.ReportMetric(runfolder.Median(loops), "cpu-with/without")
	b.ReportMetric(slices.Min(loops), "least")
	b.ReportMetric(slices.Max(loops), "greatest")
	b.ReportMetric(runfolder.Median(tables), "with-tables/without")
}

// recorded runs a variant with its records, and returns the CPU time of the run in seconds,
// without and with that of its tables.
func recorded(b *testing.B, set *experiment.Set, variant int) (loop, whole float64) {
	b.Helper()
	jobs, err := compile(set, Options{})
	if err != nil {
		b.Fatal(err)
	}
	j := jobs[slices.IndexFunc(jobs, func(j job) bool { return j.variant == variant && j.seed == 1 })]
	if j, err = j.prepare(set, Options{}); err != nil {
		b.Fatal(err)
	}
	m, err := chooseMode(set, Options{})
	if err != nil {
		b.Fatal(err)
	}
	folder, err := runfolder.Create(filepath.Join(b.TempDir(), "run"), newManifest(&work{set, m, Options{}, jobs}, time.Now()))
	if err != nil {
		b.Fatal(err)
	}
	defer folder.Abort("")
	writer, err := folder.BeginRun(j.name, j.seed, nil)
	if err != nil {
		b.Fatal(err)
	}
	records := measure.NewRecords(j.plan, writer)
	start := processCPU(b)
	if _, err = packets.Virtual(b.Context(), j.run, nil, records, nil); err != nil {
		b.Fatal(err)
	}
	between := processCPU(b)
	if err := writer.End(runfolder.RunData{Nodes: records.Nodes(), Metrics: map[string]float64{}}); err != nil {
		b.Fatal(err)
	}
	return between - start, processCPU(b) - start
}

// unrecorded runs an experiment whose records are dropped, and returns the CPU time of the
// run in seconds.
func unrecorded(b *testing.B, e *experiment.Experiment) float64 {
	b.Helper()
	p, err := plan.Compile(e, 1)
	if err != nil {
		b.Fatal(err)
	}
	records := measure.NewRecords(p, nil)
	start := processCPU(b)
	if _, err := packets.Virtual(b.Context(), &backend.Run{Plan: p}, nil, records, nil); err != nil {
		b.Fatal(err)
	}
	return processCPU(b) - start
}
