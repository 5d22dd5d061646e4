package campaign

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

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
