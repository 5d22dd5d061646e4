package reports_test

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// "Report of a run with 10 million samples in less than 20 s and 1 GiB" (issue 14): 992
// flows between 32 hosts, 10 million rows in ports, flows, cc and signals.
// CSIGLAB_BIG_RUN keeps the folder there, for runs by hand.
func TestTenMillionSamples(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("set CSIGLAB_E2E=1: it writes and reads 10 million rows")
	}
	const windows = 2442
	f := (&readingtest.Many{Leaves: 8, Spines: 4, Hosts: 4, Samples: true, Windows: windows}).Folder(t)
	rows := int64(0)
	for _, table := range []string{"ports", "flows", "cc", "signals"} {
		rows += f.Manifest.Tables[table]
	}
	if rows < 10_000_000 {
		t.Fatalf("%d rows", rows)
	}
	if to := os.Getenv("CSIGLAB_BIG_RUN"); to != "" {
		if err := os.CopyFS(to, os.DirFS(f.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	took, used, peak := measureReport(t, f)
	t.Logf("%d rows: %s, %s of CPU, %.0f MiB", rows, took.Round(10*time.Millisecond), used.Round(10*time.Millisecond), float64(peak)/(1<<20))
	// On a machine that does other things the time on the clock says little.
	if min(took, used) > 20*time.Second || peak > 1<<30 {
		t.Errorf("the report took %s and %d MiB, want less than 20 s and 1 GiB", took, peak>>20)
	}
}

// cpu returns the time that this process has used.
func cpu(t *testing.T) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// measureReport makes a report. It returns how long that takes, the CPU time of it, and the
// most memory that this process then has of the system.
func measureReport(t *testing.T, f *runfolder.Folder) (took, used time.Duration, memory uint64) {
	debug.FreeOSMemory() // what writing the folder needed
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	system := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64() - sample[1].Value.Uint64()
	}
	begin, usedBefore := time.Now(), cpu(t)
	memory = readingtest.Peak(system, 5*time.Millisecond, func() { analyseAndRender(t, f) })
	return time.Since(begin), cpu(t) - usedBefore, memory
}
