package campaign

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Under each seed of the run, random traffic is another one, in all variants the same, and the
// folder has the flows of each run by their names and sizes, also when it was resumed.
func TestTrafficOfSeeds(t *testing.T) {
	set := parseText(t, `
schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload: {traffic: [{name: p, poisson: {cdf: hadoop, rate: 30Gbps, for: 50us}}]}
csig: {format: compact}
telemetry: {interval: 10us}
variants: {a: {}, b: {hosts.lb: single}}
seeds: 1..4
`)
	whole, cut := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	result, err := Run(context.Background(), set, Options{Out: whole, Version: "1"})
	if err != nil || result.Summary == nil {
		t.Fatal(err)
	}
	ctx, opts := until(3, Options{Out: cut, Version: "1"})
	if _, err := Run(ctx, set, opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want an interruption", err)
	}
	if _, err := Resume(context.Background(), cut, Options{Version: "1"}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, cut, whole)
	f := open(t, whole)
	sizes := map[uint64]map[string]int64{} // by seed
	for seed := uint64(1); seed <= 4; seed++ {
		a, b := f.Manifest.FlowsOfRun("a", seed), f.Manifest.FlowsOfRun("b", seed)
		if !slices.Equal(a, b) {
			t.Errorf("seed %d: variants have other traffic", seed)
		}
		if first := f.Manifest.FlowsOfRun("a", 1); seed > 1 && slices.Equal(a, first) {
			t.Errorf("seed %d has the traffic of seed 1", seed)
		}
		sizes[seed] = map[string]int64{}
		for _, flow := range a {
			sizes[seed][flow.Name] = flow.Size
		}
	}
	rows := 0
	for row, err := range f.Phases() {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if size, ok := sizes[row.Seed][row.FlowName]; !ok || row.PayloadBytes != size {
			t.Errorf("seed %d: flow %s delivered %d bytes, want %d", row.Seed, row.FlowName, row.PayloadBytes, size)
		}
	}
	if want := 2 * (len(sizes[1]) + len(sizes[2]) + len(sizes[3]) + len(sizes[4])); rows != want {
		t.Errorf("%d rows of phases, want %d", rows, want)
	}
	all := f.Manifest.FlowsOf("a")
	for seed, flows := range sizes {
		for name := range flows {
			if !slices.ContainsFunc(all, func(f runfolder.Flow) bool { return f.Name == name }) {
				t.Errorf("seed %d: flow %s is none of the variant", seed, name)
			}
		}
	}
}
