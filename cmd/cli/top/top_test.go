package top_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/cmd/cli/top"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/units"
)

const window = 100 * units.Microsecond

// fabric is a switch with two ports, and a flow.
func fabric(port string) *exposition.Set {
	return exposition.NewSet(exposition.Description{
		Common: exposition.Common{Run: "0af3"}, Window: window, Signals: []string{"abw", "abw-c", "delay", "nqd"},
		Info: &exposition.RunDescription{CC: "nscc", LB: "ecmp", AQM: "red", CSIG: "compact", Dilation: 100},
		Ports: []exposition.PortDescription{
			{Node: 2, Port: 0, NodeName: "tor0", Name: port, Tier: "tor", Direction: "down", Rate: 8e9},
			{Node: 2, Port: 1, NodeName: "tor0", Name: "tor0-agg0", Tier: "tor", Direction: "up", Rate: 8e9},
		},
		Flows:    []exposition.FlowDescription{{Flow: 0, Job: "gpt", Name: "0-1"}},
		Locators: []exposition.LocatorDescription{{Locator: 1, Port: "tor0-agg0", Tier: "tor"}, {Locator: 2, Port: port, Tier: "tor"}},
	})
}

// records are what happens in a window of the fabric.
func records(i int, busy float64) *metrics.Batch {
	at := units.Time(i) * units.Time(window)
	return &metrics.Batch{
		Ports: []metrics.PortWindow{{
			Node: 2, Port: 1, Start: at, TxPackets: 10, TxBytes: 10_000, Marked: 1, Dropped: 2, Trimmed: 1, QueueMax: 10_000 + int64(i),
			Busy: units.Duration(busy * float64(window)), ABW: metrics.Absent,
		}},
		Flows:   []metrics.FlowWindow{{Start: at, PayloadBytes: 9000}},
		CC:      []metrics.CCWindow{{Start: at, Acks: 10, Delay: 100 * units.Microsecond, Cwnd: 50_000}},
		Signals: []metrics.SignalWindow{{Type: 2, Locator: 1, Start: at, Samples: 3, PointMax: 1000}, {Type: 2, Locator: 2, Start: at, Samples: 1, PointMax: 1000}},
	}
}

func moment(t *testing.T, s *exposition.Set, at time.Time, more ...live.Reading) *top.Moment {
	t.Helper()
	var text bytes.Buffer
	if err := s.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	tor := live.Target{Instance: "tor0", Nodes: []string{"tor0"}}
	return top.NewMoment(nil, append(more, live.Reading{Target: tor, Text: text.Bytes(), At: at}))
}

func TestViewIsOfTheTimeBetweenTwoMoments(t *testing.T) {
	s := fabric("tor0-h0")
	s.Consume(records(0, 1)) // before the first moment: it is over
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	before := moment(t, s, start)
	for i := 1; i <= 20; i++ {
		busy := 0.0
		if i == 7 {
			busy = 0.93
		} else if i%2 == 0 {
			busy = 0.25
		}
		s.Consume(records(i, busy))
	}
	v := top.NewView(before, moment(t, s, start.Add(200*time.Millisecond)), 0.25)
	wantPorts := []top.Port{
		{Name: "tor0-agg0", Tier: "tor", Direction: "up", Rate: 8e9, Busy: (0.93 + 10*0.25) / 20, Peak: 0.95, Queue: 16_000, Marked: 20, Lost: 60},
		{Name: "tor0-h0", Tier: "tor", Direction: "down", Rate: 8e9},
	}
	near := cmpopts.EquateApprox(1e-9, 0)
	if diff := cmp.Diff(wantPorts, v.Ports, near); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	wantPlaces := []top.Place{{Signal: "delay", Port: "tor0-agg0", Tier: "tor", Share: 0.75, Samples: 60, Busy: (0.93 + 10*0.25) / 20}, {Signal: "delay", Port: "tor0-h0", Tier: "tor", Share: 0.25, Samples: 20}}
	if diff := cmp.Diff(wantPlaces, v.Places, near); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	// 20 windows of 9000 B in 2 ms of the model, which took 0.2 s.
	wantFlows := []top.Flow{{Job: "gpt", Name: "0-1", Rate: 8 * 20 * 9000 / 2e-3, Cwnd: 50_000, Delay: 10e-6, Acks: 200}}
	if diff := cmp.Diff(wantFlows, v.Flows, near); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}

	// Nothing happens until the next look: gauges show the latest window, samples are those
	// since the lab began.
	again := moment(t, s, start.Add(300*time.Millisecond))
	v = top.NewView(again, again, 0.25)
	if p := v.Ports[0]; p.Busy != 0.25 || p.Peak != 0.25 || p.Marked != 0 {
		t.Errorf("without a window since: %+v, want the latest window's", p)
	}
	if p := v.Places[0]; !p.Since || p.Samples != 63 {
		t.Errorf("without a sample since: %+v, want those since the lab began", p)
	}
}

// The table fits 80 columns and the terminal's lines, and says what it leaves out and which
// nodes are silent.
func TestTableFits(t *testing.T) {
	s := fabric("tor0-h0")
	s.Consume(records(0, 1))
	dead := live.Reading{Target: live.Target{Instance: "h0", Nodes: []string{"h0"}}, Err: errors.New("node h0: metrics: connection refused")}
	broken := live.Reading{Target: live.Target{Instance: "h1", Nodes: []string{"h1"}}, Text: []byte("csig{")}
	v := top.NewView(nil, moment(t, s, time.Now(), dead, broken), 0.25)
	if v.Nodes != 3 || len(v.Silent) != 2 {
		t.Errorf("%d nodes, silent %v", v.Nodes, v.Silent)
	}
	full := v.Table("lab 0af3", top.Size{})
	text := strings.Join(full, "\n")
	for _, want := range []string{
		"csiglab top lab 0af3  cc nscc, lb ecmp, aqm red, csig compact", "NO ANSWER: node h0: metrics: connection refused, and 1 other",
		"tor0-agg0                tor   up       8G 100.0% 100.0%     16 kB      1     3",
		"tor0-agg0                tor   delay        75.0%         3",
		"gpt 0-1                           720 Mb/s     50 kB     10 µs        10",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for rows := 5; rows <= 40; rows++ {
		lines := v.Table("lab 0af3", top.Size{Width: 80, Rows: rows})
		if len(lines) > rows {
			t.Errorf("%d lines on a terminal of %d", len(lines), rows)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	lines := strings.Join(v.Table("lab 0af3", top.Size{Width: 80, Rows: 15}), "\n")
	if !strings.Contains(lines, "… 1 more place\n") {
		t.Errorf("a table that leaves a place out does not say so:\n%s", lines)
	}
}

// Names that do not fit are cut such that those of different ports differ, and a wide terminal has
// them as they are.
func TestLongNames(t *testing.T) {
	ports := []string{ // with the same beginnings, ends, and both
		"par1-leaf-01-par1-spine-01", "par1-leaf-01-par1-spine-02", "par1-leaf-02-par1-spine-01", "par1-leaf-02-par1-spine-02", "gpu-01",
		strings.Repeat("x", 40) + "1" + strings.Repeat("y", 40), strings.Repeat("x", 40) + "2" + strings.Repeat("y", 40),
	}
	var described []exposition.PortDescription
	for i, name := range ports {
		described = append(described, exposition.PortDescription{Node: 2, Port: int32(i), NodeName: "tor0", Name: name, Tier: "tor", Direction: "up", Rate: 8e9})
	}
	s := exposition.NewSet(exposition.Description{Common: exposition.Common{Run: "0af3"}, Window: window, Ports: described})
	v := top.NewView(nil, moment(t, s, time.Now()), 0.25)
	for width, whole := range map[int]int{80: 1, 82: 5, 136: 7, 0: 7} {
		seen, asTheyAre := map[string]bool{}, 0
		lines := v.Table("lab", top.Size{Width: width})
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "P") })
		for _, line := range lines[at+1 : at+1+len(ports)] {
			name := strings.Fields(line)[0]
			seen[name] = true
			if slices.Contains(ports, name) {
				asTheyAre++
			}
		}
		if len(seen) != len(ports) || asTheyAre != whole {
			t.Errorf("%d columns: %d names, %d of them whole, want %d and %d:\n%s", width, len(seen), asTheyAre, len(ports), whole, strings.Join(lines, "\n"))
		}
	}
}

// Names come from files of others: none of their control characters reaches the terminal.
func TestHostileNames(t *testing.T) {
	hostile := "\x1b]0;owned\a\x1b[2J\r\n\u202e\u009b31m\xff" + strings.Repeat("x", 10_000)
	s := fabric(hostile)
	s.Consume(records(0, 1))
	dead := live.Reading{Target: live.Target{Instance: hostile, Nodes: []string{hostile}}, Err: errors.New("node " + hostile)}
	v := top.NewView(nil, moment(t, s, time.Now(), dead), 0.25)
	v.Info["cc"] = hostile
	lines := v.Table(hostile, top.Size{Width: 80, Rows: 24})
	for _, line := range lines {
		for _, r := range line {
			if !unicode.IsPrint(r) {
				t.Errorf("%q reaches the terminal in %q", r, line)
			}
		}
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "\ufffd]0;owned\ufffd\ufffd[2J") {
		t.Errorf("the name is not shown as text:\n%s", text)
	}
}

// The bottleneck is the port that is full and loses packets, a host's NIC as well as a switch
// port, and not the one that samples name while it is idle; lateness is compared with the delay
// that matters.
func TestBottleneck(t *testing.T) {
	s := exposition.NewSet(exposition.Description{
		Common: exposition.Common{Run: "0af3"}, Window: window, Signals: []string{"abw", "abw-c", "delay", "nqd"},
		Info: &exposition.RunDescription{Dilation: 1, SmallestDelay: 332 * units.Nanosecond},
		Ports: []exposition.PortDescription{
			{Node: 0, Port: 0, NodeName: "h0", Name: "h0-tor0", Tier: "host", Direction: "up", Rate: 8e9},
			{Node: 2, Port: 0, NodeName: "tor0", Name: "tor0-h0", Tier: "tor", Direction: "down", Rate: 8e9},
			{Node: 2, Port: 1, NodeName: "tor0", Name: "tor0-agg0", Tier: "tor", Direction: "up", Rate: 8e9},
		},
		Flows:    []exposition.FlowDescription{{Flow: 0, Job: "gpt", Name: "0-1"}},
		Locators: []exposition.LocatorDescription{{Locator: 1, Port: "tor0-agg0", Tier: "tor"}},
	})
	for i := range 20 {
		at := units.Time(i) * units.Time(window)
		s.Consume(&metrics.Batch{
			Ports: []metrics.PortWindow{
				{Node: 0, Port: 0, Start: at, TxPackets: 10, TxBytes: 10_000, Dropped: 2, Busy: window * 98 / 100, ABW: metrics.Absent},
				{Node: 2, Port: 0, Start: at, TxPackets: 10, TxBytes: 10_000, Busy: window, ABW: metrics.Absent},
				{Node: 2, Port: 1, Start: at, TxPackets: 10, TxBytes: 10_000, Busy: window * 2 / 100, ABW: metrics.Absent},
			},
			Signals: []metrics.SignalWindow{{Type: 2, Locator: 1, Start: at, Samples: 3, PointMax: 1000}},
		})
	}
	s.SetValue(exposition.Of(exposition.NodeLateness), 0.005, "h0")
	v := top.NewView(nil, moment(t, s, time.Now()), 0.25)
	if b := v.Bottleneck(); b == nil || b.Name != "h0-tor0" {
		t.Errorf("bottleneck %+v, want the NIC that is full and loses packets", b)
	}
	text := strings.Join(v.Table("lab 0af3", top.Size{}), "\n")
	for _, want := range []string{"BOTTLENECK: h0-tor0, 98.0% busy, ", " packets lost", "tor0-agg0                tor   delay       100.0%        60   2.0%", "FIDELITY: the budget is 0.25 of the smallest delay; the run may be INVALID"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// What no event exceeds is no budget to warn of.
	wide := top.NewView(nil, moment(t, s, time.Now()), 1e6)
	if text := strings.Join(wide.Table("lab 0af3", top.Size{}), "\n"); strings.Contains(text, "FIDELITY") {
		t.Errorf("a lab within its budget:\n%s", text)
	}
	// A port that is hardly busy is no bottleneck, though it was full for a window.
	burst := fabric("tor0-h0")
	for i := range 20 {
		busy := 0.0
		if i == 7 {
			busy = 1
		}
		burst.Consume(records(i, busy))
	}
	text = strings.Join(top.NewView(nil, moment(t, burst, time.Now()), 0.25).Table("lab", top.Size{}), "\n")
	if want := "\nBOTTLENECK: none is busy for 90 % of the time; tor0-agg0, 5.0% busy, full in bursts, 60 packets lost\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if v := top.NewView(nil, moment(t, fabric("p"), time.Now()), 0.25); v.Bottleneck() != nil {
		t.Errorf("an idle lab has the bottleneck %+v", v.Bottleneck())
	}
}

func TestQuits(t *testing.T) {
	for key, want := range map[byte]bool{'q': true, 'Q': true, 3: true, 4: true, 'x': false, '\r': false} {
		if top.Quits(key) != want {
			t.Errorf("key %q quits: %v, want %v", key, !want, want)
		}
	}
}

// A port of which nothing has been measured is a row of zeros.
func TestEmptyView(t *testing.T) {
	v := top.NewView(nil, moment(t, fabric("p"), time.Now()), 0.25)
	if len(v.Ports) != 2 || v.Ports[0].Busy != 0 || math.IsNaN(v.Ports[0].Peak) || len(v.Places)+len(v.Flows) != 0 {
		t.Errorf("%+v", v)
	}
	if text := strings.Join(v.Table("lab", top.Size{}), "\n"); !strings.Contains(text, "no CSIG samples") {
		t.Errorf("got\n%s", text)
	}
}

// A node that is silent at one look counts no less then and no more at the next, and one
// that answers for the first time has not counted all of it since the last look.
func TestSilentNode(t *testing.T) {
	tor, host := fabric("tor0-h0"), exposition.NewSet(exposition.Description{
		Common: exposition.Common{Run: "0af3"}, Window: window, Signals: []string{"abw", "abw-c", "delay", "nqd"},
		Flows:    []exposition.FlowDescription{{Flow: 0, Job: "gpt", Name: "0-1"}},
		Locators: []exposition.LocatorDescription{{Locator: 1, Port: "tor0-agg0", Tier: "tor"}, {Locator: 2, Port: "tor0-h0", Tier: "tor"}},
	})
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	look := func(before *top.Moment, at time.Duration, answers bool) *top.Moment {
		read := func(name string, s *exposition.Set) live.Reading {
			var text bytes.Buffer
			if err := s.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			return live.Reading{Target: live.Target{Instance: name, Nodes: []string{name}}, Text: text.Bytes(), At: start.Add(at)}
		}
		h := read("h0", host)
		if !answers {
			h.Text, h.Err = nil, errors.New("node h0: metrics: timeout")
		}
		return top.NewMoment(before, []live.Reading{read("tor0", tor), h})
	}
	// In each 0.2 s, 20 windows: the switch counts at its ports, the host the rest.
	windows := 0
	run := func() {
		for range 20 {
			r := records(windows, 0.5)
			tor.Consume(&metrics.Batch{Ports: r.Ports})
			r.Ports = nil
			host.Consume(r)
			windows++
		}
	}
	const rate = 8 * 20 * 9000 / 2e-3
	check := func(what string, v *top.View, acks, samples float64, since bool) {
		t.Helper()
		if len(v.Flows) != 1 || len(v.Places) != 2 || len(v.Ports) != 2 {
			t.Fatalf("%s: %+v", what, v)
		}
		// Without bytes since the last look, the rate is that of the latest window of 100 us.
		if f := v.Flows[0]; math.Abs(f.Rate-rate) > 1 || f.Acks != acks {
			t.Errorf("%s: flow %+v, want %v bit/s and %v ACKs", what, f, float64(rate), acks)
		}
		if p := v.Places[0]; p.Samples != samples || p.Since != since || math.Abs(p.Share-0.75) > 1e-9 {
			t.Errorf("%s: place %+v, want %v samples, since the beginning: %t", what, p, samples, since)
		}
		if p := v.Ports[0]; p.Marked != 20 {
			t.Errorf("%s: port %+v, want 20 marks", what, p)
		}
	}
	run()
	first := look(nil, 0, true)
	run()
	silent := look(first, 200*time.Millisecond, false)
	check("silent", top.NewView(first, silent, 0.25), 0, 60, true)
	run()
	back := look(silent, 400*time.Millisecond, true)
	check("back", top.NewView(silent, back, 0.25), 400, 120, false)

	unknown := look(nil, 400*time.Millisecond, false)
	run()
	known := look(unknown, 600*time.Millisecond, true)
	check("for the first time", top.NewView(unknown, known, 0.25), 0, 240, true)
}
