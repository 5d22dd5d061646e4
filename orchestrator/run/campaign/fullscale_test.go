package campaign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// scaledStep is a step of a model on four servers in a fabric that is oversubscribed 2:1 with
// the rate %d Gb/s, at scale %v.
const scaledStep = `schema: 1
name: scaled
topology:
  rail: {servers: 4, nics: 4, group: 1, spines: 2, rate: 100Gbps, spine_rate: %dGbps, delay: 500ns}
jobs:
  - name: train
    steps: 2
    model: {preset: llama3-8b, parallel: {tp: 4, dp: 4}, microbatches: 2, sharded: true, granularity: 8, scale: %v}
seeds: [1]
`

// Issue 35, point 3: one job at two scales has the same time at full scale, within the stated
// share of latency, in a fabric with and without oversubscription. The times over the scale differ
// by the latency that the plan states, so its share is neither too small nor too large.
func TestTwoScalesAgree(t *testing.T) {
	checkout.SkipSlowRace(t)
	type figures struct{ step, full, share, mfu float64 }
	run := func(rate int, scale float64) figures {
		t.Helper()
		set := parseText(t, fmt.Sprintf(scaledStep, rate, scale))
		m := runIn(t, set, Options{Out: filepath.Join(t.TempDir(), "run")}).Variants["run"].Metrics
		return figures{m["iteration_us.mean.train"], m["full_iteration_us.train"], m["latency_share.train"], m["mfu.train"]}
	}
	for _, rate := range []int{50, 25} {
		const small, large = 0.0002, 0.001
		a, b := run(rate, small), run(rate, large)
		t.Logf("%d Gb/s: %+v, %+v", rate, a, b)
		if a.share < b.share || b.share <= 0 || a.share >= 0.5 {
			t.Errorf("%d Gb/s: latency shares %v and %v, want the larger one at the smaller scale", rate, a.share, b.share)
		}
		if off := math.Abs(a.full-b.full) / b.full; !(off <= b.share) {
			t.Errorf("%d Gb/s: %v and %v us at full scale, which is %v apart; want at most the latency share, %v", rate, a.full, b.full, off, b.share)
		}
		if off := math.Abs(a.mfu-b.mfu) / b.mfu; !(b.mfu > 0 && off <= b.share) {
			t.Errorf("%d Gb/s: MFU %v and %v", rate, a.mfu, b.mfu)
		}
		measured := (a.step/small - b.step/large) / (1/small - 1/large)
		if stated := b.share * b.step; !(measured > 0.7*stated && measured < 1.3*stated) {
			t.Errorf("%d Gb/s: the plan states %v us of latency, two scales show %v us", rate, stated, measured)
		}
	}
}

// A trace has a scale as a model has: at half of it a step takes the time of the whole one, within the
// stated share of latency, whether its programs are in memory (GOAL) or expanded (Chakra).
func TestScaledTraces(t *testing.T) {
	for file, ranks := range map[string]int{"../../../docs/examples/workloads/pair.goal": 2, "../../experiment/library/chakra-ring": 8} {
		run := func(scale float64) map[string]float64 {
			t.Helper()
			set := parseText(t, fmt.Sprintf("schema: 1\nname: traced\ntopology: {dumbbell: {left: 1, right: %d, rate: 100Gbps, delay: 1us}}\njobs: [{name: train, trace: {file: %s, scale: %v}}]\n", ranks-1, file, scale))
			return runIn(t, set, Options{Out: filepath.Join(t.TempDir(), "run")}).Variants["run"].Metrics
		}
		whole, half := run(1)["iteration_us.mean.train"], run(0.5)
		full, share := half["full_iteration_us.train"], half["latency_share.train"]
		t.Logf("%s: %v us, at half of it %v us and a latency share of %v", file, whole, full, share)
		if !(share > 0 && share < 0.3 && math.Abs(full-whole) <= share*whole) {
			t.Errorf("%s: %v us at full scale by half of it, want %v us within %v", file, full, whole, share)
		}
	}
}

// The ranks of a trace without times of compute do nothing but communicate, which is said.
func TestTracesThatComputeNothing(t *testing.T) {
	for cost, want := range map[string]bool{"calc 0": true, "calc 1000": false} {
		file := filepath.Join(t.TempDir(), "x.goal")
		text := "num_ranks 2\nrank 0 {\na: " + cost + "\nb: send 1000b to 1\nb requires a\n}\nrank 1 {\na: recv 1000b from 0\n}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set := parseText(t, "schema: 1\nname: traced\ntopology: {dumbbell: {left: 1, right: 1, rate: 100Gbps, delay: 1us}}\njobs: [{name: train, trace: "+file+"}]\n")
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(p.Notes, "\n"); strings.Contains(notes, "job train: its trace has no times of compute") != want {
			t.Errorf("%s: got %s", cost, notes)
		}
	}
}

// A scale at which latency decides has a note, and names the collective that it decides most.
func TestLatencyDecides(t *testing.T) {
	for scale, want := range map[float64]bool{0.00005: true, 0.1: false} {
		p, err := plan.Compile(parseText(t, fmt.Sprintf(scaledStep, 50, scale)).Variants[0].Experiment, 1)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(p.Notes, "\n")
		if strings.Contains(notes, "Latency decides: it is more than 10 % of the scaled step, and ") != want || !strings.Contains(notes, "a step of the real job takes at least ") {
			t.Errorf("scale %v: got %s", scale, notes)
		}
	}
}
