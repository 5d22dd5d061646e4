package host_test

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// paced returns two hosts of which the first sends flows of so many packets.
func paced(t *testing.T, set func(o *congestion.Output), packets ...int) *tap {
	t.Helper()
	c := [2]host.Config{config(0), config(1)}
	cc := script(t, congestion.Needs{}, onlyOutput(set))
	for i := range c {
		c[i].CC, c[i].RTO = cc, units.Second
	}
	for id, n := range packets {
		sends(&c[0], id, units.Size(n)*mss, 0)
		receives(&c[1], id, units.Size(n)*mss)
	}
	return newTap(t, c)
}

// congestion.Output: "the time from the start of one packet to the start of the next is at
// least the first one's size divided by" PacingRate; exact in picoseconds, the remainder
// kept: packet n leaves at floor(n * size / rate), at rates that divide no picosecond.
func TestPacingIsExact(t *testing.T) {
	for _, rate := range []units.Rate{3 * units.Gbps, 7_777_777_777, 999_999_937, 123_456_789} {
		const packets = 400
		x := paced(t, func(o *congestion.Output) { o.PacingRate = rate }, packets)
		x.totals()
		at := x.data[0]
		if len(at) != packets {
			t.Fatalf("%v: %d packets left, want %d", rate, len(at), packets)
		}
		for n := range at {
			want := new(big.Int).Mul(big.NewInt(int64(n)*int64(mtu)), big.NewInt(8_000_000_000_000))
			want.Div(want, big.NewInt(int64(rate)))
			if int64(at[n]) != want.Int64() {
				t.Fatalf("%v: packet %d left at %d ps, want %v", rate, n, at[n], want)
			}
		}
	}
}

// A flow that must wait is out of the round-robin: another one has the link meanwhile,
// and the slow one is late by at most the packet that is on the wire when its time comes
// and the other flow's turn.
func TestPacedFlowsDoNotHoldOthersBack(t *testing.T) {
	slow := true // of the flow that is built next
	x := paced(t, func(o *congestion.Output) {
		if slow {
			o.PacingRate = 10 * units.Gbps // a packet each 3.32 us
		}
		slow = false
	}, 20, 190)
	slow = true
	x.totals()
	if n := len(x.data[0]); n != 20 {
		t.Fatalf("%d packets of the paced flow, want 20", n)
	}
	for i := 1; i < 20; i++ {
		if gap := x.data[0][i].Sub(x.data[0][i-1]); gap < 3320*units.Nanosecond || gap > 3320*units.Nanosecond+2*perPacket {
			t.Errorf("packets %d and %d of the paced flow are %v apart, want 3.32 us, and two packets' time more at most", i-1, i, gap)
		}
	}
	// 210 packets in turn without a gap.
	if got, want := x.data[1][189], units.Time(209*perPacket); got > want {
		t.Errorf("the last packet of the other flow left at %v, want %v at the latest: the link was idle", got, want)
	}
}

// "A paced flow that has nothing in flight may send one packet however small Window is":
// a window below one packet is a rate below one packet per RTT.
func TestWindowBelowOnePacket(t *testing.T) {
	const rtt = 2*linkDelay + perPacket + 5_120 // of a packet and its ACK
	for name, tc := range map[string]struct {
		rate units.Rate
		want units.Duration // between packets
	}{
		"a packet each 100 us":     {332 * units.Mbps, 100 * units.Microsecond},
		"faster than one each RTT": {50 * units.Gbps, rtt}, // still one in flight
	} {
		x := paced(t, func(o *congestion.Output) { o.Window, o.PacingRate = 1, tc.rate }, 10)
		totals := x.totals()
		if totals[0].Senders[0].Timeouts != 0 || len(x.data[0]) != 10 {
			t.Fatalf("%s: %d packets left, %d timeouts", name, len(x.data[0]), totals[0].Senders[0].Timeouts)
		}
		for i := 1; i < 10; i++ {
			if gap := x.data[0][i].Sub(x.data[0][i-1]); gap != tc.want {
				t.Errorf("%s: packets %d and %d are %v apart, want %v", name, i-1, i, gap, tc.want)
			}
		}
	}
	x := paced(t, func(o *congestion.Output) { o.Window = mtu - 1 }, 10)
	x.Run(units.Time(units.Second))
	if n := len(x.data[0]); n != 0 {
		t.Errorf("%d packets left with a window below one and no rate", n)
	}
}

// A rate that changes while a flow waits counts for the gap that it waits for.
func TestPacingRateChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		rate units.Rate
		want units.Time // of the third packet
	}{
		// The second packet leaves at 33.2 us. The ACK of the first comes at 2.337 us: it asks
		// for one as the flow's first, and the one of the second comes at 35.537 us.
		"rises":                {10 * units.Gbps, units.Time(33_200_000 + 3_320_000)},
		"rises beyond the gap": {units.Tbps, units.Time(35_537_120)},
		"falls":                {500 * units.Mbps, units.Time(33_200_000 + 66_400_000)},
		"no rate":              {0, units.Time(35_537_120)},
	} {
		acks := 0
		cc := script(t, congestion.Needs{}, func(c *scripted) congestion.Controller {
			c.out.Window, c.out.PacingRate = 2*mtu, units.Gbps
			c.onAck = func(c *scripted, _ units.Time, _ *congestion.Ack) {
				if acks++; acks == 2 {
					c.out.PacingRate = tc.rate
				}
			}
			return plain{c}
		})
		c := [2]host.Config{config(0), config(1)}
		c[0].CC, c[1].CC = cc, cc
		c[1].AckEvery = mtu
		sends(&c[0], 0, 5*mss, 0)
		receives(&c[1], 0, 5*mss)
		x := newTap(t, c)
		x.totals()
		if got := x.data[0][2]; got != tc.want {
			t.Errorf("%s: the third packet left at %d ps, want %d", name, got, tc.want)
		}
	}
}

// congestion.Timed: OnTimer is called when Output.Timer has come, which any event may set,
// and no more when the flow is done. A timer that stays in the past does not stop the time.
func TestTimers(t *testing.T) {
	var fired []units.Time
	const period = 700 * units.Nanosecond
	cc := script(t, congestion.Needs{}, func(c *scripted) congestion.Controller {
		c.out.Timer, c.out.Window = 0, 2*mtu
		c.onTimer = func(c *scripted, now units.Time) {
			fired = append(fired, now)
			c.out.Timer = units.Never
			switch len(fired) {
			case 1, 2:
				c.out.Timer = now.Add(period)
			case 5:
				c.out.Timer = now // again and again, until an ACK sets it
			}
		}
		c.onAck = func(c *scripted, now units.Time, _ *congestion.Ack) {
			if c.out.Timer == units.Never {
				c.out.Timer = now.Add(100 * units.Nanosecond)
			}
		}
		return c
	})
	c := [2]host.Config{config(0), config(1)}
	c[0].CC, c[1].CC = cc, cc
	c[1].AckEvery = mtu
	const start = units.Time(10 * units.Microsecond)
	sends(&c[0], 0, 8*mss, start)
	receives(&c[1], 0, 8*mss)
	x := newTap(t, c)
	totals := x.totals()
	// At the start, twice by itself, then 100 ns after ACKs.
	first := start.Add(2*linkDelay + perPacket + 5_120)
	want := []units.Time{start, start.Add(period), start.Add(2 * period), first.Add(100 * units.Nanosecond), first.Add(perPacket + 100*units.Nanosecond)}
	if len(fired) < 6 {
		t.Fatalf("fired at %v", fired)
	}
	if diff := cmp.Diff(want, fired[:5]); diff != "" {
		t.Errorf("the first timers (-want +got)\n%s", diff)
	}
	if again := fired[5]; again != fired[4].Add(units.Picosecond) {
		t.Errorf("a timer in the past fired at %v, after one at %v: want a picosecond later", again, fired[4])
	}
	if done := totals[0].Senders[0].Done; fired[len(fired)-1] > done {
		t.Errorf("a timer fired at %v, the flow was done at %v", fired[len(fired)-1], done)
	}
}

// congestion.Phase and Send: a transfer is a phase; each packet is told as it leaves, with
// what is in flight then, its own size included.
func TestSendAndPhaseEvents(t *testing.T) {
	type event struct {
		At                    units.Time
		Begin, End            bool
		Total, Size, Inflight units.Size
	}
	var got []event
	cc := script(t, congestion.Needs{}, func(c *scripted) congestion.Controller {
		c.out.Window = 2 * mtu
		c.onPhase = func(_ *scripted, now units.Time, p *congestion.Phase) {
			got = append(got, event{At: now, Begin: p.Begin, End: !p.Begin, Total: p.Total, Size: p.Sent})
		}
		c.onSend = func(_ *scripted, now units.Time, s *congestion.Send) {
			got = append(got, event{At: now, Size: s.Size, Inflight: s.Inflight})
		}
		return c
	})
	c := [2]host.Config{config(0), config(1)}
	c[0].CC, c[1].CC = cc, cc
	sends(&c[0], 0, 2*mss+100, 5)
	receives(&c[1], 0, 2*mss+100)
	x := newTap(t, c)
	done := x.totals()[0].Senders[0].Done
	total := 2*mtu + header + 100
	third := units.Time(5).Add(2*linkDelay + perPacket + 5_120) // the first packet's ACK opens the window
	want := []event{
		{At: 5, Begin: true, Total: total},
		{At: 5, Size: mtu, Inflight: mtu},
		{At: units.Time(5).Add(perPacket), Size: mtu, Inflight: 2 * mtu},
		{At: third, Size: header + 100, Inflight: mtu + header + 100},
		{At: done, End: true, Total: total, Size: total},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// DCQCN paper (SIGCOMM'15) §3.1, NP algorithm: "if a marked packet arrives for a flow, and
// no CNP has been sent for the flow in last N microseconds, a CNP is sent immediately".
func TestNotificationPoint(t *testing.T) {
	const interval = 50 * units.Microsecond
	for _, needs := range []congestion.Needs{{}, {CNP: interval}} {
		told := map[*scripted]int{}
		cc := script(t, needs, func(c *scripted) congestion.Controller {
			c.out.PacingRate = 10 * units.Gbps
			c.onCNP = func(c *scripted, _ units.Time) { told[c]++ }
			return c
		})
		c := [2]host.Config{config(0), config(1)}
		c[0].CC, c[1].CC = cc, cc
		const packets = 100 // 332 us each
		for id := range 2 {
			sends(&c[0], id, packets*mss, units.Time(id)*units.Time(2*units.Microsecond))
			receives(&c[1], id, packets*mss)
		}
		x := newTap(t, c)
		sent := map[uint32][]units.Time{}
		marked := map[uint32]units.Time{} // arrival of the first marked packet
		x.seen = func(now units.Time, _ int, p *wire.Packet) {
			switch {
			case p.Kind() == wire.CNP:
				if p.DSCP() != wire.DSCPControl || p.ECN() != wire.NotECT {
					t.Errorf("a CNP with DSCP %d and ECN %d", p.DSCP(), p.ECN())
				}
				sent[p.Flow()] = append(sent[p.Flow()], now)
			case p.Kind() == wire.Data && p.Flow() == 0 && (p.PSN() >= 10 && p.PSN() < 40 || p.PSN() == 90):
				p.MarkCE()
				if marked[0] == 0 {
					marked[0] = now.Add(perPacket + linkDelay)
				}
			}
		}
		totals := x.totals()
		if needs.CNP == 0 {
			if len(sent) != 0 || len(told) != 0 {
				t.Errorf("nobody asked for CNPs and %d flows got some", len(sent))
			}
			continue
		}
		// 30 packets that are marked in 99.6 us, and one later: at 0, 50 us and 3.32 us at most
		// later, and one for the last.
		at := sent[0]
		if len(at) != 3 || len(sent[1]) != 0 {
			t.Fatalf("CNPs at %v of flow 0 and %v of flow 1, want 3 and none", at, sent[1])
		}
		if at[0].Sub(marked[0]) > perPacket {
			t.Errorf("the first CNP left at %v, the first marked packet came at %v", at[0], marked[0])
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < interval-perPacket {
				t.Errorf("CNPs %v apart, want %v at least", gap, interval)
			}
		}
		for _, n := range told {
			if n != 3 || len(told) != 1 {
				t.Errorf("%d controllers were told, one of them of %d CNPs; want one, of 3", len(told), n)
			}
		}
		if s, r := totals[0].Senders[0].CNPsReceived, totals[1].Receivers[0].CNPsSent; s != 3 || r != 3 {
			t.Errorf("counted %d received, %d sent, want 3", s, r)
		}
	}
}

// Swift paper (SIGCOMM'20) §3.1: the remote part of the delay is from the arrival of data
// to the departure of its ACK. The ACK waits for the packet that the receiver's NIC is
// sending. Hops come from the TTL. Neither is on the wire unless the algorithm needs it.
func TestHostDelayAndHops(t *testing.T) {
	for _, needs := range []congestion.Needs{{}, {HostDelay: true, Hops: true}} {
		var acks []congestion.Ack
		cc := script(t, needs, func(c *scripted) congestion.Controller {
			c.onAck = func(_ *scripted, _ units.Time, a *congestion.Ack) { acks = append(acks, *a) }
			return plain{c}
		})
		c := [2]host.Config{config(0), config(1)}
		c[0].CC, c[1].CC = cc, cc
		sends(&c[0], 0, mss, 0)
		receives(&c[1], 0, mss)
		// Host 1's NIC begins to send 100 ns before the packet arrives.
		sends(&c[1], 1, mss, units.Time(perPacket+linkDelay-100*units.Nanosecond))
		receives(&c[0], 1, mss)
		x := newTap(t, c)
		x.seen = func(_ units.Time, _ int, p *wire.Packet) {
			if p.Kind() == wire.Data {
				for range 3 {
					p.DecrementTTL()
				}
			}
			if header := p.Header(); needs == (congestion.Needs{}) && p.Kind() == wire.Ack {
				if p.Flags()&wire.HostDelay != 0 || header[len(header)-1] != 0 || header[len(header)-2] != 0 || p.Hops() != 0 {
					t.Errorf("an ACK that nobody asked for more of: % x", header)
				}
			}
		}
		x.totals()
		want := congestion.Ack{HasHostDelay: needs.HostDelay}
		if needs.HostDelay {
			want.HostDelay, want.Hops = perPacket-100*units.Nanosecond, 3
		}
		a := acks[0]
		if a.HasHostDelay != want.HasHostDelay || a.HostDelay != want.HostDelay || a.Hops != want.Hops || a.AckedPackets != 1 {
			t.Errorf("needs %+v: host delay %v (%v), %d hops, %d packets acknowledged; want %v (%v), %d and 1",
				needs, a.HostDelay, a.HasHostDelay, a.Hops, a.AckedPackets, want.HostDelay, want.HasHostDelay, want.Hops)
		}
	}
}
