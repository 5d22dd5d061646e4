package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// A packet that a switch returned is sent again at once, three times; then it waits for RTO.
// The balancer learns of the EV and of the port, the controller of nothing.
func TestReturned(t *testing.T) {
	s := newSender(t, 10*mtu, 100*mtu)
	s.sendAll(3)
	for transmission := uint8(1); transmission <= 4; transmission++ {
		p := control(wire.Nack)
		p.BuildReturn(s.sent[1], 77, sizes)
		s.OnNack(s.now, p)
		s.OnNack(s.now, p) // it is stale the second time
		if transmission == 4 {
			break
		}
		again := s.send()
		if again.PSN() != 1 || again.Transmission() != transmission+1 {
			t.Fatalf("PSN %d, transmission %d is sent, want 1 and %d", again.PSN(), again.Transmission(), transmission+1)
		}
	}
	if next := s.send(); next.PSN() != 3 {
		t.Errorf("PSN %d is sent after three returns, want 3", next.PSN())
	}
	if len(s.cc.nacks) != 0 || len(s.cc.timeouts) != 0 {
		t.Errorf("the controller has heard of %d NACKs and %d timeouts", len(s.cc.nacks), len(s.cc.timeouts))
	}
	if len(s.lb.feedback) != 3 {
		t.Fatalf("the balancer was told %d times, want 3", len(s.lb.feedback))
	}
	f := s.lb.feedback[0]
	if f.EV != 1 || f.Outcome != balance.Lost || !f.Returned || f.Locator != 77 {
		t.Errorf("the balancer was told %+v", f)
	}
	if due := s.NextTimeout(); due == units.Never {
		t.Error("nothing waits for RTO")
	}
}

// A receiver whose ACK was returned sends the next ones with another EV, once for each EV.
func TestReturnedAck(t *testing.T) {
	r := newReceiver(10*mtu, 1)
	receive := func() *wire.Packet {
		ack := new(wire.Packet)
		if !r.OnData(0, data(0, 0, false), ack) {
			t.Fatal("no ACK")
		}
		return ack
	}
	first := receive()
	notice := control(wire.Nack)
	notice.BuildReturn(first, 77, sizes)
	r.OnReturned(notice)
	r.OnReturned(notice)
	if got, want := receive().SourcePort(), wire.SourcePort(flow, 1); got != want {
		t.Errorf("source port %d, want %d", got, want)
	}
}
