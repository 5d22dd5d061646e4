package congestion

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// fortyGig is the network of the DCQCN paper's figures.
var fortyGig = Path{LinkRate: 40 * units.Gbps, NetworkRTT: 10 * units.Microsecond, MTU: packet, Header: 64}

// newDCQCNAt returns a reaction point at 40 Gbps with its rates in Gbps.
func newDCQCNAt(t *testing.T, v algorithm.Values, current, target float64) *dcqcnState {
	t.Helper()
	c := madeOn[*dcqcnState](t, dcqcn, fortyGig, v)
	c.current, c.target, c.limited = current*1e9, target*1e9, true
	return c
}

func (c *dcqcnState) inGbps() (current, target float64) { return c.current / 1e9, c.target / 1e9 }

func checkRates(t *testing.T, what string, c *dcqcnState, current, target float64) {
	t.Helper()
	if r, goal := c.inGbps(); !about(r, current, 1e-9) || !about(goal, target, 1e-9) {
		t.Errorf("%s: R_C %v, R_T %v Gbps, want %v and %v", what, r, goal, current, target)
	}
}

func TestDCQCNParameters(t *testing.T) {
	// DCQCN paper: at 40 Gbps T = K = 55 us, N = 50 us, B = 10 MB, F = 5, g = 1/256,
	// R_AI = 40 Mbps. Rates and bytes are in proportion to the link, times stay.
	for _, test := range []struct {
		path     Path
		ai, hai  float64
		bytes    units.Size
		leastBps float64
	}{{fortyGig, 40e6, 400e6, 10 * units.MB, 40e6}, {threeTier, 100e6, 1e9, 25 * units.MB, 100e6}} {
		c := madeOn[*dcqcnState](t, dcqcn, test.path, nil)
		if c.ai != test.ai || c.hai != test.hai || c.bytes != test.bytes || c.least != test.leastBps {
			t.Errorf("%v: R_AI %v, R_HAI %v, B %v, least %v", test.path.LinkRate, c.ai, c.hai, c.bytes, c.least)
		}
		if c.timer != 55*units.Microsecond || c.alphaGap != 55*units.Microsecond || c.fast != 5 || c.gain != 1.0/256 {
			t.Errorf("T %v, K %v, F %d, g %v", c.timer, c.alphaGap, c.fast, c.gain)
		}
	}
	if needs := dcqcn.NeedsOf(nil); needs.CNP != 50*units.Microsecond || needs.HostDelay || needs.Hops {
		t.Errorf("needs %+v, want CNPs every 50us", needs)
	}
}

func TestDCQCNStart(t *testing.T) {
	// DCQCN paper §3.1: a flow starts at line rate, and its reaction point begins with the
	// first CNP, with alpha 1: that halves the rate.
	c := newDCQCNAt(t, nil, 40, 40)
	c.limited = false
	c.OnSend(0, &Send{Size: 100 * units.MB})
	if c.out.PacingRate != 0 || c.out.Timer != units.Never || c.counts != 0 {
		t.Errorf("before a CNP: paced at %v, timer %v, BC %d", c.out.PacingRate, c.out.Timer, c.counts)
	}
	c.OnCNP(early)
	checkRates(t, "first CNP", c, 20, 40)
	if c.out.PacingRate != 20*units.Gbps || c.out.Timer != early.Add(55*units.Microsecond) {
		t.Errorf("paced at %v, timer %v", c.out.PacingRate, c.out.Timer)
	}
}

func TestDCQCNDecrease(t *testing.T) {
	// DCQCN paper §3.1, equation 1, on a CNP: R_T = R_C; R_C = R_C (1 - alpha/2);
	// alpha = (1-g) alpha + g. Timer, byte counter, T and BC begin anew.
	c := newDCQCNAt(t, algorithm.Values{"alpha_gain": "0.5"}, 10, 20)
	c.alpha, c.times, c.counts, c.sentSince = 0.4, 3, 7, units.MB
	c.OnCNP(early)
	checkRates(t, "CNP", c, 8, 10)
	if c.alpha != 0.7 || c.times != 0 || c.counts != 0 || c.sentSince != 0 || c.out.Action != dcqcnDecrease {
		t.Errorf("alpha %v, T %d, BC %d, %v sent, action %d", c.alpha, c.times, c.counts, c.sentSince, c.out.Action)
	}
	// Each CNP cuts; the notification point keeps them N apart.
	c.OnCNP(early)
	checkRates(t, "next CNP", c, 8*(1-0.35), 8)
}

func TestDCQCNAlpha(t *testing.T) {
	// DCQCN paper §3.1, equation 2: without a CNP for K, alpha = (1-g) alpha, every K.
	c := newDCQCNAt(t, algorithm.Values{"alpha_gain": "0.25", "alpha_timer": "20us"}, 10, 10)
	c.OnCNP(early)
	at := early
	for _, want := range []float64{0.75, 0.5625} {
		if at = at.Add(20 * units.Microsecond); c.out.Timer != at {
			t.Fatalf("timer at %v, want %v", c.out.Timer, at)
		}
		if c.OnTimer(at); !about(c.alpha, want, 1e-12) {
			t.Errorf("alpha %v, want %v", c.alpha, want)
		}
	}
	// A CNP begins the K anew.
	c.OnCNP(at.Add(units.Microsecond))
	if want := at.Add(21 * units.Microsecond); c.out.Timer != want {
		t.Errorf("timer at %v, want %v", c.out.Timer, want)
	}
}

func TestDCQCNStages(t *testing.T) {
	// DCQCN paper §3.1, figure 7, on each event of timer or byte counter:
	// max(T,BC) < F: fast recovery, R_C = (R_T+R_C)/2;
	// min(T,BC) > F: hyper increase, R_T += i R_HAI with i = min(T,BC)-F, then as above;
	// otherwise: additive increase, R_T += R_AI, then as above.
	for _, test := range []struct {
		name            string
		times, counts   int
		action          uint8
		current, target float64
	}{
		{"first recovery", 0, 0, dcqcnFast, 15, 20},
		{"last recovery", 3, 4, dcqcnFast, 15, 20},
		{"T is F", 4, 0, dcqcnAdditive, 15.02, 20.04},
		{"BC is F", 0, 5, dcqcnAdditive, 15.02, 20.04},
		{"BC above F alone", 2, 9, dcqcnAdditive, 15.02, 20.04},
		{"the smaller is F", 4, 9, dcqcnAdditive, 15.02, 20.04},
		{"both above F", 5, 6, dcqcnHyper, 15.2, 20.4},
		{"by 3", 7, 12, dcqcnHyper, 15.6, 21.2},
	} {
		c := newDCQCNAt(t, nil, 10, 20)
		c.times, c.counts, c.timerAt = test.times, test.counts, early
		c.OnTimer(early)
		checkRates(t, test.name, c, test.current, test.target)
		if c.out.Action != test.action || c.times != test.times+1 || c.out.Timer != early.Add(55*units.Microsecond) {
			t.Errorf("%s: action %d, T %d, timer %v", test.name, c.out.Action, c.times, c.out.Timer)
		}
	}
}

func TestDCQCNByteCounter(t *testing.T) {
	// DCQCN paper §3.1: the byte counter makes an event every B bytes sent.
	c := newDCQCNAt(t, algorithm.Values{"byte_counter": "10kB"}, 10, 20)
	for i, want := range []float64{10, 10, 15, 15, 17.5} {
		c.OnSend(early, &Send{Size: 4 * units.KB, Again: i == 1}) // retransmissions are sent, too
		checkRates(t, "sent", c, want, 20)
	}
	if c.counts != 2 || c.times != 0 {
		t.Errorf("BC %d, T %d, want 2 and 0", c.counts, c.times)
	}
}

func TestDCQCNBounds(t *testing.T) {
	// R_T grows to the line rate (DCQCN paper §3.1), R_C falls to the least rate.
	c := newDCQCNAt(t, algorithm.Values{"min_rate": "2Gbps"}, 40, 40)
	c.times, c.counts, c.timerAt = 20, 20, early
	c.OnTimer(early)
	checkRates(t, "at line rate", c, 40, 40)
	if c.out.PacingRate != 0 {
		t.Errorf("paced at %v at line rate", c.out.PacingRate)
	}
	for range 20 {
		c.alpha = 1
		c.OnCNP(early)
	}
	if c.out.PacingRate != 2*units.Gbps {
		t.Errorf("rate %v after 20 CNPs, want 2 Gbps", c.out.PacingRate)
	}
	if _, err := dcqcn.New(fortyGig, algorithm.Values{"min_rate": "41Gbps"}); err == nil {
		t.Error("a least rate above the link's is taken")
	}
	if _, err := dcqcn.New(fortyGig, algorithm.Values{"timer": "999ns"}); err == nil {
		t.Error("a timer below 1 us is taken")
	}
}

func TestDCQCNAdaptive(t *testing.T) {
	// HotNets'22: R_AI becomes R_AI (1 + sent/total), of the current communication phase.
	increase := func(c *dcqcnState) float64 {
		c.current, c.target, c.times, c.counts, c.timerAt = 10e9, 20e9, 4, 0, early
		c.OnTimer(early)
		return (c.target - 20e9) / 1e6
	}
	c := newDCQCNAt(t, algorithm.Values{"adaptive": "true"}, 10, 20)
	for _, test := range []struct {
		event func()
		want  float64 // Mbps
	}{
		{func() {}, 40}, // no phase
		{func() { c.OnPhase(early, &Phase{Begin: true, Total: units.MB}) }, 40},
		{func() { c.OnSend(early, &Send{Size: 250 * units.KB}) }, 50},
		{func() { c.OnSend(early, &Send{Size: 250 * units.KB, Again: true}) }, 50}, // counted once
		{func() { c.OnSend(early, &Send{Size: 750 * units.KB}) }, 80},
		{func() { c.OnSend(early, &Send{Size: 750 * units.KB}) }, 80}, // no more than 1
		{func() { c.OnPhase(early, &Phase{Total: units.MB, Sent: units.MB}) }, 80},
		{func() { c.OnPhase(early, &Phase{Begin: true, Total: 2 * units.MB}) }, 40}, // the next iteration
	} {
		if test.event(); !about(increase(c), test.want, 1e-6) {
			t.Errorf("increase %v Mbps, want %v", increase(c), test.want)
		}
	}
	// Hyper increase and the static mode stay as they are.
	c = newDCQCNAt(t, nil, 10, 20)
	c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
	c.OnSend(early, &Send{Size: units.MB})
	if got := increase(c); !about(got, 40, 1e-6) {
		t.Errorf("increase %v Mbps without adaptive", got)
	}
	// A smaller T is more aggressive: more increases in the same time.
	grown := map[string]float64{}
	for _, timer := range []string{"125us", "100us"} {
		c := newDCQCNAt(t, algorithm.Values{"timer": timer}, 10, 20)
		c.OnCNP(0)
		for c.out.Timer <= units.Time(2*units.Millisecond) {
			c.OnTimer(c.out.Timer)
		}
		grown[timer] = c.current
	}
	if grown["100us"] <= grown["125us"] {
		t.Errorf("rates %v after 2 ms", grown)
	}
}
