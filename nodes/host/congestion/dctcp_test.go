package congestion

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// made builds a controller of the table in the 3-tier network at 100 Gbps.
func made[T Controller](t *testing.T, a Algorithm, v algorithm.Values) T {
	t.Helper()
	return madeOn[T](t, a, threeTier, v)
}

func madeOn[T Controller](t *testing.T, a Algorithm, p Path, v algorithm.Values) T {
	t.Helper()
	c, err := a.New(p, v)
	if err != nil {
		t.Fatal(err)
	}
	return c.(T)
}

// packets returns an ACK of n packets with an RTT, and so much left in flight.
func packets(n int, rtt units.Duration, inflight int) *Ack {
	return &Ack{
		Acked: units.Size(n) * packet, AckedPackets: n, Inflight: units.Size(inflight) * packet,
		RTT: rtt, HasRTT: rtt > 0, Penalty: 255,
	}
}

func marked(a *Ack) *Ack {
	a.ECN = true
	return a
}

func about(got, want, within float64) bool { return math.Abs(got-want) <= within*math.Abs(want) }

func TestConstant(t *testing.T) {
	for _, test := range []struct {
		values algorithm.Values
		window units.Size
		pacing units.Rate
	}{
		{nil, 175_284, 0}, // 1 BDP
		{algorithm.Values{"cwnd": "50kB"}, 50_000, 0},
		{algorithm.Values{"rate": "10Gbps"}, 100 * 175_284, 10 * units.Gbps},
		{algorithm.Values{"rate": "10Gbps", "cwnd": "50kB"}, 50_000, 10 * units.Gbps},
		{algorithm.Values{"rate": "100Gbps", "cwnd": "50kB"}, 50_000, 0},
	} {
		c := made[*passive](t, constant, test.values)
		c.OnNack(early, &Nack{Size: packet})
		c.OnTimeout(early, &Timeout{Size: packet})
		c.OnAck(early, marked(packets(1, 20*units.Microsecond, 3)))
		if c.out.Window != test.window || c.out.PacingRate != test.pacing {
			t.Errorf("%v: window %d at %v, want %d at %v", test.values, c.out.Window, c.out.PacingRate, test.window, test.pacing)
		}
	}
	for _, values := range []algorithm.Values{{"rate": "101Gbps"}, {"cwnd": "4149B"}, {"rate": "0bps"}} {
		if _, err := constant.New(threeTier, values); err == nil {
			t.Errorf("%v is taken", values)
		}
	}
}

func TestDCTCPAlpha(t *testing.T) {
	// RFC 8257 §3.3: alpha starts as 1, and at the end of each window of data becomes
	// alpha*(1-g) + g*M, with M the share of marked bytes in it.
	c := made[*dctcpState](t, dctcp, algorithm.Values{"mark_gain": "0.25"})
	if c.alpha != 1 {
		t.Errorf("first alpha %v", c.alpha)
	}
	c.OnAck(early, packets(1, 0, 8)) // ends the empty window: nothing marked of one packet
	want := 0.75
	for i := range 8 { // one window of 8 packets, of which two are marked
		a := packets(1, 0, 8)
		a.ECN = i < 2
		if c.alpha != want {
			t.Errorf("alpha %v after %d packets of a window, want %v until its end", c.alpha, i, want)
		}
		c.OnAck(early, a)
	}
	if want = 0.75*0.75 + 0.25*0.25; !about(c.alpha, want, 1e-12) {
		t.Errorf("alpha %v, want %v", c.alpha, want)
	}
	// Of an ACK that reports several packets, the marked one is the one that triggered it:
	// the receiver acknowledges a marked packet at once.
	c = made[*dctcpState](t, dctcp, algorithm.Values{"mark_gain": "1"})
	c.OnAck(early, packets(1, 0, 4))
	c.OnAck(early, marked(packets(4, 0, 4)))
	if c.alpha != 0.25 {
		t.Errorf("alpha %v, want the share of one packet in four", c.alpha)
	}
}

func TestDCTCPDecrease(t *testing.T) {
	// RFC 8257 §3.3 (8): cwnd = cwnd * (1 - alpha/2), at most once per window of data.
	c := made[*dctcpState](t, dctcp, algorithm.Values{"cwnd": "100kB"})
	c.alpha, c.rest = 0.4, units.GB
	c.OnAck(early, marked(packets(1, 0, 10)))
	if got := c.cwnd; !about(got, 80_000, 1e-9) || c.out.Action != dctcpDecrease {
		t.Errorf("window %v by %d, want 80000 by a decrease", got, c.out.Action)
	}
	for range 9 {
		c.OnAck(early, marked(packets(1, 0, 10)))
		if c.out.Action != dctcpHold {
			t.Errorf("a mark of the same window: action %d", c.out.Action)
		}
	}
	if !about(c.cwnd, 80_000, 1e-9) {
		t.Errorf("window %v, cut twice in a window", c.cwnd)
	}
	c.OnAck(early, marked(packets(1, 0, 10)))
	if !about(c.cwnd, 64_000, 1e-9) {
		t.Errorf("window %v, want 64000 in the next window of data", c.cwnd)
	}
}

func TestDCTCPIncrease(t *testing.T) {
	// RFC 5681 §3.1, which RFC 8257 leaves: by what is acknowledged in slow start, which
	// the first mark ends, and by a packet per window after it.
	c := made[*dctcpState](t, dctcp, nil)
	if c.cwnd != 10*packet {
		t.Errorf("first window %v, want 10 packets", c.cwnd)
	}
	c.OnAck(early, packets(10, 0, 10))
	if c.cwnd != 20*packet || c.out.Action != dctcpSlowStart {
		t.Errorf("window %v after slow start of one RTT, want 20 packets", c.cwnd)
	}
	c.OnAck(early, marked(packets(1, 0, 0)))
	c.cwnd = 20 * packet
	for range 20 {
		c.OnAck(early, packets(1, 0, 20))
		if c.out.Action != dctcpIncrease {
			t.Fatalf("action %d after slow start", c.out.Action)
		}
	}
	if !about(c.cwnd, 21*packet, 2e-3) { // the window grows within the RTT
		t.Errorf("window of %v packets after one RTT from 20, want 21", c.cwnd/packet)
	}
	if c = made[*dctcpState](t, dctcp, algorithm.Values{"slow_start": "false"}); c.slowStart {
		t.Error("slow start, although it is off")
	}
}

func TestDCTCPLoss(t *testing.T) {
	// RFC 8257 §3.5: loss is answered as by conventional TCP: half the window, once per
	// window; a timeout leaves one packet (RFC 5681 §3.1, equation 4).
	c := made[*dctcpState](t, dctcp, algorithm.Values{"cwnd": "100kB"})
	c.alpha = 0
	c.OnNack(early, &Nack{Size: packet, Inflight: 10 * packet})
	c.OnNack(early, &Nack{Size: packet, Inflight: 9 * packet})
	if c.out.Window != 50_000 || c.slowStart {
		t.Errorf("window %v after two losses of one window, want 50 kB", c.out.Window)
	}
	c.OnTimeout(early, &Timeout{Size: packet})
	if c.out.Window != packet {
		t.Errorf("window %v after a timeout, want one packet", c.out.Window)
	}
}
