package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// timeouts lets timeouts of a sender happen, which sends what it may after each, until it
// has no deadline; it returns how many there were, 1000 for more.
func (s *sender) timeouts() (n int) {
	for ; n < 1000 && s.NextTimeout() != units.Never; n++ {
		s.now = s.NextTimeout()
		s.HandleTimeout(s.now)
		for s.CanSend() {
			s.Send(s.now, new(wire.Packet))
		}
	}
	return n
}

// A flow that hears nothing gives up when it has been silent for as long as configured
// since the last change of a fault, and one without such a configuration never does.
func TestGiveUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		giveUp transport.GiveUp
		gaveUp bool
		at     units.Time
	}{
		{"never", transport.GiveUp{}, false, 0},
		{"after 10 timeouts", transport.GiveUp{Silence: 9 * rto}, true, units.Time(units.Microsecond + 10*rto)},
		{"from the last change", transport.GiveUp{From: units.Time(units.Microsecond + 5*rto), Silence: 10 * rto}, true, units.Time(units.Microsecond + 15*rto)},
	} {
		s := newSender(t, mss, mtu, func(cfg *transport.SenderConfig) { cfg.GiveUp = c.giveUp })
		s.send()
		n := s.timeouts()
		totals := s.Close(s.now)
		if totals.GaveUp != c.gaveUp || c.gaveUp && s.now != c.at || !c.gaveUp && n < 1000 {
			t.Errorf("%s: gave up %v at %v after %d timeouts, want %v at %v", c.name, totals.GaveUp, s.now, n, c.gaveUp, c.at)
		}
		if c.gaveUp && s.CanSend() {
			t.Errorf("%s: it sends on", c.name)
		}
	}
}

// An answer begins the silence anew.
func TestAnswersKeepAFlowGoing(t *testing.T) {
	s := newSender(t, 2*mss, mtu, func(cfg *transport.SenderConfig) { cfg.GiveUp = transport.GiveUp{Silence: 5 * rto} })
	s.send()
	for i := range 40 {
		s.now = s.NextTimeout()
		if s.now == units.Never {
			t.Fatalf("gave up after %d timeouts", i)
		}
		s.HandleTimeout(s.now)
		if i%4 == 3 { // a NACK of a packet that was trimmed
			s.Send(s.now, new(wire.Packet))
			s.nack(0, uint8(i), 0, 0)
		}
		for s.CanSend() {
			s.Send(s.now, new(wire.Packet))
		}
	}
}
