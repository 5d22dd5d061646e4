package reports_test

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// longRun writes a run of one variant and seed with as many telemetry windows.
func longRun(t testing.TB, windows int) *runfolder.Folder {
	e := readingtest.ThreeFlow()
	e.Windows, e.Seeds, e.Rates = windows, e.Seeds[:1], map[string][3]float64{"baseline": e.Rates["baseline"]}
	return e.Folder(t, nil)
}

// analyseAndRender makes the report of a folder.
func analyseAndRender(t testing.TB, f *runfolder.Folder) {
	r, err := reports.Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(io.Discard); err != nil {
		t.Fatal(err)
	}
}

// peakOf returns by how many bytes the heap grows at most while f runs. Frequent
// collections keep garbage out of the figure.
func peakOf(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	runtime.GC() // empties pools too
	before := heap()
	peak := readingtest.Peak(heap, 200*time.Microsecond, f)
	return peak - min(before, peak)
}

// Memory depends on flows, ports and points, not on the length of the run: five
// times as many windows need hardly more.
func TestMemoryOfALongRun(t *testing.T) {
	const windows = 4000 // more than charts have points
	short, long := longRun(t, windows), longRun(t, 5*windows)
	analyseAndRender(t, short) // what is made once: fonts, templates, schemas
	few := peakOf(func() { analyseAndRender(t, short) })
	many := peakOf(func() { analyseAndRender(t, long) })
	t.Logf("%d windows: %.1f MB; %d windows: %.1f MB", windows, float64(few)/1e6, 5*windows, float64(many)/1e6)
	// Pages of columns in memory account for some of it; all rows would need 20 MB and more.
	if many > few+8e6 {
		t.Errorf("five times as many windows need %.1f MB, %d windows %.1f MB", float64(many)/1e6, windows, float64(few)/1e6)
	}
}

// BenchmarkReport measures the time and the peak memory of a report. Time grows
// with the number of windows, memory does not.
func BenchmarkReport(b *testing.B) {
	for _, windows := range []int{4_000, 40_000} {
		f := longRun(b, windows)
		rows := int64(0)
		for _, n := range f.Manifest.Tables {
			rows += n
		}
		b.Run(fmt.Sprintf("windows=%d", windows), func(b *testing.B) {
			peak := uint64(0)
			for b.Loop() {
				peak = max(peak, peakOf(func() { analyseAndRender(b, f) }))
			}
			b.ReportMetric(float64(peak)/1e6, "peak-MB")
			b.ReportMetric(float64(rows), "rows")
		})
	}
}
