package host

import (
	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// mixed is what a host knows of flows that it sends or receives in a fabric with a fluid, which
// carries some of their messages, or other flows beside them.
type mixed struct {
	sends    map[uint32]*mixedFlow
	receives map[uint32]int   // messages that have arrived as a fluid
	rate     units.Rate       // of the NIC
	line     units.Serialiser // of rate
	taken    units.Rate       // of rate, by the fluid
	shares   bool             // the fluid has taken some
}

// mixedFlow is such a flow at its sender. A message waits until those before it that are not of
// its kind, packets or a fluid, are acknowledged, so that all arrive in their order.
type mixedFlow struct {
	choice  *fluid.Choice
	waiting fifo.Queue[mixedPost]
	packets bool // those under way are packets
	under   int  // messages under way
	fluid   int  // messages that have been acknowledged as a fluid
}

// mixedPost is a message that waits.
type mixedPost struct {
	player.Post
	packets bool
}

// newMixed returns nil if all flows of the host are packets, or all a fluid.
func newMixed(cfg *Config) *mixed {
	if cfg.Fluid == 0 || len(cfg.Sends)+len(cfg.Receives) == 0 {
		return nil
	}
	s := &mixed{sends: map[uint32]*mixedFlow{}, receives: map[uint32]int{}, rate: cfg.Rate}
	for i := range cfg.Sends {
		s.sends[uint32(cfg.Sends[i].ID)] = &mixedFlow{choice: cfg.Sends[i].Packets}
	}
	return s
}

// send returns a flow that the host sends, nil if none or all of its messages are a fluid.
func (s *mixed) send(id uint32) *mixedFlow {
	if s == nil {
		return nil
	}
	return s.sends[id]
}

// startTransfer starts a transfer.
func (h *Host) startTransfer(now units.Time, id uint32) {
	s, f := h.mixed.send(id), (*flow)(nil)
	if s == nil || s.choice.Packets(now, metrics.Tag{}) {
		f = h.sender(id)
	}
	if f == nil {
		h.postFluid(id, 0, 0)
		return
	}
	if s != nil {
		h.sharePackets(id, true)
	}
	f.Start(now)
	h.arm(f)
	h.offer(now, f)
}

// post posts a message of a connection.
func (h *Host) post(now units.Time, m *player.Post) {
	s := h.mixed.send(uint32(m.Flow))
	if s == nil {
		h.postPackets(now, m)
		return
	}
	packets := s.choice.Packets(now, m.Tag)
	if s.waiting.Len() > 0 || s.under > 0 && s.packets != packets {
		s.waiting.Push(mixedPost{*m, packets})
		return
	}
	h.postMixed(now, s, m, packets)
}

// postPackets posts a message of a flow as packets, if the host has it.
func (h *Host) postPackets(now units.Time, m *player.Post) {
	f := h.sender(uint32(m.Flow))
	if f == nil {
		h.postFluid(uint32(m.Flow), m.Size, m.Total)
		return
	}
	f.Post(now, transport.Message{Size: m.Size, Tag: m.Tag, Total: m.Total})
	h.arm(f)
	h.offer(now, f)
}

// postMixed posts a message before which none of the other kind is under way.
func (h *Host) postMixed(now units.Time, s *mixedFlow, m *player.Post, packets bool) {
	if packets && s.under == 0 {
		h.sharePackets(uint32(m.Flow), true)
	}
	s.packets = packets
	s.under++
	if packets {
		h.postPackets(now, m)
	} else {
		h.postFluid(uint32(m.Flow), m.Size, m.Total)
	}
}

// acked counts messages of a flow that have been acknowledged, and posts those that waited for
// that.
func (h *Host) acked(now units.Time, id uint32, s *mixedFlow, messages int) {
	if s.under -= messages; s.under > 0 {
		return
	}
	if s.packets {
		h.sharePackets(id, false)
	}
	for s.waiting.Len() > 0 && (s.under == 0 || s.waiting.At(0).packets == s.packets) {
		m, _ := s.waiting.Pop()
		h.postMixed(now, s, &m.Post, m.packets)
	}
}

// sharePackets tells the fluid network that a flow sends packets, or has sent them.
func (h *Host) sharePackets(id uint32, sends bool) {
	p := fluid.PostPackets(id, sends)
	h.sendControl(h.cfg.Fluid, p.Flow, p.Code)
}

// postFluid hands a message of a flow to the fluid network, and the bytes of its phase; size 0
// stands for a transfer, the size of which the network knows.
func (h *Host) postFluid(flow uint32, size, total units.Size) {
	var room [3]fluid.Posted
	for _, p := range fluid.Post(room[:0], flow, size, total) {
		h.sendControl(h.cfg.Fluid, p.Flow, p.Code)
	}
}

// noticeFluid takes what the fluid network tells.
func (h *Host) noticeFluid(now units.Time, p *wire.Packet) {
	if _, rate, ok := fluid.ReadTaken(p); ok {
		h.take(now, rate)
		return
	}
	n := fluid.ReadNotice(p.Flow(), p.PSN())
	switch {
	case n.Received && n.Transfer:
		h.player.OnReceived(now, int(n.Flow))
	case n.Received:
		h.player.OnMessageReceived(now, int(n.Flow), n.Messages+h.receivedPackets(n))
	case n.Transfer:
		h.player.OnSent(now, int(n.Flow))
	default:
		before := 0
		if s := h.mixed.send(n.Flow); s != nil {
			if f := &h.flows[h.senders.find(n.Flow)]; f.Sender != nil {
				before = f.Sent()
			}
			h.acked(now, n.Flow, s, n.Messages-s.fluid)
			s.fluid = n.Messages
		}
		h.player.OnMessageSent(now, int(n.Flow), n.Messages+before)
	}
	h.flush()
}

// receivedPackets returns how many messages of a flow have arrived as packets, and notes how many
// as a fluid.
func (h *Host) receivedPackets(n fluid.Notice) int {
	i := h.arrivals.find(n.Flow)
	if h.mixed == nil || i < 0 {
		return 0
	}
	h.mixed.receives[n.Flow] = n.Messages
	if r := h.receivers[i]; r != nil {
		return r.Messages()
	}
	return 0
}

// take leaves packets the rest of the NIC's rate from now on, where each flow has its turn: a packet
// is sent so much slower.
func (h *Host) take(now units.Time, rate units.Rate) {
	s := h.mixed
	if s == nil {
		return // it has no packets
	}
	s.taken, s.shares, s.line = rate, true, units.NewSerialiser(s.rate)
	h.port.Beside(now, fluid.Lending{Packet: h.cfg.MTU, Overhead: h.cfg.Sizes.Overhead}.Beside(s.rate, rate))
	h.nic = units.NewSerialiser(fluid.Left(s.rate, rate))
}
