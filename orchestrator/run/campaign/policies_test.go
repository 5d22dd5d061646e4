package campaign

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// policedText has transfers under different init policies.
const policedText = fatTree16 + `
csig:
  format: wide
  policies:
    - {match: {jobs: [1]}, signals: {abw: 3}}
    - {match: {flows: ["2-6"]}, init: 1/4, signals: {nqd: 1}}
    - {match: {src: [3]}, init: none}
    - {match: {hosts: [4, 5, 8], dscp: [10]}, signals: {abw: 1}}
hosts: {cc: {name: nscc, csig: max-delay}}
workload:
  transfers:
    - {src: 0, dst: 13, size: 4MB}
    - {src: 1, dst: 13, size: 4MB, job: 1}
    - {src: 2, dst: 6, size: 4MB}
    - {src: 3, dst: 7, size: 4MB}
    - {src: 4, dst: 8, size: 4MB}
`

// samplesByType returns how many samples of each type the flows of a run got.
func samplesByType(t *testing.T, f *runfolder.Folder) map[string]map[csig.Type]int64 {
	t.Helper()
	got := map[string]map[csig.Type]int64{}
	for r, err := range f.Signals() {
		if err != nil {
			t.Fatal(err)
		}
		if got[r.FlowName] == nil {
			got[r.FlowName] = map[csig.Type]int64{}
		}
		signal, err := csig.ParseType(r.Type)
		if err != nil {
			t.Fatal(err)
		}
		got[r.FlowName][signal] += r.Samples
	}
	return got
}

// Transfers follow the policies that they match, under a clock with real frames as in
// virtual time: each gets samples of the types that its controller and its policy want,
// in the shares of the weights, also where ACKs are coalesced.
func TestPolicies(t *testing.T) {
	checkout.SkipSlowRace(t)
	buildNodes(t)
	opts := Options{Runtime: runtimes.Netns, Processes: string(backend.OneProcess), CheckParity: true, Out: filepath.Join(t.TempDir(), "run")}
	result, err := Run(context.Background(), parseText(t, policedText), opts)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Log("in virtual time alone, without parity: ", err)
		opts.Runtime, opts.Processes, opts.CheckParity = runtimes.Inproc, "", false
		result, err = Run(context.Background(), parseText(t, policedText), opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !result.Summary.Valid {
		t.Error(result.Summary.Reasons)
	}
	f, err := runfolder.Open(opts.Out)
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]bool{}
	for _, c := range f.Manifest.Runs[0].Checks {
		checks[c.Name] = c.OK
	}
	if !checks["conservation"] || opts.CheckParity && !checks["parity"] {
		t.Errorf("checks %v", checks)
	}
	got := samplesByType(t, f)
	if n := got["2-6"][csig.Delay] + got["2-6"][csig.NQD]; n < 244 || n > 246 { // of 979 packets
		t.Errorf("flow 2-6 got %d samples of one packet in four", n)
	}
	for _, c := range []struct {
		flow  string
		want  csig.Weights
		slack float64 // of a share; 0: one sample
	}{
		{"0-13", csig.Only(csig.Delay), 0},
		{"1-13", csig.Weights{csig.Delay: 1, csig.ABW: 3}, 0.05}, // some ACKs are coalesced
		{"2-6", csig.Weights{csig.Delay: 1, csig.NQD: 1}, 0},     // every tag comes back
		{"4-8", csig.Weights{csig.Delay: 1, csig.ABW: 1}, 0.15},  // one in four comes back, in step with the rounds
	} {
		var sum, weights float64
		for typ, n := range c.want {
			sum, weights = sum+float64(got[c.flow][csig.Type(typ)]), weights+float64(n)
		}
		for typ, n := range got[c.flow] {
			want := float64(c.want[typ]) / weights * sum
			if slack := max(1, c.slack*sum); math.Abs(float64(n)-want) > slack || want == 0 {
				t.Errorf("flow %s: %d samples of type %v, want %.1f of %.0f", c.flow, n, typ, want, sum)
			}
		}
		if sum < 200 {
			t.Errorf("flow %s: %.0f samples %v, want more", c.flow, sum, got[c.flow])
		}
	}
	if len(got["3-7"]) != 0 {
		t.Errorf("flow 3-7 has no tags and got samples %v", got["3-7"])
	}
	// On an idle path NSCC is fed a delay of about 0 by tags, and several us by the RTT.
	m := result.Summary.Variants["run"].Metrics
	if with, without := m["cc_delay_us.4-8"], m["cc_delay_us.3-7"]; with > 0.1 || without < 1 {
		t.Errorf("NSCC was fed %v us with tags of two types and %v us without, want less than 0.1 and more than 1", with, without)
	}
}
