package host

import (
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Receive takes a packet from the fabric, from the programs or from a control port.
func (h *Host) Receive(now units.Time, port int, p *wire.Packet) {
	if h.edge != nil && (port == shim.Application || port == NIC && p.Kind() == wire.Raw) {
		h.receiveRaw(now, port, p)
		return
	}
	switch kind := p.Kind(); {
	case port == h.cfg.Fluid && port != NIC:
		h.noticeFluid(now, p)
	case port != NIC:
		if kind != wire.Control || !h.player.OnMessage(now, p.Flow(), p.PSN()) {
			h.drops[dropUnexpected]++
		}
		h.flush()
	case kind >= wire.Pause: // or raw
		if kind == wire.Pause && h.classes != nil {
			h.receivePause(now, p)
		} else {
			h.drops[dropUnexpected]++
		}
	case p.Destination() != h.ip:
		h.drops[dropMisdirected]++
	case kind == wire.Data:
		h.receiveData(now, p)
	case kind == wire.Probe:
		h.receiveProbe(p)
	case kind == wire.Postcard && h.postcards != nil:
		h.receivePostcard(now, p)
	case kind == wire.CreditRequest && h.puller != nil:
		h.receiveRequest(now, p)
	default:
		h.receiveReply(now, kind, p)
	}
	h.pool.Put(p)
}

// receiveRaw takes a frame from or for the programs.
func (h *Host) receiveRaw(now units.Time, port int, p *wire.Packet) {
	if port == shim.Application {
		h.edge.Send(now, p)
		h.offerPrograms()
	} else {
		h.edge.Deliver(now, p)
	}
	if h.edge.Inbound() {
		h.ready.Add(shim.Application)
	}
}

func (h *Host) receiveData(now units.Time, p *wire.Packet) {
	r := h.receiver(p.Flow())
	if r == nil {
		h.drops[dropUnknownFlow]++
		return
	}
	if !r.Expects(p) {
		h.drops[dropBeyond]++
		return
	}
	done, before, messages := r.Done(), r.Delivered(), r.Messages()
	reply := h.pool.Get()
	if !r.OnData(now, p, reply) {
		h.pool.Put(reply)
	} else {
		reply.EnqueuedAt = now
		h.queueControl(reply)
	}
	if h.more && h.puller != nil {
		h.puller.OnDemand(now, r, p)
	}
	if r.Notifies(now, p) {
		cnp := h.pool.Get()
		r.Notify(now, cnp)
		h.queueControl(cnp)
	}
	h.delivered += r.Delivered() - before
	if !done && r.Done() {
		h.player.OnReceived(now, int(p.Flow()))
		h.flush()
	}
	if n := r.Messages(); n > messages {
		if h.mixed != nil {
			n += h.mixed.receives[p.Flow()]
		}
		h.player.OnMessageReceived(now, int(p.Flow()), n)
		h.flush()
	}
}

func (h *Host) receiveProbe(p *wire.Packet) {
	r := h.receiver(p.Flow())
	if r == nil {
		h.drops[dropUnknownFlow]++
		return
	}
	reply := h.pool.Get()
	r.OnProbe(p, reply)
	h.queueControl(reply)
}

func (h *Host) receiveRequest(now units.Time, p *wire.Packet) {
	r := h.receiver(p.Flow())
	if r == nil {
		h.drops[dropUnknownFlow]++
		return
	}
	h.puller.OnDemand(now, r, p)
}

// receivePostcard takes a sample that a switch has sent, and sends weights that follow.
func (h *Host) receivePostcard(now units.Time, p *wire.Packet) {
	var echo [wire.EchoLen]byte
	sample, ok := h.domain.DecodeEcho(echo[:p.Echo(&echo)])
	if !ok {
		h.drops[dropUnexpected]++
		return
	}
	if !h.postcards.Receive(now, sample, h.domain.Label(&sample)) {
		return
	}
	set, to := h.postcards.Settings(now)
	for i := range set {
		q := h.pool.Get()
		q.Build(wire.Addresses{Source: h.ip, Destination: to[i], SourcePort: wire.EntropyBase}, wire.Weights, 0, wire.NotECT, 0)
		q.SetMACs(h.cfg.NextHopMAC, h.cfg.MAC)
		q.SetWeights(&set[i])
		q.Size = h.sizes.Of(q)
		h.queueControl(q)
	}
}

// queueControl puts a packet that is not data in the NIC's control queue.
func (h *Host) queueControl(p *wire.Packet) {
	h.control.Push(p)
	h.port.Enqueue(int64(p.Size))
	h.ready.Add(NIC)
}

func (h *Host) receiveReply(now units.Time, kind wire.Kind, p *wire.Packet) {
	f := h.sender(p.Flow())
	if f == nil {
		if r := h.receiver(p.Flow()); r != nil && kind == wire.Nack && p.NackCode() == wire.NackPortDown {
			r.OnReturned(p)
			return
		}
		h.drops[dropUnknownFlow]++
		return
	}
	switch kind {
	case wire.Ack:
		done, messages := f.Done(), f.Sent()
		f.OnAck(now, p)
		ended := !done && f.Done()
		if ended {
			f.deadline = units.Never
			h.timeout = h.earliest() // the flow's timer is cancelled
		}
		switch n := f.Sent(); {
		case n > messages:
			if s := h.mixed.send(p.Flow()); s != nil {
				h.acked(now, p.Flow(), s, n-messages)
				n += s.fluid
			}
			h.player.OnMessageSent(now, h.cfg.Sends[f.at].ID, n)
			h.flush()
		case ended:
			if h.mixed != nil {
				h.sharePackets(p.Flow(), false)
			}
			h.player.OnSent(now, h.cfg.Sends[f.at].ID)
			h.flush()
		}
	case wire.Nack:
		f.OnNack(now, p)
	case wire.ProbeReply:
		f.OnProbeReply(now, p)
	case wire.CNP:
		f.OnCNP(now)
	case wire.Credit:
		f.OnCredit(now, p)
	default:
		h.drops[dropUnexpected]++
		return
	}
	if f.Timed(now) {
		h.arm(f)
	}
	h.offer(now, f)
}
