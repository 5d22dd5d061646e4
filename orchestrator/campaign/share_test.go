package campaign

import (
	"runtime"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
)

// TestShareOfAContainer: the cores are those that this process may use, not the machine's.
func TestShareOfAContainer(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	set := parseText(t, "schema: 1\nname: share\ntopology: {leaf_spine: {leaves: 16, spines: 1, hosts_per_leaf: 16, rate: 1Gbps, delay: 1us}}\nworkload: {permutation: {size: 1kB}}\n")
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	jobs := []job{{plan: p, run: new(backend.Run)}, {plan: p, run: new(backend.Run)}}
	if runs := share(mode{clock: runtimes.Virtual}, Options{}, jobs); runs != 1 || jobs[0].run.Workers != 1 {
		t.Errorf("%d runs at a time with %d cores each, want one with one", runs, jobs[0].run.Workers)
	}
}

// TestShare: cores go to runs first, then to large runs, and none to runs that are done.
func TestShare(t *testing.T) {
	plans := map[int]*plan.Plan{}
	for _, text := range []string{
		"{k_ary: {k: 4, rate: 1Gbps, delay: 1us}}",
		"{leaf_spine: {leaves: 16, spines: 1, hosts_per_leaf: 16, rate: 1Gbps, delay: 1us}}",
	} {
		set := parseText(t, "schema: 1\nname: share\ntopology: "+text+"\nworkload: {permutation: {size: 1kB}}\n")
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatal(err)
		}
		plans[p.Hosts()] = p
	}
	for _, c := range []struct {
		name            string
		hosts           int
		jobs, done      int
		cores           int
		clock           string
		runs, coresEach int
	}{
		{"one small run", 16, 1, 0, 8, runtimes.Virtual, 1, 1},
		{"one large run", 256, 1, 0, 8, runtimes.Virtual, 1, 4},
		{"a large run on two cores", 256, 1, 0, 2, runtimes.Virtual, 1, 2},
		{"as many runs as cores", 256, 8, 0, 8, runtimes.Virtual, 8, 1},
		{"more runs than cores", 256, 9, 0, 4, runtimes.Virtual, 4, 1},
		{"fewer runs than cores", 256, 3, 0, 8, runtimes.Virtual, 3, 2},
		{"some are done", 256, 9, 8, 4, runtimes.Virtual, 1, 4},
		{"all are done", 256, 2, 2, 4, runtimes.Virtual, 1, 4},
		{"real nodes", 256, 3, 0, 8, runtimes.Lockstep, 1, 4},
	} {
		jobs := make([]job, c.jobs)
		for i := range jobs {
			jobs[i] = job{plan: plans[c.hosts], run: new(backend.Run)}
			if i < c.done {
				jobs[i].done = new(finished)
			}
		}
		runs := share(mode{clock: c.clock}, Options{Parallel: c.cores}, jobs)
		if runs != c.runs || jobs[0].run.Workers != c.coresEach {
			t.Errorf("%s: %d runs at a time with %d cores each, want %d with %d", c.name, runs, jobs[0].run.Workers, c.runs, c.coresEach)
		}
	}
}
