package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const (
	mtu    units.Size = 4150
	header units.Size = 64
	mss               = mtu - header
	flow   uint32     = 7
	rto               = 100 * units.Microsecond
)

var (
	sizes        = wire.Sizes{Header: header}
	senderEnds   = transport.Ends{LocalIP: wire.HostIP(0), RemoteIP: wire.HostIP(1), LocalMAC: wire.MAC(0, 0), RemoteMAC: wire.MAC(1, 0)}
	receiverEnds = transport.Ends{LocalIP: wire.HostIP(1), RemoteIP: wire.HostIP(0), LocalMAC: wire.MAC(1, 0), RemoteMAC: wire.MAC(0, 0)}
)

// controller gives the window it is told and remembers its events.
type controller struct {
	out      congestion.Output
	acks     []congestion.Ack
	nacks    []congestion.Nack
	timeouts []congestion.Timeout
}

func (c *controller) OnAck(_ units.Time, a *congestion.Ack)   { c.acks = append(c.acks, *a) }
func (c *controller) OnNack(_ units.Time, n *congestion.Nack) { c.nacks = append(c.nacks, *n) }
func (c *controller) OnTimeout(_ units.Time, t *congestion.Timeout) {
	c.timeouts = append(c.timeouts, *t)
}
func (c *controller) Output() *congestion.Output { return &c.out }

// balancer counts up and remembers its feedback.
type balancer struct {
	next     uint16
	feedback []balance.Feedback
}

func (b *balancer) Next(units.Time) uint16 {
	b.next++
	return b.next - 1
}
func (b *balancer) OnFeedback(_ units.Time, f *balance.Feedback) { b.feedback = append(b.feedback, *f) }

// sender is a Sender with what drives it.
type sender struct {
	*transport.Sender
	t    *testing.T
	cc   *controller
	lb   *balancer
	now  units.Time
	sent map[uint32]*wire.Packet // last transmission by PSN
}

// common is what flows have in common that keep no records.
func common() *transport.Common {
	return &transport.Common{
		MTU: mtu, Sizes: sizes, RTO: rto, AckEvery: 16384, Measure: metrics.Span{To: units.Never}, Records: units.Second, Sink: metrics.Discard,
	}
}

// newSender returns a started sender of a flow of so many payload bytes.
func newSender(t *testing.T, size, window units.Size, edit ...func(*transport.SenderConfig)) *sender {
	t.Helper()
	s := &sender{t: t, cc: &controller{}, lb: &balancer{}, sent: map[uint32]*wire.Packet{}}
	s.cc.out.Window = window
	cfg := transport.SenderConfig{
		Common: common(), Flow: flow, Ends: senderEnds, Size: size, CC: s.cc, LB: s.lb,
	}
	for _, e := range edit {
		e(&cfg)
	}
	s.Sender = transport.NewSender(cfg)
	s.Start(0)
	return s
}

// send sends the next packet, a microsecond after the last.
func (s *sender) send() *wire.Packet {
	s.t.Helper()
	if !s.CanSend() {
		s.t.Fatalf("the window of %v is closed with %v in flight", s.cc.out.Window, s.Inflight())
	}
	s.now = s.now.Add(units.Microsecond)
	p := new(wire.Packet)
	s.Send(s.now, p)
	s.sent[p.PSN()] = p
	return p
}

func (s *sender) sendAll(n int) {
	s.t.Helper()
	for range n {
		s.send()
	}
}

// ack gives the sender an ACK at now.
func (s *sender) ack(f wire.AckFields, flags wire.Flags) {
	f.Flow, f.Penalty = flow, 255
	p := control(wire.Ack)
	p.SetAck(f)
	p.SetFlags(flags)
	s.OnAck(s.now, p)
}

// nack gives the sender a NACK at now for a transmission of a PSN.
func (s *sender) nack(psn uint32, transmission, code uint8, flags wire.Flags) {
	p := control(wire.Nack)
	p.SetNack(flow, uint16(psn), psn, transmission, code)
	p.SetFlags(flags)
	s.OnNack(s.now, p)
}

func control(kind wire.Kind) *wire.Packet {
	p := new(wire.Packet)
	p.Build(wire.Addresses{Source: receiverEnds.LocalIP, Destination: receiverEnds.RemoteIP}, kind, 0, wire.NotECT, 0)
	return p
}

// domain has compact tags with 32 delay buckets of 500 ns.
func domain(t testing.TB, format csig.Format) *csig.Domain {
	t.Helper()
	cfg := csig.Config{Format: format, MaxRate: 100 * units.Gbps}
	if format == csig.FormatCompact {
		cfg.Quantisers[csig.Delay].Name = "delay-lin-500ns"
	}
	d, err := csig.NewDomain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
