package backend_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// parts are the outcomes of a run of two nodes, h0 in part 0 and h1 in part 1.
func parts() []*backend.Outcome {
	h0, h1 := topologies.End{Node: 0}, topologies.End{Node: 1}
	there := backend.CutLink{Link: "h0-h1", From: "a", To: "b", Sender: h0, Receiver: h1}
	back := backend.CutLink{Link: "h0-h1", From: "b", To: "a", Sender: h1, Receiver: h0}
	with := func(l backend.CutLink, entered, left int64) backend.CutLink {
		l.Entered, l.Taken, l.Left, l.Put = entered, entered, left, left
		return l
	}
	return []*backend.Outcome{
		{
			End: 9, Drained: true, Setup: 2, Wall: 30, CPU: 5, Frames: 7, Strays: 1, Grants: 11,
			Ports: []emu.PortCount{{Node: 0, Sent: 7}}, Interfaces: backend.Counters{TxPackets: 7, RxPackets: 3},
			Counters: []backend.InterfaceCounters{{End: h0, Counters: backend.Counters{TxPackets: 7, RxPackets: 3}}},
			Cut: &backend.Cut{Exchanges: 4, Bytes: 100, Links: []backend.CutLink{with(there, 7, 0), with(back, 0, 3)},
				RoundTrips: []backend.RoundTrip{{A: "a", B: "b", Least: time.Microsecond}}},
		},
		{
			End: 9, Drained: true, Setup: 3, Wall: 20, CPU: 6, Frames: 3, Strays: 0, Grants: 2,
			Ports: []emu.PortCount{{Node: 1, Sent: 3}}, Interfaces: backend.Counters{TxPackets: 3, RxPackets: 7, Dropped: 1},
			Counters: []backend.InterfaceCounters{{End: h1, Counters: backend.Counters{TxPackets: 3, RxPackets: 7, Dropped: 1}}},
			Cut:      &backend.Cut{Exchanges: 5, Bytes: 20, Links: []backend.CutLink{with(there, 0, 7), with(back, 3, 0)}},
		},
	}
}

// pair is the plan of that run.
func pair() *plan.Plan {
	h0, h1 := topologies.End{Node: 0}, topologies.End{Node: 1}
	return &plan.Plan{Network: plan.Network{
		Graph: &topologies.Graph{Nodes: []topologies.Node{{Name: "h0"}, {Name: "h1"}}},
		Links: []plan.Link{{Name: "h0-h1", A: h0, B: h1}},
	}}
}

func TestMerge(t *testing.T) {
	r, of := &backend.Run{Plan: pair()}, []int{0, 1}
	outs := parts()
	got, err := backend.Merge(r, of, outs)
	if err != nil {
		t.Fatal(err)
	}
	there, back := outs[0].Cut.Links[0], outs[1].Cut.Links[1]
	there.Left, there.Put = 7, 7
	back.Left, back.Put = 3, 3
	want := &backend.Outcome{
		End: 9, Drained: true, Setup: 3, Wall: 30, CPU: 11, Frames: 10, Strays: 1, Grants: 13,
		Ports:      []emu.PortCount{{Node: 0, Sent: 7}, {Node: 1, Sent: 3}},
		Interfaces: backend.Counters{TxPackets: 10, RxPackets: 10, Dropped: 1},
		Counters:   append(outs[0].Counters, outs[1].Counters...),
		Cut:        &backend.Cut{Exchanges: 9, Bytes: 120, Links: []backend.CutLink{there, back}, RoundTrips: outs[0].Cut.RoundTrips},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// In real time the programs of all parts stand in the plan's order, and one late part makes
// the run late.
func TestMergeRealTime(t *testing.T) {
	p := pair()
	for _, host := range []int{1, 0, 1} {
		p.Programs = append(p.Programs, plan.Program{Host: host})
	}
	outs := parts()
	outs[0].Programs = []application.Ended{{Code: 1}}
	outs[1].Programs = []application.Ended{{Code: 0}, {Code: 2}}
	outs[0].Timing = &wall.Timing{RealTime: true, Sent: 3, Displaced: 1, DisplacedMax: 5}
	outs[1].Timing = &wall.Timing{RealTime: false, Sent: 4, DisplacedMax: 6}
	outs[1].Behind, outs[1].End, outs[1].Drained = time.Second, 5, false
	r := &backend.Run{Plan: p, Wall: &wall.Clock{Dilation: 1}}
	got, err := backend.Merge(r, []int{0, 1}, outs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.Programs, []application.Ended{{Code: 0}, {Code: 1}, {Code: 2}}); diff != "" {
		t.Errorf("programs (-got +want)\n%s", diff)
	}
	if diff := cmp.Diff(*got.Timing, wall.Timing{Sent: 7, Displaced: 1, DisplacedMax: 6}); diff != "" {
		t.Errorf("timing (-got +want)\n%s", diff)
	}
	if got.Behind != time.Second || got.End != 5 || got.Drained {
		t.Errorf("behind %v at %v, drained %v; want 1s at 5 ps, not drained", got.Behind, got.End, got.Drained)
	}
	outs[1].Programs = outs[1].Programs[:1]
	if _, err := backend.Merge(r, []int{0, 1}, outs); err == nil || !strings.Contains(err.Error(), "part 1 does not say how program 2 ended") {
		t.Errorf("error %v, want one of program 2", err)
	}
}

// Outcomes that contradict each other are refused.
func TestMergeRefuses(t *testing.T) {
	for want, change := range map[string]func([]*backend.Outcome){
		"part 1 of 2 has no outcome":                                        func(o []*backend.Outcome) { o[1] = nil },
		"part 1 has not counted the frames":                                 func(o []*backend.Outcome) { o[1].Cut = nil },
		"part 0 ended at 9ps (drained true), part 1 at 8":                   func(o []*backend.Outcome) { o[1].End = units.Time(8) },
		"part 1 has counted the frames of link h0-h1 from h0 to h1 0 times": func(o []*backend.Outcome) { o[1].Cut.Links = nil },
		"part 0 has counted the frames of link h0-h1 from h1 to h0 0 times": func(o []*backend.Outcome) { o[0].Cut.Links = o[0].Cut.Links[:1] },
		"part 0 has counted the frames of link h0-h1 from h0 to h1 2 times": func(o []*backend.Outcome) {
			o[0].Cut.Links = append(o[0].Cut.Links, o[0].Cut.Links[0])
		},
		"the parts have counted 5 ends of directions of cut links, want 4": func(o []*backend.Outcome) {
			o[0].Cut.Links = append(o[0].Cut.Links, backend.CutLink{Link: "h0-h2"})
		},
		"part 1 at 9ps (drained false)": func(o []*backend.Outcome) { o[1].Drained = false },
	} {
		outs := parts()
		change(outs)
		if _, err := backend.Merge(&backend.Run{Plan: pair()}, []int{0, 1}, outs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
