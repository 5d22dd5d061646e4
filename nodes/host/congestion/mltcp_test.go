package congestion

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

func TestMLTCPScale(t *testing.T) {
	// MLTCP: increases are scaled by F = S * bytes_ratio + I, bytes_ratio = min(1,
	// sent/total) of the iteration; decreases stay.
	const rtt = 14 * units.Microsecond
	for _, wrap := range []string{"dctcp", "swift", "nscc"} {
		plain := func() scaled { return made[scaled](t, *tableEntry(t, wrap), algorithm.Values{"cwnd": "41500B"}) }
		for _, test := range []struct {
			name  string
			sent  units.Size // of a phase of 1 MB, before the ACK
			phase bool
			want  float64 // F at the ACK, with S 2 and I 0.5
		}{
			{"no phase", 0, false, 0.5},
			{"begin", 0, true, 0.5 + 2*4*packet/1e6},
			{"half", 500_000 - 4*packet, true, 1.5},
			{"end", 1_000_000 - 4*packet, true, 2.5},
			{"beyond", 3 * units.MB, true, 2.5},
		} {
			c := made[*wrapper](t, mltcp, algorithm.Values{"wrap": wrap, "slope": "2", "intercept": "0.5", "cwnd": "41500B"})
			if test.phase {
				c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
				c.law.(*mltcpLaw).phase.sent = test.sent
			}
			want := plain()
			want.scaleIncrease(test.want)
			one := plain()
			a := packets(4, rtt, 5)
			a.Hops = 5
			c.OnAck(early, a)
			want.OnAck(early, a)
			one.OnAck(early, a)
			if n, ok := c.inner.(*nsccState); ok { // it collects increases
				if got := n.increase / one.(*nsccState).increase; !about(got, test.want, 1e-9) {
					t.Errorf("%s, %s: increase times %v, want %v", wrap, test.name, got, test.want)
				}
				continue
			}
			if c.out.Window != want.Output().Window || c.out.Window <= 10*packet {
				t.Errorf("%s, %s: window %v, want %v", wrap, test.name, c.out.Window, want.Output().Window)
			}
			if test.want != 1 && c.out.Window == one.Output().Window {
				t.Errorf("%s, %s: window %v as without a scale", wrap, test.name, c.out.Window)
			}
		}
		c := made[*wrapper](t, mltcp, algorithm.Values{"wrap": wrap, "cwnd": "83kB"})
		one := made[scaled](t, *tableEntry(t, wrap), algorithm.Values{"cwnd": "83kB"})
		c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
		c.OnNack(early, &Nack{Size: packet, Inflight: 10 * packet})
		one.OnNack(early, &Nack{Size: packet, Inflight: 10 * packet})
		c.OnTimeout(early, &Timeout{Size: packet})
		one.OnTimeout(early, &Timeout{Size: packet})
		if c.out.Window != one.Output().Window {
			t.Errorf("%s: window %v after losses, want %v", wrap, c.out.Window, one.Output().Window)
		}
	}
}

func tableEntry(t *testing.T, name string) *Algorithm {
	t.Helper()
	a, ok := Table.Lookup(name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return &a
}

// A wrapped controller with scale 1 throughout is the controller itself: outputs, actions,
// constants, bounds and needs.
func TestMLTCPWraps(t *testing.T) {
	for _, wrap := range []string{"dctcp", "swift", "nscc"} {
		inner := tableEntry(t, wrap)
		values := algorithm.Values{"wrap": wrap, "slope": "0", "intercept": "1"}
		c, one := made[*wrapper](t, mltcp, values), made[Controller](t, *inner, nil)
		at := early
		for i := range 200 {
			at = at.Add(units.Microsecond)
			a := packets(1+i%3, units.Duration(14+i%20)*units.Microsecond, 20)
			a.ECN = i%7 == 0
			c.OnAck(at, a)
			one.OnAck(at, a)
			got, want := *c.Output(), *one.Output()
			if name := mltcp.Actions[got.Action].Name; name != inner.Actions[want.Action].Name {
				t.Fatalf("%s: action %s, want %s", wrap, name, inner.Actions[want.Action].Name)
			}
			if got.Action = want.Action; got != want {
				t.Fatalf("%s: output %+v, want %+v", wrap, got, want)
			}
		}
		if got, want := len(mltcp.ConstantsOf(threeTier, values)), len(inner.ConstantsOf(threeTier, nil)); got != want {
			t.Errorf("%s: %d constants, want %d", wrap, got, want)
		}
		got, _ := mltcp.WindowsOf(threeTier, values)
		if want, _ := inner.WindowsOf(threeTier, nil); got != want || mltcp.NeedsOf(values) != inner.NeedsOf(nil) {
			t.Errorf("%s: windows %v, want %v", wrap, got, want)
		}
	}
}

// Around DCQCN MLTCP scales R_AI and R_HAI, and passes on what a rate needs to know.
func TestMLTCPAroundDCQCN(t *testing.T) {
	values := algorithm.Values{"wrap": "dcqcn", "slope": "2", "intercept": "0.5", "rate_ai": "40Mbps", "rate_hai": "400Mbps", "cnp_interval": "7us"}
	if needs := mltcp.NeedsOf(values); needs.CNP != 7*units.Microsecond {
		t.Errorf("needs %+v", needs)
	}
	c := madeOn[*rateWrapper](t, mltcp, fortyGig, values)
	point := c.inner.(*dcqcnState)
	c.OnCNP(early)
	if rate, _ := point.inGbps(); rate != 20 || c.out.PacingRate != 20*units.Gbps || c.out.Timer != early.Add(55*units.Microsecond) {
		t.Errorf("after a CNP: R_C %v, paced at %v, timer %v", rate, c.out.PacingRate, c.out.Timer)
	}
	c.OnPhase(early, &Phase{Begin: true, Total: units.MB})
	for _, test := range []struct {
		acked         units.Size // in addition, of 1 MB
		times, counts int
		want          float64 // growth of R_T, Mbps
	}{
		{0, 4, 0, 20},                     // F = 0.5 of R_AI
		{250 * units.KB, 4, 0, 40},        // 1
		{250 * units.KB, 6, 6, 1.5 * 400}, // 1.5 of R_HAI
		{500 * units.KB, 4, 0, 100},       // 2.5
		{500 * units.KB, 4, 0, 100},       // no more
		{0, 1, 1, 0},                      // fast recovery
	} {
		c.OnAck(early, &Ack{Acked: test.acked})
		point.current, point.target = 10e9, 20e9
		point.times, point.counts, point.timerAt = test.times, test.counts, early
		c.OnTimer(early)
		if got := (point.target - 20e9) / 1e6; !about(got, test.want, 1e-6) {
			t.Errorf("T %d, BC %d: target grows by %v Mbps, want %v", test.times, test.counts, got, test.want)
		}
	}
	c.OnSend(early, &Send{Size: 3 * units.KB})
	if point.sentSince != 3*units.KB || point.phase.total != units.MB {
		t.Errorf("byte counter at %v, a phase of %v: not told of packets and phases", point.sentSince, point.phase.total)
	}
	c.OnNack(early, &Nack{})
	c.OnTimeout(early, &Timeout{})
	if c.out.PacingRate != point.out.PacingRate || c.out.Timer != point.out.Timer {
		t.Errorf("output %+v, want %+v", c.out, point.out)
	}
	madeOn[*rateWrapper](t, mltcp, fortyGig, algorithm.Values{"wrap": "dcqcn", "rules": "connectx"})
	// A flow with a window pays nothing for events that it does not need.
	window := made[Controller](t, mltcp, algorithm.Values{"wrap": "swift"})
	if _, timed := window.(Timed); timed {
		t.Error("mltcp around swift has a timer")
	}
	if _, sends := window.(SendListener); sends {
		t.Error("mltcp around swift listens to packets")
	}
}

func TestMLTCPParameters(t *testing.T) {
	for _, test := range []struct {
		values algorithm.Values
		want   string
	}{
		{algorithm.Values{"mark_gain": "0.5"}, ""},
		{algorithm.Values{"wrap": "nscc", "gamma": "0.5"}, ""},
		{algorithm.Values{"gamma": "0.5"}, "mltcp: parameter gamma: only with wrap nscc, and that is dctcp"},
		{algorithm.Values{"wrap": "swift", "slow_start": "false"}, "mltcp: parameter slow_start: only with wrap dctcp, and that is swift"},
		{algorithm.Values{"wrap": "swift", "max_cwnd": "0.001"}, "mltcp: parameter max_cwnd: 0.001 packets are less than min_cwnd"},
		{algorithm.Values{"wrap": "poseidon"}, "mltcp: parameter wrap: unknown value"},
		{algorithm.Values{"intercept": "0"}, "mltcp: parameter intercept"},
	} {
		_, err := mltcp.New(threeTier, test.values)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%v: error %v, want %q", test.values, err, test.want)
		}
	}
	// What auto stands for is that of the wrapped algorithm.
	got, err := mltcp.Resolve(threeTier, algorithm.Values{"wrap": "swift"})
	if err != nil || got["base_target"] == algorithm.Auto || got["cwnd"] != "175.284kB" {
		t.Errorf("%v, %v", got, err)
	}
}
