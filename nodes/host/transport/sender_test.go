package transport_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// docs/reference/references.md#sending: S bytes are ceil(S/MSS) packets with 64 B of header each;
// 2,000,000 B are 489 full ones and one of 2010 B.
func TestPacketsAndSizes(t *testing.T) {
	for _, test := range []struct {
		size    units.Size
		packets int
		last    units.Size // wire size of the last packet
	}{
		{1, 1, 65}, {4085, 1, 4149}, {4086, 1, 4150}, {4087, 2, 65}, {8172, 2, 4150}, {2_000_000, 490, 2010},
	} {
		if got := transport.Packets(test.size, mtu, header); got != int64(test.packets) {
			t.Errorf("%v: %d packets, want %d", test.size, got, test.packets)
		}
		s := newSender(t, test.size, units.NoLimit)
		var wireBytes units.Size
		var payload int
		for n := range test.packets {
			p := s.send()
			want, flags := mtu, wire.Flags(0)
			if n == test.packets-1 {
				want, flags = test.last, wire.EndOfMessage|wire.AckRequest
			}
			if p.PSN() != uint32(n) || p.Size != want || p.PayloadLen != int(want-header) || p.OriginalPayload() != p.PayloadLen {
				t.Fatalf("%v: packet %d has PSN %d, size %v, payload %d of %d, want size %v", test.size, n, p.PSN(), p.Size, p.PayloadLen, p.OriginalPayload(), want)
			}
			if p.Flags() != flags || p.ECN() != wire.ECT0 || p.Flow() != flow || p.Transmission() != 1 {
				t.Fatalf("%v: packet %d has flags %#x, ECN %d, flow %d, transmission %d, want flags %#x", test.size, n, p.Flags(), p.ECN(), p.Flow(), p.Transmission(), flags)
			}
			wireBytes += p.Size
			payload += p.PayloadLen
		}
		if s.CanSend() {
			t.Errorf("%v: more than %d packets", test.size, test.packets)
		}
		if payload != int(test.size) || wireBytes != test.size+64*units.Size(test.packets) || s.Inflight() != wireBytes {
			t.Errorf("%v: sent %d payload bytes in %v on the wire, %v in flight", test.size, payload, wireBytes, s.Inflight())
		}
	}
}

func TestNotReadyBeforeStart(t *testing.T) {
	cc := &controller{out: congestion.Output{Window: units.NoLimit}}
	s := transport.NewSender(transport.SenderConfig{Common: common(), Flow: flow, Size: 1, CC: cc, LB: &balancer{}})
	if s.CanSend() || s.Done() || s.NextTimeout() != units.Never {
		t.Errorf("before Start: can send %v, done %v, timeout %v", s.CanSend(), s.Done(), s.NextTimeout())
	}
	s.Start(5)
	if !s.CanSend() {
		t.Error("after Start: cannot send")
	}
}

// docs/reference/references.md#sending: the window holds the bytes in flight and the next packet.
func TestWindow(t *testing.T) {
	s := newSender(t, 10*mss, 2*mtu-1)
	s.send()
	if s.CanSend() {
		t.Error("sends one byte beyond the window")
	}
	s.cc.out.Window = 2 * mtu
	s.send()
	if s.CanSend() {
		t.Error("sends beyond the window")
	}
	// The next packet's own size counts: the last is short.
	short := newSender(t, mss+36, mtu+100)
	short.send()
	short.send()
	again := newSender(t, mss+37, mtu+100)
	again.send()
	if again.CanSend() {
		t.Error("sends a short packet that does not fit")
	}
}

// docs/reference/references.md#sending: a packet asks for an ACK if it ends the backlog, if
// another of its size would not fit into the window behind it, and if it is a
// retransmission. A flow held at its window therefore asks with every packet.
func TestAckRequest(t *testing.T) {
	for _, test := range []struct {
		window units.Size
		want   []bool // of the packets that the window lets out
	}{
		{4 * mtu, []bool{false, false, true, true}}, // 3 packets + 1 = window
		{4*mtu + 1, []bool{false, false, false, true}},
		{5*mtu - 1, []bool{false, false, false, true}},
		{5 * mtu, []bool{false, false, false, true, true}},
		{2 * mtu, []bool{true, true}},
		{mtu, []bool{true}},
	} {
		s := newSender(t, 100*mss, test.window)
		var got []bool
		for s.CanSend() {
			got = append(got, s.send().Flags()&wire.AckRequest != 0)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("window %v: AR bits (-want +got)\n%s", test.window, diff)
		}
		for psn := range uint32(3) { // held at the window: one ACK, one packet
			s.ack(wire.AckFields{Cumulative: psn + 1, Acked: psn, SackBase: psn, Received: uint64(psn+1) * uint64(mtu)}, 0)
			if p := s.send(); p.Flags()&wire.AckRequest == 0 {
				t.Errorf("window %v: packet %d at the full window asks for no ACK", test.window, p.PSN())
			}
		}
	}
	// The size is this packet's: after a short last packet there is nothing, so
	// AR comes from the backlog.
	s := newSender(t, mss+1, units.NoLimit)
	if first, last := s.send(), s.send(); first.Flags()&wire.AckRequest != 0 || last.Flags()&wire.AckRequest == 0 {
		t.Errorf("AR of the first of two packets %#x, of the last %#x", first.Flags(), last.Flags())
	}
	// Retransmissions, however wide the window.
	s = newSender(t, 100*mss, units.NoLimit)
	s.sendAll(2)
	s.nack(0, 1, wire.NackTrimmed, 0)
	if p := s.send(); p.PSN() != 0 || p.Flags() != wire.AckRequest|wire.Retransmit {
		t.Errorf("retransmission: PSN %d, flags %#x, want 0, AR and retransmit", p.PSN(), p.Flags())
	}
}

// docs/reference/references.md#sending: retransmissions go first, in the order of loss.
func TestRetransmissionOrder(t *testing.T) {
	s := newSender(t, 100*mss, units.NoLimit)
	s.sendAll(6)
	for _, psn := range []uint32{4, 1, 3} {
		s.nack(psn, 1, wire.NackTrimmed, 0)
	}
	// An ACK of an earlier copy of 1 comes before its turn.
	s.ack(wire.AckFields{Acked: 1, SackBase: 1, SackBits: 1, Received: uint64(mtu)}, 0)
	if s.Inflight() != 3*mtu { // 0, 2 and 5: the refused ones are out already
		t.Errorf("%v in flight, want 3 packets", s.Inflight())
	}
	for _, want := range []struct {
		psn          uint32
		transmission uint8
	}{{4, 2}, {3, 2}, {6, 1}} {
		if p := s.send(); p.PSN() != want.psn || p.Transmission() != want.transmission {
			t.Errorf("sent PSN %d, transmission %d, want %d, %d", p.PSN(), p.Transmission(), want.psn, want.transmission)
		}
	}
	if totals := s.Close(s.now); totals.NewPackets != 7 || totals.Retransmitted != 2 || totals.NacksReceived != 3 {
		t.Errorf("%d new, %d again, %d NACKs, want 7, 2, 3", totals.NewPackets, totals.Retransmitted, totals.NacksReceived)
	}
}

// docs/reference/references.md#nack-and-timeout: the packet is queued for retransmission and
// leaves the bytes in flight. A NACK for a transmission that is not the last, or for a PSN that is not outstanding, is
// stale.
func TestNack(t *testing.T) {
	s := newSender(t, 100*mss, units.NoLimit)
	s.sendAll(4)
	s.nack(2, 1, wire.NackTrimmed, 0)
	if s.Inflight() != 3*mtu || len(s.cc.nacks) != 1 {
		t.Fatalf("in flight %v after %d NACKs, want 3 packets after 1", s.Inflight(), len(s.cc.nacks))
	}
	want := congestion.Nack{Size: mtu, Inflight: 3 * mtu, RTT: units.Microsecond, HasRTT: true, EV: 2}
	if diff := cmp.Diff(want, s.cc.nacks[0]); diff != "" {
		t.Errorf("NACK event (-want +got)\n%s", diff)
	}
	s.nack(2, 1, wire.NackTrimmed, 0)  // twice
	s.nack(99, 1, wire.NackTrimmed, 0) // never sent
	if p := s.send(); p.PSN() != 2 || p.Transmission() != 2 {
		t.Fatalf("sent PSN %d, transmission %d, want 2, 2", p.PSN(), p.Transmission())
	}
	s.nack(2, 1, wire.NackTrimmed, 0) // of the first copy
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, SackBase: 0, Received: uint64(mtu)}, 0)
	s.nack(0, 1, wire.NackTrimmed, 0) // acknowledged
	if s.Inflight() != 3*mtu || len(s.cc.nacks) != 1 {
		t.Errorf("in flight %v after stale NACKs, %d reached the controller, want 3 packets and 1", s.Inflight(), len(s.cc.nacks))
	}
	s.nack(2, 2, wire.NackTrimmed, 0)
	if s.Inflight() != 2*mtu || len(s.cc.nacks) != 2 {
		t.Errorf("in flight %v, %d NACKs, want 2 packets and 2", s.Inflight(), len(s.cc.nacks))
	}
	if p := s.send(); p.Transmission() != 3 {
		t.Errorf("transmission %d, want 3", p.Transmission())
	}
}

// What load balancing learns: docs/reference/references.md#nack-and-timeout, #ack-processing.
func TestFeedback(t *testing.T) {
	s := newSender(t, 100*mss, units.NoLimit)
	s.sendAll(8)
	s.nack(1, 1, wire.NackTrimmed, wire.ECNEcho)
	s.nack(2, 1, wire.NackTrimmedLastHop, 0)
	s.nack(3, 1, wire.NackTrimmedLastHop, wire.ECNEcho)
	s.ack(wire.AckFields{EV: 4, Acked: 4, SackBase: 4, SackBits: 1, Received: uint64(mtu)}, 0)
	s.ack(wire.AckFields{EV: 5, Acked: 5, SackBase: 5, SackBits: 1, Received: uint64(2 * mtu)}, wire.ECNEcho)
	s.HandleTimeout(s.NextTimeout())
	want := []balance.Feedback{
		{EV: 1, Outcome: balance.Trimmed, Dated: true, Age: 6 * units.Microsecond, Inflight: 7 * mtu},
		{EV: 2, Outcome: balance.Good, Dated: true, Age: 5 * units.Microsecond, Inflight: 6 * mtu},
		{EV: 3, Outcome: balance.Marked, Dated: true, Age: 4 * units.Microsecond, Inflight: 5 * mtu},
		{EV: 4, Outcome: balance.Good, Dated: true, Age: 3 * units.Microsecond, Acked: mtu, Inflight: 4 * mtu},
		{EV: 5, Outcome: balance.Marked, Dated: true, Age: 2 * units.Microsecond, Acked: mtu, Inflight: 3 * mtu},
		{EV: 0, Outcome: balance.Lost, Dated: true, Age: rto, Inflight: 2 * mtu},
	}
	if diff := cmp.Diff(want, s.lb.feedback); diff != "" {
		t.Errorf("feedback (-want +got)\n%s", diff)
	}
	if !s.cc.nacks[1].LastHop || s.cc.nacks[0].LastHop || !s.cc.acks[1].ECN || s.cc.acks[0].ECN {
		t.Errorf("events: %+v %+v", s.cc.nacks, s.cc.acks)
	}
}

// docs/reference/references.md#ack-processing (3): an RTT sample needs the packet that triggered
// the ACK, outstanding and unambiguous: sent once without an echo of a retransmission,
// or twice with one.
func TestRTTSample(t *testing.T) {
	const echo = wire.RetransmitEcho
	for _, test := range []struct {
		name  string
		lost  int // transmissions refused before
		flags wire.Flags
		want  bool
	}{
		{"first", 0, 0, true}, {"first, echo", 0, echo, false},
		{"second", 1, echo, true}, {"second, no echo", 1, 0, false},
		{"third", 2, echo, false}, {"third, no echo", 2, 0, false},
	} {
		s := newSender(t, 100*mss, units.NoLimit)
		s.send()
		for n := range test.lost {
			s.nack(0, uint8(n+1), wire.NackTrimmed, 0)
			s.send()
		}
		s.now = s.now.Add(5 * units.Microsecond)
		s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, test.flags)
		if a := s.cc.acks[0]; a.HasRTT != test.want || test.want && a.RTT != 5*units.Microsecond {
			t.Errorf("%s: RTT %v, %v, want %v", test.name, a.RTT, a.HasRTT, test.want)
		}
		if f := s.lb.feedback[len(s.lb.feedback)-1]; f.Dated != test.want || test.want && f.Age != 5*units.Microsecond {
			t.Errorf("%s: feedback of age %v, %v, want %v", test.name, f.Age, f.Dated, test.want)
		}
		s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, test.flags)
		if a := s.cc.acks[1]; a.HasRTT || a.Acked != 0 {
			t.Errorf("%s: the second ACK gives RTT %v for %v", test.name, a.RTT, a.Acked)
		}
	}
	s := newSender(t, 100*mss, units.NoLimit)
	s.sendAll(2)
	s.nack(1, 1, wire.NackTrimmed, 0)
	for _, psn := range []uint32{1, 2, 99} { // refused, next to send, never sent
		s.ack(wire.AckFields{Acked: psn, SackBase: psn}, 0)
		if a := s.cc.acks[len(s.cc.acks)-1]; a.HasRTT {
			t.Errorf("an ACK of PSN %d, which is not outstanding, gives RTT %v", psn, a.RTT)
		}
	}
}

// docs/reference/references.md#ack-processing (1): the count of received bytes runs ahead of what
// the ACK names.
func TestReceivedBytesCount(t *testing.T) {
	s := newSender(t, 100*mss, 4*mtu)
	s.sendAll(4)
	// Three arrived, the ACK names the last alone.
	s.ack(wire.AckFields{Acked: 3, SackBase: 3, SackBits: 1, Received: uint64(3 * mtu)}, 0)
	if s.Inflight() != mtu || s.cc.acks[0].Acked != 3*mtu || s.cc.acks[0].Inflight != mtu {
		t.Errorf("in flight %v, event %+v, want one packet", s.Inflight(), s.cc.acks[0])
	}
	// An older ACK is overtaken: its count is not newer.
	s.ack(wire.AckFields{Acked: 1, SackBase: 1, SackBits: 1, Received: uint64(2 * mtu)}, 0)
	if s.Inflight() != mtu || s.cc.acks[1].Acked != 0 {
		t.Errorf("in flight %v, newly acknowledged %v, want one packet, 0", s.Inflight(), s.cc.acks[1].Acked)
	}
	s.ack(wire.AckFields{Cumulative: 4, Acked: 0, SackBase: 5, Received: uint64(4 * mtu)}, 0)
	if s.Inflight() != 0 || s.cc.acks[2].Acked != mtu {
		t.Errorf("in flight %v, newly acknowledged %v, want 0, one packet", s.Inflight(), s.cc.acks[2].Acked)
	}
}

// docs/reference/references.md#nack-and-timeout: one timer per flow, for the oldest packet, which
// is then retransmitted and leaves the bytes in flight. An early or stale call changes nothing.
func TestTimeout(t *testing.T) {
	s := newSender(t, 100*mss, units.NoLimit)
	s.sendAll(3) // at 1, 2 and 3 us
	if want := units.Time(units.Microsecond).Add(rto); s.NextTimeout() != want {
		t.Fatalf("timeout at %v, want %v", s.NextTimeout(), want)
	}
	due := s.NextTimeout()
	s.HandleTimeout(due - 1)
	if s.NextTimeout() != due || s.Inflight() != 3*mtu || len(s.cc.timeouts) != 0 || len(s.lb.feedback) != 0 {
		t.Fatalf("an early call: timeout %v, in flight %v, %d events", s.NextTimeout(), s.Inflight(), len(s.cc.timeouts))
	}
	// PSN 0 is acknowledged: the timer is stale, and is set for PSN 1.
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	s.lb.feedback = nil
	if s.HandleTimeout(due - 1); s.NextTimeout() != due {
		t.Errorf("an early call moved a stale timer to %v, want %v", s.NextTimeout(), due)
	}
	s.HandleTimeout(due)
	if want := due.Add(units.Microsecond); s.NextTimeout() != want || s.Inflight() != 2*mtu || len(s.cc.timeouts) != 0 || len(s.lb.feedback) != 0 {
		t.Fatalf("a stale call: timeout %v, want %v; in flight %v, %d events", s.NextTimeout(), want, s.Inflight(), len(s.cc.timeouts))
	}
	s.HandleTimeout(s.NextTimeout())
	if diff := cmp.Diff([]congestion.Timeout{{Size: mtu, Inflight: mtu}}, s.cc.timeouts); diff != "" {
		t.Errorf("timeout events (-want +got)\n%s", diff)
	}
	if want := due.Add(2 * units.Microsecond); s.NextTimeout() != want {
		t.Errorf("next timeout %v, want %v", s.NextTimeout(), want)
	}
	if p := s.send(); p.PSN() != 1 || p.Flags()&wire.Retransmit == 0 {
		t.Errorf("sent PSN %d, flags %#x, want 1 again", p.PSN(), p.Flags())
	}
	// The late driver: both are overdue, one goes at a time, without delay.
	late := units.Time(units.Second)
	for n := range 2 {
		s.HandleTimeout(late)
		if n == 0 && s.NextTimeout() != late {
			t.Errorf("next timeout %v, want %v", s.NextTimeout(), late)
		}
	}
	if s.NextTimeout() != units.Never || s.Inflight() != 0 || len(s.cc.timeouts) != 3 {
		t.Errorf("timeout %v, in flight %v, %d events, want never, 0, 3", s.NextTimeout(), s.Inflight(), len(s.cc.timeouts))
	}
	s.HandleTimeout(late.Add(units.Second))
	if len(s.cc.timeouts) != 3 {
		t.Error("a timeout with nothing outstanding")
	}
	if totals := s.Close(s.now); totals.Timeouts != 3 {
		t.Errorf("%d timeouts counted, want 3", totals.Timeouts)
	}
}

// Completion cancels a flow's timers.
func TestCompletion(t *testing.T) {
	s := newSender(t, 2*mss, units.NoLimit)
	s.sendAll(2)
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	if s.Done() {
		t.Fatal("done with one of two packets")
	}
	s.now = 77
	s.ack(wire.AckFields{Cumulative: 2, Acked: 1, Received: uint64(2 * mtu)}, 0)
	if !s.Done() || s.NextTimeout() != units.Never || s.CanSend() || s.Inflight() != 0 {
		t.Errorf("done %v, timeout %v, can send %v, in flight %v", s.Done(), s.NextTimeout(), s.CanSend(), s.Inflight())
	}
	s.now = 99
	s.ack(wire.AckFields{Cumulative: 2, Acked: 1, Received: uint64(2 * mtu)}, 0)
	if totals := s.Close(s.now); totals.Done != 77 || totals.Start != 0 || totals.AcksReceived != 3 {
		t.Errorf("started %v, done %v with %d ACKs, want 0s, 77ps, 3", totals.Start, totals.Done, totals.AcksReceived)
	}
}

// The EV travels in the UDP source port (docs/reference/wire.md#udp).
func TestSourcePort(t *testing.T) {
	for _, flow := range []uint32{0, 1, 7, 1 << 20, 1<<32 - 1} {
		seen := map[uint16]bool{}
		for ev := range uint16(wire.EntropyRange) {
			port := wire.SourcePort(flow, ev)
			if port < wire.EntropyBase || seen[port] {
				t.Fatalf("flow %d, EV %d: port %d is low or taken", flow, ev, port)
			}
			seen[port] = true
			if got := wire.EntropyOf(flow, port); got != ev {
				t.Fatalf("flow %d: EV %d comes back as %d", flow, ev, got)
			}
		}
	}
	if wire.SourcePort(1, 0) == wire.SourcePort(2, 0) && wire.SourcePort(1, 0) == wire.SourcePort(3, 0) {
		t.Error("the flow does not move the ports")
	}
	s := newSender(t, 100*mss, units.NoLimit)
	for ev := range uint16(5) {
		if p := s.send(); p.SourcePort() != wire.SourcePort(flow, ev) {
			t.Errorf("EV %d: port %d, want %d", ev, p.SourcePort(), wire.SourcePort(flow, ev))
		}
	}
}

// Issue 2: "CSIG init policy (every packet, 1 in N, …)".
func TestTagging(t *testing.T) {
	for _, format := range []csig.Format{csig.FormatCompact, csig.FormatWide} {
		d := domain(t, format)
		for _, test := range []struct {
			tagging transport.Tagging
			want    []int // tagged packets of the first ten
		}{
			{transport.Tagging{}, nil},
			{transport.Tagging{Sampling: csig.All, Signal: csig.ABW}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
			{transport.Tagging{Sampling: csig.Sampling{Every: 4, Stride: true}, Signal: csig.ABW}, []int{3, 7}},
			{transport.Tagging{Sampling: csig.Sampling{Every: 4}, Signal: csig.ABW}, []int{3, 4, 8}}, // one of each four
			{transport.Tagging{Sampling: csig.Sampling{Every: 1, Spacing: 3 * units.Microsecond}, Signal: csig.ABW}, []int{0, 3, 6, 9}},
		} {
			for _, count := range []bool{false, true} {
				s := newSender(t, 10*mss, units.NoLimit, func(c *transport.SenderConfig) {
					c.Domain, c.Tagging, c.Sizes.CountTag = d, test.tagging, count
					c.Random = rand.New(rand.NewPCG(3, 0))
				})
				var got []int
				for n := range 10 {
					p := s.send()
					size := mtu
					// A sampled packet has its sample to itself; at the end all ask.
					sampled := p.Tag() != nil && test.tagging.Some()
					if asks := p.Flags()&wire.AckRequest != 0; asks != (sampled || n == 9) {
						t.Errorf("%v: packet %d asks for an ACK: %v", test.tagging, n, asks)
					}
					if p.Tag() != nil {
						got = append(got, n)
						if signal, frozen := d.Peek(p.Tag()); signal != csig.ABW || frozen {
							t.Errorf("%v: the tag asks for %v, D %v", test.tagging, signal, frozen)
						}
						if count {
							size += units.Size(format.Size())
						}
					}
					if p.Size != size {
						t.Errorf("%v, count_tag %v: packet %d of %v, want %v", test.tagging, count, n, p.Size, size)
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("%v: tagged %v, want %v", test.tagging, got, test.want)
				}
				if s.Inflight() != 10*mtu {
					t.Errorf("%v: %v in flight, want the packets without tags", test.tagging, s.Inflight())
				}
			}
		}
	}
	// The controller's wish goes before the policy's; without a domain no tag.
	s := newSender(t, 10*mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = domain(t, csig.FormatCompact), transport.Tagging{Sampling: csig.All, Signal: csig.ABW}
	})
	s.cc.out.Wants = csig.Only(csig.Delay)
	if signal, _ := domain(t, csig.FormatCompact).Peek(s.send().Tag()); signal != csig.Delay {
		t.Errorf("the tag asks for %v, want what the controller wants", signal)
	}
	s = newSender(t, 10*mss, units.NoLimit, func(c *transport.SenderConfig) { c.Tagging.Every = 1 })
	if s.send().Tag() != nil {
		t.Error("a tag without a domain")
	}
}

// The window's ring holds 64 packets at first and grows; a slow map tells what
// should be in flight.
func TestWideWindow(t *testing.T) {
	const packets = 1000
	const seed = 20253
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSender(t, packets*mss, units.NoLimit)
	out := map[uint32]bool{}
	received, cum := uint64(0), uint32(0)
	arrived := map[uint32]bool{}
	for next := 0; !s.Done(); {
		if next < packets && random.IntN(5) > 0 {
			out[s.send().PSN()] = true
			next++
			continue
		}
		var waiting []uint32
		for psn := range out {
			waiting = append(waiting, psn)
		}
		if len(waiting) == 0 {
			continue
		}
		slices.Sort(waiting)
		psn := waiting[random.IntN(len(waiting))]
		delete(out, psn)
		arrived[psn] = true
		received += uint64(mtu)
		for arrived[cum] {
			cum++
		}
		s.ack(wire.AckFields{Cumulative: cum, Acked: psn, SackBase: psn, SackBits: 1, Received: received}, 0)
		if want := units.Size(len(out)) * mtu; s.Inflight() != want {
			t.Fatalf("PSN %d acknowledged: %v in flight, want %v", psn, s.Inflight(), want)
		}
		if a := s.cc.acks[len(s.cc.acks)-1]; a.Acked != mtu || !a.HasRTT || a.RTT != s.now.Sub(units.Time(psn+1)*units.Time(units.Microsecond)) {
			t.Fatalf("PSN %d acknowledged: event %+v at %v", psn, a, s.now)
		}
	}
	if len(arrived) != packets {
		t.Errorf("done with %d of %d packets", len(arrived), packets)
	}
}

func ExampleNewSender() {
	nscc, _ := congestion.Table.Lookup("nscc")
	cc, err := nscc.New(congestion.Path{LinkRate: 100 * units.Gbps, NetworkRTT: 14 * units.Microsecond, MTU: 4150, Header: 64, Trim: true}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	single, _ := balance.Table.Lookup("single")
	lb, err := single.New(balance.Flow{Random: rand.New(rand.NewPCG(1, 2))}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := transport.NewSender(transport.SenderConfig{
		Common: &transport.Common{
			MTU:     4150,
			Sizes:   wire.Sizes{Header: 64},
			RTO:     100 * units.Microsecond,
			Records: 100 * units.Microsecond,
			Sink:    metrics.Discard,
		},
		Flow: 1,
		Size: 5000,
		CC:   cc,
		LB:   lb,
	})
	s.Start(0)
	for now := units.Time(0); s.CanSend(); now = now.Add(332 * units.Nanosecond) {
		var p wire.Packet
		s.Send(now, &p)
		fmt.Println(p.PSN(), p.Size, p.PayloadLen)
	}
	fmt.Println(s.Inflight(), s.NextTimeout())
	// Output:
	// 0 4.15kB 4086
	// 1 978B 914
	// 5.128kB 100us
}
