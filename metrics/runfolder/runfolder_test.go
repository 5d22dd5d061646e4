package runfolder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
)

func manifest() Manifest {
	return Manifest{
		Name: "two-flow", Version: "0.1", GoVersion: "go1.26", Machine: Machine{CPU: "cpu", Cores: 2, Kernel: "Linux"},
		Command: []string{"csiglab", "run", "two-flow"}, Runtime: "inproc", Clock: "virtual",
		Started: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), IntervalUS: 100, Measure: Window{FromUS: 2000, ToUS: 14000},
		Nodes:   []Node{{Name: "host0", Kind: KindHost}, {Node: 1, Name: "tor0", Kind: KindSwitch}, {Node: 2, Name: "agg0", Kind: KindSwitch}, {Node: 3, Name: "agg1", Kind: KindSwitch}},
		Signals: []string{"abw", "abw-c", "delay", "nqd"},
		Ports: []Port{
			{Node: 0, Port: 0, Peer: 1, PeerPort: 0, RateBPS: 100e9, Link: "host0-tor0", Name: "host0-tor0", Tier: "host", Direction: "up"},
			{Node: 1, Port: 0, Peer: 0, PeerPort: 0, RateBPS: 100e9, Link: "host0-tor0", Name: "tor0-host0", Tier: "tor", Direction: "down"},
			{Node: 1, Port: 2, Peer: 2, PeerPort: 0, RateBPS: 400e9, Link: "tor0-agg0", Name: "tor0-agg0", Tier: "tor", Direction: "up"},
			{Node: 1, Port: 3, Peer: 3, PeerPort: 0, RateBPS: 400e9, Link: "tor0-agg1", Name: "tor0-agg1", Tier: "tor", Direction: "up"},
		},
		Flows: Flows([]metrics.FlowInfo{{Flow: 0, Name: "0-1", Src: 0, Dst: 1, Size: 5000, Packets: 2, Job: 3}, {Flow: 1, Name: "1-0", Src: 1, Dst: 0, Size: 9000, Packets: 3}}),
		Jobs: []Job{{
			Name: "train", Ranks: []int32{0, 1}, Steps: 10, FirstSteps: 2, Messages: true,
			Phases: []string{"forward"}, Collectives: []Collective{{Name: "grads", Kind: "all_reduce", Algorithm: "ring", Ranks: 2, Bytes: 1 << 20}},
		}},
		Variants:  []Variant{{Name: "base", Actions: []Action{{"hold", "hold", "-"}, {"grow", "grow (G)", "G"}}, Constants: []Constant{{"target_qdelay_us", 10.5, "target queueing delay", "µs", "delays", "target"}}, MTU: 4150, Header: 64, CC: "nscc", LB: "mixed", AQM: "linear", CSIG: "compact", Locators: locators()}, {Name: "alt", CC: "nscc"}},
		Published: []Published{{Variant: "base", Metric: "ratio", Value: 5, Low: 4.4, High: 5.1, Source: "paper", Note: "why"}},
	}
}

// locators are the two locators of the manifest's switch ports; the second is shared.
func locators() *LocatorTable {
	at := func(port int32, peer, direction string) Place { return Place{"tor0", port, peer, "tor", direction} }
	return &LocatorTable{Scheme: "structured", Locators: []Locator{
		{Locator: 9, Ports: []string{"tor0-host0"}, Places: []Place{at(0, "host0", "down")}},
		{Locator: 40000, Ports: []string{"tor0-agg0", "tor0-agg1"}, Places: []Place{at(2, "agg0", "up"), at(3, "agg1", "up")}},
	}}
}

// result returns one node with a record of every kind; k makes its numbers
// differ from other results'.
func result(k int64) *metrics.Batch {
	at := units.Time(100*units.Microsecond) + units.Time(k)
	return &metrics.Batch{
		Node:  1,
		Ports: []metrics.PortWindow{{Node: 1, Port: 2, Start: at, TxPackets: 3 + k, TxBytes: 4, Marked: 5, Trimmed: 6, Dropped: 7, QueueMax: 8, QueueByteNS: 1<<62 + k, Busy: 9 + units.Duration(k), ABW: 5 - 6*k}},
		Flows: []metrics.FlowWindow{{Flow: 1, Start: at, Packets: 10 + k, WireBytes: 11, PayloadBytes: 12}},
		CC:    []metrics.CCWindow{{Flow: 1, Start: at, Acks: 21, Delay: units.Duration(1234567 + k), Actions: []metrics.Count{{Name: "hold", Packets: 6}, {Name: "grow", Packets: 15}}, Cwnd: 22, BaseRTT: 23 * units.Microsecond, Pacing: units.Rate(24 - 24*k)}},
		Signals: []metrics.SignalWindow{
			{Flow: 1, Type: 2, Locator: 40000, Start: at, Samples: 3, PointSum: 4 + k, PointMax: 5, PointMin: -6, LowSum: 7 + k, HighSum: 8},
			{Flow: 1, Type: 0, Locator: 9, Start: at, Samples: 1, HighSum: metrics.Absent},
			{Flow: 0, Type: 3, Locator: 0, Start: at, Samples: 2},
		},
		Events: []metrics.Event{
			{Flow: 0, Kind: metrics.EventSend, At: at, Packet: 5 + k, EV: 6, Bytes: 7, Again: true, Cwnd: 8, Inflight: 9, Pacing: 10},
			{Flow: 0, Kind: metrics.EventAck, At: at, Packet: 0, EV: 0, Bytes: 0, Cwnd: 1, Inflight: 0, RTT: 2 * units.Microsecond, ECN: true, Action: "hold"},
			{Flow: 0, Kind: metrics.EventSample, At: at, Packet: 3, EV: 4, Type: 2, Code: 0, Value: metrics.Reading{Point: 17, Low: 16, High: 18}, Cwnd: 3, Inflight: 2, Pacing: 1, Action: "grow", Locator: 9, Age: 5 * units.Microsecond},
			// What is not known, or not there.
			{Flow: 1, Kind: metrics.EventSend, At: at, Packet: 1, EV: metrics.Absent, Bytes: 7, Cwnd: metrics.Absent, Inflight: metrics.Absent},
			{Flow: 1, Kind: metrics.EventAck, At: at, RTT: metrics.Absent},
			{Flow: 1, Kind: metrics.EventSample, At: at, Packet: metrics.Absent, EV: metrics.Absent, Type: 0, Code: 31, Value: metrics.Reading{High: metrics.Absent}, Cwnd: metrics.Absent, Inflight: metrics.Absent, Locator: 40000, Age: metrics.Absent},
		},
		Rows:   []metrics.Rows{metrics.ListOf(&[]metrics.Value{{Metric: "queue_kb.p99", Subject: "tor0-agg0", Name: "queue_kb.p99.tor0-agg0", Value: 1.5 + float64(k)}, {Metric: "drops", Name: "drops", Value: 7}})},
		Traces: []metrics.Trace{{Hash: [32]byte{byte(k)}}},
		Totals: []metrics.NodeTotals{{
			Node: 1, Name: "tor0",
			Senders:   []metrics.SenderTotals{{Flow: 0, Start: at, Done: at + 7, NewPackets: 1, Retransmitted: 2, AcksReceived: 3, NacksReceived: 4, Timeouts: 5, Samples: 12, FreshSamples: 13, Untouched: 14, BaseRTT: 6 * units.Microsecond, Cwnd: 7}},
			Receivers: []metrics.ReceiverTotals{{Flow: 0, Done: units.Never, DeliveredWhole: 8, Duplicates: 9, DeliveredTrimmed: 10, PayloadBytes: 11}},
		}},
	}
}

// addRun writes a run of nodes, each of which has left one batch.
func addRun(w *Writer, variant string, seed uint64, d RunData, nodes ...*metrics.Batch) error {
	r, err := w.BeginRun(variant, seed, nil)
	if err != nil {
		return err
	}
	for _, b := range nodes {
		r.Consume(b)
		d.Nodes = append(d.Nodes, b.NodeTotals())
	}
	return r.End(d)
}

func summary() Summary {
	return NewSummary("two-flow",
		RunMetrics{Variant: "base", Seed: 1, TraceHash: [32]byte{1}, Metrics: map[string]float64{"ratio": 4, "bad": math.NaN()}})
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// collect returns all rows of a table.
func collect[T any](rows iter.Seq2[T, error]) (all []T, err error) {
	for row, err := range rows {
		if err != nil {
			return all, err
		}
		all = append(all, row)
	}
	return all, nil
}

func finished(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "two-flow-1")
	w := must(Create(dir, manifest()))(t)
	if err := w.Experiment([]byte("schema: 1\n")); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		data := RunData{TraceHash: [32]byte{1, 2}, Wall: 2 * time.Second, CPU: time.Second, DataPackets: 5}
		if err := addRun(w, "base", seed, data, result(int64(seed))); err != nil {
			t.Fatal(err)
		}
	}
	slog.New(w.Log()).Info("hello", "seed", 1)
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRoundTrip(t *testing.T) {
	dir := finished(t)
	f := must(Open(dir))(t)

	want := manifest()
	want.Schema, want.Complete, want.Finished = Schema, true, f.Manifest.Finished
	want.Tables = map[string]int64{"ports": 2, "flows": 2, "cc": 2, "signals": 6, "events": 12, "phases": 2, "metrics": 4, "classes": 0, "operations": 0, "instances": 0, "truth": 0}
	for seed := range uint64(2) {
		want.Runs = append(want.Runs, Run{Variant: "base", Seed: seed, TraceHash: "0102" + strings.Repeat("0", 60),
			NodeHashes:  []NodeHash{{"tor0", fmt.Sprintf("%02x", seed) + strings.Repeat("0", 62)}},
			WallSeconds: 2, CPUSeconds: 1, DataPackets: 5, Valid: true})
	}
	want.Files, want.Digest = f.Manifest.Files, f.Manifest.Digest // see TestFlippedBits
	if len(want.Files) != 14 || want.Digest == "" {
		t.Errorf("%d digests and %q of the manifest, want 14 and one", len(want.Files), want.Digest)
	}
	if _, ok := f.Manifest.Tables[tableMetrics]; !ok {
		t.Error("the folder has no table of metrics")
	}
	if d := cmp.Diff(f.Manifest, want); d != "" {
		t.Errorf("manifest (-got +want):\n%s", d)
	}
	wantSummary := summary()
	if d := cmp.Diff(f.Summary, wantSummary); d != "" {
		t.Errorf("summary (-got +want):\n%s", d)
	}
	if got := string(must(f.Experiment())(t)); got != "schema: 1\n" {
		t.Errorf("experiment %q", got)
	}
	var line map[string]any
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(dir, LogFile)))(t), &line); err != nil || line["msg"] != "hello" {
		t.Errorf("log line %v, %v", line, err)
	}

	start := []float64{100, 100.000001}
	done := []float64{100.000007, 100.000008}
	delay := []float64{1.234567, 1.234568}
	var ports []PortRow
	var flows []FlowRow
	var cc []CCRow
	var signals []SignalRow
	var phases []PhaseRow
	var events []EventRow
	var values []MetricRow
	node, port := int32(1), int32(0)
	for k := range int64(2) {
		seed := uint64(k)
		ports = append(ports, PortRow{"base", seed, 1, "tor0", 2, "tor0-agg0", "agg0", "tor", "up", 400e9, start[k], 100, 3 + k, 4, 5, 6, 7, 8, 1<<62 + k, to(9 + k), []*int64{to[int64](40), nil}[k]})
		flows = append(flows, FlowRow{"base", seed, 1, "1-0", "tor0", "host0", start[k], 100, 10 + k, 11, 12})
		cc = append(cc, CCRow{"base", seed, 1, "1-0", "tor0", "host0", start[k], 100, 21, delay[k], map[string]int64{"hold": 6, "grow": 15}, 22, 23, []*int64{to[int64](24), nil}[k], nil, nil, "", "", nil})
		signals = append(signals,
			SignalRow{"base", seed, 1, "1-0", "tor0", "host0", "delay", "compact", 40000, 2, &node, "tor0", nil, "", "", "tor", "up", start[k], 100, 3, 4 + k, 5, -6, to(7 + k), to[int64](8), nil, nil, "", "", nil},
			SignalRow{"base", seed, 1, "1-0", "tor0", "host0", "abw", "compact", 9, 1, &node, "tor0", &port, "tor0-host0", "host0", "tor", "down", start[k], 100, 1, 0, 0, 0, to[int64](0), nil, nil, nil, "", "", nil},
			SignalRow{"base", seed, 0, "0-1", "host0", "tor0", "nqd", "compact", 0, 0, nil, "", nil, "", "", "", "", start[k], 100, 2, 0, 0, 0, to[int64](0), to[int64](0), nil, nil, "", "", nil})
		send := EventRow{Variant: "base", Seed: seed, FlowName: "0-1", SrcName: "host0", DstName: "tor0", TimeUS: start[k], TimePS: 100_000_000 + k}
		send.Event, send.Bytes, send.Again, send.Packet, send.EV, send.Cwnd, send.Inflight, send.Pacing = "send", to[int64](7), to(true), to(5+k), to[int32](6), to[int64](8), to[int64](9), to[int64](10)
		ack, sample := send, send
		ack.Event, ack.Packet, ack.EV, ack.Bytes, ack.Again, ack.Cwnd, ack.Inflight, ack.Pacing = "ack", to[int64](0), to[int32](0), to[int64](0), nil, to[int64](1), to[int64](0), nil
		ack.RTTUS, ack.ECN, ack.Action = to(2.0), to(true), "hold"
		sample.Event, sample.Packet, sample.EV, sample.Bytes, sample.Again, sample.Cwnd, sample.Inflight = "sample", to[int64](3), to[int32](4), nil, nil, to[int64](3), to[int64](2)
		sample.Pacing, sample.Action, sample.Low, sample.High = to[int64](1), "grow", to[int64](16), to[int64](18)
		sample.Format, sample.Type, sample.Code, sample.Point, sample.Locator, sample.PortName, sample.AgeUS = "compact", "delay", to[int64](0), to[int64](17), to[int32](9), "tor0-host0", to(5.0)
		sample.Shared = to[int32](1)
		events = append(events, send, ack, sample)
		for _, row := range []*EventRow{&send, &ack, &sample} {
			row.Flow, row.FlowName, row.SrcName, row.DstName = 1, "1-0", "tor0", "host0"
		}
		send.Packet, send.EV, send.Again, send.Cwnd, send.Inflight, send.Pacing = to[int64](1), nil, to(false), nil, nil, nil
		ack.Cwnd, ack.RTTUS, ack.ECN, ack.Action = to[int64](0), nil, to(false), ""
		sample.Packet, sample.EV, sample.Type, sample.Code, sample.Point, sample.Locator, sample.PortName, sample.AgeUS = nil, nil, "abw", to[int64](31), to[int64](0), to[int32](40000), "", nil
		sample.Shared, sample.Low, sample.High, sample.Cwnd, sample.Inflight, sample.Pacing, sample.Action = to[int32](2), to[int64](0), nil, nil, nil, nil, ""
		events = append(events, send, ack, sample)
		values = append(values, MetricRow{"base", seed, "queue_kb.p99", to("tor0-agg0"), "queue_kb.p99.tor0-agg0", 1.5 + float64(k)}, MetricRow{"base", seed, "drops", nil, "drops", 7})
		phases = append(phases, PhaseRow{"base", seed, 3, 0, "0-1", "host0", "tor0", &start[k], &done[k], nil, 1, 2, 3, 4, 5, 12, 13, 14, 8, 9, 10, 11, 6, 7})
	}
	for _, d := range []string{
		cmp.Diff(must(collect(f.Ports()))(t), ports), cmp.Diff(must(collect(f.Flows()))(t), flows), cmp.Diff(must(collect(f.CC()))(t), cc),
		cmp.Diff(must(collect(f.Signals()))(t), signals), cmp.Diff(must(collect(f.Phases()))(t), phases), cmp.Diff(must(collect(f.Events()))(t), events),
		cmp.Diff(must(collect(f.Metrics()))(t), values),
	} {
		if d != "" {
			t.Errorf("table (-got +want):\n%s", d)
		}
	}
}

// to returns a pointer to a value.
func to[T any](v T) *T { return &v }

func TestRunsFromSeveralGoroutines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	var wg sync.WaitGroup
	for seed := uint64(16); seed > 0; seed-- {
		wg.Go(func() {
			if err := addRun(w, []string{"base", "alt"}[seed%2], seed, RunData{}, result(int64(seed))); err != nil {
				t.Error(err)
			}
			slog.New(w.Log()).Info("done")
		})
	}
	wg.Wait()
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	f := must(Open(dir))(t)
	seen := map[uint64]int64{}
	for _, r := range must(collect(f.Ports()))(t) {
		seen[r.Seed] = r.TxPackets
	}
	var order []uint64
	for _, r := range f.Manifest.Runs {
		order = append(order, r.Seed)
	}
	if want := []uint64{2, 4, 6, 8, 10, 12, 14, 16, 1, 3, 5, 7, 9, 11, 13, 15}; !cmp.Equal(order, want) {
		t.Errorf("runs %v, want %v", order, want)
	}
	for seed := uint64(1); seed <= 16; seed++ {
		if seen[seed] != int64(3+seed) {
			t.Errorf("seed %d: %d packets, want %d", seed, seen[seed], 3+seed)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	if _, err := Create(dir, manifest()); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Create: %v", err)
	}
	if _, err := Create(filepath.Join(dir, ManifestFile, "x"), manifest()); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, ManifestFile)) {
		t.Errorf("Create below a file: %v", err)
	}
	unknown := &metrics.Batch{Node: 1, Flows: []metrics.FlowWindow{{Flow: 9}}, Totals: []metrics.NodeTotals{{Name: "tor0"}}}
	if err := addRun(w, "base", 1, RunData{}, unknown); err == nil || !strings.Contains(err.Error(), "flow 9") {
		t.Errorf("unknown flow: %v", err)
	}
	if err := addRun(w, "base", 1, RunData{}); err != nil {
		t.Error(err)
	}
	if err := addRun(w, "base", 1, RunData{}); err == nil {
		t.Error("the same run twice: no error")
	}
	if err := w.Finish(summary()); err != nil {
		t.Error(err)
	}
	if err := addRun(w, "base", 2, RunData{}); !errors.Is(err, ErrClosed) {
		t.Errorf("BeginRun after Finish: %v", err)
	}
	if err := w.Finish(summary()); !errors.Is(err, ErrClosed) {
		t.Errorf("second Finish: %v", err)
	}
	if err := w.Abort("late"); err != nil {
		t.Error(err)
	}
	if f := must(Open(dir))(t); f.Manifest.Reason != "" {
		t.Errorf("Abort after Finish changed the manifest: %q", f.Manifest.Reason)
	}
}

// A full disk must not go unnoticed: /dev/full fails every write.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	w := must(Create(filepath.Join(t.TempDir(), "r"), manifest()))(t)
	if err := w.tables[0].close(0); err != nil {
		t.Fatal(err)
	}
	w.tables[0] = newTableOn(w.tables[0].layout, full)
	err = addRun(w, "base", 1, RunData{}, result(1))
	if err == nil {
		err = w.Finish(summary())
	}
	if err == nil || !strings.Contains(err.Error(), "/dev/full") || !strings.Contains(err.Error(), w.Dir()) {
		t.Errorf("write to a full disk: %v", err)
	}
	if _, err := Open(w.Dir()); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Open: %v", err)
	}
}

func TestIncomplete(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	if err := addRun(w, "base", 1, RunData{}, result(1)); err != nil {
		t.Fatal(err)
	}
	// As kill -9 leaves it.
	if _, err := Open(dir); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("before Finish: %v", err)
	}
	if err := w.Abort("node tor0 went missing"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "node tor0 went missing") {
		t.Errorf("after Abort: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	checkout.SkipSlowRace(t)
	write := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(name string, keep int64) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, name), keep); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		is     error
		has    string
	}{
		{"no folder", func(t *testing.T, dir string) { os.RemoveAll(dir) }, fs.ErrNotExist, "r"},
		{"no manifest", remove(ManifestFile), ErrForeign, "has no manifest.json"},
		{"empty manifest", write(ManifestFile, "{}"), ErrForeign, "schema 0"},
		{"later schema", write(ManifestFile, `{"schema":99,"version":"9.1"}`), ErrForeign, ": manifest.json has schema 99, and this csiglab reads schema 3; it is of the newer csiglab 9.1, which reads it"},
		{"later schema with other types", write(ManifestFile, `{"schema":4,"version":"9.1","ports":"elsewhere"}`), ErrForeign, ": manifest.json has schema 4, and this csiglab reads schema 3; it is of the newer csiglab 9.1, which reads it"},
		{"earlier schema", write(ManifestFile, `{"schema":1}`), ErrForeign, ": manifest.json has schema 1, and this csiglab reads schema 3; it is of an older csiglab"},
		{"cut manifest", cut(ManifestFile, 40), ErrDamaged, "manifest.json"},
		{"no summary", remove(SummaryFile), ErrDamaged, "summary.json is missing"},
		{"other summary", write(SummaryFile, `{"schema":1,"name":"other"}`), ErrDamaged, `"other"`},
		{"no table", remove("ports.parquet"), fs.ErrNotExist, "ports.parquet"},
		{"table without its footer", cut("ports.parquet", 60), ErrDamaged, "ports.parquet"},
		{"empty table", cut("ports.parquet", 0), ErrDamaged, "ports.parquet"},
		{"text as a table", write("ports.parquet", strings.Repeat("not parquet ", 20)), ErrDamaged, "ports.parquet"},
		{"another table", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, "cc.parquet"), filepath.Join(dir, "ports.parquet")); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged, "column node is missing"},
		{"a table of another run", func(t *testing.T, dir string) {
			w := must(Create(filepath.Join(dir, "other"), manifest()))(t)
			if err := w.Finish(summary()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "other", "ports.parquet"), filepath.Join(dir, "ports.parquet")); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged, "0 rows, the manifest says 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := finished(t)
			c.damage(t, dir)
			if _, err := Open(dir); !errors.Is(err, c.is) {
				t.Errorf("Open: error %v, want %v", err, c.is)
			}
			f, err := OpenUnchecked(dir)
			if err == nil {
				_, err = collect(f.Ports())
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.has) {
				t.Errorf("error %v, want %v with %q", err, c.is, c.has)
			}
		})
	}
}

// A damaged byte anywhere ends in rows or an error, never in a panic.
func TestDamagedBytes(t *testing.T) {
	checkout.SkipSlowRace(t)
	dir := finished(t)
	f := must(Open(dir))(t)
	path := filepath.Join(dir, "phases.parquet")
	whole := must(os.ReadFile(path))(t)
	for i := 0; i < len(whole); i += 3 {
		b := append([]byte(nil), whole...)
		b[i] ^= 0xff
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if rows, err := collect(f.Phases()); err == nil && len(rows) != 2 {
			t.Errorf("byte %d flipped: %d rows without an error", i, len(rows))
		}
	}
}

func TestNewSummary(t *testing.T) {
	run := func(variant string, seed uint64, m map[string]float64) RunMetrics {
		return RunMetrics{Variant: variant, Seed: seed, TraceHash: [32]byte{byte(seed)}, Metrics: m}
	}
	s := NewSummary("x",
		run("a", 3, map[string]float64{"odd": 9, "partial": 1, "inf": math.Inf(1)}),
		run("a", 1, map[string]float64{"odd": 1, "nan": math.NaN()}),
		run("a", 2, map[string]float64{"odd": 5, "partial": 2}),
		run("b", 1, map[string]float64{"even": 1}), run("b", 2, map[string]float64{"even": 4}))
	if got, want := s.Variants["a"].Metrics, map[string]float64{"odd": 5}; !cmp.Equal(got, want) {
		t.Errorf("medians %v, want %v", got, want)
	}
	if got, want := s.Variants["b"].Metrics["even"], 2.5; got != want {
		t.Errorf("median of two %v, want %v", got, want)
	}
	// "SHA-256 of the runs' hashes in seed order" (issue 2).
	var raw []byte
	for seed := range 3 {
		raw = append(raw, append([]byte{byte(seed + 1)}, make([]byte, 31)...)...)
	}
	h := sha256.Sum256(raw)
	if got, want := s.Variants["a"].TraceHash, hex.EncodeToString(h[:]); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
	if got := s.Variants["a"].Runs[0]; got.Seed != 1 || !cmp.Equal(got.Metrics, map[string]float64{"odd": 1}) {
		t.Errorf("first run %+v", got)
	}
	if b, err := json.Marshal(s); err != nil || !strings.Contains(string(b), `"valid":true,"reasons":[],`) || !strings.Contains(string(b), `"expectations":[]`) {
		t.Errorf("json %s, %v", b, err)
	}
}

func TestFinishDropsWhatJSONLacks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	s := Summary{Name: "two-flow", Variants: map[string]VariantSummary{"a": {Metrics: map[string]float64{"x": math.Inf(-1), "y": 2}}},
		Expectations: []Expectation{{Expr: "a.x > 1", Value: math.NaN()}, {Expr: "a.y > 1", OK: true, Value: 2.0}}}
	if err := w.Finish(s); err != nil {
		t.Fatal(err)
	}
	f := must(Open(dir))(t)
	if got, want := f.Summary.Variants["a"].Metrics, map[string]float64{"y": 2}; !cmp.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
	if got, want := f.Summary.Expectations, []Expectation{{Expr: "a.x > 1"}, {Expr: "a.y > 1", OK: true, Value: 2.0}}; !cmp.Equal(got, want) {
		t.Errorf("expectations %v, want %v", got, want)
	}
}
