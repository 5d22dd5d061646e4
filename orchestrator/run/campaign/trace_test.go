package campaign

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// tracedText has transfers with losses and with probes, and raw frames whose tags the
// last switch reads. All flows but 4-0 are traced.
const tracedText = `
schema: 1
name: traced
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
links: {queue: 20kB}
csig:
  format: compact
  locators: registry
  policies: [{match: {flows: ["2-4"]}, init: probe/2us}]
  ports: [{switch: tor0, port: 3, policy: terminate}]
hosts: {cc: {name: nscc, csig: max-delay}}
workload: {transfers: [0 -> 4 300kB, 1 -> 4 300kB, 2 -> 4 300kB, 4 -> 0 300kB]}
generators: [{host: 5, to: 6, every: 1us, count: 20}, {host: 7, to: 3, every: 1us, count: 20, stack: "csig:delay"}]
trace: {flows: [0-4, 1..2, "* raw"]}
telemetry: {interval: auto}
`

// eventsOf runs an experiment and returns its events by flow, with the folder. It skips
// a runtime that this machine does not have.
func eventsOf(t *testing.T, text string, opts Options) (map[string][]runfolder.EventRow, *runfolder.Folder) {
	t.Helper()
	opts.Out = filepath.Join(t.TempDir(), "run")
	result, err := Run(context.Background(), parseText(t, text), opts)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(result.Folder)
	if err != nil {
		t.Fatal(err)
	}
	events := map[string][]runfolder.EventRow{}
	for row, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		events[row.FlowName] = append(events[row.FlowName], row)
	}
	for name, rows := range events {
		// Of a flow of raw frames the sender and the reader of its samples are two nodes.
		slices.SortStableFunc(rows, func(a, b runfolder.EventRow) int { return cmp.Or(cmp.Compare(a.Event, b.Event)) })
		for i := range rows {
			if i > 0 && rows[i].Event == rows[i-1].Event && rows[i].TimePS < rows[i-1].TimePS {
				t.Errorf("%s: %s at %d ps comes after %d ps", name, rows[i].Event, rows[i].TimePS, rows[i-1].TimePS)
			}
		}
	}
	return events, f
}

// The events of traced flows are the same in virtual time and in lockstep with real
// frames, agree with the totals, and change no event of the run.
func TestTrace(t *testing.T) {
	checkout.SkipSlowRace(t)
	want, f := eventsOf(t, tracedText, Options{})
	names := []string{}
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := gocmp.Diff([]string{"0-4", "1-4", "2-4", "h5-h6 raw", "h7-h3 raw"}, names); diff != "" {
		t.Errorf("flows (-want +got)\n%s", diff)
	}
	var phases int
	for p, err := range f.Phases() {
		if err != nil {
			t.Fatal(err)
		}
		if want[p.FlowName] == nil {
			continue
		}
		phases++
		got := map[string]int64{}
		for _, e := range want[p.FlowName] {
			switch {
			case e.Event == "send" && *e.Again:
				got["again"]++
			case e.Event == "sample" && (e.Locator == nil || e.PortName == "" && *e.Locator != 0 || e.Type != "delay" || e.Point == nil):
				t.Errorf("sample without a place: %+v", e)
			}
			got[e.Event]++
		}
		if got["send"] != p.NewPackets+p.Retransmitted || got["again"] != p.Retransmitted || got["ack"] != p.AcksReceived {
			t.Errorf("%s: events %v, totals %+v", p.FlowName, got, p)
		}
		// The last switch before h3 reads the tags of h7; all others come back.
		if samples := p.Samples; p.FlowName == "h7-h3 raw" && got["sample"] != 20 || p.FlowName != "h7-h3 raw" && got["sample"] != samples || p.FlowName == "2-4" && samples == 0 {
			t.Errorf("%s: %d samples, %d in the totals", p.FlowName, got["sample"], samples)
		}
	}
	if phases != len(want) {
		t.Errorf("%d of %d flows have totals", phases, len(want))
	}
	if retransmitted := slices.ContainsFunc(want["0-4"], func(e runfolder.EventRow) bool { return e.Again != nil && *e.Again }); !retransmitted {
		t.Error("no packet of 0-4 was sent again; the test wants losses")
	}
	if f.Manifest.IntervalUS != 1 {
		t.Errorf("windows of %v us, want 1", f.Manifest.IntervalUS)
	}

	t.Run("untraced", func(t *testing.T) {
		none, plain := eventsOf(t, tracedText+"variants: {run: {trace.flows: []}}\n", Options{})
		if len(none) != 0 || plain.Manifest.Tables["events"] != 0 {
			t.Errorf("events of %d flows", len(none))
		}
		if plain.Manifest.Runs[0].TraceHash != f.Manifest.Runs[0].TraceHash {
			t.Error("tracing changes the run's trace hash")
		}
	})
	for _, processes := range []backend.Processes{backend.ProcessPerNode, backend.OneProcess} {
		t.Run("netns, "+string(processes), func(t *testing.T) {
			buildNodes(t)
			got, real := eventsOf(t, tracedText, Options{Runtime: runtimes.Netns, Clock: runtimes.Lockstep, Processes: string(processes)})
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("events (-virtual +lockstep)\n%.3000s", diff)
			}
			if real.Manifest.Runs[0].TraceHash != f.Manifest.Runs[0].TraceHash {
				t.Error("the trace hashes differ")
			}
		})
	}
}

// In real time the events are those that happened: as many as the totals say, in model
// time. So are those of programs.
func TestTraceInRealTime(t *testing.T) {
	buildNodes(t)
	events, f := eventsOf(t, `
schema: 1
name: traced-wall
runtime: netns
clock: wall
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 20Mbps, delay: 2ms}}
csig: {format: compact, signal: delay}
workload: {transfers: [1 -> 3 100kB]}
applications:
  hosts: [0, 2]
  programs: [{host: 0, run: "bash -c 'echo hello > /dev/udp/10.0.0.3/9; echo more > /dev/udp/10.0.0.3/9'", start: 5ms}]
trace: {flows: [1-3, h0-h2 app]}
wall: {dilation: 10, budget: {lateness: 1000, displaced: 1, rate: 1}}
`, Options{Runtime: runtimes.Netns, Clock: runtimes.Wall})
	count := func(flow, event string) (n int64) {
		for _, e := range events[flow] {
			if e.Event == event {
				n++
			}
		}
		return n
	}
	if dropped := f.Manifest.DroppedRecords; dropped != 0 {
		t.Fatalf("%d records were dropped", dropped)
	}
	for p, err := range f.Phases() {
		if err != nil {
			t.Fatal(err)
		}
		if p.FlowName == "1-3" && (count("1-3", "send") != p.NewPackets+p.Retransmitted || count("1-3", "ack") != p.AcksReceived || count("1-3", "sample") != p.Samples || p.Samples == 0) {
			t.Errorf("events %d, %d and %d, totals %+v", count("1-3", "send"), count("1-3", "ack"), count("1-3", "sample"), p)
		}
	}
	if n := count("h0-h2 app", "send"); n != 2 || count("h0-h2 app", "sample") != n {
		t.Errorf("the program sent %d datagrams with %d samples, want 2 and 2", n, count("h0-h2 app", "sample"))
	}
}
