package transport_test

import (
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// BenchmarkPacket is a data packet and its part of an ACK at both ends, of a transfer and of
// connections with messages of so many packets. The ends of short messages have an ACK of
// their own each; otherwise there is one for four packets.
func BenchmarkPacket(b *testing.B) {
	b.Run("transfer", func(b *testing.B) { benchPackets(b, newWheel(b, 0)) })
	b.Run("messages=1000000", func(b *testing.B) { benchPackets(b, newWheel(b, 1_000_000)) })
	b.Run("messages=256", func(b *testing.B) { benchPackets(b, newWheel(b, 256)) })
	b.Run("messages=16", func(b *testing.B) { benchPackets(b, newWheel(b, 16)) })
	b.Run("messages=1", func(b *testing.B) { benchPackets(b, newWheel(b, 1)) })
	b.Run("ratio", benchRatio)
}

func benchPackets(b *testing.B, w *wheel) {
	b.ReportAllocs()
	for b.Loop() {
		w.turn()
	}
}

// benchRatio reports what a packet of a connection, in messages of 1 MB, costs more than one
// of a transfer: 1 is the same. Both are measured in turn, and of each the fastest time
// counts, which other programs have not disturbed.
func benchRatio(b *testing.B) {
	const together = 10_000
	least := [2]time.Duration{time.Hour, time.Hour}
	wheels := [2]*wheel{newWheel(b, 0), newWheel(b, 256)}
	for b.Loop() {
		for i, w := range wheels {
			begin := time.Now()
			for range together {
				w.turn()
			}
			least[i] = min(least[i], time.Since(begin))
		}
	}
	b.ReportMetric(float64(least[1])/float64(least[0]), "connection/transfer")
}

// wheel sends packets of a flow back and forth.
type wheel struct {
	sender        *transport.Sender
	receiver      *transport.Receiver
	message       units.Size // 0: a transfer
	now           units.Time
	packet, reply wire.Packet
}

// newWheel returns the wheel of a connection with messages of so many packets, 0: of a
// transfer.
func newWheel(b *testing.B, packets int) *wheel {
	c := common()
	c.Domain, c.Sink = domain(b, csig.FormatCompact), metrics.NewBatcher(0, 128, metrics.Consumers{})
	cfg := transport.SenderConfig{
		Common: c, Flow: flow, Ends: senderEnds, CC: &quiet{out: congestion.Output{Window: 20 * mtu}}, LB: mixed(b, 1),
		Tagging: transport.Tagging{Sampling: csig.All, Signal: csig.Delay},
	}
	receives := transport.ReceiverConfig{Common: c, Flow: flow, Ends: receiverEnds}
	if packets == 0 {
		cfg.Size, receives.Packets = 4e9*mss, 4e9
	}
	w := &wheel{sender: transport.NewSender(cfg), receiver: transport.NewReceiver(receives), message: units.Size(packets) * mss}
	if packets == 0 {
		w.sender.Start(0)
	}
	return w
}

// turn sends a packet, after a message if one is wanted.
func (w *wheel) turn() {
	w.now = w.now.Add(perPacket)
	if w.sender.Done() {
		w.sender.Post(w.now, transport.Message{Size: w.message})
	}
	w.sender.Send(w.now, &w.packet)
	if w.receiver.OnData(w.now, &w.packet, &w.reply) {
		w.sender.OnAck(w.now, &w.reply)
	}
}
