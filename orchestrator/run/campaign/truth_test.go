package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// twoSpeeds is two packets that leave two hosts of one leaf at the same instant for a host
// of the other leaf. By arithmetic (4150 B take 332 ns at 100 Gb/s and 83 ns at 400) the
// residences are 332 and 332+83 ns at tor0, 83 and 83 at agg0, 83 and 332 at tor1.
const twoSpeeds = `
schema: 1
name: two-speeds
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 4086B, 1 -> 2 4086B], start_jitter: 0s}
csig: {format: %s, quantisers: {delay: %s}, decode: lower, ports: [%s]}
telemetry: {truth: %s}
`

// truthOf is what a test compares of a row.
type truthOf struct {
	Point    int64
	Truth    float64
	Worst    string
	Named    string
	Updates  bool
	Inside   bool
	Hops     int32
	RateGbps int64
}

func truthsOf(t *testing.T, f *runfolder.Folder) map[string]truthOf {
	t.Helper()
	got := map[string]truthOf{}
	for r, err := range f.Truth() {
		if err != nil {
			t.Fatal(err)
		}
		got[r.FlowName] = truthOf{r.Point, r.Truth, r.WorstPort, r.Named, r.Updates, r.Inside, r.Hops, r.RateBPS / 1e9}
	}
	return got
}

// Every sample stands beside the truth that arithmetic knows: exact in steps of 1 ns, off by
// less than a bucket of 500 ns, and missed where the worst hop passes tags on.
func TestTruthOfKnownResidences(t *testing.T) {
	for _, c := range []struct {
		name, format, quantiser, ports string
		want                           map[string]truthOf
	}{
		{"steps of 1 ns", "wide", "linear(1ns)", "", map[string]truthOf{
			"0-2": {332, 332, "tor0-agg0", "worst", true, true, 3, 400},
			"1-2": {415, 415, "tor0-agg0", "worst", true, true, 3, 400},
		}},
		{"buckets of 500 ns", "compact", "delay-lin-500ns", "", map[string]truthOf{ // the first bucket, which no hop writes
			"0-2": {0, 332, "tor0-agg0", "none", true, true, 3, 400},
			"1-2": {0, 415, "tor0-agg0", "none", true, true, 3, 400},
		}},
		{"tor0 does not speak", "wide", "linear(1ns)", "], speakers: {switches: [tor1, agg0]}, policies: [", map[string]truthOf{
			"0-2": {83, 332, "tor0-agg0", "other", false, false, 3, 400},
			"1-2": {332, 415, "tor0-agg0", "other", false, false, 3, 400},
		}},
		{"tor0 passes on", "wide", "linear(1ns)", "{switch: tor0, policy: pass}", map[string]truthOf{
			"0-2": {83, 332, "tor0-agg0", "other", false, false, 3, 400},
			"1-2": {332, 415, "tor0-agg0", "other", false, false, 3, 400},
		}},
	} {
		f := runFolder(t, fmt.Sprintf(twoSpeeds, c.format, c.quantiser, c.ports, "1"))
		if diff := cmp.Diff(truthsOf(t, f), c.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", c.name, diff)
		}
		missed := 0.0
		if c.ports != "" {
			missed = 1
		}
		values := map[string]float64{}
		for m, err := range f.Metrics() {
			if err != nil {
				t.Fatal(err)
			}
			values[m.Name] = m.Value
		}
		if values["truth_missed.delay"] != missed || values["truth_outside.delay"] != missed || values["truth_silent.delay"] != missed || values["truth_samples.delay"] != 2 {
			t.Errorf("%s: of %v samples %v missed and %v outside, %v silent, want 2 and thrice %v", c.name, values["truth_samples.delay"], values["truth_missed.delay"], values["truth_outside.delay"], values["truth_silent.delay"], missed)
		}
		// Nearest rank of two errors: the smaller one, and the greater one.
		if c.ports != "" && (values["csig_delay_us.error_p50"] != 0.083 || values["csig_delay_us.error_p99"] != 0.249 || values["csig_error_percent.p50.delay"] != 20) {
			t.Errorf("%s: errors of %v and %v us, %v %%", c.name, values["csig_delay_us.error_p50"], values["csig_delay_us.error_p99"], values["csig_error_percent.p50.delay"])
		}
	}
}

// The truth of a run with real frames is that of virtual time, row by row: hops and senders
// choose the same packets and read the same values, whatever order their records come in.
func TestTruthInLockstep(t *testing.T) {
	checkout.SkipSlowRace(t)
	buildNodes(t)
	const text = `
schema: 1
name: incast
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 200kB, 1 -> 2 200kB, 3 -> 0 200kB]}
hosts: {cc: {name: nscc, csig: max-delay}}
csig: {format: compact, signal: abw}
telemetry: {truth: 3}
`
	rows := func(opts Options) (rows []runfolder.TruthRow) {
		opts.Out = filepath.Join(t.TempDir(), "run")
		result, err := Run(t.Context(), parseText(t, text), opts)
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		if err != nil || !result.Summary.Valid {
			t.Fatalf("%v; invalid because of %q", err, result.Summary.Reasons)
		}
		for r, err := range open(t, opts.Out).Truth() {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		return rows
	}
	virtual, lockstep := rows(Options{}), rows(overFrames())
	if diff := cmp.Diff(lockstep, virtual); diff != "" || len(virtual) < 20 {
		t.Errorf("%d rows in virtual time, %d in lockstep (-lockstep +virtual):\n%s", len(virtual), len(lockstep), diff)
	}
}

// Truth changes nothing in a run: the trace is that without, in every node. Without the key
// there are no rows.
func TestTruthLeavesTheTrace(t *testing.T) {
	const text = `
schema: 1
name: incast
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 4 200kB, 1 -> 4 200kB, 2 -> 5 200kB, 3 -> 4 200kB]}
hosts: {cc: {name: nscc, csig: max-delay}, lb: reps}
csig: {format: compact, signal: abw}
telemetry: {truth: %s}
`
	folders := map[string]*runfolder.Folder{}
	for _, truth := range []string{"none", "1", "7"} {
		folders[truth] = runFolder(t, fmt.Sprintf(text, truth))
	}
	rows := func(name string) (n int) {
		for _, err := range folders[name].Truth() {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	for _, name := range []string{"1", "7"} {
		if diff := cmp.Diff(folders[name].Manifest.Runs[0].NodeHashes, folders["none"].Manifest.Runs[0].NodeHashes); diff != "" {
			t.Errorf("truth %s changes traces (-with +without):\n%s", name, diff)
		}
	}
	samples := 0.0
	for m, err := range folders["none"].Metrics() {
		if err != nil {
			t.Fatal(err)
		}
		if m.Metric == "samples" && m.Subject != nil {
			samples += m.Value
		}
	}
	all, some := rows("1"), rows("7")
	// The sender does not know when packets were sent that it has sent three times.
	if all == 0 || float64(all) > samples || float64(all) < 0.9*samples || some == 0 || some > all/4 || rows("none") != 0 {
		t.Errorf("%d rows, of every seventh packet %d, without %d; want nearly all of %v samples, about %d and none", all, some, rows("none"), samples, all/7)
	}
}
