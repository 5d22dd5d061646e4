package aqm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/units"
)

var port = aqm.Port{Rate: 100 * units.Gbps, Queue: 200_000, ECN: aqm.Thresholds{Low: 50_000, High: 150_000}}

func seeded(seed uint64) aqm.Port {
	p := port
	p.Random = rand.New(rand.NewPCG(seed, 0))
	return p
}

// RED §4: "avg = (1 - w_q) avg + w_q q": a queue that jumps is seen after some 1/w packets.
func TestREDAverages(t *testing.T) {
	seed := rand.Uint64()
	p := policy(t, "red", seeded(seed), algorithm.Values{"weight": "0.01", "max_p": "1", "spread": "false"})
	first := 0
	for n := 1; first == 0; n++ {
		if p.Mark(units.Time(n), aqm.Departure{Queue: 200_000, Waited: 1}) {
			first = n
		}
	}
	// The average passes low when 200 kB (1 - 0.99^n) > 50 kB: after 29 packets.
	if first < 29 || first > 29+25 {
		t.Errorf("seed %d: the first mark after %d packets, want some after the 29th", seed, first)
	}
	p = policy(t, "red", seeded(seed), algorithm.Values{"weight": "1", "max_p": "1"})
	if p.Mark(1, aqm.Departure{Queue: 49_999, Waited: 1}) || !p.Mark(2, aqm.Departure{Queue: 150_000, Waited: 1}) {
		t.Error("with weight 1 the average is not the queue")
	}
}

// RED §4: "avg = (1 - w_q)^m avg" for a time in which m packets could have been sent.
func TestREDForgetsWhenIdle(t *testing.T) {
	// 1250 B take 100 ns.
	average := func(idle units.Duration) float64 { // by the share of marks of many ports
		marks := 0
		const ports = 4000
		for seed := range uint64(ports) {
			p := policy(t, "red", seeded(seed), algorithm.Values{"weight": "0.5", "max_p": "1", "packet": "1250B", "spread": "false"})
			for n := range 60 {
				p.Mark(units.Time(n), aqm.Departure{Queue: 160_000, Waited: 1})
			}
			p.Mark(60, aqm.Departure{Queue: 0, Waited: 1}) // 80 kB, and idle
			if p.Mark(units.Time(60).Add(idle), aqm.Departure{Queue: 100_000}) {
				marks++
			}
		}
		return 50_000 + 100_000*float64(marks)/ports
	}
	for idle, want := range map[units.Duration]float64{0: 90_000, 100 * units.Nanosecond: 70_000, 200 * units.Nanosecond: 60_000} {
		if got := average(idle); math.Abs(got-want) > 4000 {
			t.Errorf("after %v idle the average is %.0f, want %.0f", idle, got, want)
		}
	}
}

// DCQCN paper §3.1 (CP) and RED §4: p_b = max_p (avg - min) / (max - min), and 1 from max.
func TestREDProbability(t *testing.T) {
	const draws = 20000
	for _, tc := range []struct {
		queue units.Size
		want  float64
	}{{49_999, 0}, {75_000, 0.05}, {100_000, 0.1}, {149_999, 0.2}, {150_000, 1}} {
		p := policy(t, "red", seeded(uint64(tc.queue)), algorithm.Values{"weight": "1", "max_p": "0.2", "spread": "false"})
		marks := 0
		for n := range draws {
			if p.Mark(units.Time(n), aqm.Departure{Queue: tc.queue, Waited: 1}) {
				marks++
			}
		}
		if limit := 6 * math.Sqrt(draws*tc.want*(1-tc.want)); math.Abs(float64(marks)-draws*tc.want) > limit+1 {
			t.Errorf("%v: %d of %d marked, want %.0f", tc.queue, marks, draws, draws*tc.want)
		}
	}
}

// RED §7, method 2: p_a = p_b / (1 - count p_b): the gaps between marks are uniform from 1
// to 1/p_b packets, and never longer.
func TestREDSpreadsMarks(t *testing.T) {
	p := policy(t, "red", seeded(7), algorithm.Values{"weight": "1", "max_p": "0.1"})
	gaps, since := map[int]int{}, 0
	const packets = 200_000
	for n := range packets {
		since++
		if p.Mark(units.Time(n), aqm.Departure{Queue: 100_000, Waited: 1}) { // p_b = 0.05
			gaps[since]++
			since = 0
		}
	}
	sum, longest := 0, 0
	for gap, n := range gaps {
		sum += n
		longest = max(longest, gap)
	}
	if longest > 20 {
		t.Errorf("a gap of %d packets, want at most 1/p_b = 20", longest)
	}
	want := float64(sum) / float64(longest)
	for gap := 1; gap <= longest; gap++ {
		if math.Abs(float64(gaps[gap])-want) > 8*math.Sqrt(want) {
			t.Errorf("%d gaps of %d packets, want %.0f as of each length", gaps[gap], gap, want)
		}
	}
}

// DCTCP paper §3.1: "if the queue occupancy is greater than K upon its arrival"; UEC: a step
// at 0.5 BDP (docs/reference/references.md#switch-queue), the middle of 0.2 and 0.8.
func TestStep(t *testing.T) {
	p := policy(t, "step", port, nil)
	for queue, want := range map[units.Size]bool{0: false, 99_999: false, 100_000: true, 200_000: true} {
		if got := p.Mark(0, aqm.Departure{Queue: queue}); got != want {
			t.Errorf("Mark(%v) = %v, want %v", queue, got, want)
		}
	}
	if a, _ := aqm.Table.Lookup("step"); a.Name != "" {
		if _, err := a.New(aqm.Port{}, nil); err == nil {
			t.Error("a threshold of 0B was accepted")
		}
	}
}

// drive lets packets of a waiting time leave for some updates, and returns the share that
// was marked.
func drive(p aqm.Policy, now *units.Time, updates int, waited units.Duration) float64 {
	const perUpdate = 50
	marks := 0
	for range updates * perUpdate {
		*now = now.Add(10 * units.Microsecond / perUpdate)
		if p.Mark(*now, aqm.Departure{Queue: 50_000, Waited: waited}) {
			marks++
		}
	}
	return float64(marks) / float64(updates*perUpdate)
}

var pieValues = algorithm.Values{"target": "10us", "burst": "0s"}

// RFC 8033 §4.2: p += alpha (delay - target) + beta (delay - old): it settles where the
// delay is at its target, and neither rises nor falls there.
func TestPIEIntegrates(t *testing.T) {
	p, now := policy(t, "pie", seeded(3), pieValues), units.Time(0)
	drive(p, &now, 3000, 30*units.Microsecond)
	high := drive(p, &now, 400, 10*units.Microsecond)
	same := drive(p, &now, 400, 10*units.Microsecond)
	if high < 0.05 || math.Abs(high-same) > 0.03 {
		t.Errorf("at the target %.3f, then %.3f of the packets are marked, want the same", high, same)
	}
	lower := drive(p, &now, 4000, 6*units.Microsecond)
	if last := drive(p, &now, 400, 6*units.Microsecond); last >= same-0.02 || lower > high {
		t.Errorf("below the target %.3f of the packets are marked, want less than %.3f", last, same)
	}
}

// RFC 8033 §4.1: no mark while the delay is below half the target and the probability below
// 0.2; §4.4: none during a burst after an idle time.
func TestPIESafeguards(t *testing.T) {
	p, now := policy(t, "pie", seeded(3), pieValues), units.Time(0)
	drive(p, &now, 150, 20*units.Microsecond)
	if got := drive(p, &now, 1, 20*units.Microsecond); got == 0 || got > 0.2 {
		t.Fatalf("%.3f marked above the target, want some, and below 0.2", got)
	}
	drive(p, &now, 1, 4*units.Microsecond)
	if got := drive(p, &now, 20, 4*units.Microsecond); got != 0 {
		t.Errorf("%.3f marked below half the target", got)
	}
	p, now = policy(t, "pie", seeded(3), algorithm.Values{"target": "10us", "burst": "20ms", "alpha": "100", "beta": "100"}), 0
	if got := drive(p, &now, 1900, 100*units.Microsecond); got != 0 {
		t.Errorf("%.3f marked during the burst of 20 ms", got)
	}
	if got := drive(p, &now, 1000, 100*units.Microsecond); got == 0 {
		t.Error("nothing marked after the burst")
	}
}

// RFC 8033 §4.2: "when drop_prob is small, the adjustment is reduced": by 2048 below 0.000001.
func TestPIEAutoTunes(t *testing.T) {
	share := func(updates int) float64 {
		p, now := policy(t, "pie", seeded(5), pieValues), units.Time(0)
		drive(p, &now, updates, 20*units.Microsecond)
		return drive(p, &now, 100, 20*units.Microsecond)
	}
	// Each update adds alpha = 0.001875, less its share: /2048 to 1e-6 (1 or 2 steps), /512,
	// /128, /32 to 0.001, then /8: 39 steps to 0.01, and /2: 96 to 0.1.
	early, late := share(10), share(200)
	if early > 0.02 || late < 0.05 {
		t.Errorf("%.4f marked after 10 updates, %.4f after 200; want it to start slowly", early, late)
	}
}
