package congestion

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// newConnectX returns a reaction point at 40 Gbps with NVIDIA's defaults
// (docs/reference/references.md#dcqcn) and its rates in Gbps, at which there has been a CNP.
func newConnectX(t *testing.T, v algorithm.Values, current, target float64) *connectX {
	t.Helper()
	values := algorithm.Values{
		"rules": "connectx", "timer": "300us", "fast_recovery": "1", "alpha_gain": "0.0048828125", "alpha_timer": "1us",
		"cnp_interval": "4us", "rate_ai": "5Mbps", "rate_hai": "50Mbps", "min_rate": "1Mbps",
	}
	for name, text := range v {
		values[name] = text
	}
	c := madeOn[*connectX](t, dcqcn, fortyGig, values)
	c.current, c.target, c.limited, c.counted = current*1e9, target*1e9, true, early
	return c
}

func checkPoint(t *testing.T, what string, c *connectX, current, target float64) {
	t.Helper()
	if !about(c.current/1e9, current, 1e-9) || !about(c.target/1e9, target, 1e-9) {
		t.Errorf("%s: R_C %v, R_T %v Gbps, want %v and %v", what, c.current/1e9, c.target/1e9, current, target)
	}
}

func TestConnectXCuts(t *testing.T) {
	// rate_reduce_monitor_period: 4 us between cuts. clamp_tgt_rate_after_time_inc: the
	// target becomes the rate only if the timer has raised that since the cut before.
	c := newConnectX(t, nil, 10, 20)
	c.alpha = 0.5
	c.OnCNP(early)
	checkPoint(t, "a row of cuts", c, 7.5, 20)
	if c.out.Action != dcqcnDecrease || c.out.Timer != early.Add(300*units.Microsecond) {
		t.Errorf("action %d, timer %v", c.out.Action, c.out.Timer)
	}
	c.OnCNP(early.Add(3 * units.Microsecond))
	checkPoint(t, "3 us later", c, 7.5, 20)
	c.alpha, c.marked, c.counted = 0.5, false, early.Add(4*units.Microsecond)
	c.OnCNP(early.Add(4 * units.Microsecond))
	checkPoint(t, "4 us later", c, 7.5*0.75, 20)
	c.alpha, c.times, c.marked, c.counted = 0.5, 1, false, early.Add(9*units.Microsecond)
	c.OnCNP(early.Add(9 * units.Microsecond))
	checkPoint(t, "after an increase", c, 7.5*0.75*0.75, 7.5*0.75)
	if c.times != 0 {
		t.Errorf("T %d after a cut", c.times)
	}
}

func TestConnectXAlpha(t *testing.T) {
	// dce_tcp_rtt: alpha changes at the end of each 1 us, by g = 5/1024: up if there was a
	// CNP in it.
	const g = 5.0 / 1024
	c := newConnectX(t, nil, 10, 10)
	c.alpha = 0.5
	at := early
	c.OnCNP(at) // in the first microsecond
	want := 0.5
	for i := range 7 {
		want *= 1 - g
		if i == 0 {
			want += g
		}
	}
	at = at.Add(7*units.Microsecond + 500*units.Nanosecond)
	c.age(at)
	if !about(c.alpha, want, 1e-12) {
		t.Errorf("alpha %v, want %v", c.alpha, want)
	}
	c.age(at.Add(400 * units.Nanosecond)) // no microsecond more
	if !about(c.alpha, want, 1e-12) {
		t.Errorf("alpha %v within a microsecond, want %v", c.alpha, want)
	}
	// While a job computes alpha falls to nothing, and no timer is served for that.
	c.age(at.Add(100 * units.Millisecond))
	if c.alpha > 1e-100 || c.out.Timer != early.Add(300*units.Microsecond) {
		t.Errorf("alpha %v, timer %v", c.alpha, c.out.Timer)
	}
}

func TestConnectXStages(t *testing.T) {
	// rpg_threshold F: F recoveries, one additive increase, then hyper increases; the i-th
	// adds i R_HAI (DCQCN paper, equation 4). The bytes that are sent do not count.
	for fast, names := range map[string][]uint8{
		"1": {dcqcnFast, dcqcnAdditive, dcqcnHyper, dcqcnHyper},
		"3": {dcqcnFast, dcqcnFast, dcqcnFast, dcqcnAdditive, dcqcnHyper, dcqcnHyper},
	} {
		c := newConnectX(t, algorithm.Values{"fast_recovery": fast}, 10, 20)
		c.OnCNP(early)
		current, target, hyper := c.current/1e9, 20.0, 0.0
		for i, action := range names {
			c.OnSend(early, &Send{Size: 100 * units.MB})
			c.OnTimer(c.out.Timer)
			switch action {
			case dcqcnAdditive:
				target += 0.005
			case dcqcnHyper:
				hyper++
				target += hyper * 0.05
			}
			current = (current + target) / 2
			checkPoint(t, "increase", c, current, target)
			if want := early.Add(units.Duration(i+2) * 300 * units.Microsecond); c.out.Action != action || c.out.Timer != want {
				t.Errorf("F %s, increase %d: action %d, timer %v; want %d, %v", fast, i+1, c.out.Action, c.out.Timer, action, want)
			}
		}
	}
	if _, err := dcqcn.New(fortyGig, algorithm.Values{"rules": "connectx", "byte_counter": "1MB"}); err == nil {
		t.Error("a byte counter is taken with rules connectx")
	}
}

// With cuts of all flows at one time, T decides by how many increases fit between them.
// Theory: a flow loses R alpha/2 2^-n with each cut, where n is its increases in between, and
// gains its additive and hyper increases, here of n = 2 and 3.
func TestConnectXShares(t *testing.T) {
	const apart = 320 * units.Microsecond // 3 times 100 us, 2 times 125 us
	rate := func(timer string) float64 {
		c := newConnectX(t, algorithm.Values{"timer": timer}, 1, 1)
		at := early
		for range 4000 {
			c.alpha, c.marked = 0.2, false
			c.OnCNP(at)
			for c.out.Timer < at.Add(apart) {
				c.OnTimer(c.out.Timer)
			}
			at = at.Add(apart)
			c.counted = at
		}
		return c.current / 1e9
	}
	// n = 2: in each cycle R_T gets R, then R_C = 0.9 R, 0.95 R, 0.975 R + 5/2 Mb/s: R = 0.1 Gb/s.
	// n = 3: 0.9 R, 0.95 R, 0.975 R + 2.5, 0.9875 R + 1.25 + 27.5 Mb/s: R = 2.3 Gb/s.
	if slow, quick := rate("125us"), rate("100us"); !about(slow, 0.1, 1e-6) || !about(quick, 2.3, 1e-6) {
		t.Errorf("%v Gbps with 125 us and %v with 100 us, want 0.1 and 2.3", slow, quick)
	}
}

func TestConnectXAdaptive(t *testing.T) {
	// HotNets'22: 1 + sent/total, of additive and hyper increases.
	for times, increase := range map[int]float64{1: 5, 2: 50, 3: 100} {
		for sent, factor := range map[units.Size]float64{0: 1, 250 * units.KB: 1.25, units.MB: 2} {
			c := newConnectX(t, algorithm.Values{"adaptive": "true"}, 10, 20)
			c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
			c.OnSend(early, &Send{Size: sent})
			c.times, c.timerAt = times, early
			c.OnTimer(early)
			if got := (c.target - 20e9) / 1e6; !about(got, increase*factor, 1e-6) {
				t.Errorf("T %d, %v of 1 MB sent: target grows by %v Mbps, want %v", times, sent, got, increase*factor)
			}
		}
	}
}
