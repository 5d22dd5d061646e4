package readingtest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
)

// Many is a made-up experiment with many flows: every host of a leaf-spine fabric sends
// to every other. It says what is unlike in it, so that tests find it again.
type Many struct {
	Leaves, Spines, Hosts int // Hosts of each leaf
	Seeds                 int
	Samples               bool // flows have CSIG samples, which name the port to the destination
	Open                  bool // flow 0-1 does not complete: half of it arrives
	Windows               int  // telemetry windows in which all flows and ports do the same; 0 is 1
}

// Flows returns the number of flows.
func (m *Many) Flows() int {
	hosts := m.Leaves * m.Hosts
	return hosts * (hosts - 1)
}

const manySize = 64 * units.KB

// slowdown returns the slowdown of a flow: 2 and up to 8 more, and of flow 3-2 100.
func (m *Many) slowdown(src, dst int) float64 {
	if src == 3 && dst == 2 {
		return 100
	}
	return 2 + float64((src*31+dst*17)%800)/100
}

// fct returns the completion time of a flow in µs.
func (m *Many) fct(src, dst int) float64 { return 5 * m.slowdown(src, dst) }

func (m *Many) manifest() runfolder.Manifest {
	f := runfolder.Manifest{Name: "many", Version: "0.1.0", Command: []string{"csiglab", "run", "many"}, Runtime: "inproc", Clock: "virtual",
		Signals: []string{"abw", "abw-c", "delay", "nqd"}, IntervalUS: Interval.Microseconds(), Details: []string{"flows", "ports"},
		Variants: []runfolder.Variant{{Name: "run", MTU: 4150, Header: 64, CC: "nscc", LB: "mixed", AQM: "linear", CSIG: "none", Actions: Actions, Constants: constants}}}
	hosts, leaf := m.Leaves*m.Hosts, func(i int) int { return m.Leaves*m.Hosts + i }
	node := func(kind, name string) {
		f.Nodes = append(f.Nodes, runfolder.Node{Node: int32(len(f.Nodes)), Name: name, Kind: kind})
	}
	for i := range hosts {
		node(runfolder.KindHost, fmt.Sprintf("h%d", i))
	}
	for i := range m.Leaves {
		node(runfolder.KindSwitch, fmt.Sprintf("tor%d", i))
	}
	for i := range m.Spines {
		node(runfolder.KindSwitch, fmt.Sprintf("agg%d", i))
	}
	next := map[int]int32{}
	link := func(low, high int, tierLow, tierHigh string) {
		a, b := next[low], next[high]
		next[low]++
		next[high]++
		x, y := f.Nodes[low].Name, f.Nodes[high].Name
		f.Ports = append(f.Ports, runfolder.Port{Node: int32(low), Port: a, Peer: int32(high), PeerPort: b, RateBPS: rate, Link: x + "-" + y, Name: x + "-" + y, Tier: tierLow, Direction: "up"},
			runfolder.Port{Node: int32(high), Port: b, Peer: int32(low), PeerPort: a, RateBPS: rate, Link: x + "-" + y, Name: y + "-" + x, Tier: tierHigh, Direction: "down"})
	}
	for i := range hosts {
		link(i, leaf(i/m.Hosts), "host", "tor")
	}
	table := runfolder.LocatorTable{Scheme: "registry"}
	for i := range m.Leaves {
		for k := range m.Spines {
			link(leaf(i), leaf(m.Leaves+k), "tor", "agg")
		}
		table.Locators = append(table.Locators, runfolder.Locator{Locator: int32(i + 1)})
	}
	for _, p := range f.Ports { // the ports of a leaf to its hosts share a locator
		if p.Tier == "tor" && p.Direction == "down" {
			l := &table.Locators[p.Node-int32(hosts)]
			l.Ports = append(l.Ports, p.Name)
		}
	}
	if m.Samples {
		f.Variants[0].CSIG, f.Variants[0].Locators = "compact", &table
	}
	var flows []metrics.FlowInfo
	for src := range hosts {
		for dst := range hosts {
			if src != dst {
				flows = append(flows, metrics.FlowInfo{Flow: int32(len(flows)), Name: fmt.Sprintf("%d-%d", src, dst), Src: int32(src), Dst: int32(dst), Size: manySize, Packets: 16})
			}
		}
	}
	f.Flows = runfolder.Flows(flows)
	return f
}

// rest calls write with the records of the windows of a run after the first. Their bytes and
// delays vary, so that files of them are as large as those of real runs.
func (m *Many) rest(first *metrics.Batch, write func(*metrics.Batch)) {
	b := &metrics.Batch{Node: first.Node, Flows: slices.Clone(first.Flows), CC: slices.Clone(first.CC), Signals: slices.Clone(first.Signals), Ports: slices.Clone(first.Ports)}
	random := rand.New(rand.NewPCG(uint64(m.Windows), 14))
	for i := 1; i < m.Windows; i++ {
		at := units.Time(Interval) * units.Time(i)
		for k := range b.Flows {
			b.Flows[k].Start, b.Flows[k].WireBytes = at, first.Flows[k].WireBytes/2+random.Int64N(first.Flows[k].WireBytes)
		}
		for k := range b.CC {
			b.CC[k].Start, b.CC[k].Delay = at, first.CC[k].Delay/2+units.Duration(random.Int64N(int64(first.CC[k].Delay)))
		}
		for k := range b.Signals {
			b.Signals[k].Start, b.Signals[k].PointSum = at, first.Signals[k].PointSum/2+random.Int64N(first.Signals[k].PointSum+1)
		}
		for k := range b.Ports {
			b.Ports[k].Start, b.Ports[k].QueueByteNS = at, first.Ports[k].QueueByteNS/2+random.Int64N(first.Ports[k].QueueByteNS+1)
		}
		write(b)
	}
}

// run returns the records of one run; of windows those of the first.
func (m *Many) run(f *runfolder.Manifest) *metrics.Batch {
	b := &metrics.Batch{Traces: []metrics.Trace{{Hash: [32]byte{1}}}}
	totals := metrics.NodeTotals{Name: "h0"}
	us := func(t float64) units.Time { return units.Time(t * float64(units.Microsecond)) }
	for i := range f.Flows {
		w := &f.Flows[i]
		src, dst := int(w.Src), int(w.Dst)
		slowdown, fct := m.slowdown(src, dst), m.fct(src, dst)
		b.Flows = append(b.Flows, metrics.FlowWindow{Flow: w.Flow, Packets: 16, WireBytes: w.Size, PayloadBytes: w.Size})
		b.CC = append(b.CC, metrics.CCWindow{Flow: w.Flow, Acks: 10, Delay: 50 * units.Microsecond, Cwnd: 64000, Actions: []metrics.Count{{Name: "noop", Packets: 10}}})
		s := metrics.SenderTotals{Flow: w.Flow, Start: us(1), Done: us(1 + fct), NewPackets: 16, Retransmitted: int64(slowdown) - 2, Timeouts: int64(slowdown) / 10}
		r := metrics.ReceiverTotals{Flow: w.Flow, Done: us(fct), PayloadBytes: w.Size, DeliveredTrimmed: int64(slowdown) / 50}
		value := func(metric string, v float64) {
			b.Emit(&metrics.Value{Metric: metric, Subject: w.Name, Name: metric + "." + w.Name, Value: v})
		}
		if m.Open && src == 0 && dst == 1 {
			s.Done, r.Done, r.PayloadBytes = units.Never, units.Never, w.Size/2
		} else {
			value("fct_us", fct)
			value("slowdown", slowdown)
		}
		value("rate_gbps", 60/slowdown)
		if m.Samples {
			b.Signals = append(b.Signals, metrics.SignalWindow{Flow: w.Flow, Type: 2, Locator: uint32(dst/m.Hosts + 1), Samples: 9, PointSum: 9000, PointMax: 1000, PointMin: 1000},
				metrics.SignalWindow{Flow: w.Flow, Type: 2, Samples: 1})
		}
		totals.Senders, totals.Receivers = append(totals.Senders, s), append(totals.Receivers, r)
	}
	for i := range f.Ports {
		p, queue := &f.Ports[i], int64(i%100)
		if p.Tier == "host" {
			queue = 0
		}
		b.Ports = append(b.Ports, metrics.PortWindow{Node: p.Node, Port: p.Port, TxBytes: int64(i%100) * 10_000, TxPackets: int64(i%100) * 3, QueueMax: queue * 2000, QueueByteNS: queue * 1000 * 1e5, Trimmed: int64(i % 3),
			Busy: units.Duration(i%100) * 10_000 * 80, ABW: metrics.Absent}) // at 100 Gb/s a byte takes 80 ps
	}
	b.Totals = []metrics.NodeTotals{totals}
	return b
}

// Folder writes a run of the experiment and opens it.
func (m *Many) Folder(t testing.TB) *runfolder.Folder {
	t.Helper()
	manifest := m.manifest()
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), manifest)
	if err != nil {
		t.Fatal(err)
	}
	var runs []runfolder.RunMetrics
	for seed := range max(1, m.Seeds) {
		first := m.run(&manifest)
		if err := addRun(w, "run", uint64(seed+1), first, m.rest, runfolder.RunData{TraceHash: [32]byte{1}, Checks: []runfolder.Check{{Name: "conservation", OK: true}}}); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, runfolder.RunMetrics{Variant: "run", Seed: uint64(seed + 1), TraceHash: [32]byte{1},
			Metrics: map[string]float64{"fct_us.mean": 30, "fct_us.p50": 30, "fct_us.p99": 50, "fct_us.max": 500, "slowdown.p99": 10, "slowdown.max": 100, "model_ms": 0.5}})
	}
	s := runfolder.NewSummary(manifest.Name, runs...)
	s.Details = w.Details(&s)
	if err := w.Finish(s); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
