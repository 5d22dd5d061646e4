package campaign

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// converging has two flows over one link, of which the second starts while the first has
// all of it.
func converging(rate, delay, sizes, rest string) string {
	first, second, _ := strings.Cut(sizes, " ")
	start, span, _ := strings.Cut(rest, "|")
	return fmt.Sprintf(`schema: 1
name: converging
topology: {dumbbell: {left: 2, right: 2, rate: %s, delay: %s}}
workload: {transfers: [0 -> 2 %s, 1 -> 3 %s at %s], start_jitter: 0s}
measure: %s
`, rate, delay, first, second, start, span)
}

// fair checks that both flows of converging have their share, and that the link is full.
func fair(t *testing.T, m map[string]float64, rate, within, full float64) {
	t.Helper()
	one, two := m["rate_gbps.0-2"], m["rate_gbps.1-3"]
	t.Logf("%.2f and %.2f Gbps, mean queue %.1f kB", one, two, m["queue_kb.mean.s0-s1"])
	if math.Abs(one-two) > within*(one+two)/2 {
		t.Errorf("%.2f and %.2f Gbps, want the same within %v", one, two, within)
	}
	if one+two < full*rate {
		t.Errorf("%.2f Gbps of %v", one+two, rate)
	}
}

// TestDCQCNConverges: two flows of DCQCN with the parameters of its paper, which are the
// defaults at 40 Gbps, and its marks, 1 % at 200 kB and none up to 5 kB, share a link and
// leave the queue between the two (docs/reference/references.md#dcqcn). Recovery is go-back-N.
func TestDCQCNConverges(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, converging("40Gbps", "2us", "600MB 500MB", "20ms|{from: 80ms, to: 200ms}")+`
hosts: {cc: dcqcn, recovery: go_back_n}
links: {trim: false, queue: 20MB, ecn: {low: 5kB, high: 19505kB}} # linear: 1 % at 200 kB
`).Variants[0].Experiment, 1)
	fair(t, m, 40, 0.1, 0.97)
	if q := m["queue_kb.mean.s0-s1"]; q < 5 || q > 200 {
		t.Errorf("mean queue %.1f kB, want it between the thresholds", q)
	}
}

// TestDCQCNStaticUnfairness: HotNets'22 (docs/reference/references.md#dcqcn): the flow whose T is
// smaller gets more, the more so the smaller it is; hosts.policies gives it its own.
func TestDCQCNStaticUnfairness(t *testing.T) {
	ratio := func(timer string) float64 {
		m, _ := runVirtual(t, parseText(t, converging("40Gbps", "2us", "600MB 600MB", "0s|{from: 30ms, to: 150ms}")+`
hosts: {cc: {name: dcqcn, timer: 125us}, policies: [{match: {flows: [0-2]}, cc: {timer: `+timer+`}}]}
links: {trim: false, queue: 20MB, ecn: {low: 5kB, high: 19505kB}}
`).Variants[0].Experiment, 1)
		return m["rate_gbps.0-2"] / m["rate_gbps.1-3"]
	}
	same, less, least := ratio("125us"), ratio("100us"), ratio("55us")
	t.Logf("ratios %.2f, %.2f, %.2f", same, less, least)
	if math.Abs(same-1) > 0.1 || less < 1.1 || least < 1.4 {
		t.Errorf("ratios of the rates with T 125, 100 and 55 us against 125 us: %.2f, %.2f, %.2f; want 1 and increasing", same, less, least)
	}
}

// TestSwiftConverges: two flows of Swift share a link and leave the delay at the target,
// which is that of the fabric with flow scaling (docs/reference/references.md#swift).
func TestSwiftConverges(t *testing.T) {
	m, _ := runVirtual(t, parseText(t, converging("100Gbps", "4us", "120MB 100MB", "2ms|{from: 5ms, to: 15ms}")+`
hosts: {cc: {name: swift, base_target: 40us, hop_target: 0us, flow_range: 20us}}
links: {trim: false, queue: 10MB}
`).Variants[0].Experiment, 1)
	fair(t, m, 100, 0.1, 0.97)
	for _, flow := range []string{"0-2", "1-3"} {
		if delay := m["cc_delay_us."+flow]; math.Abs(delay-40) > 2 {
			t.Errorf("flow %s: mean fabric delay %.2f us, want its target, 40 us", flow, delay)
		}
	}
	// An idle path takes 25.0 us: the queue has the rest, at 100 Gbps.
	if q, want := m["queue_kb.mean.s0-s1"], (40-25.0)*12.5; math.Abs(q-want) > 0.1*want {
		t.Errorf("mean queue %.1f kB, want %.1f", q, want)
	}
}

// TestSwiftPacesIncast: 60 flows into one port at a target that leaves each less than a packet of window
// (docs/reference/references.md#swift): paced below one packet per RTT they share the port without a
// loss once they have found the rate.
func TestSwiftPacesIncast(t *testing.T) {
	text := `schema: 1
name: incast
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 61, rate: 10Gbps, delay: 1us}}
workload: {incast: {dst: 0, fan_in: 60, size: 1MB}, start_jitter: 0s}
hosts: {cc: {name: swift, base_target: 40us, hop_target: 0us, flow_range: 20us, cwnd: 4150B}}
links: {trim: false, queue: 2MB}
measure: {from: 20ms, to: 40ms}
`
	m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
	windows, slowest, fastest := 0.0, math.Inf(1), 0.0
	for flow := 1; flow <= 60; flow++ {
		windows += m[fmt.Sprintf("cwnd_kb.mean.%d-0", flow)] / 60
		rate := m[fmt.Sprintf("rate_gbps.%d-0", flow)]
		slowest, fastest = min(slowest, rate), max(fastest, rate)
	}
	t.Logf("mean window %.2f kB, rates from %.3f to %.3f Gbps, mean queue %.1f kB", windows, slowest, fastest, m["queue_kb.mean.tor0-h0"])
	if windows == 0 || windows >= 4.15 {
		t.Errorf("mean window %.2f kB, want less than a packet", windows)
	}
	if m["drops"] > 0 || m["packets.retransmitted"] > 0 {
		t.Errorf("%v drops, %v retransmissions", m["drops"], m["packets.retransmitted"])
	}
}

// TestEveryControllerOverFrames runs each algorithm of the table in virtual time and over
// real frames in lockstep, with CSIG and marks: the traces are equal (issue 12, must show 4).
func TestEveryControllerOverFrames(t *testing.T) {
	checkout.SkipSlowRace(t)
	text := converging("10Gbps", "2us", "200kB 200kB", "20us|{}") + `
csig: {format: wide, nqd: drain}
links: {ecn: {low: 10kB, high: 30kB}}
hosts: {ack_every: 8300B}
variants:
  fru: {hosts.cc: {name: swift, fru: 0.5}}
  adaptive: {hosts.cc: {name: dcqcn, adaptive: true}, hosts.recovery: go_back_n, hosts.policies: [{match: {src: [0]}, cc: {timer: 20us}}]}
  mltcp-swift: {hosts.cc: {name: mltcp, wrap: swift}}
`
	for _, name := range congestion.Table.Names() {
		text += fmt.Sprintf("  cc-%s: {hosts.cc: %s}\n", name, name)
	}
	virtual, real := runOne(t, text, Options{Clock: runtimes.Virtual}), runOne(t, text, overFrames())
	hashes := map[string]string{}
	for name, v := range virtual.Variants {
		got := real.Variants[name]
		if v.TraceHash == "" || got.TraceHash != v.TraceHash {
			t.Errorf("%s: trace %s over frames, %s in virtual time", name, got.TraceHash, v.TraceHash)
		}
		if other, twice := hashes[v.TraceHash]; twice {
			t.Errorf("%s and %s have the same trace", name, other)
		}
		hashes[v.TraceHash] = name
	}
	if len(real.Reasons) > 0 {
		t.Errorf("invalid because of %q", real.Reasons)
	}
}

// TestParkingLot: over k bottlenecks Poseidon gives every flow the fair share, and Swift
// starves the long flow; what the embedded experiment expects holds with one seed.
func TestParkingLot(t *testing.T) {
	checkout.SkipSlowRace(t)
	summary := runIn(t, load(t, "parking-lot", "seeds=[1]"), Options{Out: filepath.Join(t.TempDir(), "run")})
	if len(summary.Expectations) < 7 {
		t.Errorf("%d expectations", len(summary.Expectations))
	}
	for _, e := range summary.Expectations {
		if !e.OK {
			t.Errorf("%s does not hold: %+v", e.Expr, e)
		}
	}
	if swift, poseidon := summary.Variants["swift"].Metrics["short_to_long"], summary.Variants["poseidon"].Metrics["short_to_long"]; swift < 4 || poseidon > 1.15 {
		t.Errorf("short flows get %.2f times the long one's rate with Swift, %.2f times with Poseidon", swift, poseidon)
	}
}
