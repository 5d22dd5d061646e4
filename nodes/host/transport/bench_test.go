package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// BenchmarkPacket is a data packet and its part of an ACK, of a transfer and of connections
// with messages of so many packets.
func BenchmarkPacket(b *testing.B) {
	b.Run("transfer", func(b *testing.B) { benchPacket(b, 0) })
	b.Run("messages=1000000", func(b *testing.B) { benchPacket(b, 1_000_000) })
	b.Run("messages=256", func(b *testing.B) { benchPacket(b, 256) })
	b.Run("messages=16", func(b *testing.B) { benchPacket(b, 16) })
	b.Run("messages=1", func(b *testing.B) { benchPacket(b, 1) })
}

// benchPacket sends packets of a transfer, or of messages of so many packets.
func benchPacket(b *testing.B, packets int) {
	c := common()
	c.Domain, c.Sink = domain(b, csig.FormatCompact), metrics.NewBatcher(0, 128, metrics.Consumers{})
	cfg := transport.SenderConfig{
		Common: c, Flow: flow, Ends: senderEnds, CC: &quiet{out: congestion.Output{Window: 20 * mtu}}, LB: mixed(b, 1),
		Tagging: transport.Tagging{Sampling: csig.All, Signal: csig.Delay},
	}
	receives := transport.ReceiverConfig{Common: c, Flow: flow, Ends: receiverEnds}
	if packets == 0 {
		cfg.Size = 4e9 * mss
		receives.Packets = 4e9
	}
	sender, receiver := transport.NewSender(cfg), transport.NewReceiver(receives)
	var now units.Time
	var packet, reply wire.Packet
	if packets == 0 {
		sender.Start(now)
	}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(perPacket)
		if sender.Done() {
			sender.Post(now, transport.Message{Size: units.Size(packets) * mss})
		}
		sender.Send(now, &packet)
		if !receiver.OnData(now, &packet, &reply) {
			continue
		}
		sender.OnAck(now, &reply)
	}
}
