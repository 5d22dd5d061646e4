package blame

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/reports/waits"
	"github.com/csiglab/csiglab/units"
)

// planted is a run of a leaf-spine fabric of two leaves with two hosts each and two spines:
// transfers of 1 MB at 100 Gb/s (80 us) that take longer, and queues where they wait.
type planted struct {
	transfers [][2]int32 // source and destination
	us        []float64  // how long they take
	ports     map[string]plantedPort
	samples   string // CSIG samples of the first transfer name this port
	fault     string // link that a fault touches
}

// plantedPort is what a port does in all windows.
type plantedPort struct {
	use   float64
	queue int64
}

func (p *planted) blame(t *testing.T) []Blame {
	t.Helper()
	m := runfolder.Manifest{Name: "planted", IntervalUS: 100, Signals: []string{"abw", "abw-c", "delay", "nqd"}, Variants: []runfolder.Variant{{Name: "run", MTU: 1000, CSIG: "none"}}}
	for i, name := range []string{"h0", "h1", "h2", "h3", "tor0", "tor1", "agg0", "agg1"} {
		kind := runfolder.KindHost
		if i > 3 {
			kind = runfolder.KindSwitch
		}
		m.Nodes = append(m.Nodes, runfolder.Node{Node: int32(i), Name: name, Kind: kind})
	}
	next := map[int32]int32{}
	table := &runfolder.LocatorTable{Scheme: "registry"}
	for _, l := range [][2]int32{{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 6}, {4, 7}, {5, 6}, {5, 7}} {
		for k := range 2 {
			a, b := l[k], l[1-k]
			link := m.Nodes[l[0]].Name + "-" + m.Nodes[l[1]].Name
			one := runfolder.Port{Node: a, Port: next[a], Peer: b, RateBPS: 100e9, Link: link, Name: m.Nodes[a].Name + "-" + m.Nodes[b].Name}
			m.Ports = append(m.Ports, one)
			table.Locators = append(table.Locators, runfolder.Locator{Locator: int32(len(m.Ports)), Ports: []string{one.Name}})
		}
		next[l[0]]++
		next[l[1]]++
	}
	b := &metrics.Batch{Traces: []metrics.Trace{{}}}
	totals, end := metrics.NodeTotals{Name: "h0"}, 0.0
	for i, f := range p.transfers {
		m.Flows = append(m.Flows, runfolder.Flow{Flow: int32(i), Name: fmt.Sprintf("%d-%d", f[0], f[1]), Src: f[0], Dst: f[1], Size: 1e6, Packets: 1000})
		done := units.Time(p.us[i] * float64(units.Microsecond))
		totals.Senders = append(totals.Senders, metrics.SenderTotals{Flow: int32(i), Done: done})
		totals.Receivers = append(totals.Receivers, metrics.ReceiverTotals{Flow: int32(i), Done: done, PayloadBytes: 1e6})
		end = max(end, p.us[i])
	}
	for at := units.Time(0); float64(at) < end*float64(units.Microsecond); at += units.Time(100 * units.Microsecond) {
		for i := range m.Ports {
			if one, ok := p.ports[m.Ports[i].Name]; ok {
				b.Ports = append(b.Ports, metrics.PortWindow{Node: m.Ports[i].Node, Port: m.Ports[i].Port, Start: at, TxBytes: 1, Busy: units.Duration(one.use * float64(100*units.Microsecond)), QueueMax: one.queue})
			}
			if m.Ports[i].Name == p.samples {
				b.Signals = append(b.Signals, metrics.SignalWindow{Flow: 0, Type: 2, Locator: uint32(i + 1), Start: at, Samples: 10, PointSum: 50_000},
					metrics.SignalWindow{Flow: 0, Type: 2, Locator: 1, Start: at, Samples: 10, PointSum: 10_000})
			}
		}
		for i := range p.transfers {
			if float64(at) < p.us[i]*float64(units.Microsecond) {
				b.Flows = append(b.Flows, metrics.FlowWindow{Flow: int32(i), Start: at, Packets: 10, WireBytes: 10_000})
			}
		}
	}
	if p.samples != "" {
		m.Variants[0].Locators = table
	}
	b.Totals = []metrics.NodeTotals{totals}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.BeginRun("run", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	run.Consume(b)
	data := runfolder.RunData{Nodes: []metrics.NodeTotals{b.NodeTotals()}}
	if p.fault != "" {
		data.Faults = []runfolder.Fault{{Name: "down-0", Kind: "down", What: "a link down", Where: []string{p.fault}, Happened: true}}
	}
	if err := run.End(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(runfolder.NewSummary("planted", runfolder.RunMetrics{Variant: "run", Seed: 1, Metrics: map[string]float64{}})); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := sectiontest.Read[*Section](t, f, New)
	return s.Blame
}

// The blame table finds planted places: the last hop of an incast with its senders, an
// uplink beside a free one, a NIC, and the port for which another one had to wait.
func TestBlame(t *testing.T) {
	incast := [][2]int32{{1, 0}, {2, 0}, {3, 0}}
	for _, c := range []struct {
		name string
		planted
		want Blame
	}{
		{"incast", planted{transfers: incast, us: []float64{1000, 900, 800}, ports: map[string]plantedPort{"tor0-h0": {1, 90_000}, "agg0-tor0": {0.4, 3000}}},
			Blame{Transfer: "1-0", Kind: Incast, Port: "tor0-h0", Node: "tor0", By: ByQueues, Sources: 3, SourceNames: []string{"h1", "h2", "h3"}, PortUse: 1}},
		{"one sender", planted{transfers: incast[:1], us: []float64{1000}, ports: map[string]plantedPort{"tor0-h0": {1, 90_000}}},
			Blame{Transfer: "1-0", Kind: Edge, Port: "tor0-h0", Node: "tor0", By: ByQueues, Sources: 1, SourceNames: []string{"h1"}, PortUse: 1}},
		{"uplink", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"tor0-agg0": {0.95, 90_000}, "tor0-agg1": {0.2, 0}}},
			Blame{Transfer: "0-2", Kind: Core, Port: "tor0-agg0", Node: "tor0", By: ByQueues, Other: 1, Free: 1, Freest: "tor0-agg1", FreestUse: 0.2, PortUse: 0.95}},
		{"both uplinks", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"tor0-agg0": {0.95, 90_000}, "tor0-agg1": {0.8, 10_000}}},
			Blame{Transfer: "0-2", Kind: Core, Port: "tor0-agg0", Node: "tor0", By: ByQueues, Other: 1, Freest: "tor0-agg1", FreestUse: 0.8, PortUse: 0.95}},
		{"the way down", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"agg0-tor1": {0.95, 90_000}}},
			Blame{Transfer: "0-2", Kind: Core, Port: "agg0-tor1", Node: "agg0", By: ByQueues, Other: 1, Free: 1, Freest: "agg1-tor1", PortUse: 0.95}},
		{"the other uplink is down", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"tor0-agg0": {0.95, 90_000}}, fault: "tor0-agg1"},
			Blame{Transfer: "0-2", Kind: Core, Port: "tor0-agg0", Node: "tor0", By: ByQueues, PortUse: 0.95}},
		{"a slow uplink", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"tor0-agg0": {0.25, 90_000}, "tor1-h2": {0.95, 0}}, fault: "tor0-agg0"},
			Blame{Transfer: "0-2", Kind: Core, Port: "tor0-agg0", Node: "tor0", By: ByQueues, Fault: "down-0", Other: 1, Free: 1, Freest: "tor0-agg1", PortUse: 0.25}},
		{"NIC", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}},
			Blame{Transfer: "0-2", Kind: NIC, Node: "h0"}},
		{"a queue at the NIC", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"h0-tor0": {1, 90_000}}},
			Blame{Transfer: "0-2", Kind: NIC, Port: "h0-tor0", Node: "h0", By: ByQueues, PortUse: 1}},
		{"held back", planted{transfers: incast, us: []float64{1000, 2000, 800}, ports: map[string]plantedPort{"tor0-h0": {1, 20_000}, "agg0-tor0": {0.4, 90_000}}},
			Blame{Transfer: "2-0", Kind: Incast, Port: "tor0-h0", Node: "tor0", By: ByQueues, HeldBack: "agg0-tor0", Sources: 3, SourceNames: []string{"h2", "h1", "h3"}, PortUse: 1}},
		{"samples", planted{transfers: [][2]int32{{0, 2}}, us: []float64{1000}, ports: map[string]plantedPort{"tor0-agg0": {0.9, 90_000}, "agg1-tor1": {0.6, 5000}}, samples: "agg1-tor1"},
			Blame{Transfer: "0-2", Kind: Core, Port: "agg1-tor1", Node: "agg1", By: ByCSIG, Other: 1, Free: 1, Freest: "agg0-tor1", PortUse: 0.6}},
		{"shorter than a window", planted{transfers: [][2]int32{{0, 2}}, us: []float64{95}, ports: map[string]plantedPort{"tor0-agg0": {0.9, 90_000}}},
			Blame{Transfer: "0-2", Kind: Core, Port: "tor0-agg0", Node: "tor0", By: ByQueues, Short: true, Other: 1, Free: 1, Freest: "tor0-agg1", PortUse: 0.9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.blame(t)
			if len(all) == 0 {
				t.Fatal("nothing is blamed")
			}
			got := all[0]
			if math.Abs(got.UnloadedUS-80) > 5 || math.Abs(got.LostUS-(got.US()-got.UnloadedUS)) > 1e-9 || got.WaitUS <= 0 || got.WaitUS > got.LostUS || math.Abs(got.Share-got.WaitUS/got.US()) > 1e-9 {
				t.Errorf("times %+v", got)
			}
			near := func(a, b float64) bool { return math.Abs(a-b) < 0.01 }
			if got.Transfer != c.want.Transfer || got.Kind != c.want.Kind || got.Port != c.want.Port || got.Node != c.want.Node || got.By != c.want.By || got.HeldBack != c.want.HeldBack ||
				got.Fault != c.want.Fault || got.Short != c.want.Short || got.Sources != c.want.Sources || !slices.Equal(got.SourceNames, c.want.SourceNames) ||
				got.Other != c.want.Other || got.Free != c.want.Free || got.Freest != c.want.Freest || !near(got.FreestUse, c.want.FreestUse) || !near(got.PortUse, c.want.PortUse) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
	if all := (&planted{transfers: [][2]int32{{0, 2}}, us: []float64{81}}).blame(t); len(all) > 0 {
		t.Errorf("a transfer that loses 1 %% is slow: %+v", all)
	}
}

// Of a collective the time until its last rank came belongs to that rank, but for what the
// messages before waited; the rest to the ports.
func TestBlameCollective(t *testing.T) {
	j := &waits.Job{Run: reading.RunID{Variant: "run", Seed: 1}, Info: &runfolder.Job{Name: "job"}, Fastest: map[string]float64{"sum": 40}}
	of := func(kind waits.Kind, name string, from, to, unloaded float64, hop string) waits.Piece {
		return waits.Piece{Kind: kind, Collective: name, FromUS: from, ToUS: to, UnloadedUS: unloaded, Hop: hop, Host: "h1", PeerHost: "h2", Flow: "f", HopShare: 1}
	}
	p := &waits.Path{Step: 3, Collective: "sum", Group: 2, FromUS: 0, ToUS: 100, LateRank: 7, LateHost: "h7", LateUS: 50,
		Whole: []waits.Piece{of(waits.KindCompute, "", 0, 30, 30, ""), of(waits.KindTransfer, "before", 30, 50, 15, "tor0-h9"), of(waits.KindTransfer, "sum", 50, 70, 10, "a-b"), of(waits.KindTransfer, "sum", 70, 100, 10, "a-b")}}
	b := ofCollective(j, p)
	if b == nil || b.Kind != Rank || b.Rank != 7 || b.Node != "h7" || b.WaitUS != 45 || b.UnloadedUS != 20 || b.LostUS != 80 || b.FastestUS != 40 || b.Step != 3 || b.Group != 2 {
		t.Errorf("late rank: %+v", b)
	}
	p.LateUS, p.FromUS, p.Whole = 0, 50, p.Whole[2:]
	b = ofCollective(j, p)
	if b == nil || b.Rank != -1 || b.Port != "a-b" || b.WaitUS != 30 || b.Share != 0.6 || b.WaitFromUS != 50 || b.WaitToUS != 100 || b.Flow != "f" || b.Src != "h1" || b.Dst != "h2" {
		t.Errorf("port: %+v", b)
	}
	p.Whole[0].HopShare, p.Whole[1].HopShare = 0.5, 0.5
	if b = ofCollective(j, p); b.WaitUS != 15 {
		t.Errorf("half of the wait at the port: %+v", b)
	}
	p.Whole[0].UnloadedUS, p.Whole[1].UnloadedUS = 20, 29
	if b = ofCollective(j, p); b != nil {
		t.Errorf("a collective that loses 1 us of 50 is slow: %+v", b)
	}
}
