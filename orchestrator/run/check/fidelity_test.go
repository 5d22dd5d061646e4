package check

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// Each part of the budget fails on its own.
func TestFidelityBudget(t *testing.T) {
	p := backendtest.ShortThreeFlow(t)
	budget := experiment.Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05, Underlay: 0.5}
	good := runfolder.Fidelity{Dilation: 4000, LatenessShare: 0.25, Frames: 1000, Displaced: 10, Links: []runfolder.LinkRate{{Rate: 0.96}, {Node: 1, Rate: 1.04}}}
	for _, c := range []struct {
		change func(f *runfolder.Fidelity)
		want   string
	}{
		{func(*runfolder.Fidelity) {}, ""},
		{func(f *runfolder.Fidelity) { f.LatenessShare = 0.26 }, "0.26 of the smallest delay"},
		{func(f *runfolder.Fidelity) { f.Displaced = 11 }, "11 of 1000 packets came too late"},
		{func(f *runfolder.Fidelity) { f.Lost = 1 }, "1 frames were lost on their way; a larger --dilation helps"},
		{func(f *runfolder.Fidelity) { f.Unread, f.Foreign = 2, 1 }, "2 frames of programs found no reader at their hosts: too many at a time, or longer than csig0's MTU"},
		{func(f *runfolder.Fidelity) { f.Foreign = 1 }, ""},
		{func(f *runfolder.Fidelity) { f.Links = append(f.Links, runfolder.LinkRate{Node: 2, Rate: 0.9}) }, "1 of 3 busy links were off their rate; h2 port 0 sent at 0.9 of it"},
		{func(f *runfolder.Fidelity) {
			f.Underlay = []runfolder.Underlay{{A: "shard 0", B: "shard 1", Share: 0.5}}
		}, ""},
		{func(f *runfolder.Fidelity) {
			f.Underlay = []runfolder.Underlay{{A: "shard 0", B: "shard 1", Share: 0.1}, {A: "shard 0", B: "shard 2", RoundTripUS: 1000, ClockOffsetUS: -100, Link: "tor0-agg0", DelayUS: 0.25, Share: 0.6}}
		}, "shard 0 and shard 2 are 600 us apart (half of the round trip of 1e+03 us, and clocks that differ by 100 us), 0.6 of the delay 0.25 us of link tor0-agg0 times 4000; the budget is 0.5, which takes a dilation of at least 4800"},
		{func(f *runfolder.Fidelity) { f.Behind = 2.5 }, "given up when it was 2.5 s behind"},
	} {
		f := good
		c.change(&f)
		got := Fidelity(p, &f, budget)
		if got.OK != (c.want == "") || !strings.Contains(got.Detail, c.want) || f.Unread > 0 && strings.Contains(got.Detail, "dilation") {
			t.Errorf("check of %+v: ok %v, %q; want %q", f, got.OK, got.Detail, c.want)
		}
	}
}

// What lies between two machines is compared with the smallest delay of the links between
// them, not of others.
func TestUnderlay(t *testing.T) {
	p := backendtest.Compile(t, strings.Replace(backendtest.Small, "{down: 2, rate: 100Gbps, delay: 1us}", "{down: 2, rate: 100Gbps, delay: 3us}", 1))
	byDelay := func(delay float64) string {
		for _, l := range p.Links {
			if l.Delay.Microseconds() == delay {
				return l.Name
			}
		}
		t.Fatalf("no link has a delay of %v us", delay)
		return ""
	}
	short, long := byDelay(1), byDelay(3)
	out := &backend.Outcome{Timing: &wall.Timing{}, Cut: &backend.Cut{
		Links: []backend.CutLink{{Link: long, From: "a", To: "b"}, {Link: long, From: "b", To: "a"}, {Link: long, From: "a", To: "c"}, {Link: short, From: "a", To: "c"}},
		RoundTrips: []backend.RoundTrip{
			{A: "b", B: "c", Least: 1, Median: 2, P99: 3},
			{A: "a", B: "c", Median: 400 * time.Microsecond},
			{A: "a", B: "b", Least: 100 * time.Microsecond, Median: 200 * time.Microsecond, P99: 900 * time.Microsecond, ClockOffset: -200 * time.Microsecond, ClockError: 50 * time.Microsecond},
		},
	}}
	want := []runfolder.Underlay{
		{A: "a", B: "b", RoundTripUS: 200, RoundTripMin: 100, RoundTripP99: 900, ClockOffsetUS: -200, ClockErrorUS: 50, Link: long, DelayUS: 3, Share: 0.1},
		{A: "a", B: "c", RoundTripUS: 400, Link: short, DelayUS: 1, Share: 0.2},
		{A: "b", B: "c", RoundTripUS: 0.002, RoundTripMin: 0.001, RoundTripP99: 0.003},
	}
	if diff := cmp.Diff(Measure(p, 1000, out).Underlay, want); diff != "" {
		t.Errorf("underlay (-got +want):\n%s", diff)
	}
	if got := Measure(p, 1000, &backend.Outcome{Timing: &wall.Timing{}}).Underlay; got != nil {
		t.Errorf("a run that is not cut has underlay %+v", got)
	}
}

// Loss and surplus are counted for each direction of a link: what one has lost does not
// make up for what another has too many.
func TestMismatchesByLink(t *testing.T) {
	p := backendtest.ShortThreeFlow(t)
	outcome := func(change func(port func(node, port int) *emu.PortCount)) *backend.Outcome {
		out := &backend.Outcome{Timing: &wall.Timing{}}
		at := map[topologies.End]int{}
		for _, l := range p.Links {
			for _, e := range []topologies.End{l.A, l.B} {
				at[e] = len(out.Ports)
				out.Ports = append(out.Ports, emu.PortCount{Node: e.Node, Port: e.Port, Sent: 100, Received: 100})
			}
		}
		change(func(node, port int) *emu.PortCount { return &out.Ports[at[topologies.End{Node: node, Port: port}]] })
		return out
	}
	first, second := p.Links[0], p.Links[1]
	name := func(l plan.Link) string {
		return "link " + l.Name + " from " + p.Graph.Nodes[l.A.Node].Name + " to " + p.Graph.Nodes[l.B.Node].Name
	}
	for _, c := range []struct {
		change                    func(port func(node, port int) *emu.PortCount)
		lost, surplus, mismatches int64
		want                      []string
	}{
		{change: func(func(node, port int) *emu.PortCount) {}},
		{func(port func(node, port int) *emu.PortCount) {
			port(first.B.Node, first.B.Port).Received--
			port(second.B.Node, second.B.Port).Received++
		}, 1, 1, 2, []string{"1 frames were lost on their way: 1 on " + name(first), "1 frames were received that no node sent: 1 on " + name(second)}},
		{func(port func(node, port int) *emu.PortCount) { // one of the two was not the node's
			port(first.B.Node, first.B.Port).Strays.Repeated = 1
		}, 0, 1, 1, []string{"1 on " + name(first)}},
		{func(port func(node, port int) *emu.PortCount) {
			port(first.B.Node, first.B.Port).Strays = emu.Strays{Unmarked: 5, Elsewhere: 5, Damaged: 5, Past: 5, Future: 5, Excess: 5}
		}, 0, 0, 1, nil},
	} {
		f := Measure(p, 1, outcome(c.change))
		if f.Lost != c.lost || f.Surplus != c.surplus || int64(len(f.Mismatches)) != c.mismatches {
			t.Errorf("lost %d, surplus %d, mismatches %+v; want %d, %d, %d of them", f.Lost, f.Surplus, f.Mismatches, c.lost, c.surplus, c.mismatches)
		}
		got := Fidelity(p, f, experiment.Budget{Lateness: 1, Displaced: 1, Rate: 1, Underlay: 1})
		if got.OK != (c.want == nil) {
			t.Errorf("the check is %v: %s", got.OK, got.Detail)
		}
		for _, want := range c.want {
			if !strings.Contains(got.Detail, want) {
				t.Errorf("%q is not in %q", want, got.Detail)
			}
		}
	}
}

// Under lockstep a stray that the node has dropped is no fault; a frame that nobody has
// dropped, or that the interfaces have not seen, is one of its link.
func TestFramesByLink(t *testing.T) {
	p := backendtest.ShortThreeFlow(t)
	l := p.Links[0]
	for _, c := range []struct {
		tx, rx, strays int64
		want           string
	}{
		{10, 10, 0, ""},
		{12, 12, 2, ""},
		{12, 12, 1, "some are of no node"},
		{11, 11, 0, "some are of no node"},
		{10, 9, 0, "some were lost"},
		{9, 10, 0, "some were lost"},
	} {
		out := &backend.Outcome{
			Ports: []emu.PortCount{
				{Node: l.A.Node, Port: l.A.Port, Sent: 10}, {Node: l.B.Node, Port: l.B.Port, Received: 10, Strays: emu.Strays{Elsewhere: c.strays}},
			},
			Counters: []backend.InterfaceCounters{
				{End: l.A, Counters: backend.Counters{TxPackets: c.tx}}, {End: l.B, Counters: backend.Counters{RxPackets: c.rx}},
			},
		}
		got := links(p, out)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || got != "" && !strings.Contains(got, "link "+l.Name+": ") {
			t.Errorf("%+v: %q, want %q with the link's name", c, got, c.want)
		}
	}
}
