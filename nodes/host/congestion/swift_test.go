package congestion

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// still are targets without scaling: 20 us in the fabric, 10 us in the host.
var still = algorithm.Values{"base_target": "20us", "hop_target": "0us", "flow_range": "0us", "host_target": "10us", "cwnd": "83kB"} // 20 packets

func with(v algorithm.Values, more ...string) algorithm.Values {
	all := algorithm.Values{}
	for name, text := range v {
		all[name] = text
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// swiftAck is an ACK of n packets with a delay in the fabric and one in the host.
func swiftAck(n int, fabric, host units.Duration) *Ack {
	a := packets(n, fabric+host, 10)
	a.HostDelay, a.HasHostDelay = host, true
	return a
}

func TestSwiftIncrease(t *testing.T) {
	// Swift paper §3.3, algorithm 1: below the target cwnd += ai/cwnd * num_acked, and
	// below one packet cwnd += ai * num_acked. The target itself is not above it (Falcon 0.9 §10.3).
	for _, test := range []struct{ cwnd, want float64 }{{20, 20 + 3.0*2/20}, {1, 1 + 3.0*2}, {0.5, 0.5 + 3.0*2}} {
		c := made[*swiftState](t, swift, with(still, "ai", "3", "min_cwnd", "0.1"))
		c.fabric.cwnd = test.cwnd
		c.OnAck(early, swiftAck(2, 20*units.Microsecond, 0))
		if !about(c.fabric.cwnd, test.want, 1e-12) || c.out.Action != swiftIncrease {
			t.Errorf("from %v packets: %v by action %d, want %v", test.cwnd, c.fabric.cwnd, c.out.Action, test.want)
		}
	}
}

func TestSwiftDecrease(t *testing.T) {
	// Swift paper §3.3, algorithm 1: cwnd *= max(1 - beta*(delay-target)/delay, 1-max_mdf),
	// if an RTT has passed since the last decrease.
	c := made[*swiftState](t, swift, still)
	at := early
	c.OnAck(at, swiftAck(1, 25*units.Microsecond, 0))
	if want := 20 * (1 - 0.8*5/25); !about(c.fabric.cwnd, want, 1e-12) || c.out.Action != swiftDecrease {
		t.Fatalf("window %v, want %v", c.fabric.cwnd, want)
	}
	before := c.fabric.cwnd
	for _, delay := range []units.Duration{21, 40, 100} {
		c.OnAck(at.Add(delay*units.Microsecond-1), swiftAck(1, delay*units.Microsecond, 0))
		if c.fabric.cwnd != before || c.out.Action != swiftHold {
			t.Errorf("window %v within an RTT of %d us after a decrease, want %v", c.fabric.cwnd, delay, before)
		}
	}
	at = at.Add(100 * units.Microsecond)
	c.OnAck(at, swiftAck(1, 100*units.Microsecond, 0))
	if want := before / 2; !about(c.fabric.cwnd, want, 1e-12) {
		t.Errorf("window %v, want %v: at most max_mdf at once", c.fabric.cwnd, want)
	}
	c = made[*swiftState](t, swift, with(still, "beta", "0.5", "max_mdf", "0.1"))
	c.OnAck(early, swiftAck(1, 25*units.Microsecond, 0))
	if want := 20 * (1 - 0.5*5/25); !about(c.fabric.cwnd, want, 1e-12) {
		t.Errorf("window %v, want %v", c.fabric.cwnd, want)
	}
}

func TestSwiftWindows(t *testing.T) {
	// Swift paper §3.1, §3.2: RTT less the time in the remote host is the fabric delay;
	// each delay steers a window of its own, and the smaller window holds.
	c := made[*swiftState](t, swift, still)
	c.host.cwnd = 20
	c.OnAck(early, swiftAck(1, 15*units.Microsecond, 20*units.Microsecond)) // 35 us of RTT
	if !about(c.fabric.cwnd, 20.05, 1e-12) || !about(c.host.cwnd, 20*(1-0.8*10/20), 1e-12) {
		t.Errorf("fabric window %v, host window %v, want 20.05 and 12", c.fabric.cwnd, c.host.cwnd)
	}
	if want := units.Size(12 * packet); c.out.Window != want || c.out.Delay != 15*units.Microsecond {
		t.Errorf("window %v by a delay of %v, want %v by the fabric's 15us", c.out.Window, c.out.Delay, want)
	}
	// The host's target has no scaling by hops and flows (§3.5 is about the fabric).
	c = made[*swiftState](t, swift, with(still, "flow_range", "100us", "hop_target", "50us"))
	c.host.cwnd = 20
	a := swiftAck(1, 15*units.Microsecond, 20*units.Microsecond)
	a.Hops = 5
	c.OnAck(early, a)
	if !about(c.host.cwnd, 12, 1e-12) {
		t.Errorf("host window %v, want 12", c.host.cwnd)
	}
	if needs := swift.NeedsOf(nil); !needs.HostDelay || !needs.Hops || needs.CNP != 0 {
		t.Errorf("needs %+v", needs)
	}
}

func TestSwiftTarget(t *testing.T) {
	// Swift paper §3.5: target = base + hops * per-hop + clamp(0, alpha/sqrt(cwnd) + beta,
	// range), with alpha = range / (1/sqrt(min) - 1/sqrt(max)) and beta = -alpha/sqrt(max).
	values := algorithm.Values{"base_target": "20us", "hop_target": "1us", "flow_range": "30us", "flow_min_cwnd": "0.25", "flow_max_cwnd": "100"}
	alpha := 30 / (2 - 0.1)
	for _, test := range []struct {
		cwnd float64
		hops uint8
		want float64 // us
	}{
		{100, 0, 20}, {400, 3, 23}, {0.25, 0, 50}, {0.0625, 2, 52}, {4, 1, 21 + alpha/2 - alpha/10}, {1, 5, 25 + alpha - alpha/10},
	} {
		c := made[*swiftState](t, swift, values)
		c.fabric.cwnd = test.cwnd
		if got := c.target(test.hops) / 1e6; !about(got, test.want, 1e-9) {
			t.Errorf("target %v us with %v packets over %d hops, want %v", got, test.cwnd, test.hops, test.want)
		}
	}
	// An ACK's hops count.
	for hops, action := range map[uint8]uint8{2: swiftDecrease, 3: swiftIncrease} {
		c := made[*swiftState](t, swift, values)
		c.fabric.cwnd = 100
		a := swiftAck(1, 23*units.Microsecond, 0)
		a.Hops = hops
		if c.OnAck(early, a); c.out.Action != action {
			t.Errorf("%d hops: action %d, want %d", hops, c.out.Action, action)
		}
	}
	// "base_target is the minimum target delay required to provide 100% utilization in a one
	// hop network with a small number of flows" (§3.5), and each hop adds what it takes: the
	// idle links, and 2 packets and 1 packet of 332 ns.
	c := made[*swiftState](t, swift, nil)
	if link := 14.02272 / 6; !about(c.base.Microseconds(), link+2*0.332, 1e-6) || !about(c.hop.Microseconds(), link+0.332, 1e-6) || !about(c.flowRange/1e6, 2*14.02272, 1e-6) {
		t.Errorf("base %v, hop %v, range %v ps", c.base, c.hop, c.flowRange)
	}
}

func TestSwiftPacing(t *testing.T) {
	// Swift paper §3.4: cwnd below 1: pacing_delay = rtt / cwnd; else none.
	c := made[*swiftState](t, swift, with(still, "min_cwnd", "0.1", "cwnd", "4150B", "max_mdf", "0.75", "beta", "1"))
	if c.out.PacingRate != 0 || c.out.Window != packet {
		t.Errorf("paced at %v with one packet", c.out.PacingRate)
	}
	c.OnAck(early, swiftAck(1, 80*units.Microsecond, 0)) // to a quarter
	delay := float64(packet*8) / float64(c.out.PacingRate) * 1e6
	if want := 80 / 0.25; !about(delay, want, 1e-3) || c.out.Window != packet/4 {
		t.Errorf("a packet of %v each %v us, want %v us", c.out.Window, delay, want)
	}
	c.fabric.cwnd, c.rtt = 0.1, 20e6
	c.OnAck(early, swiftAck(1, 20*units.Microsecond, 0))
	if c.out.PacingRate != 0 { // 0.1 + 1
		t.Errorf("paced at %v with a window of %v", c.out.PacingRate, c.out.Window)
	}
}

func TestSwiftLoss(t *testing.T) {
	// Swift paper §3.3, algorithm 1: fast recovery takes max_mdf, once per RTT, and begins
	// the count of timeouts anew; a timeout counts, takes max_mdf likewise, and from
	// RETX_RESET_THRESHOLD of them in a row leaves min_cwnd. An ACK ends the row.
	c := made[*swiftState](t, swift, with(still, "retx_reset", "3", "max_mdf", "0.25"))
	at := early
	c.OnNack(at, &Nack{Size: packet})
	c.OnNack(at.Add(1), &Nack{Size: packet})
	if c.fabric.cwnd != 15 {
		t.Errorf("window %v after two losses in an RTT, want 15", c.fabric.cwnd)
	}
	timeout := func() { at = at.Add(units.Millisecond); c.OnTimeout(at, &Timeout{Size: packet}) }
	timeout()
	timeout()
	if want := 15 * 0.75 * 0.75; c.fabric.cwnd != want || c.retransmits != 2 {
		t.Errorf("window %v after two timeouts, want %v", c.fabric.cwnd, want)
	}
	c.OnNack(at, &Nack{Size: packet})
	timeout()
	c.OnAck(at, swiftAck(1, 10*units.Microsecond, 0))
	timeout()
	timeout()
	if c.fabric.cwnd <= c.least || c.retransmits != 2 {
		t.Errorf("window %v: a NACK and an ACK begin the count anew", c.fabric.cwnd)
	}
	timeout()
	if c.fabric.cwnd != c.least || c.out.Window != 41 {
		t.Errorf("window %v after three timeouts in a row, want min_cwnd", c.fabric.cwnd)
	}
}

func TestSwiftSmoothing(t *testing.T) {
	// Falcon 0.9 §10.3: s = a*s + (1-a)*x, of the RTT and of the delays.
	c := made[*swiftState](t, swift, with(still, "smoothing", "0.75"))
	c.OnAck(early, swiftAck(1, 10*units.Microsecond, units.Microsecond))
	c.OnAck(early, swiftAck(1, 18*units.Microsecond, 5*units.Microsecond))
	if c.fabric.delay != 12e6 || c.host.delay != 2e6 {
		t.Errorf("fabric delay %v, host delay %v, want 12 us and 2 us", c.fabric.delay, c.host.delay)
	}
	if want := 0.75*(0.75*14.02272+0.25*11) + 0.25*23; !about(c.rtt/1e6, want, 1e-9) {
		t.Errorf("RTT %v us, want %v", c.rtt/1e6, want)
	}
	// Without a sample the delays stay.
	c.OnAck(early, packets(1, 0, 3))
	if c.fabric.delay != 12e6 {
		t.Errorf("fabric delay %v without a sample", c.fabric.delay)
	}
}

// headroom is a sample of ABW/C.
func headroom(share float64, fresh bool) (all Signals) {
	all[csig.ABWC] = Signal{Valid: true, Fresh: fresh, Sample: csig.Sample{Type: csig.ABWC, Locator: 1, Point: uint64(share * 1e6)}}
	return all
}

var (
	fruPath = Path{LinkRate: 100 * units.Gbps, NetworkRTT: 14 * units.Microsecond, MTU: packet, Header: 64, Trim: true, SignalInterval: 128 * units.Microsecond}
	fruSet  = with(still, "fru", "0.5", "max_cwnd", "100000", "cwnd", "415kB") // 100 packets
)

func TestSwiftFRU(t *testing.T) {
	// SIGCOMM'25 tutorial: below the target fcwnd += ai + lambda * fcwnd * min(ABW/C) per
	// RTT, lambda < 1; decreases stay as they are.
	const rtt = 14 * units.Microsecond
	for _, test := range []struct {
		name   string
		fabric units.Duration
		signal Signals
		want   float64
		action uint8
	}{
		{"fresh", rtt, headroom(0.4, true), 100.01 * 1.2, swiftHeadroom},
		{"no headroom", rtt, headroom(0, true), 100.01, swiftHeadroom},
		{"held", rtt, headroom(0.4, false), 100.01, swiftIncrease},
		{"none", rtt, Signals{}, 100.01, swiftIncrease},
		{"above the target", 25 * units.Microsecond, headroom(0.4, true), 84, swiftDecrease},
	} {
		c := madeOn[*swiftState](t, swift, fruPath, fruSet)
		a := swiftAck(1, test.fabric, 0)
		a.CSIG = test.signal
		c.OnAck(early, a)
		if !about(c.fabric.cwnd, test.want, 1e-9) || c.out.Action != test.action {
			t.Errorf("%s: window %v by action %d, want %v by %d", test.name, c.fabric.cwnd, c.out.Action, test.want, test.action)
		}
	}
	// What trimming forced says nothing.
	c := madeOn[*swiftState](t, swift, fruPath, fruSet)
	a := swiftAck(1, rtt, 0)
	a.CSIG = headroom(0.4, true)
	a.CSIG[csig.ABWC].Sample.DoNotUpdate = true
	if c.OnAck(early, a); c.out.Action != swiftIncrease {
		t.Error("a forced sample adds headroom")
	}
	if c.out.Wants != csig.Only(csig.ABWC) {
		t.Errorf("wants %v", c.out.Wants)
	}
	if c = made[*swiftState](t, swift, nil); c.out.Wants.Any() {
		t.Errorf("without fru it wants %v", c.out.Wants)
	}
	if _, err := swift.New(fruPath, algorithm.Values{"fru": "1"}); err == nil {
		t.Error("lambda 1 is taken")
	}
}

func TestSwiftFRUTrap(t *testing.T) {
	// The signal is an interval of 128 us old, which is 9 RTTs of 14 us. An ACK of each of
	// these RTTs brings a sample, or the held one again: applied per RTT they would
	// multiply the window by 1.5^9 = 38 with lambda 1 and ABW/C 1/2 (docs/reference/references.md#fru).
	const rtt = 14 * units.Microsecond
	for name, fresh := range map[string]bool{"fresh samples": true, "a held sample": false} {
		c := madeOn[*swiftState](t, swift, fruPath, with(fruSet, "ai", "0.000001"))
		at := early
		a := swiftAck(1, rtt, 0)
		a.CSIG = headroom(0.5, true)
		c.OnAck(at, a)
		first := c.fabric.cwnd // 125 packets
		a.CSIG[csig.ABWC].Fresh = fresh
		for at = at.Add(rtt); at < early.Add(128*units.Microsecond); at = at.Add(rtt) {
			c.OnAck(at, a)
		}
		if !about(first, 125, 1e-6) || !about(c.fabric.cwnd, first, 1e-6) {
			t.Errorf("%s: window %v then %v packets within the interval, want 125 once", name, first, c.fabric.cwnd)
		}
		c.OnAck(early.Add(128*units.Microsecond), a)
		want := first
		if fresh {
			want *= 1.25
		}
		if !about(c.fabric.cwnd, want, 1e-6) {
			t.Errorf("%s: window %v after the interval, want %v", name, c.fabric.cwnd, want)
		}
	}
	// Where the RTT is the longer one, it counts.
	path := fruPath
	path.SignalInterval = units.Microsecond
	c := madeOn[*swiftState](t, swift, path, fruSet)
	a := swiftAck(1, rtt, 0)
	a.CSIG = headroom(0.5, true)
	c.OnAck(early, a)
	before := c.fabric.cwnd
	c.OnAck(early.Add(rtt-1), a)
	if c.fabric.cwnd > before*1.01 {
		t.Errorf("window %v from %v within an RTT", c.fabric.cwnd, before)
	}
	if c.OnAck(early.Add(rtt), a); c.fabric.cwnd < before*1.2 {
		t.Errorf("window %v from %v after an RTT", c.fabric.cwnd, before)
	}
}

func TestSwiftRefuses(t *testing.T) {
	for _, values := range []algorithm.Values{
		{"min_cwnd": "0"}, {"min_cwnd": "0.0001"}, {"min_cwnd": "2", "max_cwnd": "1"}, {"cwnd": "10B"}, {"cwnd": "1GB"}, {"flow_min_cwnd": "100"},
		{"beta": "1.1"}, {"max_mdf": "0"}, {"smoothing": "1"}, {"ai": "0"}, {"ai": "-1"}, {"retx_reset": "0"}, {"base_target": "0us"}, {"fru": "-0.1"},
	} {
		if _, err := swift.New(threeTier, values); err == nil {
			t.Errorf("%v is taken", values)
		}
	}
}
