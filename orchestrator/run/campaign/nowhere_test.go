package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// A run without a folder has the results of one with a folder, and leaves no file.
func TestNowhere(t *testing.T) {
	set := parseText(t, `schema: 1
name: somewhere
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {incast: {fan_in: 2, size: 100kB}}
variants: {base: {}, mine: {hosts.cc: swift}}
seeds: [1, 2]
capture: [tor0-agg0]
derived: [{name: twice, expr: 2 * drops}]
expect: ["base.twice == 0", "mine.drops < 0"]
`)
	dir := t.TempDir()
	t.Chdir(dir)
	run := func(opts Options) *runfolder.Summary {
		t.Helper()
		result, err := Run(t.Context(), set, opts)
		if err != nil {
			t.Fatal(err)
		}
		s := *result.Summary
		s.Details = nil // where they are
		for _, v := range s.Variants {
			delete(v.Metrics, "cpu_seconds")
			for _, r := range v.Runs {
				delete(r.Metrics, "cpu_seconds")
			}
		}
		return &s
	}
	nowhere := run(Options{Nowhere: true})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if diff := cmp.Diff(nowhere, run(Options{Out: filepath.Join(dir, "out")})); diff != "" {
		t.Errorf("nowhere, in a folder:\n%s", diff)
	}
	if _, err := Run(t.Context(), set, Options{Nowhere: true, Runtime: runtimes.Netns}); !errors.Is(err, failure.ErrConfiguration) {
		t.Errorf("with real frames: %v", err)
	}
}
