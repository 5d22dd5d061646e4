package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// terms are those of the reference's fat tree: 1.5 BDP are 262,926 B, a grant 63 quanta.
func terms() *transport.CreditTerms {
	return transport.NewCreditTerms(100*units.Gbps, 14_022_720, mtu, header)
}

func withCredit(cfg *transport.SenderConfig) { cfg.Credit = terms() }

// docs/reference/references.md#receiver-credits: "credit packets at 0.99 of its link's rate, each for
// up to 4 MTU payloads".
func TestCreditTerms(t *testing.T) {
	got := terms()
	if got.Max != 262_926 || got.Grant != 63 || got.Rate != 99*units.Gbps || got.Least != 14_022_720 {
		t.Errorf("%+v, want 1.5 BDP, 4*4086/256 quanta, 99 Gb/s and the network RTT", got)
	}
}

// "Each data packet says the pull target: min(what is unsent or to be sent again, with NSCC
// also its window and one MTU, 1.5 BDP) less the credit left, divided by the flows that wait
// for the NIC, plus what has been granted in all; at least one MTU more while the flow
// speculates."
func TestPullTarget(t *testing.T) {
	quanta := func(size units.Size) int64 { return int64((size + 255) / 256) }
	s := newSender(t, 200*mss, units.GB, withCredit)
	max := terms().Max
	next := func(what string, want int64) {
		t.Helper()
		if got := s.send().PullTargetBeyond(0); got != want {
			t.Errorf("%s: pull target %d, want %d", what, got, want)
		}
	}
	next("speculating", quanta(mtu)) // the target less the credit is one packet: that is an MTU
	next("speculating", quanta(2*mtu))
	// An answer voids what is left of the speculation.
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	if s.CanSend() {
		t.Fatal("the flow sends on a speculation that has ended")
	}
	grant := func(total int64) {
		p := control(wire.Credit)
		p.SetPull(flow, uint32(total))
		s.OnCredit(s.now, p)
	}
	grant(63)
	next("with a grant", 63+quanta(max-(63*256-mtu)))
	grant(63) // once more: it is a total
	next("the same total", 63+quanta(max-(63*256-2*mtu)))
	if s.sent[3].Flags()&wire.AckRequest != 0 {
		t.Error("a packet asks for an ACK with credit left")
	}
	s.send()
	s.send() // credit below 0 by a part of a packet
	if f := s.sent[5].Flags(); f&wire.AckRequest == 0 || s.CanSend() {
		t.Errorf("the last packet of the credit has flags %x, can send more: %v", f, s.CanSend())
	}
	// The window, if it is less, and one MTU.
	s.cc.out.Window = 10 * mtu
	grant(126)
	next("window", 126+quanta(11*mtu-(126*256-5*mtu)))
	// What is to be sent again counts; near the end there is not much.
	short := newSender(t, 5*mss, units.GB, withCredit)
	for range 5 {
		short.send()
	}
	short.nack(2, 1, wire.NackTrimmed, 0)
	short.nack(3, 1, wire.NackTrimmed, 0)
	p := control(wire.Credit)
	p.SetPull(flow, 1)
	short.OnCredit(short.now, p)
	if got := short.send().PullTargetBeyond(0); got != 1+quanta(mtu+mtu-256) {
		t.Errorf("pull target %d with a packet to be sent again, want %d", got, 1+quanta(2*mtu-256))
	}
}

// Flows that wait for the NIC share the pull target.
func TestPullTargetIsShared(t *testing.T) {
	s := newSender(t, 200*mss, units.GB, withCredit, func(c *transport.SenderConfig) { c.Waiting = 4 })
	s.send()
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	p := control(wire.Credit)
	p.SetPull(flow, 63)
	s.OnCredit(s.now, p)
	want := (terms().Max-(63*256-mtu))/4 + 255
	if got := s.send().PullTargetBeyond(63); got != int64(want/256) {
		t.Errorf("pull target %d beyond what is granted, want %d", got, want/256)
	}
}

// A flow that gives a packet up without credit for it asks, at most once in a network RTT,
// and one that hears nothing asks again.
func TestCreditRequests(t *testing.T) {
	s := newSender(t, 4*mss, units.GB, withCredit)
	s.send()
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	s.HandleTimeout(s.NextTimeout()) // RTO of a packet that is acknowledged: the timer is lazy
	due := s.NextTimeout()
	if want := s.now.Add(8 * rto); due != want {
		t.Fatalf("a flow without credit wakes up at %v, want %v", due, want)
	}
	request := func() *wire.Packet {
		if !s.RequestDue(s.now) {
			return nil
		}
		p := new(wire.Packet)
		s.Request(s.now, p)
		return p
	}
	if s.now = due - 1; request() != nil {
		t.Error("a request before its time")
	}
	s.now = due
	s.HandleTimeout(s.now)
	p := request()
	if p == nil || p.Kind() != wire.CreditRequest || p.PSN() != uint32((3*mtu+255)/256) || p.DSCP() != wire.DSCPControl {
		t.Fatalf("request %v for %v quanta", p, p.PSN())
	}
	c := control(wire.Credit)
	c.SetPull(flow, 1)
	s.OnCredit(s.now, c)
	s.send()
	s.now = s.now.Add(rto)
	s.HandleTimeout(s.now)
	if s.cc.timeouts == nil || request() == nil {
		t.Error("no request for a packet that was given up, and for which there is no credit")
	}
}

// pull gives the credit packets of a Puller up to a time: "at, total" in quanta by flow.
type granted struct {
	at    units.Time
	flow  uint32
	total uint32
}

func pulls(u *transport.Puller, until units.Time) (all []granted) {
	for u.Due() <= until {
		at := u.Due()
		p := new(wire.Packet)
		if u.Pull(at, p) {
			all = append(all, granted{at, p.Flow(), p.PSN()})
		}
	}
	return all
}

func creditReceiver(flow uint32, packets int64) *transport.Receiver {
	c := common()
	c.Credit = terms()
	return transport.NewReceiver(transport.ReceiverConfig{Common: c, Flow: flow, Ends: receiverEnds, Packets: packets})
}

// wants returns a data packet with a pull target.
func wants(flow, psn uint32, target int64) *wire.Packet {
	p := new(wire.Packet)
	p.Build(wire.Addresses{Source: senderEnds.LocalIP, Destination: senderEnds.RemoteIP}, wire.Data, 0, wire.ECT0, int(mss))
	p.SetData(flow, psn, 1)
	p.SetPullTarget(target)
	p.Size = sizes.Of(p)
	return p
}

// "to the flows that want some in turn", "no more than the target asks for", at 0.99 of
// the link. "When none does, it grants 63 quanta at a time to those that have had some,
// until each is 1.5 BDP ahead of its target."
func TestPuller(t *testing.T) {
	u := transport.NewPuller(terms())
	one, two := creditReceiver(1, 100), creditReceiver(2, 100)
	u.OnDemand(1000, one, wants(1, 0, 100))
	u.OnDemand(1000, two, wants(2, 0, 140))
	u.OnDemand(1000, two, wants(2, 1, 130)) // an older one: targets only grow
	all := pulls(u, units.Time(units.Millisecond))
	var quanta int64 // granted before
	want := []struct {
		flow, total uint32
		quanta      int64
	}{{1, 63, 63}, {2, 63, 63}, {1, 100, 37}, {2, 126, 63}, {2, 140, 14}, {1, 163, 63}, {2, 203, 63}, {1, 226, 63}}
	for i, w := range want {
		at := units.Time(1000 + quanta*256*8*1000/99)
		if g := all[i]; g.flow != w.flow || g.total != w.total || g.at != at {
			t.Errorf("credit %d: flow %d gets %d quanta in all at %d ps, want flow %d %d at %d", i, g.flow, g.total, g.at, w.flow, w.total, at)
		}
		quanta += w.quanta
	}
	last := map[uint32]uint32{}
	for _, g := range all {
		last[g.flow] = g.total
	}
	// 1.5 BDP are 1027 quanta: the first grant that reaches them is the last.
	if last[1] < 100+1027 || last[1] >= 100+1027+63 || last[2] < 140+1027 || last[2] >= 140+1027+63 {
		t.Errorf("granted %v quanta in all, want 1027 more than were asked for", last)
	}
	if u.Due() != units.Never {
		t.Errorf("due at %v with nobody to grant anything", u.Due())
	}
	// New demand is served again, and a trimmed packet brings its flow's turn whatever
	// its target; then the total is repeated.
	trimmed := wants(1, 1, 100)
	trimmed.Trim(sizes, false)
	u.OnDemand(units.Time(units.Second), one, trimmed)
	p := new(wire.Packet)
	if !u.Pull(u.Due(), p) || p.Flow() != 1 || p.PSN() != last[1] || p.Kind() != wire.Credit {
		t.Errorf("after a trim: %v, total %d, want %d again", p, p.PSN(), last[1])
	}
}

// A flow that is complete gets no more credit.
func TestNoCreditWhenDone(t *testing.T) {
	u := transport.NewPuller(terms())
	r := creditReceiver(1, 1)
	p := wants(1, 0, 500)
	u.OnDemand(0, r, p)
	r.OnData(0, p, new(wire.Packet))
	if all := pulls(u, units.Time(units.Second)); len(all) != 0 || u.Due() != units.Never {
		t.Errorf("a complete flow got %v", all)
	}
	u.OnDemand(0, r, wants(1, 0, 900))
	if u.Due() != units.Never {
		t.Error("a complete flow wants credit")
	}
}
