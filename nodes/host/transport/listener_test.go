package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// busy listens to everything, paces at a rate that changes with each ACK, and keeps a
// timer.
type busy struct {
	quiet
	sends, timers int
}

func (b *busy) OnAck(now units.Time, a *congestion.Ack) {
	b.out.PacingRate = 200*units.Gbps + units.Rate(a.AckedPackets)
	b.out.Timer = now.Add(units.Nanosecond)
}
func (b *busy) OnSend(units.Time, *congestion.Send) { b.sends++ }
func (b *busy) OnTimer(units.Time) {
	b.timers++
	b.out.Timer = units.Never
}
func (b *busy) OnPhase(units.Time, *congestion.Phase) {}
func (b *busy) OnCNP(units.Time)                      {}

// What an algorithm asks for beyond ACKs and NACKs costs no allocation either.
func TestListenersAllocateNothing(t *testing.T) {
	const warm, measured, together = 2000, 2000, 100
	cc := &busy{quiet: quiet{out: congestion.Output{Window: 20 * mtu, PacingRate: 150 * units.Gbps, Timer: units.Never}}}
	c := common()
	c.Needs = congestion.Needs{HostDelay: true, Hops: true, CNP: units.Microsecond}
	sender, receiver := flowOf(t, c, 2*(warm+measured)*mss, cc)
	sender.Start(0)
	var now units.Time
	var packet, reply, cnp wire.Packet
	step := func() {
		now = now.Add(perPacket)
		if !sender.CanSend() || sender.PacedUntil() > now {
			t.Fatal("the window is closed")
		}
		sender.Send(now, &packet)
		packet.MarkCE()
		if receiver.OnData(now, &packet, &reply) {
			reply.SetHostDelay(units.Microsecond)
			sender.OnAck(now, &reply)
		}
		if receiver.Notifies(now, &packet) {
			receiver.Notify(now, &cnp)
			sender.OnCNP(now)
		}
		sender.HandleTimeout(now.Add(2 * units.Nanosecond))
	}
	for range warm {
		step()
	}
	if n := testing.AllocsPerRun(measured/together, func() {
		for range together {
			step()
		}
	}); n != 0 {
		t.Errorf("%v allocations per %d packets, want 0", n, together)
	}
	if cc.sends < warm || cc.timers < warm/8 {
		t.Errorf("%d packets and %d timers were told", cc.sends, cc.timers)
	}
}
