package transport

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// ReceiverConfig is what a Receiver is built from.
type ReceiverConfig struct {
	Flow     uint32
	Ends     Ends  // from the receiver's point of view
	Packets  int64 // data packets of the flow
	Sizes    wire.Sizes
	AckEvery units.Size     // accepted bytes between coalesced ACKs
	Measure  metrics.Span   // totals are counted inside it too
	Records  units.Duration // telemetry interval
	Sink     metrics.Sink   // takes the flow's windows
}

// Receiver is the receiving half of a flow.
type Receiver struct {
	cfg ReceiverConfig

	cum        uint32   // every PSN below has been received
	beyond     []uint64 // bitmap of PSNs in (cum, cum+64*len), PSN p at bit p mod 64*len
	outOfOrder int      // number of bits set
	owed       bool     // a packet beyond a hole asked for an ACK; one more when it closes

	accepted units.Size // wire bytes of distinct packets
	unacked  units.Size // of those, since the last ACK

	ack, nack, answer wire.Packet // templates

	totals metrics.ReceiverTotals
	log    metrics.FlowRecorder
}

// NewReceiver returns a receiver.
func NewReceiver(cfg ReceiverConfig) *Receiver {
	r := &Receiver{
		cfg:    cfg,
		beyond: make([]uint64, 4),
		log:    metrics.NewFlowRecorder(int(cfg.Flow), cfg.Records, cfg.Sink),
	}
	r.totals = metrics.ReceiverTotals{Flow: int32(cfg.Flow), Done: units.Never}
	r.build(&r.ack, wire.Ack)
	r.build(&r.nack, wire.Nack)
	r.build(&r.answer, wire.ProbeReply)
	return r
}

func (r *Receiver) build(p *wire.Packet, kind wire.Kind) {
	e := r.cfg.Ends
	p.Build(wire.Addresses{Source: e.LocalIP, Destination: e.RemoteIP, SourcePort: SourcePort(r.cfg.Flow, 0)}, kind, 0, wire.NotECT, 0)
	p.SetMACs(e.RemoteMAC, e.LocalMAC)
	p.Size = r.cfg.Sizes.Of(p)
}

// Expects reports whether the flow has a packet of p's PSN.
func (r *Receiver) Expects(p *wire.Packet) bool { return int64(p.PSN()) < r.cfg.Packets }

// OnData takes an expected data packet of this flow, trimmed or whole, and
// writes the ACK or NACK that it wants into reply, if it wants one.
func (r *Receiver) OnData(now units.Time, p, reply *wire.Packet) bool {
	if p.Trimmed() {
		r.refuse(p, reply)
		return true
	}
	psn, flags := p.PSN(), p.Flags()
	first := r.totals.DeliveredWhole == 0
	r.totals.DeliveredWhole++
	fresh := r.accept(psn)
	if fresh {
		r.count(now, p)
	} else {
		r.totals.Duplicates++
	}
	// ACK at once if marked, asked for, first of the flow, a duplicate, or when
	// it closes the hole before a packet that asked; otherwise every AckEvery
	// bytes.
	marked := p.ECN() == wire.CE
	urgent := marked || flags&wire.AckRequest != 0
	closes := r.owed && r.outOfOrder == 0
	r.owed = (r.owed || flags&wire.AckRequest != 0) && r.outOfOrder > 0
	if !urgent && !first && fresh && !closes && r.unacked < r.cfg.AckEvery {
		return false
	}
	r.acknowledge(p, reply, psn, marked, urgent)
	return true
}

func (r *Receiver) count(now units.Time, p *wire.Packet) {
	payload := units.Size(p.PayloadLen)
	size := r.cfg.Sizes.Header + payload
	r.accepted += size
	r.unacked += size
	r.totals.PayloadBytes += int64(payload)
	r.log.Receive(now, int64(size), int64(payload))
	if r.cfg.Measure.Contains(now) {
		r.totals.MeasuredWire += int64(size)
		r.totals.MeasuredPayload += int64(payload)
	}
	if r.Done() {
		r.totals.Done = now
	}
}

func (r *Receiver) acknowledge(p, reply *wire.Packet, psn uint32, marked, urgent bool) {
	var flags wire.Flags
	if marked {
		flags |= wire.ECNEcho
	}
	if p.Flags()&wire.Retransmit != 0 {
		flags |= wire.RetransmitEcho
	}
	base := psn
	if !urgent {
		base = max(r.cum+1, max(psn, 63)-63)
	}
	reply.CopyHeader(&r.ack)
	reply.SetFlags(flags)
	reply.SetAck(wire.AckFields{
		Flow:       r.cfg.Flow,
		EV:         EntropyOf(r.cfg.Flow, p.SourcePort()),
		Cumulative: r.cum,
		Acked:      psn,
		SackBase:   base,
		SackBits:   r.sack(base),
		Received:   uint64(r.accepted),
		OutOfOrder: uint16(min(r.outOfOrder, 1<<16-1)),
		Penalty:    255,
	})
	reply.SetEcho(p.Tag())
	r.unacked = 0
	r.totals.AcksSent++
}

func (r *Receiver) refuse(p, reply *wire.Packet) {
	r.totals.DeliveredTrimmed++
	var flags wire.Flags
	if p.ECN() == wire.CE {
		flags = wire.ECNEcho
	}
	reply.CopyHeader(&r.nack)
	reply.SetFlags(flags)
	reply.SetNack(r.cfg.Flow, EntropyOf(r.cfg.Flow, p.SourcePort()), p.PSN(), p.Transmission(), nackCode(p))
	reply.SetEcho(p.Tag())
	r.totals.NacksSent++
}

// accept records a PSN and reports whether it is new.
func (r *Receiver) accept(psn uint32) bool {
	if psn < r.cum || r.has(psn) {
		return false
	}
	if psn == r.cum {
		r.cum++
		for r.outOfOrder > 0 && r.has(r.cum) {
			r.flip(r.cum)
			r.outOfOrder--
			r.cum++
		}
		return true
	}
	for psn-r.cum >= r.span() {
		r.grow()
	}
	r.flip(psn)
	r.outOfOrder++
	return true
}

func (r *Receiver) span() uint32 { return uint32(len(r.beyond)) * 64 }

// has reports whether a PSN beyond cum has been received; it has none of those
// below, which wrap around to far beyond.
func (r *Receiver) has(psn uint32) bool {
	return psn-r.cum < r.span() && r.beyond[psn%r.span()/64]>>(psn%64)&1 != 0
}

func (r *Receiver) flip(psn uint32) { r.beyond[psn%r.span()/64] ^= 1 << (psn % 64) }

func (r *Receiver) grow() {
	old, span := r.beyond, r.span()
	r.beyond = make([]uint64, 2*len(old))
	for psn := r.cum; psn-r.cum < span; psn++ {
		if old[psn%span/64]>>(psn%64)&1 != 0 {
			r.flip(psn)
		}
	}
}

// sack returns which of the 64 PSNs from base have been received beyond the
// cumulative acknowledgement.
func (r *Receiver) sack(base uint32) (bits uint64) {
	if r.outOfOrder == 0 {
		return 0
	}
	for i := range uint32(64) {
		if r.has(base + i) {
			bits |= 1 << i
		}
	}
	return bits
}

// Done reports whether the receiver has every byte.
func (r *Receiver) Done() bool { return int64(r.cum) == r.cfg.Packets }

// Delivered returns the distinct payload bytes received so far.
func (r *Receiver) Delivered() int64 { return r.totals.PayloadBytes }

// Close closes the flow's windows and returns its totals.
func (r *Receiver) Close() metrics.ReceiverTotals {
	r.log.Close()
	return r.totals
}
