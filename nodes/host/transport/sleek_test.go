package transport_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const sleekRTT = 10 * units.Microsecond

// newSleek returns a sender with SLEEK, of which base RTT is 10 us and 1.5 BDP are 45 MTU
// payloads.
func newSleek(t *testing.T, packets, window units.Size) *sender {
	s := newSender(t, packets*mss, window, func(c *transport.SenderConfig) {
		c.Recovery, c.Sleek = transport.Sleek, transport.NewSleekTerms(100*units.Gbps, sleekRTT, false)
	})
	s.cc.out.BaseRTT = sleekRTT
	return s
}

// holding gives the sender an ACK whose receiver has [0, cum) and [cum+1, cum+1+held), the
// first packet beyond the hole being the 64th at most.
func (s *sender) holding(cum uint32, held int) {
	s.now++
	s.ack(wire.AckFields{
		Cumulative: cum, Acked: cum + uint32(held), SackBase: cum + 1, SackBits: 1<<held - 1,
		Received: uint64(int64(cum)+int64(held)) * uint64(mtu), OutOfOrder: uint16(held),
	}, 0)
}

func (s *sender) resends() (psns []uint32) {
	for s.CanSend() {
		p := s.send()
		if p.Flags()&wire.Retransmit == 0 {
			break
		}
		psns = append(psns, p.PSN())
	}
	return psns
}

// docs/reference/references.md#loss-recovery: "With at least max(min(1.5 windows, 1.5 BDP of base RTT),
// 5 MTU payloads) of them ... those not acknowledged are sent again, each once, whatever
// the window."
func TestSleekThreshold(t *testing.T) {
	for _, tc := range []struct {
		window units.Size
		want   int // packets beyond the hole
	}{
		{2 * mss, 5},   // the least
		{10 * mss, 15}, // 1.5 windows
		{40 * mss, 45}, // 1.5 BDP of 10 us, 187,500 B
	} {
		s := newSleek(t, 200, 60*mtu)
		s.sendAll(60)
		s.cc.out.Window = tc.window
		s.holding(3, tc.want-1)
		if got := s.resends(); got != nil {
			t.Errorf("window %v: %d packets beyond the hole, and %v are sent again", tc.window, tc.want-1, got)
		}
		s.holding(3, tc.want)
		if got := s.resends(); len(got) == 0 || got[0] != 3 {
			t.Errorf("window %v: %d packets beyond the hole, and %v are sent again, want 3 first", tc.window, tc.want, got)
		}
	}
}

// "of the PSNs from the first one missing on, as many as the window holds", "each once".
// "Recovery ends when all that was sent before it is acknowledged."
func TestSleekRecovery(t *testing.T) {
	s := newSleek(t, 200, 40*mtu)
	s.sendAll(40)
	s.cc.out.Window = 10 * mss
	s.holding(3, 20) // has 4 to 23; 3 and 24 to 39 are missing
	if diff := cmp.Diff([]uint32{3}, s.resends()); diff != "" {
		t.Errorf("in the window from 3 on (-want +got)\n%s", diff)
	}
	s.holding(3, 21) // 3 has been sent again already
	if got := s.resends(); got != nil {
		t.Errorf("sent again twice: %v", got)
	}
	s.ack(wire.AckFields{Cumulative: 25, Acked: 3, SackBase: 25, Received: 25 * uint64(mtu)}, wire.RetransmitEcho)
	if diff := cmp.Diff([]uint32{25, 26, 27, 28, 29, 30, 31, 32, 33, 34}, s.resends()); diff != "" {
		t.Errorf("in the window from 25 on (-want +got)\n%s", diff)
	}
	s.ack(wire.AckFields{Cumulative: 40, Acked: 39, SackBase: 40, Received: 40 * uint64(mtu)}, 0)
	if s.cc.timeouts != nil {
		t.Error("RTO")
	}
	p := s.send()
	if p.PSN() != 40 || p.Flags()&wire.Retransmit != 0 {
		t.Errorf("after recovery PSN %d goes out, want 40", p.PSN())
	}
}

// "3 base RTTs after an ACK (base RTT and the target delay, if nothing new is left to be
// sent), and each 5 base RTTs from then on, a probe of 64 B is sent. If its answer shows less
// queueing delay than the target, recovery begins from the first one missing."
func TestSleekProbes(t *testing.T) {
	for _, tc := range []struct {
		packets units.Size
		first   units.Duration
	}{{20, 3 * sleekRTT}, {4, 2 * sleekRTT}} {
		for _, queued := range []bool{false, true} {
			s := newSleek(t, tc.packets, 4*mtu)
			r := newReceiver(tc.packets*mss, 1)
			s.sendAll(4)
			s.answer(r, s.sent[0], s.now) // 1 to 3 are lost
			if tc.packets > 4 {
				s.cc.out.Window = 3 * mtu // of which the lost ones are
			}
			want := s.now.Add(tc.first)
			if got := s.NextTimeout(); got != want {
				t.Fatalf("%d packets: probe at %v, want %v", tc.packets, got, want)
			}
			var probe, answer wire.Packet
			for range 2 {
				s.HandleTimeout(want)
				if !s.ProbeDue(want) {
					t.Fatalf("no probe at %v", want)
				}
				s.Probe(want, &probe)
				if probe.Kind() != wire.Probe || probe.Size != sizes.Header || probe.Tag() != nil || probe.DSCP() != wire.DSCPTrimmable {
					t.Errorf("probe %v of %v, DSCP %d", &probe, probe.Size, probe.DSCP())
				}
				s.now = want
				want = want.Add(5 * sleekRTT)
			}
			r.OnProbe(&probe, &answer)
			delay := units.Duration(0)
			if queued {
				delay = sleekRTT // the target without trimming is one network RTT
			}
			s.now = s.now.Add(sleekRTT + delay)
			s.OnProbeReply(s.now, &answer)
			wantAgain := []uint32{1, 2, 3}
			if queued {
				wantAgain = nil
			}
			if diff := cmp.Diff(wantAgain, s.resends()); diff != "" {
				t.Errorf("%d packets, queued %v: sent again (-want +got)\n%s", tc.packets, queued, diff)
			}
		}
	}
}
