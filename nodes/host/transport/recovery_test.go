package transport_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

func goBackN(cfg *transport.SenderConfig) { cfg.Recovery = transport.GoBackN }

// InfiniBand architecture specification, volume 1, §9.7.5.1.2: after a packet whose PSN is
// not the one expected, a responder sends a NAK for a sequence error once, with the PSN that
// it expects, and drops what follows until that one arrives.
func TestGoBackNReceiver(t *testing.T) {
	c := common()
	c.Recovery, c.AckEvery = transport.GoBackN, mtu
	r := transport.NewReceiver(transport.ReceiverConfig{Common: c, Flow: flow, Ends: receiverEnds, Packets: 10})
	type answer struct {
		Kind  wire.Kind // 0: none
		PSN   uint32    // the next one expected
		Code  uint8
		Trans uint8
	}
	var now units.Time
	give := func(psn uint32, transmission uint8, trim bool) (a answer) {
		p, reply := new(wire.Packet), new(wire.Packet)
		p.Build(wire.Addresses{Source: senderEnds.LocalIP, Destination: senderEnds.RemoteIP}, wire.Data, 0, wire.ECT0, int(mss))
		p.SetData(flow, psn, transmission)
		p.Size = sizes.Of(p)
		if trim {
			p.Trim(sizes, false)
		}
		now++
		if !r.OnData(now, p, reply) {
			return a
		}
		a = answer{Kind: reply.Kind(), PSN: reply.PSN()}
		if a.Kind == wire.Nack {
			a.Code, a.Trans = reply.NackCode(), reply.Transmission()
		}
		return a
	}
	for i, step := range []struct {
		psn   uint32
		trans uint8
		trim  bool
		want  answer
	}{
		{0, 1, false, answer{Kind: wire.Ack, PSN: 1}},
		{2, 1, false, answer{wire.Nack, 1, wire.NackSequence, 0}}, // 1 is missing: refused once
		{3, 1, false, answer{}},
		{4, 1, true, answer{}}, // trimmed, and behind the hole anyway
		{1, 2, false, answer{Kind: wire.Ack, PSN: 2}},
		{3, 2, false, answer{wire.Nack, 2, wire.NackSequence, 0}}, // 2 was lost on its way again
		{0, 2, false, answer{Kind: wire.Ack, PSN: 2}},             // a duplicate
		{4, 2, false, answer{}},
		{2, 3, true, answer{wire.Nack, 2, wire.NackTrimmed, 3}}, // 2 came trimmed: it is refused each time
		{2, 4, true, answer{wire.Nack, 2, wire.NackTrimmed, 4}},
		{3, 4, false, answer{}},
		{2, 5, false, answer{Kind: wire.Ack, PSN: 3}},
		{3, 5, true, answer{wire.Nack, 3, wire.NackTrimmed, 5}},
		{4, 5, false, answer{}}, // the sender knows of the hole
		{3, 6, false, answer{Kind: wire.Ack, PSN: 4}},
	} {
		if got := give(step.psn, step.trans, step.trim); got != step.want {
			t.Fatalf("step %d: PSN %d, transmission %d, trimmed %v: answered %+v, want %+v", i, step.psn, step.trans, step.trim, got, step.want)
		}
	}
	got := r.Close()
	if got.DeliveredWhole != 11 || got.DeliveredTrimmed != 4 || got.OutOfSequence != 6 || got.Duplicates != 1 || got.PayloadBytes != 4*int64(mss) {
		t.Errorf("%d whole, %d trimmed, %d out of sequence, %d duplicates, %d bytes", got.DeliveredWhole, got.DeliveredTrimmed, got.OutOfSequence, got.Duplicates, got.PayloadBytes)
	}
}

// The sender goes back to the packet that a NACK names, and sends everything from there on
// in order before anything new.
func TestGoBackNSender(t *testing.T) {
	s := newSender(t, 20*mss, 8*mtu, goBackN)
	sent := func(n int) (psns []uint32) {
		for range n {
			psns = append(psns, s.send().PSN())
		}
		return psns
	}
	want := func(what string, got, want []uint32) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	want("at first", sent(6), []uint32{0, 1, 2, 3, 4, 5})
	s.nack(2, 0, wire.NackSequence, 0)
	if len(s.cc.nacks) != 1 || s.cc.nacks[0].HasRTT || s.cc.nacks[0].Size != mtu || s.cc.nacks[0].Inflight != 2*mtu {
		t.Errorf("the controller was told %+v: want one packet, no RTT, and two packets in flight", s.cc.nacks)
	}
	if f := s.lb.feedback[len(s.lb.feedback)-1]; f.Outcome != balance.Trimmed || f.EV != 2 {
		t.Errorf("the balancer was told %+v: want EV 2 refused", f)
	}
	want("from 2 on", sent(3), []uint32{2, 3, 4})
	s.nack(3, 0, wire.NackSequence, 0) // while 5 still waits
	want("from 3 on", sent(3), []uint32{3, 4, 5})
	s.nack(1, 0, wire.NackSequence, 0)
	s.nack(1, 0, wire.NackSequence, 0) // it waits already
	want("from 1 on, then what is new", sent(7), []uint32{1, 2, 3, 4, 5, 6, 7})
	s.nack(2, 1, wire.NackTrimmed, 0) // of the first transmission: stale
	if s.CanSend() {
		t.Error("a stale NACK opened the window")
	}
	s.nack(2, 3, wire.NackTrimmed, 0)
	want("from a trimmed one on", sent(3), []uint32{2, 3, 4})
	// docs/reference/references.md#sending: RTO is that of the oldest outstanding packet; what follows
	// is sent again too.
	s.now = s.now.Add(2 * rto)
	s.HandleTimeout(s.now)
	if len(s.cc.timeouts) != 1 {
		t.Fatalf("%d timeouts", len(s.cc.timeouts))
	}
	want("after RTO", sent(8), []uint32{0, 1, 2, 3, 4, 5, 6, 7})
	for psn := range uint32(8) {
		if p := s.sent[psn]; p.Flags()&(wire.Retransmit|wire.AckRequest) != wire.Retransmit|wire.AckRequest {
			t.Errorf("PSN %d went out again with flags %x", psn, p.Flags())
		}
	}
}

// Whatever a pipe does, a flow that takes packets in order alone is delivered once, and
// packets are conserved.
func TestGoBackNCompletes(t *testing.T) {
	for name, f := range map[string]faults{
		"clean":      {},
		"marks":      {mark: 300},
		"reorders":   {jitter: 2 * units.Microsecond},
		"trims":      {trim: 50},
		"drops":      {drop: 20},
		"duplicates": {duplicate: 200},
		"everything": {drop: 10, trim: 20, duplicate: 20, mark: 200, jitter: units.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				random := rand.New(rand.NewPCG(seed, 2))
				size := []units.Size{1, mss + 1, units.Size(1 + random.Int64N(int64(200*mss)))}[seed%3]
				p := newPipe(t, seed, size, f, algorithm.Values{"cwnd": "41500B"}, nil, goBackN)
				p.Run(units.Never)
				if err := p.check(size); err != nil {
					t.Errorf("seed %d, %v: %v", seed, size, err)
				}
			}
		})
	}
}
