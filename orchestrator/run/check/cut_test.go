package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// cutRun is the outcome of a run of two nodes on a link that is cut, with 5 frames one way.
func cutRun() (*plan.Plan, *backend.Outcome, []metrics.NodeTotals) {
	a, b := topologies.End{Node: 0}, topologies.End{Node: 1}
	p := &plan.Plan{Network: plan.Network{
		Graph: &topologies.Graph{Nodes: []topologies.Node{{Name: "h0"}, {Name: "h1"}}, Links: []topologies.Link{{A: a, B: b}}},
		Links: []plan.Link{{A: a, B: b, Name: "h0-h1"}},
	}}
	out := &backend.Outcome{
		Frames: 5, Interfaces: backend.Counters{TxPackets: 5, RxPackets: 5},
		Ports: []emu.PortCount{{Node: 0, Sent: 5}, {Node: 1, Received: 5}},
		Counters: []backend.InterfaceCounters{
			{End: a, Counters: backend.Counters{TxPackets: 5}}, {End: b, Counters: backend.Counters{RxPackets: 5}},
		},
		Cut: &backend.Cut{Parts: []string{"shard 0", "shard 1"}, Exchanges: 3, Bytes: 900, Links: []backend.CutLink{
			{Link: "h0-h1", From: "shard 0", To: "shard 1", Sender: a, Receiver: b, Entered: 5, Left: 5, Taken: 5, Put: 5},
			{Link: "h0-h1", From: "shard 1", To: "shard 0", Sender: b, Receiver: a},
		}},
	}
	return p, out, []metrics.NodeTotals{{Ports: []metrics.PortTotals{{TxPackets: 5}}}, {Ports: []metrics.PortTotals{{RxPackets: 5}}}}
}

// The frames of a cut link are the same for its sender, at both stubs, for both gateways and
// for its receiver; frames of no node at a stub are no fault.
func TestFramesOfCutLinks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*backend.Outcome, *backend.CutLink)
		want   string // empty: the check passes
	}{
		"as it should be":        {func(*backend.Outcome, *backend.CutLink) {}, ""},
		"foreign at a stub":      {func(_ *backend.Outcome, l *backend.CutLink) { l.Entered++ }, ""},
		"not entered":            {func(_ *backend.Outcome, l *backend.CutLink) { l.Entered-- }, "5 frames were sent, 4 entered at the stub"},
		"not taken":              {func(_ *backend.Outcome, l *backend.CutLink) { l.Taken-- }, "4 were taken from it"},
		"put twice":              {func(_ *backend.Outcome, l *backend.CutLink) { l.Put, l.Left = 6, 6 }, "6 put onto the other stub"},
		"did not leave":          {func(_ *backend.Outcome, l *backend.CutLink) { l.Left-- }, "4 left there"},
		"received by nobody":     {func(o *backend.Outcome, _ *backend.CutLink) { o.Ports[1].Received = 4 }, "and 4 were received"},
		"sent back without node": {func(o *backend.Outcome, _ *backend.CutLink) { o.Cut.Links[1].Put = 1 }, "link h0-h1, cut between shard 1 and shard 0: 0 frames were sent"},
	} {
		p, out, nodes := cutRun()
		c.change(out, &out.Cut.Links[0])
		got := Frames(p, out, nodes)
		if got.OK != (c.want == "") || !strings.Contains(got.Detail, c.want) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
	p, out, nodes := cutRun()
	if got, want := Frames(p, out, nodes).Detail, "; 5 entered and 5 left at the stubs of 2 directions of links between 2 parts, in 3 exchanges"; !strings.HasSuffix(got, want) {
		t.Errorf("detail %q, want …%s", got, want)
	}
}

func TestCut(t *testing.T) {
	_, out, _ := cutRun()
	want := &runfolder.Cut{
		Parts: []string{"shard 0", "shard 1"}, Frames: 5, Exchanges: 3, Bytes: 900,
		Links: []runfolder.CutLink{{Link: "h0-h1", From: "shard 0", To: "shard 1", Entered: 5, Left: 5}, {Link: "h0-h1", From: "shard 1", To: "shard 0"}},
	}
	if diff := cmp.Diff(Cut(out), want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
	if got := Cut(new(backend.Outcome)); got != nil {
		t.Errorf("a run that was not cut has %+v", got)
	}
}
