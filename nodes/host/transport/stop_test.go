package transport_test

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// docs/reference/references.md#connections: "a transfer that stops ends its message with the next
// packet that has not been sent, which has one byte. It is complete when that and all before
// are acknowledged."
func TestTransfersThatStop(t *testing.T) {
	at := units.Time(10 * units.Microsecond)
	stops := func(c *transport.SenderConfig) { c.Stop = at }
	for _, tc := range []struct {
		name          string
		size          units.Size
		sent          int // before the stop
		packets, last int // in all, and payload of the last one
		stopped       bool
	}{
		{"in the middle", 100 * mss, 5, 6, 1, true},
		{"before the last packet", 6 * mss, 5, 6, 1, true},
		{"before the last packet, of a byte", 5*mss + 1, 5, 6, 1, false},
		{"when all is sent", 5*mss - 10, 5, 5, int(mss - 10), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSender(t, tc.size, units.NoLimit, stops)
			r := transport.NewReceiver(transport.ReceiverConfig{Common: common(), Flow: flow, Ends: receiverEnds, Packets: transport.Packets(tc.size, mtu, header), Stops: true})
			if got := s.NextTimeout(); got != at {
				t.Errorf("a timer at %v, want the stop at %v", got, at)
			}
			s.sendAll(tc.sent)
			s.HandleTimeout(at)
			for s.CanSend() {
				s.send()
			}
			if len(s.sent) != tc.packets {
				t.Fatalf("%d packets, want %d", len(s.sent), tc.packets)
			}
			last := uint32(tc.packets - 1)
			if p := s.sent[last]; p.PayloadLen != tc.last || p.Flags()&wire.EndOfMessage == 0 {
				t.Errorf("the last packet has %d bytes, flags %x; want %d and the end", p.PayloadLen, p.Flags(), tc.last)
			}
			for psn := last; ; psn-- { // the end first
				if r.Done() {
					t.Errorf("the receiver is done without %d packets", psn+1)
				}
				r.OnData(s.now, s.sent[psn], new(wire.Packet))
				if psn == 0 {
					break
				}
			}
			bytes := int64(tc.packets-1)*int64(mss) + int64(tc.last)
			if got := r.Close(); !r.Done() || got.PayloadBytes != bytes {
				t.Errorf("the receiver is done %v with %d bytes, want %d", r.Done(), got.PayloadBytes, bytes)
			}
			s.ack(wire.AckFields{Cumulative: last, Acked: last - 1, Received: uint64(units.Size(last) * mtu)}, 0)
			if s.Done() {
				t.Error("done before the last packet is acknowledged")
			}
			s.ack(wire.AckFields{Cumulative: last + 1, Acked: last, Received: uint64(units.Size(bytes) + units.Size(tc.packets)*header)}, 0)
			if got := s.Close(s.now); !s.Done() || s.NextTimeout() != units.Never || got.Stopped != tc.stopped || got.PayloadBytes != bytes {
				t.Errorf("done %v, stopped %v with %d bytes; want %v with %d", s.Done(), got.Stopped, got.PayloadBytes, tc.stopped, bytes)
			}
		})
	}
	// One that starts too late sends one byte.
	late := transport.NewSender(transport.SenderConfig{Common: common(), Flow: flow, Ends: senderEnds, Size: 100 * mss, CC: &quiet{}, LB: &balancer{}, Stop: at})
	late.Start(at)
	if s := late.Close(at); s.PayloadBytes != 0 || !s.Stopped || late.NextSize() != header+1 {
		t.Errorf("a transfer that starts at its stop: %+v, next packet of %v", s, late.NextSize())
	}
}

// Whatever a pipe does, a transfer that stops is complete at both ends, with the same bytes.
func TestEveryTransferThatStopsCompletes(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 4))
		f := []faults{{}, {drop: 60, trim: 150, duplicate: 60, mark: 200, jitter: 30 * units.Microsecond}}[seed%2]
		edit := func(c *transport.SenderConfig) {
			c.Stop = units.Time(1 + random.Int64N(int64(300*units.Microsecond)))
			c.Recovery = []transport.Recovery{transport.Selective, transport.GoBackN}[seed/2%2]
		}
		p := newPipe(t, seed, 300*mss, f, nil, nil, edit)
		p.Run(units.Never)
		s, r := p.sender.Close(p.Now), p.receiver.Close()
		if !p.sender.Done() || !p.receiver.Done() || s.PayloadBytes != r.PayloadBytes || p.sender.NextTimeout() != units.Never ||
			s.NewPackets != r.DeliveredWhole-r.Duplicates-r.OutOfSequence || s.Stopped != (s.PayloadBytes < int64(300*mss)) {
			t.Errorf("seed %d: sender done %v with %d bytes, receiver %v with %d", seed, p.sender.Done(), s.PayloadBytes, p.receiver.Done(), r.PayloadBytes)
		}
	}
}
