package campaign

import (
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// TestPlansAreMadeInTurn: before a run there is one plan for each variant, however many
// seeds it has; a run has the plan of its own seed, which the list of runs does not keep.
func TestPlansAreMadeInTurn(t *testing.T) {
	set := parseText(t, `
schema: 1
name: seeds
seeds: [3, 4, 5, 6]
topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}
workload: {permutation: {size: 100kB}, start_jitter: 1us}
variants: {a: {}, b: {hosts.lb.name: oblivious}}
`)
	jobs, err := compile(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	plans := map[*plan.Plan]bool{}
	for _, j := range jobs {
		plans[j.plan] = true
	}
	if len(jobs) != 8 || len(plans) != 2 {
		t.Fatalf("%d jobs with %d plans, want 8 and one for each variant", len(jobs), len(plans))
	}
	for i := range jobs {
		j, err := jobs[i].prepare(set, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := plan.Compile(set.Variants[j.variant].Experiment, j.seed)
		if err != nil {
			t.Fatal(err)
		}
		got, expected := j.plan.Nodes[0].Host, want.Nodes[0].Host
		if !reflect.DeepEqual(got.Player, expected.Player) || got.Seed != j.seed || j.run.Plan != j.plan {
			t.Errorf("%s, seed %d: the job has the plan of another seed", j.name, j.seed)
		}
		if jobs[i].prepared != (i%4 == 0) {
			t.Errorf("%s, seed %d: the list keeps the plan of a later seed", j.name, j.seed)
		}
	}
}

// Of a pair the sender alone decides when a message is sent; of an all-reduce the slowest
// rank does. With a jitter of 20 % that is a difference of 9 %, which the fluid model has.
func TestPredictedJitterIsThatOfTheRun(t *testing.T) {
	checkout.SkipSlowRace(t)
	set := parseText(t, `
schema: 1
name: varying
topology: {dumbbell: {left: 1, right: 1, rate: 2Gbps, delay: 1us}}
links: {trim: false}
jobs: [{name: train, hosts: [0, 1], steps: 60, jitter: 0.2, profile: {compute: 14.1ms, bytes: 2.79MB, pairs: true}}]
hosts: {cc: {name: dcqcn, timer: 125us}, recovery: go_back_n}
telemetry: {interval: 100ms}
variants: {pair: {}, ring: {jobs.0.profile.pairs: false}}
`)
	result, err := Run(t.Context(), set, Options{Out: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pair", "ring"} {
		m := result.Summary.Variants[name].Metrics
		got, want := m["iteration_fluid_us.train"], m["iteration_settled_us.train"]
		if got == 0 || math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s: the model predicts iterations of %.0f us, the run has %.0f", name, got, want)
		}
	}
}
