package campaign

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// asFlow returns an experiment without packets.
func asFlow(e *experiment.Experiment) *experiment.Experiment {
	c := *e
	c.Fidelity = experiment.Flow
	return &c
}

// A transfer that has the fabric for itself takes as long without packets as with them, to the
// picosecond.
func TestFlowAlone(t *testing.T) {
	for _, topology := range []string{
		"k_ary: {k: 4, rate: 100Gbps, delay: 1us}",
		"leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}",
		"ring: {switches: 5, hosts: 4, rate: 25Gbps, delay: 3us, routes: clockwise}",
	} {
		for _, transfer := range []string{"0 -> 13 2MB", "0 -> 13 40860B", "0 -> 13 4086B", "0 -> 13 1B", "0 -> 1 1MB"} {
			e := parseText(t, "schema: 1\nname: t\ntopology: {"+topology+"}\nworkload: {transfers: ["+transfer+"]}\nlinks: {overhead: 24B}\n").Variants[0].Experiment
			want, _ := runVirtual(t, e, 1)
			got, _ := runVirtual(t, asFlow(e), 1)
			for _, metric := range []string{"fct_us.max", "fct_rx_us.0-" + strings.Fields(transfer)[2]} {
				if math.Abs(got[metric]-want[metric]) > 1e-9 {
					t.Errorf("%s, %s: %s is %.6f without packets, %.6f with them", topology, transfer, metric, got[metric], want[metric])
				}
			}
		}
	}
}

// flowJob is a job in which messages cross the fabric and servers, dependencies and slots.
const flowJob = `
schema: 1
name: t
topology: {rail: {servers: 8, nics: 4, group: 4, spines: 2, rate: 100Gbps, delay: 1us}}
fidelity: flow
faults: [{kind: rate, links: g0.rail1-spine1, share: 0.25, at: 200us, for: 300us}]
jobs:
  - {name: gpt, steps: 2, model: {preset: bert-large, parallel: {tp: 4, pp: 2, dp: 4}, microbatches: 4, scale: 0.001}}
`

// A run without packets is the same again, and with two workers; it has no metric of packets.
func TestFlowIsTheSameAgain(t *testing.T) {
	checkout.SkipSlowRace(t)
	p, err := plan.Compile(parseText(t, flowJob).Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	var hashes [][32]byte
	for _, workers := range []int{1, 1, 2} {
		records := measure.NewRecords(p, nil)
		out, err := packets.Virtual(context.Background(), &backend.Run{Plan: p, Workers: workers}, nil, records, nil)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, measure.TraceHash(records.Nodes()))
		for name := range measure.Metrics(p, out, records) {
			for _, about := range []string{"packets.", "queue_kb.", "hop_delay_us.", "cc_", "trims", "drops", "marks", "samples"} {
				if strings.HasPrefix(name, about) {
					t.Errorf("a metric of packets: %s", name)
				}
			}
		}
	}
	if hashes[0] != hashes[1] || hashes[0] != hashes[2] {
		t.Errorf("traces %x", hashes)
	}
}

// What has no meaning without packets is refused, by its key.
func TestFlowRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"capture: there is nothing to capture":                           "capture: [tor0-agg0]\n",
		"classes: classes take turns packet by packet":                   "classes: [{name: a, dscp: 20}]\n",
		"generators: generators send packets":                            "generators: [{host: 2, to: 1, every: 1us, count: 4}]\n",
		"flow knows links that slow, and no other faults":                "faults: [{kind: down, links: tor0-agg0, at: 1us, for: 1us}]\n",
		"fidelity: flow is for runtime inproc, not netns":                "runtime: netns\nclock: lockstep\n",
		"a transfer that stops at a time is not known to fidelity: flow": "",
	} {
		workload := "workload: {transfers: [0 -> 5 1MB]}\n"
		if text == "" {
			workload = "workload: {transfers: [{src: 0, dst: 5, size: 1MB, stop: 5us}]}\n"
		}
		e := parseText(t, "schema: 1\nname: t\ntopology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\nfidelity: flow\n"+workload+text).Variants[0].Experiment
		if _, err := plan.Compile(e, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// docs/explanation/jobs.md#without-packets says how far steps of jobs without packets are from
// those with packets.
func TestFlowAgainstPackets(t *testing.T) {
	checkout.SkipSlowRace(t)
	cases := flowErrors
	if os.Getenv("CSIGLAB_E2E") == "" {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c flowError) bool { return !c.quick })
	}
	var all []float64
	for _, c := range cases {
		set := load(t, c.experiment)
		i := slices.IndexFunc(set.Variants, func(v experiment.Resolved) bool { return v.Name == c.variant })
		for _, seed := range []uint64{11, 12} {
			e := set.Variants[i].Experiment
			want, _ := runVirtual(t, e, seed)
			got, _ := runVirtual(t, asFlow(e), seed)
			for metric, step := range want {
				job, ok := strings.CutPrefix(metric, "iteration_us.mean.")
				if !ok {
					continue
				}
				off := 100 * (got[metric]/step - 1)
				t.Logf("%s, %s, seed %d, %s: %.1f us with packets, %.1f without: %+.1f %%", c.experiment, c.variant, seed, job, step, got[metric], off)
				if c.bound <= usual {
					all = append(all, math.Abs(off))
				}
				if math.Abs(off) > c.bound {
					t.Errorf("%s, %s, seed %d, %s: %+.1f %%, at most %g are stated", c.experiment, c.variant, seed, job, off, c.bound)
				}
			}
		}
	}
	slices.Sort(all)
	if median := all[len(all)/2]; median > 5 {
		t.Errorf("the median of %d is %.1f %%", len(all), median)
	} else {
		t.Logf("median of %d: %.1f %%, greatest %.1f %%", len(all), median, all[len(all)-1])
	}
}

// usual is the most that a job's step is off where flows are sprayed, in percent.
const usual = 15

type flowError struct {
	experiment, variant string
	bound               float64
	quick               bool // it takes a second or two
}

// flowErrors are the jobs that steps are compared of, and by how much they differ at most, in
// percent.
var flowErrors = []flowError{
	{"all-reduce", "ring", usual, false},
	{"all-reduce", "halving", usual, false},
	{"all-reduce", "tree", usual, false},
	{"moe", "even", usual, true},
	{"moe", "skewed", usual, false},
	{"pipeline", "neighbour", usual, true},
	{"chakra-ring", "packed", usual, true},
	{"training-step", "rails", usual, true},
	{"fragmented", "alone", usual, false},
	{"table-1", "fair", usual, false},
	{"table-1", "unfair", usual, false},
	{"adaptive", "mltcp", usual, false},

	{"all-reduce", "halving1", 20, false},  // one path for each flow
	{"training-step", "spread", 30, false}, // bursts into links that are 4:1, one of them slow
	{"fragmented", "nscc", 40, false},      // REPS and a slow spine
}
