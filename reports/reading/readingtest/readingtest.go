// Package readingtest writes run folders of a made-up experiment, for the tests
// of packages that read run folders.
package readingtest

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
)

// Interval is the length of the telemetry windows.
const Interval = 100 * units.Microsecond

// rate of all links, in bit/s.
const rate = 100e9

// Experiment is the made-up experiment: hosts 0 to 3 on a line of switches
// s0 - s1 - s2. Flow 0-3 crosses both links between switches, 0-1 and 2-3 cross
// one each.
//
//	h0 ── s0 ── s1 ── s2 ── h3
//	            ├── h1
//	            └── h2
type Experiment struct {
	Seeds   []uint64
	Windows int                   // of the slow flow 0-3; the others end after 5/8 of them
	Rates   map[string][3]float64 // variant -> mean Gb/s of the flows 0-3, 0-1, 2-3
	Queues  map[string][2]float64 // variant -> mean kB of s0->s1 and s1->s2
	Utilise float64               // share of the two links while all flows run
	Open    bool                  // flow 0-3 does not complete with the first seed: 150 of its 200 MB arrive
	Early   map[string]int        // variant -> windows after which the others end, instead of 5/8
	Trims   map[string]float64    // variant -> packets trimmed at s1->s2; the metrics trims and packets.retransmitted
	NIC     NIC                   // of h0

	// Names are other names of variants, nodes and flows. Results and Records have these.
	Names map[string]string

	// Samples are the CSIG samples of each flow in each window: variant -> locator ->
	// samples of a delay of 5 µs.
	Samples map[string]map[uint16]int64

	// Results holds, after Folder, the records of the seed in the middle, whose
	// rates are the medians, by variant. Records holds those of all seeds in turn.
	Results map[string]*metrics.Batch
	Records map[string][]*metrics.Batch
}

// NIC is how the port of a host is used in all variants.
type NIC struct {
	Utilise    float64 // share of the link
	QueueBytes int64   // mean
	Dropped    int64   // packets in each window
}

// ThreeFlow returns an experiment of three variants with three seeds each, in
// which CSIG makes the slow flow faster.
func ThreeFlow() *Experiment {
	return &Experiment{
		Seeds:   []uint64{1, 2, 3},
		Windows: 320,
		Rates:   map[string][3]float64{"baseline": {17.7, 82.3, 81.9}, "csig": {30.1, 69.9, 69.5}, "csig-wide": {30.3, 69.7, 69.6}},
		Queues:  map[string][2]float64{"baseline": {71, 88}, "csig": {96, 109}, "csig-wide": {95, 108}},
		Utilise: 1,
		NIC:     NIC{Utilise: 0.3},
	}
}

// name returns the name that a variant, node or flow has in the folder.
func (s *Experiment) name(of string) string {
	if name, ok := s.Names[of]; ok {
		return name
	}
	return of
}

func (s *Experiment) manifest() runfolder.Manifest {
	m := runfolder.Manifest{
		Name: "three-flow", Description: "Three flows share two links <of> a line of switches.", Version: "0.1.0", GoVersion: "go1.26",
		Machine: runfolder.Machine{CPU: "Imaginary 9000", Cores: 2, Kernel: "Linux 6.12"}, Command: []string{"csiglab", "run", "three-flow"},
		Runtime: "inproc", Clock: "virtual", Started: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
		Signals: []string{"abw", "abw-c", "delay", "nqd"}, IntervalUS: Interval.Microseconds(), Measure: runfolder.Window{FromUS: 2000, ToUS: 14000},
	}
	for i, name := range []string{"h0", "h1", "h2", "h3", "s0", "s1", "s2"} {
		kind := runfolder.KindHost
		if name[0] == 's' {
			kind = runfolder.KindSwitch
		}
		m.Nodes = append(m.Nodes, runfolder.Node{Node: int32(i), Name: s.name(name), Kind: kind})
	}
	next := map[int32]int32{}
	for _, l := range [][2]int32{{0, 4}, {1, 5}, {2, 5}, {3, 6}, {4, 5}, {5, 6}} {
		a, b := l[0], l[1]
		pa, pb := next[a], next[b]
		next[a]++
		next[b]++
		name := m.Nodes[a].Name + "-" + m.Nodes[b].Name
		m.Ports = append(m.Ports, runfolder.Port{Node: a, Port: pa, Peer: b, PeerPort: pb, RateBPS: rate, Link: name, Name: name},
			runfolder.Port{Node: b, Port: pb, Peer: a, PeerPort: pa, RateBPS: rate, Link: name, Name: m.Nodes[b].Name + "-" + m.Nodes[a].Name})
	}
	m.Flows = runfolder.Flows([]metrics.FlowInfo{
		{Flow: 0, Name: s.name("0-3"), Src: 0, Dst: 3, Size: 200 * units.MB}, {Flow: 1, Name: s.name("0-1"), Src: 0, Dst: 1, Size: 200 * units.MB}, {Flow: 2, Name: s.name("2-3"), Src: 2, Dst: 3, Size: 200 * units.MB}})
	for _, v := range []string{"baseline", "csig", "csig-wide"} {
		if _, ok := s.Rates[v]; ok {
			m.Variants = append(m.Variants, runfolder.Variant{Name: s.name(v), MTU: 4150, Header: 64, CC: "nscc", LB: "mixed", AQM: "linear", CSIG: "none", Actions: Actions, Constants: constants})
		}
	}
	m.Published = []runfolder.Published{
		{Variant: s.name("baseline"), Metric: "fairness_ratio", Value: 5, Low: 4.4, High: 5.1, Source: "slides"},
		{Variant: s.name("csig"), Metric: "fairness_ratio", Value: 2.3, Low: 2.2, High: 2.31, Source: "slides", Note: "start-up trims"},
	}
	return m
}

// Actions are those of the variants' congestion control.
var Actions = []runfolder.Action{
	{Name: "noop", Label: "no-op", Short: "no-op"},
	{Name: "proportional_increase", Label: "proportional increase (PI)", Short: "PI"},
	{Name: "fast_increase", Label: "fast increase", Short: "fast"},
	{Name: "fair_increase", Label: "fair increase (FI)", Short: "FI"},
	{Name: "multiplicative_decrease", Label: "multiplicative decrease (MD)", Short: "MD"},
	{Name: "quick_adapt", Label: "quick adapt (QA)", Short: "QA"},
}

var constants = []runfolder.Constant{
	{Name: "target_qdelay_us", Value: 10.517, Label: "target queueing delay", Unit: "µs", Chart: "delays", Short: "target"},
}

func (s *Experiment) early(variant string) int {
	if windows, ok := s.Early[variant]; ok {
		return windows
	}
	return s.Windows * 5 / 8
}

// done returns when the sender of a flow is done.
func (s *Experiment) done(variant string, flow int32, seed uint64) units.Time {
	windows := s.early(variant)
	if flow == 0 {
		windows = s.Windows
	}
	return units.Time(windows)*units.Time(Interval) + units.Time(seed)*units.Time(units.Microsecond)
}

// run returns the records of one run. The egress ports of the links between
// switches are (4, 1) and (5, 3).
func (s *Experiment) run(variant string, seed uint64) *metrics.Batch {
	rng := rand.New(rand.NewPCG(seed, 7))
	noise := func(width float64) float64 { return 1 + width*(rng.Float64()-0.5) }
	n := &metrics.Batch{Node: 5, Traces: []metrics.Trace{{Hash: [32]byte{byte(seed)}}}}
	totals := metrics.NodeTotals{Node: 5, Name: s.name("s1")}
	rates, queues, early := s.Rates[variant], s.Queues[variant], s.early(variant)
	trimmed := func(port, window int) int64 {
		if port == 1 && window == 0 {
			return int64(s.Trims[variant])
		}
		return 0
	}
	for i := range s.Windows {
		at := units.Time(Interval) * units.Time(i)
		for f := range 3 {
			gbps := rates[f] * noise(0.04) * (1 - math.Exp(-float64(i+1)/4))
			if i >= early {
				if gbps = 99.5; f != 0 {
					continue
				}
			}
			bytes := int64(gbps * 1000 / 8 * Interval.Microseconds())
			n.Flows = append(n.Flows, metrics.FlowWindow{Flow: int32(f), Start: at, Packets: bytes / 4150, WireBytes: bytes, PayloadBytes: bytes * 4086 / 4150})
			acks := bytes / 4150 * 2 / 3
			delay := []float64{14.3, 6.8, 7.6}[f]
			if variant != "baseline" {
				delay = []float64{10.8, 9.5, 10.9}[f]
			}
			if i >= early {
				delay = 0.4
			}
			w := metrics.CCWindow{Flow: int32(f), Start: at, Acks: acks, Delay: units.Duration(float64(acks) * delay * noise(0.15) * float64(units.Microsecond)), Cwnd: 63000 + int64(i/8%5)*1000 + (int64(seed)-2)*500, BaseRTT: 12 * units.Microsecond}
			if i >= early {
				w.Actions = []metrics.Count{{Name: "quick_adapt", Packets: acks}}
			} else if f == 0 {
				w.Actions = []metrics.Count{{Name: "fast_increase", Packets: acks - acks*3/4}, {Name: "multiplicative_decrease", Packets: acks * 3 / 4}}
			} else {
				w.Actions = []metrics.Count{{Name: "noop", Packets: acks / 2}, {Name: "proportional_increase", Packets: acks - acks/2}}
			}
			if f == 2 && i%37 == 5 {
				continue // a window without an ACK
			}
			n.CC = append(n.CC, w)
		}
		for f := range int32(3) {
			if f != 0 && i >= early {
				continue
			}
			for _, locator := range slices.Sorted(maps.Keys(s.Samples[variant])) {
				samples := s.Samples[variant][locator]
				n.Signals = append(n.Signals, metrics.SignalWindow{Flow: f, Type: 2, Locator: uint32(locator), Start: at, Samples: samples, PointSum: 5000 * samples, PointMax: 5000, PointMin: 5000})
			}
		}
		for k, port := range [][2]int32{{4, 1}, {5, 3}} {
			share := s.Utilise
			if i >= early {
				share = 0.995
			}
			mean := queues[k] * 1000 * noise(0.3)
			if i >= early {
				mean = 2000
			}
			n.Ports = append(n.Ports, metrics.PortWindow{Node: port[0], Port: port[1], Start: at, TxBytes: int64(share * rate / 8e6 * Interval.Microseconds()),
				TxPackets: int64(share * rate / 8e6 * Interval.Microseconds() / 4150), Trimmed: trimmed(k, i), QueueMax: int64(mean * (1.3 + 0.5*rng.Float64())), QueueByteNS: int64(mean) * int64(Interval/units.Nanosecond),
				Busy: units.Duration(share * float64(Interval)), ABW: int64((1 - share) * rate / 8)})
		}
		// An idle switch port is no bottleneck, whatever waits there.
		n.Ports = append(n.Ports, metrics.PortWindow{Node: 0, Port: 0, Start: at, TxBytes: int64(s.NIC.Utilise * rate / 8e6 * Interval.Microseconds()), Dropped: s.NIC.Dropped, QueueByteNS: s.NIC.QueueBytes * int64(Interval/units.Nanosecond), Busy: units.Duration(s.NIC.Utilise * float64(Interval)), ABW: metrics.Absent},
			metrics.PortWindow{Node: 6, Port: 0, Start: at, TxBytes: int64(0.4 * rate / 8e6 * 100), QueueByteNS: 1e10, Busy: units.Duration(0.4 * float64(Interval)), ABW: int64(0.6 * rate / 8)})
	}
	for f := range int32(3) {
		done := s.done(variant, f, seed)
		received, payload := done-units.Time(6*units.Microsecond), int64(200*units.MB)
		if f == 0 && s.Open && seed == s.Seeds[0] {
			done, payload = units.Never, int64(150*units.MB)
		}
		totals.Senders = append(totals.Senders, metrics.SenderTotals{Flow: f, Start: units.Time(units.Microsecond), Done: done, NewPackets: 48948})
		totals.Receivers = append(totals.Receivers, metrics.ReceiverTotals{Flow: f, Done: received, PayloadBytes: payload})
	}
	n.Totals = []metrics.NodeTotals{totals}
	return n
}

// Folder writes a run of the experiment and opens it. The change is made before
// the folder is written; it may be nil.
func (s *Experiment) Folder(t testing.TB, change func(*runfolder.Manifest, *runfolder.Summary)) *runfolder.Folder {
	t.Helper()
	m := s.manifest()
	s.Results, s.Records = map[string]*metrics.Batch{}, map[string][]*metrics.Batch{}
	var all []runfolder.RunMetrics
	made := map[string]string{} // variants, as they are called here
	for v := range s.Rates {
		made[s.name(v)] = v
	}
	for i := range m.Variants {
		name := m.Variants[i].Name
		v := made[name]
		for _, seed := range s.Seeds {
			r := s.Rates[v]
			jitter := float64(seed-s.Seeds[0]) * 0.03
			fct := func(flow int32) float64 { return units.Duration(s.done(v, flow, seed)).Microseconds() - 1 }
			all = append(all, runfolder.RunMetrics{Variant: name, Seed: seed, TraceHash: [32]byte{byte(seed)}, Metrics: map[string]float64{
				"fairness_ratio": (r[1]+r[2])/2/r[0] + jitter, "target_qdelay_us": 10.517, "fct_us." + s.name("0-3"): fct(0), "fct_us.max": fct(0), "fct_us.p99": fct(0), "fct_us.mean": (fct(0) + fct(1) + fct(2)) / 3, "trims": s.Trims[v], "packets.retransmitted": s.Trims[v],
				"rate_gbps." + s.name("0-3"): r[0] + jitter, "rate_gbps." + s.name("0-1"): r[1], "rate_gbps." + s.name("2-3"): r[2], "packets.new": 146844, "not_a_number": math.NaN(),
			}})
		}
	}
	summary := runfolder.NewSummary(m.Name, all...)
	summary.Expectations = []runfolder.Expectation{{Expr: "baseline.fairness_ratio > 3.7", Text: "baseline.fairness_ratio = 4.67 > 3.7", OK: true, Value: 4.67}, {Expr: "csig.fairness_ratio < 2.45", Text: "csig.fairness_ratio = 2.36 < 2.45", OK: true, Value: true}}
	if change != nil {
		change(&m, &summary)
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range m.Variants {
		for _, seed := range s.Seeds {
			node := s.run(cmp.Or(made[v.Name], v.Name), seed)
			s.Records[v.Name] = append(s.Records[v.Name], node)
			if seed == s.Seeds[len(s.Seeds)/2] {
				s.Results[v.Name] = node
			}
			if err := AddRun(w, v.Name, seed, node, runfolder.RunData{TraceHash: [32]byte{byte(seed), 0xab}, Wall: 4 * time.Second, CPU: 250 * time.Millisecond, DataPackets: 146844,
				Checks: []runfolder.Check{{Name: "conservation", OK: true}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(summary); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// AddRun writes a run of one node into a run folder.
func AddRun(w *runfolder.Writer, variant string, seed uint64, node *metrics.Batch, d runfolder.RunData) error {
	return addRun(w, variant, seed, node, nil, d)
}

// addRun is AddRun with further records of the node; rest may be nil.
func addRun(w *runfolder.Writer, variant string, seed uint64, node *metrics.Batch, rest func(first *metrics.Batch, write func(*metrics.Batch)), d runfolder.RunData) error {
	run, err := w.BeginRun(variant, seed, nil)
	if err != nil {
		return err
	}
	run.Consume(node)
	if rest != nil {
		rest(node, run.Consume)
	}
	d.Nodes = []metrics.NodeTotals{node.NodeTotals()}
	return run.End(d)
}

// Flow is a flow of OneWindow. A flow without a size stands for programs.
type Flow struct {
	Name string
	Size units.Size
	Gbps float64 // on the wire
}

// OneWindow writes a run of one telemetry window, in which the flows have their
// rates, and opens it. The measuring window equals the telemetry window; with
// open set it has no end. The metric rate_gbps of each flow is its rate times
// factor.
func OneWindow(t testing.TB, open bool, factor float64, flows ...Flow) *runfolder.Folder {
	t.Helper()
	m := runfolder.Manifest{Name: "one-window", IntervalUS: Interval.Microseconds(), Measure: runfolder.Window{ToUS: Interval.Microseconds()}, Variants: []runfolder.Variant{{Name: "run"}}}
	if open {
		m.Measure.ToUS = 0
	}
	node, rates := &metrics.Batch{Totals: []metrics.NodeTotals{{Name: "h0"}}}, map[string]float64{}
	for i, f := range flows {
		m.Flows = append(m.Flows, runfolder.Flow{Flow: int32(i), Name: f.Name, Size: int64(f.Size)})
		node.Flows = append(node.Flows, metrics.FlowWindow{Flow: int32(i), WireBytes: int64(f.Gbps * 1e9 / 8 * Interval.Seconds())})
		rates["rate_gbps."+f.Name] = f.Gbps * factor
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := AddRun(w, "run", 1, node, runfolder.RunData{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(runfolder.NewSummary(m.Name, runfolder.RunMetrics{Variant: "run", Seed: 1, Metrics: rates})); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
