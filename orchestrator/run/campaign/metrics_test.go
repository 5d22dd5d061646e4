package campaign

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/units"
)

// near fails unless a metric has a value to within a share of it.
func near(t *testing.T, m map[string]float64, name string, want, within float64) {
	t.Helper()
	got, ok := m[name]
	if !ok || math.Abs(got-want) > within*math.Abs(want)+1e-9 {
		t.Errorf("%s is %v (there: %t), want %v to within %.2g of it", name, got, ok, want, within)
	}
}

// burst has two hosts send 10 frames of 1500 B each, back to back, to a third one of
// their leaf. A frame takes 120 ns; the first two arrive at 1120 ns.
const burst = `
schema: 1
name: burst
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, rate: 100Gbps, delay: 1us}}
generators:
  - {host: 0, to: 2, rate: 100Gbps, count: 10, size: 1500B}
  - {host: 1, to: 2, rate: 100Gbps, count: 10, size: 1500B}
measure: {from: 1120ns, to: 3520ns}
`

// A run that is ended has the time up to its end, not that up to its last event: a frame
// that is on its way out does not make the port busier than busy.
func TestUtilisationOfAnEndedRun(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, `
schema: 1
name: ended
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, rate: 1Gbps, delay: 1us}}
generators:
  - {host: 0, to: 2, rate: 1Gbps, count: 10, size: 1500B}
end: 20us
`).Variants[0].Experiment, 1)
	near(t, m, "utilisation.h0-tor0", 1, 0)
	near(t, m, "utilisation.tor0-h2", 7./20, 0) // a frame comes in for 12 us, after 1 us on the link
}

// Of the 20 slots of 120 ns in the window, one frame of each host comes in each of the
// first 10, and one leaves in each: in slot k wait k+1 frames, from slot 10 on 19-k.
// Frame number j waits ⌈j/2⌉ slots.
func TestQueueOfAKnownDepth(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, burst).Variants[0].Experiment, 1)
	const port, bucket = "tor0-h2", histogram.MaxError
	near(t, m, "queue_kb.mean."+port, 1.5*100/20, 1e-12)
	near(t, m, "queue_kb.p50."+port, 1.5*5, bucket) // 0, then twice 1 to 9, and 10: the 10th of 20 is 5
	near(t, m, "queue_kb.p99."+port, 1.5*10, bucket)
	near(t, m, "queue_kb.max."+port, 1.5*10, 0)
	near(t, m, "hop_delay_us.mean."+port, 0.12*5, 1e-12)
	near(t, m, "hop_delay_us.p50."+port, 0.12*5, bucket)
	near(t, m, "hop_delay_us.p99."+port, 0.12*10, bucket)
	near(t, m, "hop_delay_us.max."+port, 0.12*10, 0)
	near(t, m, "utilisation."+port, 1, 0)
	// Of the 6 ports of leaves to hosts and 2 of the spine the others are idle. Their time
	// counts: 19 of 160 slots have a queue.
	near(t, m, "queue_kb.mean.down", 1.5*100/160, 1e-12)
	near(t, m, "queue_kb.p50.down", 0, 0)
	near(t, m, "queue_kb.p99.down", 1.5*9, bucket) // 158.4 slots: the 159th, before the 10
	near(t, m, "queue_kb.max.down", 1.5*10, 0)
	near(t, m, "hop_delay_us.mean.down", 0.12*5, 1e-12)
	near(t, m, "utilisation.mean.down", 1./8, 1e-12)
	near(t, m, "utilisation.max.down", 1, 0)
	for _, class := range []string{"up", "core"} {
		near(t, m, "queue_kb.max."+class, 0, 0)
		near(t, m, "utilisation.max."+class, 0, 0)
	}
	// The NICs send from 0 ns to 1200 ns, of which 80 are in the window.
	near(t, m, "utilisation.h0-tor0", 80./2400, 1e-12)
	near(t, m, "utilisation.mean.host", 2*80./2400/6, 1e-12)
	near(t, m, "queue_kb.max.host", 0, 0)
	if _, ok := m["utilisation.mean.local"]; ok {
		t.Error("a tree has ports of class local")
	}
}

// A window that goes on when the run has ended ends with it, 3400 ns after its beginning: behind
// the 20 slots of TestQueueOfAKnownDepth the last frame is on its link for 1000 ns.
func TestPortsAfterTheRun(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, strings.Replace(burst, "3520ns", "25120ns", 1)).Variants[0].Experiment, 1)
	near(t, m, "queue_kb.mean.tor0-h2", 1.5*100*120/3400, 1e-12)
	near(t, m, "utilisation.tor0-h2", 2400./3400, 1e-12)
	near(t, m, "queue_kb.p50.tor0-h2", 1.5*3, histogram.MaxError) // 1000 ns and a slot of 0, then two of each
}

// A Dragonfly has ports within a group and between groups.
func TestClassesOfADragonfly(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, `
schema: 1
name: dragonfly
topology: {dragonfly: {p: 1, a: 2, h: 1, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 5 1MB]}
`).Variants[0].Experiment, 1)
	for _, class := range []string{"host", "down", "local", "global"} {
		if m["utilisation.max."+class] <= 0 {
			t.Errorf("no port of class %s was used", class)
		}
	}
	for _, class := range []string{"up", "core"} {
		if _, ok := m["utilisation.max."+class]; ok {
			t.Errorf("there are ports of class %s", class)
		}
	}
}

// "slowdown of a lone flow 1.00 within the stated bound": the time of one full packet.
func TestSlowdownOfALoneFlow(t *testing.T) {
	const slow = "{fat_tree: {hosts: 8, pod: 4, tiers: [{down: 2, up: 1, rate: 100Gbps, delay: 1us, switch_delay: 300ns}, {down: 2, up: 1, rate: 40Gbps, delay: 2us}, {down: 2, rate: 25Gbps, delay: 700ns}]}}"
	const fast = "{fat_tree: {hosts: 8, pod: 4, tiers: [{down: 2, up: 2, rate: 100Gbps, delay: 1us}, {down: 2, up: 2, rate: 400Gbps, delay: 2us}, {down: 2, rate: 200Gbps, delay: 700ns}]}}"
	const dragonfly = "{dragonfly: {p: 1, a: 4, h: 1, rate: 100Gbps, delay: 1us, global_rate: 200Gbps, global_delay: 5us}}"
	for _, topology := range []string{slow, fast, dragonfly} {
		for _, size := range []string{"1B", "4086B", "4087B", "10kB", "123456B", "2MB"} {
			for _, links := range []string{"{}", "{overhead: 24B, count_tag: true}"} {
				for _, to := range []int{1, 2, 5} {
					m, r := runVirtual(t, parseText(t, fmt.Sprintf("schema: 1\nname: lone\ntopology: %s\nlinks: %s\ncsig: {format: wide}\nworkload: {transfers: [0 -> %d %s]}\n", topology, links, to, size)).Variants[0].Experiment, 1)
					flow := fmt.Sprintf("0-%d", to)
					packet := (100 * units.Gbps).Serialisation(4150 + 32).Microseconds()
					if topology == slow { // where CC steers the queue in front of the slowest link, and it runs empty once
						packet = 2 * (25 * units.Gbps).Serialisation(4150+32).Microseconds()
					}
					if got := m["slowdown."+flow]; math.Abs(got-1) > packet/m["fct_us."+flow] || r.End == 0 {
						t.Errorf("%s, links %s: %s of %s has slowdown %v, want 1 to within %.4f", topology, links, flow, size, got, packet/m["fct_us."+flow])
					}
					for _, s := range []string{"mean", "p50", "p95", "p99", "max"} {
						near(t, m, "slowdown."+s, m["slowdown."+flow], 0)
					}
				}
			}
		}
	}
}

// The completion time of the reference simulator for one flow (docs/reference/references.md
// #reference-results) is that on an idle fabric, to the last digit.
func TestSlowdownOfTheReference(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, strings.Replace(permutation(128, 4), "{permutation: {size: 2MB, seed: 1}}", "{transfers: [0 -> 127 2MB at 0us], start_jitter: 0s}", 1)).Variants[0].Experiment, 1)
	near(t, m, "slowdown.0-127", 1, 1e-9)
}

// Equal flows have index 1; of flows with 10 and 30 Gb/s it is 4²/(2·(1²+3²)).
func TestJain(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, `
schema: 1
name: jain
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}}
workload: {transfers: [{src: 0, dst: 1, size: 10MB}, {src: 2, dst: 3, size: 10MB, job: 7}]}
generators:
  - {host: 4, to: 5, rate: 10Gbps, count: 1000}
  - {host: 6, to: 7, rate: 30Gbps, count: 3000}
measure: {from: 100us, to: 600us, groups: {unequal: ["h4-*", 3], one: [0-1], both_kinds: [0..3]}}
`).Variants[0].Experiment, 1)
	near(t, m, "jain.all", 1, 1e-3)
	near(t, m, "jain.job-0", 1, 0)
	near(t, m, "jain.job-7", 1, 0)
	near(t, m, "jain.one", 1, 0)
	near(t, m, "jain.unequal", 0.8, 1e-3)
	if got := m["jain.both_kinds"]; got <= 0.25 || got >= 1 {
		t.Errorf("the index of all four flows is %v", got)
	}
}

// What senders measure is what the events of their flows say, within the window.
func TestFlowMetricsAgreeWithEvents(t *testing.T) {
	text := strings.Replace(tracedText, "trace: {flows: [0-4, 1..2, \"* raw\"]}", "measure: {from: 20us, to: 60us}\ntrace: {flows: [0..3]}", 1)
	if text == tracedText {
		t.Fatal("the experiment has changed")
	}
	events, f := eventsOf(t, text, Options{})
	m := f.Summary.Variants["run"].Metrics
	inside := func(e *runfolder.EventRow) bool { return e.TimePS >= 20_000_000 && e.TimePS < 60_000_000 }
	var sends, again float64
	for flow, rows := range events {
		var cwnd, rtt []float64
		counts := map[string]float64{}
		for i := range rows {
			e := &rows[i]
			if !inside(e) {
				continue
			}
			counts[e.Event]++
			switch {
			case e.Event == "ack":
				cwnd = append(cwnd, float64(*e.Cwnd)/1000)
				if e.RTTUS != nil {
					rtt = append(rtt, *e.RTTUS)
				}
			case e.Event == "send" && *e.Again:
				counts["again"]++
			}
		}
		sends, again = sends+counts["send"], again+counts["again"]
		if counts["ack"] < 10 {
			t.Fatalf("%s has %v ACKs in the window", flow, counts["ack"])
		}
		for name, values := range map[string][]float64{"cwnd_kb": cwnd, "rtt_us": rtt} {
			slices.Sort(values)
			var sum float64
			for _, v := range values {
				sum += v
			}
			rank := func(q float64) float64 { return values[int(math.Ceil(q*float64(len(values))))-1] }
			near(t, m, name+".mean."+flow, sum/float64(len(values)), 1e-9)
			near(t, m, name+".p50."+flow, rank(0.5), histogram.MaxError)
			near(t, m, name+".p99."+flow, rank(0.99), histogram.MaxError)
			near(t, m, name+".max."+flow, values[len(values)-1], 1e-9)
		}
		near(t, m, "retransmit_share."+flow, counts["again"]/counts["send"], 1e-12)
		if counts["sample"] == 0 {
			t.Errorf("%s has no samples in the window", flow)
		}
		near(t, m, "samples_per_ack."+flow, counts["sample"]/counts["ack"], 1e-12)
	}
	near(t, m, "retransmit_share", again/sends, 1e-12)
	if again == 0 {
		t.Error("no packet was sent again in the window; the test wants losses")
	}
	shares := map[string]float64{}
	for name, share := range m {
		if rest, ok := strings.CutPrefix(name, "bottleneck_share."); ok {
			shares[rest[:strings.LastIndex(rest, ".")]] += share
		}
	}
	for _, of := range []string{"delay", "0-4.delay", "1-4.delay"} {
		near(t, shares, of, 1, 1e-9)
	}
}

// The same metrics come from virtual time and from real frames in lockstep, but for the
// CPU time.
func TestMetricsUnderLockstep(t *testing.T) {
	buildNodes(t)
	text := besideRaw + "hosts: {cc: {csig: max-delay}}\nmeasure: {from: 5us, to: 80us, groups: {raw: [\"* raw\"]}}\n"
	want, got := runIn(t, parseText(t, text), Options{Out: filepath.Join(t.TempDir(), "run")}), runIn(t, parseText(t, text), Options{
		Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Netns, Clock: runtimes.Lockstep,
	})
	without := func(s *runfolder.Summary) map[string]float64 {
		m := maps.Clone(s.Variants["run"].Metrics)
		delete(m, "cpu_seconds")
		return m
	}
	for _, name := range []string{"hop_delay_us.p99.down", "queue_kb.p99.tor0-h0", "utilisation.mean.core", "cwnd_kb.p99.0-3", "jain.raw"} {
		if _, ok := without(want)[name]; !ok {
			t.Errorf("the run has no %s", name)
		}
	}
	if d := gocmp.Diff(without(want), without(got)); d != "" {
		t.Errorf("metrics (-virtual +lockstep):\n%s", d)
	}
}

// Of a large fabric the table has all metrics of ports, and the summary those that are
// named.
func TestMetricsOfManyPorts(t *testing.T) {
	set := parseText(t, `
schema: 1
name: many
topology: {leaf_spine: {leaves: 16, spines: 8, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}}
csig: {format: compact}
workload: {transfers: [0 -> 127 100kB, 1 -> 126 100kB]}
derived: [{name: twice, expr: '2 * m("utilisation.h0-tor0")'}]
expect:
  - run["queue_kb.max.tor0-agg0"] >= 0
`)
	folder := filepath.Join(t.TempDir(), "run")
	summary := runIn(t, set, Options{Out: folder})
	m := summary.Variants["run"].Metrics
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]runfolder.MetricRow{}
	for row, err := range f.Metrics() {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := table[row.Name]; twice || row.Variant != "run" || row.Seed != 1 {
			t.Errorf("row %+v", row)
		}
		table[row.Name] = row
	}
	for name, value := range m {
		if row, ok := table[name]; !ok || row.Value != value {
			t.Errorf("%s is %v in the summary and %v in the table", name, value, row.Value)
		}
	}
	ports := 0
	for name := range m {
		if strings.HasPrefix(name, "utilisation.") {
			ports++
		}
	}
	if ports != 2*4+1 { // mean and max of host, up, down and core, and the port of the derived metric
		t.Errorf("the summary has %d metrics of utilisation, want 9", ports)
	}
	for name, want := range map[string]struct {
		metric, subject string
		summary         bool
	}{
		"utilisation.h0-tor0":     {"utilisation", "h0-tor0", true},
		"utilisation.h1-tor0":     {"utilisation", "h1-tor0", false},
		"queue_kb.max.tor0-agg0":  {"queue_kb.max", "tor0-agg0", true},
		"queue_kb.p99.tor0-agg0":  {"queue_kb.p99", "tor0-agg0", false},
		"queue_kb.p99.up":         {"queue_kb.p99", "up", true},
		"fct_us.0-127":            {"fct_us", "0-127", true},
		"cwnd_kb.p50.1-126":       {"cwnd_kb.p50", "1-126", true},
		"cc_share.0-127.noop":     {"cc_share.noop", "0-127", true},
		"csig_delay_us.max.0-127": {"csig_delay_us.max", "0-127", true},
		"drops":                   {"drops", "", true},
		"tags.updated":            {"tags.updated", "", true},
		"twice":                   {"twice", "", true},
		"jain.all":                {"jain", "all", true},
	} {
		row, ok := table[name]
		subject := ""
		if row.Subject != nil {
			subject = *row.Subject
		}
		if _, has := m[name]; !ok || row.Metric != want.metric || subject != want.subject || has != want.summary {
			t.Errorf("%s: in the table %t as %q of %q, in the summary %t; want %+v", name, ok, row.Metric, subject, has, want)
		}
	}
	for _, e := range summary.Expectations {
		if !e.OK {
			t.Errorf("%s is %v", e.Expr, e.Value)
		}
	}
}
