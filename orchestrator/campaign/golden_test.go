package campaign

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
)

// golden has the first 16 hexadecimal digits of the trace hash of each variant of the
// embedded experiments with seed 1. A change of a hash is a change of the events of a
// run or of their times: it needs its reason in docs/.
var golden = map[string]map[string]string{
	"three-flow":   {"baseline": "d7dd9b2664c3e6ca", "csig": "138872b0297361ab", "csig-wide": "e60af21ca21f976d"},
	"one":          {"run": "0b9624e7ecfc9fd9"},
	"bidir":        {"run": "cd9eba7c9399fd76"},
	"incast":       {"run": "b8fa8b9b85f8b078"},
	"all-to-all":   {"run": "b4b73f878967e506"},
	"dragonfly":    {"run": "e68652c7ad694ff1"},
	"dragonfly-72": {"run": "ff0aea4ccac58bc2"},
}

// noHash lists the embedded experiments without a trace hash: they run unmodified
// programs under clock wall, and no two runs have the same events.
var noHash = []string{"iperf3"}

// slowGolden is the experiment that -short leaves out.
const slowGolden = "dragonfly-72"

func TestGoldenTraceHashes(t *testing.T) {
	listed := slices.Sorted(maps.Keys(golden))
	for _, name := range experiment.Names() {
		if slices.Contains(listed, name) == slices.Contains(noHash, name) {
			t.Errorf("the embedded experiment %s belongs in one of golden and noHash", name)
		}
	}
	for _, name := range listed {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == slowGolden {
				t.Skip("takes seconds")
			}
			set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables(), Seeds: 1})
			if err != nil {
				t.Fatal(err)
			}
			result, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Inproc, Clock: runtimes.Virtual})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for variant, v := range result.Summary.Variants {
				if len(v.Runs) != 1 || v.Runs[0].Seed != 1 {
					t.Fatalf("variant %s has %d runs, want one of seed 1", variant, len(v.Runs))
				}
				got[variant] = v.TraceHash[:16]
			}
			if !maps.Equal(got, golden[name]) {
				t.Errorf("trace hashes: got %v, want %v", got, golden[name])
			}
		})
	}
}
