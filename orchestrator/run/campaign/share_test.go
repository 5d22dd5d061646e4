package campaign

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// TestShare: cores go to runs first, then into runs, none is left over where runs can use
// it, and none goes to runs that are done.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		name       string
		jobs, done int
		have       int // cores of the process
		parallel   int // 0: not given
		clock      string
		slots      []int
	}{
		{"one run", 1, 0, 8, 0, runtimes.Virtual, []int{8}},
		{"one core", 3, 0, 8, 1, runtimes.Virtual, []int{1}},
		{"one core in all", 3, 0, 1, 0, runtimes.Virtual, []int{1}}, // of a container with a limit, for example
		{"as many runs as cores", 4, 0, 4, 0, runtimes.Virtual, []int{1, 1, 1, 1}},
		{"more runs than cores", 9, 0, 4, 0, runtimes.Virtual, []int{1, 1, 1, 1}},
		{"fewer runs than cores", 3, 0, 8, 0, runtimes.Virtual, []int{3, 3, 2}},
		{"an odd number of cores", 2, 0, 8, 7, runtimes.Virtual, []int{4, 3}},
		{"three cores for two runs", 2, 0, 3, 3, runtimes.Virtual, []int{2, 1}},
		{"fewer than there are", 1, 0, 8, 5, runtimes.Virtual, []int{5}},
		{"more than there are, one run", 1, 0, 2, 16, runtimes.Virtual, []int{2}},
		{"more than there are, two runs", 2, 0, 3, 16, runtimes.Virtual, []int{2, 1}},
		{"more than there are, many runs", 9, 0, 2, 4, runtimes.Virtual, []int{1, 1, 1, 1}},
		{"some are done", 9, 8, 4, 0, runtimes.Virtual, []int{4}},
		{"all are done", 2, 2, 4, 0, runtimes.Virtual, []int{4}},
		{"real nodes", 3, 0, 8, 0, runtimes.Lockstep, []int{8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.have))
			jobs := make([]job, c.jobs)
			for i := range c.done {
				jobs[i].done = new(finished)
			}
			if got := share(mode{Way: runtimes.Way{Clock: c.clock}}, Options{Parallel: c.parallel}, jobs); !slices.Equal(got, c.slots) {
				t.Errorf("cores %v, want %v", got, c.slots)
			}
		})
	}
}

// TestWorkers: a run gets no core for fewer than 120 hosts.
func TestWorkers(t *testing.T) {
	for text, want := range map[string][]int{ // with 1, 2, 3 and 8 cores
		"{k_ary: {k: 4, rate: 1Gbps, delay: 1us}}":                                           {1, 1, 1, 1}, // 16 hosts
		"{leaf_spine: {leaves: 14, spines: 1, hosts_per_leaf: 16, rate: 1Gbps, delay: 1us}}": {1, 1, 1, 1},
		"{leaf_spine: {leaves: 15, spines: 1, hosts_per_leaf: 16, rate: 1Gbps, delay: 1us}}": {1, 2, 2, 2},
		"{leaf_spine: {leaves: 32, spines: 1, hosts_per_leaf: 16, rate: 1Gbps, delay: 1us}}": {1, 2, 3, 4},
	} {
		set := parseText(t, "schema: 1\nname: share\ntopology: "+text+"\nworkload: {permutation: {size: 1kB}}\n")
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, cores := range []int{1, 2, 3, 8} {
			got = append(got, workers(cores, p))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d hosts: %v workers, want %v", p.Hosts(), got, want)
		}
	}
}

// --parallel changes no result: neither the number of runs at a time nor that of the cores
// of a run, whether or not the machine has so many.
func TestParallelChangesNothing(t *testing.T) {
	set := parseText(t, `
schema: 1
name: parallel
topology: {leaf_spine: {leaves: 24, spines: 2, hosts_per_leaf: 16, rate: 10Gbps, delay: 1us}}
workload: {permutation: {size: 10kB}}
variants: {plain: {}, csig: {csig.format: compact, hosts.cc.csig: max-delay}}
`)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	hashes := map[int][]string{}
	for _, parallel := range []int{1, 3, 16} {
		result, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "run"), Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"plain", "csig"} {
			hashes[parallel] = append(hashes[parallel], result.Summary.Variants[name].TraceHash)
		}
		if !slices.Equal(hashes[parallel], hashes[1]) {
			t.Errorf("--parallel %d: trace hashes %q, want those with one core, %q", parallel, hashes[parallel], hashes[1])
		}
	}
}
