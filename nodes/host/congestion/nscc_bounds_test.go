package congestion

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

func TestNSCCClamps(t *testing.T) {
	// docs/reference/references.md#nscc-window: "the window stays between one MTU and its limit", also
	// when pending increases are applied and when fast increase acts at once.
	const limit = 262_926
	c := newState(t, threeTier, algorithm.Values{"cwnd": "262kB"})
	c.fastMode = true
	c.OnAck(early, &Ack{Acked: 10 * packet, RTT: c.baseRTT, HasRTT: true, Penalty: 255})
	if c.out.Action != actionFast || c.out.Window != limit {
		t.Errorf("%d leaves a window of %d, want fast increase to %d", c.out.Action, c.out.Window, limit)
	}
	c = newState(t, threeTier, algorithm.Values{"cwnd": "262kB"})
	c.received, c.increase = 8*packet, 1e12
	c.OnAck(early, ack(c, 5*units.Microsecond, false))
	if c.out.Window != limit {
		t.Errorf("window %d after an adjustment, want %d", c.out.Window, limit)
	}
	// A base RTT that falls takes the limit with it.
	c.OnAck(early, &Ack{Acked: packet, RTT: 9_348_480, HasRTT: true, Penalty: 255})
	if c.out.Window != 175_284 {
		t.Errorf("window %d with a shorter base RTT, want 175284", c.out.Window)
	}
}

func TestNSCCWideIncrease(t *testing.T) {
	// docs/reference/references.md#nscc-window: "in the simulator inc_bytes is a 32-bit number, which
	// overflows at 800 Gb/s; csiglab's is wide enough": fi * 49.8 kB is 5.5e9.
	path := twoTier
	c := madeOn[*nsccState](t, nscc, path, algorithm.Values{"cwnd": "500kB"})
	c.lastAdjust = early
	acked := units.Size(49_800)
	c.adjustBytes = 1 << 40 // none within this test
	c.OnAck(early, &Ack{Acked: acked, RTT: c.baseRTT + c.target, HasRTT: true, Penalty: 255})
	if want := 111256.0 * float64(acked); !near(c.increase, want) || c.increase < 1<<32 {
		t.Errorf("collected %v, want %v", c.increase, want)
	}
	c.adjust(early)
	if want := int64(511_081); c.cwnd < want-1 || c.cwnd > want+1 {
		t.Errorf("window %d, want %d", c.cwnd, want)
	}
}

func TestNSCCNackOrder(t *testing.T) {
	// docs/reference/references.md#nack-and-timeout: a NACK counts as a marked ACK with a delay of a
	// network RTT in the average, which the damper of unmarked samples does not pull down, and
	// the window stays above one MTU however many come.
	c := newState(t, threeTier, nil)
	before := c.avgDelay
	for range 400 {
		c.OnNack(early, &Nack{Size: packet})
	}
	if c.avgDelay <= before || c.avgDelay > threeTier.NetworkRTT || c.avgDelay < threeTier.NetworkRTT*99/100 {
		t.Errorf("average %v after 400 NACKs, want about a network RTT, %v", c.avgDelay, threeTier.NetworkRTT)
	}
	if c.out.Window != packet {
		t.Errorf("window %d after 400 NACKs, want one packet", c.out.Window)
	}
}
