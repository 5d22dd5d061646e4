package reports

import (
	"bytes"
	"errors"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The synthetic experiment: hosts 0 to 3 on a line of switches s0 - s1 - s2.
// Flow 0-3 crosses both links between switches, 0-1 and 2-3 cross one each.
//
//	h0 ── s0 ── s1 ── s2 ── h3
//	            ├── h1
//	            └── h2
const (
	interval = 100 * units.Microsecond
	windows  = 320 // of the slow flow
	early    = 200 // of the others
	rate     = 100e9
)

type synthetic struct {
	seeds   []uint64
	rates   map[string][3]float64 // variant -> mean Gb/s of the flows 0-3, 0-1, 2-3
	queues  map[string][2]float64 // variant -> mean kB of s0->s1 and s1->s2
	utilise float64               // share of the two links while all flows run
	results map[string]*metrics.Batch
}

func threeFlow() *synthetic {
	return &synthetic{
		seeds:   []uint64{1, 2, 3},
		rates:   map[string][3]float64{"baseline": {17.7, 82.3, 81.9}, "csig": {30.1, 69.9, 69.5}, "csig-wide": {30.3, 69.7, 69.6}},
		queues:  map[string][2]float64{"baseline": {71, 88}, "csig": {96, 109}, "csig-wide": {95, 108}},
		utilise: 1,
	}
}

func (s *synthetic) manifest() runfolder.Manifest {
	m := runfolder.Manifest{
		Name: "three-flow", Description: "Three flows share two links <of> a line of switches.", Version: "0.1.0", GoVersion: "go1.26",
		Machine: runfolder.Machine{CPU: "Imaginary 9000", Cores: 2, Kernel: "Linux 6.12"}, Command: []string{"csiglab", "run", "three-flow"},
		Runtime: "inproc", Clock: "virtual", Started: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
		IntervalUS: interval.Microseconds(), Measure: runfolder.Window{FromUS: 2000, ToUS: 14000},
	}
	for i, name := range []string{"h0", "h1", "h2", "h3", "s0", "s1", "s2"} {
		kind := runfolder.KindHost
		if name[0] == 's' {
			kind = runfolder.KindSwitch
		}
		m.Nodes = append(m.Nodes, runfolder.Node{Node: int32(i), Name: name, Kind: kind})
	}
	next := map[int32]int32{}
	for _, l := range [][2]int32{{0, 4}, {1, 5}, {2, 5}, {3, 6}, {4, 5}, {5, 6}} {
		a, b := l[0], l[1]
		pa, pb := next[a], next[b]
		next[a]++
		next[b]++
		name := m.Nodes[a].Name + "-" + m.Nodes[b].Name
		m.Ports = append(m.Ports, runfolder.Port{Node: a, Port: pa, Peer: b, PeerPort: pb, RateBPS: rate, Link: name},
			runfolder.Port{Node: b, Port: pb, Peer: a, PeerPort: pa, RateBPS: rate, Link: name})
	}
	m.Flows = runfolder.Flows([]metrics.FlowInfo{
		{Flow: 0, Name: "0-3", Src: 0, Dst: 3, Size: 200 * units.MB}, {Flow: 1, Name: "0-1", Src: 0, Dst: 1, Size: 200 * units.MB}, {Flow: 2, Name: "2-3", Src: 2, Dst: 3, Size: 200 * units.MB}})
	for _, v := range []string{"baseline", "csig", "csig-wide"} {
		if _, ok := s.rates[v]; ok {
			m.Variants = append(m.Variants, runfolder.Variant{Name: v, TargetQDelayUS: 10.517, MTU: 4150, Header: 64, CC: "nscc", LB: "mixed", CSIG: "none"})
		}
	}
	m.Published = []runfolder.Published{
		{Variant: "baseline", Metric: "fairness_ratio", Value: 5, Low: 4.4, High: 5.1, Source: "slides"},
		{Variant: "csig", Metric: "fairness_ratio", Value: 2.3, Low: 2.2, High: 2.31, Source: "slides", Note: "start-up trims"},
	}
	return m
}

// run returns the records of one run. The egress ports of the links between
// switches are (4, 1) and (5, 3).
func (s *synthetic) run(variant string, seed uint64) *metrics.Batch {
	rng := rand.New(rand.NewPCG(seed, 7))
	noise := func(width float64) float64 { return 1 + width*(rng.Float64()-0.5) }
	n := &metrics.Batch{Node: 5, Traces: []metrics.Trace{{Hash: [32]byte{byte(seed)}}}}
	totals := metrics.NodeTotals{Node: 5, Name: "s1"}
	rates, queues := s.rates[variant], s.queues[variant]
	for i := range windows {
		at := units.Time(interval) * units.Time(i)
		for f := range 3 {
			gbps := rates[f] * noise(0.04) * (1 - math.Exp(-float64(i+1)/4))
			if i >= early {
				if gbps = 99.5; f != 0 {
					continue
				}
			}
			bytes := int64(gbps * 1000 / 8 * interval.Microseconds())
			n.Flows = append(n.Flows, metrics.FlowWindow{Flow: int32(f), Start: at, Packets: bytes / 4150, WireBytes: bytes, PayloadBytes: bytes * 4086 / 4150})
			acks := bytes / 4150 * 2 / 3
			delay := []float64{14.3, 6.8, 7.6}[f]
			if variant != "baseline" {
				delay = []float64{10.8, 9.5, 10.9}[f]
			}
			if i >= early {
				delay = 0.4
			}
			w := metrics.CCWindow{Flow: int32(f), Start: at, Acks: acks, Delay: units.Duration(float64(acks) * delay * noise(0.15) * float64(units.Microsecond)), Cwnd: 63000, BaseRTT: 12 * units.Microsecond}
			if i >= early {
				w.Actions[metrics.ActionQuickAdapt] = acks
			} else if f == 0 {
				w.Actions[metrics.ActionDecrease], w.Actions[metrics.ActionFast] = acks*3/4, acks-acks*3/4
			} else {
				w.Actions[metrics.ActionNoop], w.Actions[metrics.ActionProportional] = acks/2, acks-acks/2
			}
			if f == 2 && i%37 == 5 {
				continue // a window without an ACK
			}
			n.CC = append(n.CC, w)
		}
		for k, port := range [][2]int32{{4, 1}, {5, 3}} {
			share := s.utilise
			if i >= early {
				share = 0.995
			}
			mean := queues[k] * 1000 * noise(0.3)
			if i >= early {
				mean = 2000
			}
			n.Ports = append(n.Ports, metrics.PortWindow{Node: port[0], Port: port[1], Start: at, TxBytes: int64(share * rate / 8e6 * interval.Microseconds()),
				QueueMax: int64(mean * (1.3 + 0.5*rng.Float64())), QueueByteNS: int64(mean) * int64(interval/units.Nanosecond)})
		}
		// A host's port and an idle switch port are no bottlenecks.
		n.Ports = append(n.Ports, metrics.PortWindow{Node: 0, Port: 0, Start: at, TxBytes: int64(rate / 8e6 * 100), QueueByteNS: 1e12},
			metrics.PortWindow{Node: 6, Port: 0, Start: at, TxBytes: int64(0.4 * rate / 8e6 * 100), QueueByteNS: 1e10})
	}
	for f := range int32(3) {
		done := units.Time(early * interval)
		if f == 0 {
			done = units.Time(windows * interval)
		}
		done += units.Time(seed) * units.Time(units.Microsecond)
		totals.Senders = append(totals.Senders, metrics.SenderTotals{Flow: f, Start: units.Time(units.Microsecond), Done: done, NewPackets: 48948})
		totals.Receivers = append(totals.Receivers, metrics.ReceiverTotals{Flow: f, Done: done - units.Time(6*units.Microsecond)})
	}
	n.Totals = []metrics.NodeTotals{totals}
	return n
}

// addRun writes a run of one node.
func addRun(w *runfolder.Writer, variant string, seed uint64, node *metrics.Batch, d runfolder.RunData) error {
	run, err := w.BeginRun(variant, seed)
	if err != nil {
		return err
	}
	run.Consume(node)
	d.Nodes = []metrics.NodeTotals{node.NodeTotals()}
	return run.End(d)
}

// folder writes the synthetic run and opens it.
func (s *synthetic) folder(t *testing.T, change func(*runfolder.Manifest, *runfolder.Summary)) *runfolder.Folder {
	t.Helper()
	m := s.manifest()
	s.results = map[string]*metrics.Batch{}
	var all []runfolder.RunMetrics
	for _, v := range m.Variants {
		for _, seed := range s.seeds {
			r := s.rates[v.Name]
			jitter := float64(seed-s.seeds[0]) * 0.03
			all = append(all, runfolder.RunMetrics{Variant: v.Name, Seed: seed, TraceHash: [32]byte{byte(seed)}, Metrics: map[string]float64{
				"fairness_ratio": (r[1]+r[2])/2/r[0] + jitter, "target_qdelay_us": 10.517, "fct_us.0-3": 32000 + float64(seed), "fct_us.max": 32000 + float64(seed),
				"rate_gbps.0-3": r[0] + jitter, "rate_gbps.0-1": r[1], "rate_gbps.2-3": r[2], "packets.new": 146844, "not_a_number": math.NaN(),
			}})
		}
	}
	summary := runfolder.NewSummary(m.Name, all...)
	summary.Expectations = []runfolder.Expectation{{Expr: "baseline.fairness_ratio > 3.7", OK: true, Value: 4.67}, {Expr: "csig.fairness_ratio < 2.45", OK: true, Value: true}}
	if change != nil {
		change(&m, &summary)
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range m.Variants {
		for _, seed := range s.seeds {
			node := s.run(v.Name, seed)
			if seed == s.seeds[len(s.seeds)/2] {
				s.results[v.Name] = node
			}
			if err := addRun(w, v.Name, seed, node, runfolder.RunData{TraceHash: [32]byte{byte(seed), 0xab}, Wall: 4 * time.Second, CPU: 250 * time.Millisecond, DataPackets: 146844,
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

func build(t *testing.T, f *runfolder.Folder) *Report {
	t.Helper()
	r, err := Build(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func chartOf(t *testing.T, r *Report, id string) Chart {
	t.Helper()
	for _, c := range r.Charts {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no chart %s", id)
	return Chart{}
}

var approximately = cmp.Comparer(func(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
})

// Each series equals the records of the seed in the middle, whose rates are the
// medians.
func TestSeriesEqualTheRecords(t *testing.T) {
	s := threeFlow()
	r := build(t, s.folder(t, nil))
	flows := []string{"0-3", "0-1", "2-3"}
	names := []string{"baseline", "csig", "csig-wide"}
	ms := func(at units.Time) float64 { return units.Duration(at).Microseconds()/1000 + 0.05 }

	for v, variant := range names {
		n := s.results[variant]
		lines, delays := make([]Line, 3), make([]Line, 3)
		for f := range 3 {
			lines[f], delays[f] = Line{Name: flows[f], Style: f}, Line{Name: flows[f], Style: f}
		}
		var shares [3][metrics.Actions]float64
		var acks [3]float64
		for _, w := range n.Flows {
			l := &lines[w.Flow]
			l.X, l.Y = append(l.X, ms(w.Start)), append(l.Y, float64(w.WireBytes)*8/1e9/interval.Seconds())
		}
		for _, w := range n.CC {
			l := &delays[w.Flow]
			if len(l.X) > 0 && ms(w.Start)-l.X[len(l.X)-1] > 0.15 {
				l.X, l.Y = append(l.X, ms(w.Start)-0.1), append(l.Y, math.NaN())
			}
			l.X, l.Y = append(l.X, ms(w.Start)), append(l.Y, w.Delay.Microseconds()/float64(w.Acks))
			if at := units.Duration(w.Start); at >= 2*units.Millisecond && at < 14*units.Millisecond {
				acks[w.Flow] += float64(w.Acks)
				for a, k := range w.Actions {
					shares[w.Flow][a] += float64(k)
				}
			}
		}
		panel := chartOf(t, r, "throughput").Panels[v]
		if d := cmp.Diff(panel.Lines, lines, approximately); d != "" {
			t.Errorf("%s: throughput (-got +want):\n%s", variant, d)
		}
		if panel.Title != variant || panel.Shade != [2]float64{2, 14} || panel.XMax != 32 || panel.Subtitle != "seed 2, of 3 the nearest to the medians" {
			t.Errorf("%s: panel %q %q, shade %v, x to %v", variant, panel.Title, panel.Subtitle, panel.Shade, panel.XMax)
		}
		panel = chartOf(t, r, "delays").Panels[v]
		if d := cmp.Diff(panel.Lines, delays, approximately); d != "" {
			t.Errorf("%s: delays (-got +want):\n%s", variant, d)
		}
		if d := cmp.Diff(panel.Marks, []Mark{{"target 10.52 µs", 10.517}}); d != "" {
			t.Errorf("%s: target (-got +want):\n%s", variant, d)
		}
		var bars []Bar
		for f := range 3 {
			b := Bar{Name: flows[f]}
			for _, k := range shares[f] {
				b.Parts = append(b.Parts, k/acks[f])
			}
			bars = append(bars, b)
		}
		if d := cmp.Diff(chartOf(t, r, "actions").Panels[v].Bars, bars, approximately); d != "" {
			t.Errorf("%s: actions (-got +want):\n%s", variant, d)
		}
		// The deeper queue comes first: s1 -> s2, then s0 -> s1.
		for k, port := range [][2]int32{{5, 3}, {4, 1}} {
			mean, peak := Line{Name: "mean", Style: styleMean}, Line{Name: "largest", Style: styleMax}
			for _, w := range n.Ports {
				if w.Node == port[0] && w.Port == port[1] {
					mean.X, mean.Y = append(mean.X, ms(w.Start)), append(mean.Y, float64(w.QueueByteNS)/1e8)
					peak.X, peak.Y = append(peak.X, ms(w.Start)), append(peak.Y, float64(w.QueueMax)/1e3)
				}
			}
			panel := chartOf(t, r, "queues").Panels[k*len(names)+v]
			if d := cmp.Diff(panel.Lines, []Line{peak, mean}, approximately); d != "" {
				t.Errorf("%s: queue of %v (-got +want):\n%s", variant, port, d)
			}
			if want := []string{"s1 → s2, ", "s0 → s1, "}[k] + variant; panel.Title != want || !strings.Contains(panel.Subtitle, "100 % busy") {
				t.Errorf("panel %q %q, want %q", panel.Title, panel.Subtitle, want)
			}
		}
	}
	if d := cmp.Diff(chartOf(t, r, "throughput").Legend, []Key{{"0-3", 0, false}, {"0-1", 1, false}, {"2-3", 2, false}}); d != "" {
		t.Errorf("legend (-got +want):\n%s", d)
	}
}

func TestFindings(t *testing.T) {
	s := threeFlow()
	r := build(t, s.folder(t, nil))
	text := strings.Join(r.Findings, "\n")
	for _, want := range []string{
		"The bottlenecks are s1 → s2 (100 % busy; mean queue ", "kB in baseline, ", "kB in csig-wide) and s0 → s1 (100 % busy; ",
		"Flow 0-3 crosses both; s1 → s2 also limits 2-3, s0 → s1 also limits 0-1.",
		"Flow 0-3 suffers: against the mean of the other 2 it gets 17.7 against 82.1 Gb/s in baseline (1\u00a0:\u00a04.6", "30.1 against 69.7 Gb/s in csig (1\u00a0:\u00a02.3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}

	s = threeFlow()
	s.utilise = 0.63
	s.rates = map[string][3]float64{"baseline": {31, 32, 32}}
	r = build(t, s.folder(t, nil))
	text = strings.Join(r.Findings, "\n")
	for _, want := range []string{"No switch port is full while measured: the busiest, s0 → s1, is used to 63 %.", "The flows share evenly in baseline; the slowest, 0-3,"} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "cross") {
		t.Errorf("without a bottleneck:\n%s", text)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name, state, headline string
		change                func(*runfolder.Manifest, *runfolder.Summary)
	}{
		{"all good", StateGood, "Valid; 2 of 2 expectations hold; 1 of 2 published figures reproduced", nil},
		{"a failure", StateBad, "Valid, but 1 of 2 expectations failed; 1 of 2 published", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Expectations[0].OK = false }},
		{"invalid", StateBad, "The run is not valid", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Valid, s.Reasons = false, []string{"late timers"} }},
		{"nothing asked", StateGood, "Valid; the experiment states no expectation", func(m *runfolder.Manifest, s *runfolder.Summary) { m.Published, s.Expectations = nil, nil }},
		{"reproduced", StateGood, "; 1 of 1 published figures reproduced", func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Published = m.Published[:1] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := build(t, threeFlow().folder(t, c.change)).Verdict
			if v.State != c.state || !strings.Contains(v.Headline, c.headline) {
				t.Errorf("verdict %s %q, want %s %q", v.State, v.Headline, c.state, c.headline)
			}
			if c.name == "invalid" && !cmp.Equal(v.Reasons, []string{"late timers"}) {
				t.Errorf("reasons %v", v.Reasons)
			}
		})
	}
}

func TestPublished(t *testing.T) {
	r := build(t, threeFlow().folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Published = append(m.Published, runfolder.Published{Variant: "csig", Metric: "absent", Value: 1, Low: 0.5, High: 2})
	}))
	want := [][]Cell{
		{{Text: "baseline"}, {Text: "fairness_ratio"}, {Text: "4.668"}, {Text: "4.638 … 4.698 (3)"}, {Text: "5"}, {Text: "4.4 … 5.1"}, {"✓ reproduced", StateGood}, {Text: "slides"}},
		{{Text: "csig"}, {Text: "fairness_ratio"}, {Text: "2.346"}, {Text: "2.316 … 2.376 (3)"}, {Text: "2.3"}, {Text: "2.2 … 2.31"}, {"✗ outside: start-up trims", StateBad}, {Text: "slides"}},
		{{Text: "csig"}, {Text: "absent"}, {Text: "–"}, {Text: "–"}, {Text: "1"}, {Text: "0.5 … 2"}, {"✗ not measured", StateBad}, {}},
	}
	if d := cmp.Diff(r.Published.Rows, want); d != "" {
		t.Errorf("published (-got +want):\n%s", d)
	}
}

func TestTables(t *testing.T) {
	r := build(t, threeFlow().folder(t, nil))
	if d := cmp.Diff(r.Completion.Rows[0][:4], []Cell{{Text: "0-3"}, {Text: "200"}, {Text: "32\u202f001"}, {Text: "32\u202f000 … 32\u202f002 (3)"}}); d != "" {
		t.Errorf("completion (-got +want):\n%s", d)
	}
	var names []string
	for _, row := range r.Metrics.Rows {
		names = append(names, row[0].Text)
	}
	if d := cmp.Diff(names, []string{"fairness_ratio", "fct_us.max", "packets.new", "target_qdelay_us"}); d != "" {
		t.Errorf("key metrics (-got +want):\n%s", d)
	}
	if got := len(r.Details.Rows); got != 3*8 {
		t.Errorf("%d rows of all metrics, want 24: NaN must be absent", got)
	}
	if got := r.Runs.Rows[0]; got[6].Text != "✓ conservation" || got[5].Text != "01ab00000000" {
		t.Errorf("run %v", got)
	}
}

func TestNotDone(t *testing.T) {
	s := threeFlow()
	s.rates = map[string][3]float64{"baseline": {31, 32, 32}}
	f := s.folder(t, nil)
	d, err := load(f)
	if err != nil {
		t.Fatal(err)
	}
	d.phases[0].SenderDoneUS = nil
	if got := d.completion().Rows[0][2:]; !cmp.Equal(got, []Cell{{"not done", StateBad}, {Text: "in 1 of 3 seeds"}}) {
		t.Errorf("completion %v", got)
	}
}

func TestManyFlows(t *testing.T) {
	d := &data{manifest: &runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}}, rates: map[string]map[string]float64{"run": {}}}
	for i := range 20 {
		name := string(rune('a' + i))
		d.flows = append(d.flows, runfolder.Flow{Name: name})
		d.rates["run"][name] = float64((i * 7) % 20)
	}
	d.groupFlows()
	var names []string
	for _, g := range d.groups {
		names = append(names, g.name)
	}
	// Slowest a d g j by rate 0 1 2 3, fastest by 17 18 19.
	if len(names) != maxGroups || d.groups[maxGroups-1] != (group{"mean of the other 13", 13, styleRest}) {
		t.Errorf("groups %v", d.groups)
	}
	for _, g := range d.groups[:maxGroups-1] {
		if r := d.rates["run"][g.name]; r > 3 && r < 17 {
			t.Errorf("flow %s of rate %v has its own line", g.name, r)
		}
	}
}

func TestLongRunIsThinned(t *testing.T) {
	f := threeFlow().folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.IntervalUS = 10 })
	d, err := load(f)
	if err != nil {
		t.Fatal(err)
	}
	// 31910 us in windows of 10 us are more than 800 points of 10, 20 or 30 us.
	if d.bin != 40 {
		t.Errorf("points of %v us, want 40", d.bin)
	}
}

func TestDamagedTable(t *testing.T) {
	f := threeFlow().folder(t, nil)
	path := filepath.Join(f.Dir, "cc.parquet")
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(f); !errors.Is(err, runfolder.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("Build: %v", err)
	}
}

// A run without a record, and one of a single window, have a report too.
func TestHardlyAnything(t *testing.T) {
	for _, windows := range []int{0, 1} {
		w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Manifest{
			Name: "tiny", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run"}},
			Nodes: []runfolder.Node{{Node: 0, Name: "h0", Kind: runfolder.KindHost}}, Flows: []runfolder.Flow{{Name: "0-1"}}})
		if err != nil {
			t.Fatal(err)
		}
		node := &metrics.Batch{Flows: []metrics.FlowWindow{{WireBytes: 4150}}[:windows], Totals: []metrics.NodeTotals{{Name: "h0"}}}
		if err := addRun(w, "run", 1, node, runfolder.RunData{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(runfolder.NewSummary("tiny")); err != nil {
			t.Fatal(err)
		}
		f, err := runfolder.Open(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		r := build(t, f)
		var html, markdown bytes.Buffer
		if err := errors.Join(WriteHTML(&html, r), WriteMarkdown(&markdown, r)); err != nil {
			t.Fatal(err)
		}
		if got := len(r.Charts); got != windows {
			t.Errorf("%d windows: %d charts, want %d", windows, got, windows)
		}
		if got := strings.Contains(html.String(), "fill:var(--flow-0)"); got != (windows == 1) {
			t.Errorf("%d windows: a dot for the single point: %v", windows, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {4.6689, "4.669"}, {5, "5"}, {146844, "146\u202f844"}, {1234.5, "1234"}, {-0.00123456, "−0.001235"}, {999.96, "1000"}, {12345678.4, "12\u202f345\u202f678"}, {math.NaN(), "–"}, {math.Inf(1), "–"}} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

// Every colour of a drawing is a variable of the style sheet, in light and dark.
func TestPaints(t *testing.T) {
	for p := paintText; p < paintAction+paint(metrics.Actions); p++ {
		if got, want := string(markup("<svg><x y='"+hex(p)+"'/></svg>", 1, 1)), "var("+p.variable()+")"; !strings.Contains(got, want) {
			t.Errorf("paint %d drawn as %s, want %s", p, got, want)
		}
		if n := strings.Count(page, p.variable()+": "); n != 2 {
			t.Errorf("%s is defined %d times, want once for light and once for dark", p.variable(), n)
		}
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, build(t, threeFlow().folder(t, nil))); err != nil {
		t.Fatal(err)
	}
	drawings := strings.Join(regexp.MustCompile(`(?s)<svg class="chart".*?</svg>`).FindAllString(b.String(), -1), "")
	if left := regexp.MustCompile(`#[0-9A-Fa-f]{6}|NaN|Inf`).FindString(drawings); left != "" {
		t.Errorf("drawing has %s", left)
	}
	for _, want := range []string{"&lt;of&gt;", "✗ outside: start-up trims", "csiglab run three-flow"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if left := regexp.MustCompile(`(?i)(src|href)="[^"]*|url\(|@import|<script`).FindAllString(b.String(), -1); !cmp.Equal(left, []string{`href="data:,`}) {
		t.Errorf("references of the page: %v", left)
	}
}

func TestMarkdown(t *testing.T) {
	r := build(t, threeFlow().folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Published[1].Note = "a | b" }))
	var b bytes.Buffer
	if err := WriteMarkdown(&b, r); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for line := range strings.Lines(b.String()) {
		bars := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if bars == 0 {
			columns = 0
			continue
		}
		if columns == 0 {
			columns = bars
		}
		if bars != columns {
			t.Errorf("line has %d bars, the table's head %d: %s", bars, columns, line)
		}
	}
	for _, want := range []string{"**Valid; 2 of 2 expectations hold", `✗ outside: a \| b |`, "| baseline | fairness\\_ratio | 4.668 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("markdown lacks %q:\n%s", want, b.String())
		}
	}
}

// hex prints a colour as gonum's SVG canvas does.
func hex(c color.Color) string {
	canvas := vgsvg.New(10, 10)
	canvas.SetColor(c)
	canvas.Fill(vg.Rectangle{Max: vg.Point{X: 1, Y: 1}}.Path())
	var b bytes.Buffer
	canvas.WriteTo(&b)
	return regexp.MustCompile(`#[0-9A-F]{6}`).FindString(b.String())
}
