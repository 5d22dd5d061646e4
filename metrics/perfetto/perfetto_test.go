package perfetto_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/perfetto"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
)

// event is an event of a trace, as Chrome's format has it.
type event struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat"`
	Process  int64          `json:"pid"`
	Thread   int64          `json:"tid"`
	Time     float64        `json:"ts"`
	Duration float64        `json:"dur"`
	ID       string         `json:"id"`
	Bind     string         `json:"bp"`
	Args     map[string]any `json:"args"`
}

const us = units.Time(units.Microsecond)

// hostile is a name that must come out as text.
const hostile = "</script>\n\"job\\\" <b>\x00"

// folder writes a run of a job of two ranks in one step: rank 0 computes and sends two
// messages, which overlap, and rank 1 receives them. There is a transfer beside it, and
// another variant.
func folder(t *testing.T) *runfolder.Folder {
	t.Helper()
	m := runfolder.Manifest{
		Name: hostile, Runtime: "inproc", Clock: "virtual", IntervalUS: 100,
		Nodes: []runfolder.Node{{Node: 0, Name: "h0", Kind: runfolder.KindHost}, {Node: 1, Name: strings.Repeat("long", 2500), Kind: runfolder.KindHost}},
		Ports: []runfolder.Port{{Node: 0, Port: 0, Peer: 1, RateBPS: 1e9, Name: "h0-h1", Tier: "host", Direction: "up"}, {Node: 1, Port: 0, Peer: 0, RateBPS: 1e9, Name: "h1-h0", Tier: "host", Direction: "up"}},
		Flows: []runfolder.Flow{
			{Flow: 0, Name: "conn", Src: 0, Dst: 1, Size: 3000, Packets: 3, Job: 1, Messages: 2, SrcRank: 0, DstRank: 1},
			{Flow: 1, Name: "transfer", Src: 0, Dst: 1, Size: 9000, Packets: 9},
		},
		Jobs:     []runfolder.Job{{Job: 1, Name: hostile, Ranks: []int32{0, 1}, Steps: 1, Phases: []string{"forward"}, Collectives: []runfolder.Collective{{Name: "sum", Kind: "all_reduce", Ranks: 2}}, FirstSteps: 1, Messages: true}},
		Variants: []runfolder.Variant{{Name: "base", MTU: 1000, Header: 64}, {Name: "other", MTU: 1000, Header: 64}},
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	tag := metrics.Tag{Step: 1, Phase: 1}
	collective := metrics.Tag{Step: 1, Phase: 1, Collective: 1}
	span := func(rank int32, tag metrics.Tag, op int64, from, to units.Time) metrics.Operation {
		return metrics.Operation{Job: 1, Rank: rank, Op: uint32(op), Kind: metrics.OperationSpan, Tag: tag, Ready: from * us, Start: from * us, End: to * us, After: metrics.Absent, Peer: metrics.Absent, Flow: metrics.Absent}
	}
	message := func(kind metrics.OperationKind, rank, peer int32, op, number int64, from, to units.Time) metrics.Operation {
		return metrics.Operation{Job: 1, Rank: rank, Op: uint32(op), Kind: kind, Tag: collective, Peer: peer, Flow: 0, Message: uint32(number), Bytes: 1500, Ready: from * us, Start: from * us, End: to * us, After: metrics.Absent}
	}
	compute := span(0, tag, 1, 0, 10)
	compute.Kind = metrics.OperationCompute
	var runs []runfolder.RunMetrics
	for _, variant := range []string{"base", "other"} {
		b := &metrics.Batch{
			Operations: []metrics.Operation{
				compute, span(0, tag, 4, 0, 10), message(metrics.OperationSend, 0, 1, 2, 0, 10, 22), message(metrics.OperationSend, 0, 1, 3, 1, 11, 31),
				message(metrics.OperationRecv, 1, 0, 1, 0, 10, 20), message(metrics.OperationRecv, 1, 0, 2, 1, 10, 30), span(0, collective, 5, 10, 31), span(0, metrics.Tag{Step: 1}, 6, 0, 31), span(1, metrics.Tag{Step: 1}, 3, 0, 30),
			},
			Instances: []metrics.Instance{{Job: 1, Tag: metrics.Tag{Step: 1}, Ranks: 2, End: 31 * us}, {Job: 1, Tag: metrics.Tag{Step: 1, Collective: 1}, Ranks: 2, Begin: 10 * us, LastBegin: 11 * us, End: 31 * us}},
			// The port is idle from 100 to 400 us.
			Ports: []metrics.PortWindow{
				{Node: 0, Port: 0, TxPackets: 10, TxBytes: 9999, Busy: 80 * units.Microsecond, QueueMax: 3000}, {Node: 1, Port: 0, TxPackets: 1, TxBytes: 64},
				{Node: 0, Port: 0, Start: 400 * us, TxPackets: 5, TxBytes: 1, Busy: 40 * units.Microsecond, QueueMax: 500}},
			Totals: []metrics.NodeTotals{{Name: "h0", Senders: []metrics.SenderTotals{{Flow: 1, Start: 5 * us, Done: units.Never}}}},
			Traces: []metrics.Trace{{Hash: [32]byte{1}}},
		}
		run, err := w.BeginRun(variant, 7, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.Consume(b)
		if err := run.End(runfolder.RunData{Nodes: []metrics.NodeTotals{b.NodeTotals()}, TraceHash: [32]byte{1}, Wall: time.Second}); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, runfolder.RunMetrics{Variant: variant, Seed: 7, Metrics: map[string]float64{"model_ms": 0.5}})
	}
	if err := w.Finish(runfolder.NewSummary(m.Name, runs...)); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// export writes a trace and reads it again.
func export(t *testing.T, f *runfolder.Folder, o perfetto.Options) (perfetto.Written, []event) {
	t.Helper()
	var text bytes.Buffer
	written, err := perfetto.Write(t.Context(), &text, f, o)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text.Bytes(), []byte("</script>")) || bytes.ContainsRune(text.Bytes(), 0) {
		t.Error("a hostile name is in the text as it is")
	}
	var trace struct {
		Events []event           `json:"traceEvents"`
		Other  map[string]string `json:"otherData"`
	}
	if err := json.Unmarshal(text.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	if trace.Other["experiment"] != hostile {
		t.Errorf("experiment %q", trace.Other["experiment"])
	}
	return written, trace.Events
}

// A trace has every operation of the run of one variant as a slice, with its bytes, and an
// arrow for each message; within a thread slices are disjoint or nested.
func TestTrace(t *testing.T) {
	written, events := export(t, folder(t), perfetto.Options{Variant: "other"})
	if want := (perfetto.Written{Variant: "other", Seed: 7, Slices: 12, Arrows: 2, Counters: 4, Ports: 2}); written != want {
		t.Errorf("written %+v, want %+v", written, want)
	}
	threads := map[[2]int64][]event{}
	names := map[[2]int64]string{}
	arrows := map[string][]event{}
	counts := map[string]int{}
	for _, e := range events {
		at := [2]int64{e.Process, e.Thread}
		switch e.Phase {
		case "M":
			if text, ok := e.Args["name"].(string); ok {
				names[at] = text
				if len([]rune(text)) > 300 {
					t.Errorf("a name has %d characters", len(text))
				}
			}
		case "X":
			threads[at] = append(threads[at], e)
			counts[e.Category]++
			if e.Category == "send" && (e.Args["bytes"] != 1500.0 || e.Args["peer"] != 1.0 || e.Args["flow"] != "conn" || e.Args["collective"] != "sum") {
				t.Errorf("send %v", e.Args)
			}
		case "s", "f":
			arrows[e.ID] = append(arrows[e.ID], e)
		}
	}
	if want := map[string]int{"step": 3, "phase": 1, "compute": 1, "collective": 2, "send": 2, "recv": 2, "transfer": 1}; !equal(counts, want) {
		t.Errorf("slices %v, want %v", counts, want)
	}
	for at, list := range threads {
		if names[at] == "" {
			t.Errorf("thread %v has no name", at)
		}
		slices.SortFunc(list, func(a, b event) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(b.Duration, a.Duration)) })
		var open []float64 // ends
		for _, e := range list {
			for len(open) > 0 && open[len(open)-1] <= e.Time {
				open = open[:len(open)-1]
			}
			if end := e.Time + e.Duration; len(open) > 0 && end > open[len(open)-1] {
				t.Errorf("thread %s: %s ends at %g, and what holds it at %g", names[at], e.Name, end, open[len(open)-1])
			}
			open = append(open, e.Time+e.Duration)
		}
	}
	for id, ends := range arrows {
		if len(ends) != 2 || ends[0].Phase != "s" || ends[1].Phase != "f" || ends[1].Bind != "e" || ends[0].Time > ends[1].Time {
			t.Errorf("arrow %s: %+v", id, ends)
			continue
		}
		for _, e := range ends { // each end lies in a slice of its thread
			if !slices.ContainsFunc(threads[[2]int64{e.Process, e.Thread}], func(s event) bool { return s.Time <= e.Time && e.Time < s.Time+s.Duration }) {
				t.Errorf("arrow %s: no slice around %g", id, e.Time)
			}
		}
	}
	// The transfer that did not complete lasts until the end of the run.
	for _, list := range threads {
		for _, e := range list {
			if e.Category == "transfer" && (math.Abs(e.Time+e.Duration-500) > 1e-9 || e.Args["state"] == "complete") {
				t.Errorf("transfer %+v", e)
			}
		}
	}
}

func equal(a, b map[string]int) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// Counters fall to 0 while a port does nothing, and only the busiest ports have some.
func TestCounters(t *testing.T) {
	f := folder(t)
	written, events := export(t, f, perfetto.Options{Ports: 1})
	if written.Counters != 2 || written.Ports != 2 || written.Variant != "base" {
		t.Errorf("written %+v", written)
	}
	type value struct{ at, v float64 }
	var queue, busy []value
	for _, e := range events {
		switch {
		case e.Phase != "C":
		case e.Name == "h0-h1 queue":
			queue = append(queue, value{e.Time, e.Args["bytes"].(float64)})
		case e.Name == "h0-h1 utilisation":
			busy = append(busy, value{e.Time, e.Args["percent"].(float64)})
		default:
			t.Errorf("counter %s", e.Name)
		}
	}
	if want := []value{{0, 3000}, {100, 0}, {400, 500}, {500, 0}}; !slices.Equal(queue, want) {
		t.Errorf("queue %v, want %v", queue, want)
	}
	if want := []value{{0, 80}, {100, 0}, {400, 40}, {500, 0}}; !slices.Equal(busy, want) {
		t.Errorf("utilisation %v, want %v", busy, want)
	}
	if written, _ := export(t, f, perfetto.Options{Ports: -1}); written.Counters != 0 {
		t.Errorf("counters without ports: %+v", written)
	}
}

// Runs that there are not are errors, and an export ends with its context.
func TestNoTrace(t *testing.T) {
	f := folder(t)
	for _, o := range []perfetto.Options{{Variant: "none"}, {Seed: 8}} {
		if _, err := perfetto.Write(t.Context(), &bytes.Buffer{}, f, o); !errors.Is(err, perfetto.ErrNoRun) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	full := errors.New("full")
	if _, err := perfetto.Write(t.Context(), failing{full}, f, perfetto.Options{}); !errors.Is(err, full) {
		t.Errorf("error of the output: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := perfetto.Write(ctx, &bytes.Buffer{}, f, perfetto.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error of the context: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
