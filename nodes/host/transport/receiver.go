package transport

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// ReceiverConfig is what a Receiver is built from.
type ReceiverConfig struct {
	*Common
	Flow    uint32
	Ends    Ends  // from the receiver's point of view
	Packets int64 // data packets of the flow; 0: a connection
	Stops   bool  // the flow may end before that, with EndOfMessage
}

// Receiver is the receiving half of a flow. What each packet needs comes first.
type Receiver struct {
	common     *Common
	flow       uint32
	cum        uint32    // every PSN below has been received
	packets    int64     // of the flow; of a connection those that may come now
	beyond     bitmap    // of PSNs beyond cum
	outOfOrder int32     // number of bits set
	entropy    uint16    // of EV 0, less wire.EntropyBase
	owed       bool      // a packet beyond a hole asked for an ACK; one more when it closes
	refusing   bool      // GoBackN: the packet expected, cum, has been asked for by a NACK
	stops      bool      // EndOfMessage says where the flow ends
	messages   *arrivals // nil: the flow is one message, of so many packets

	accepted units.Size // wire bytes of distinct packets
	unacked  units.Size // of those, since the last ACK
	totals   metrics.ReceiverTotals
	log      metrics.FlowRecorder

	ack          wire.Packet // template
	nack, answer *wire.Packet
	ends         Ends
	ev           uint16     // of what the receiver sends
	nextCNP      units.Time // none is sent before
	demand       demand     // of receiver credits
}

// NewReceiver returns a receiver.
func NewReceiver(cfg ReceiverConfig) *Receiver {
	r := &Receiver{
		common:  cfg.Common,
		flow:    cfg.Flow,
		packets: cfg.Packets,
		stops:   cfg.Stops,
		entropy: wire.EntropyOffset(cfg.Flow),
		totals:  metrics.ReceiverTotals{Flow: int32(cfg.Flow), Done: units.Never},
		log:     metrics.NewFlowRecorder(int(cfg.Flow), cfg.Records, cfg.Sink),
		ends:    cfg.Ends,
	}
	if cfg.Packets == 0 {
		r.messages, r.packets = &arrivals{}, psnRange
	}
	r.build(&r.ack, wire.Ack)
	return r
}

func (r *Receiver) build(p *wire.Packet, kind wire.Kind) {
	e := r.ends
	p.Build(wire.Addresses{Source: e.LocalIP, Destination: e.RemoteIP, SourcePort: wire.SourcePort(r.flow, r.ev)}, kind, 0, wire.NotECT, 0)
	p.SetMACs(e.RemoteMAC, e.LocalMAC)
	p.Size = r.common.Sizes.Of(p)
}

// template returns a template that not every flow needs. It is built when it is asked for
// the first time.
func (r *Receiver) template(at **wire.Packet, kind wire.Kind) *wire.Packet {
	if *at == nil {
		*at = new(wire.Packet)
		r.build(*at, kind)
	}
	return *at
}

// OnReturned takes the notice that a switch dropped a packet of the receiver, because the
// port that it was for is down: what the receiver sends takes another EV from now on, unless
// it has done so since. An ACK that comes later repeats what the dropped one said.
func (r *Receiver) OnReturned(p *wire.Packet) {
	if p.EV() != r.ev {
		return
	}
	r.ev++
	r.build(&r.ack, wire.Ack)
	r.nack, r.answer = nil, nil
}

// evOf returns the EV of a packet of the flow.
func (r *Receiver) evOf(p *wire.Packet) uint16 {
	return (p.SourcePort() - wire.EntropyBase - r.entropy) % wire.EntropyRange
}

// Touch reads from each of the cache lines that a packet of the flow needs, and returns a
// number that means nothing (node.Toucher).
func (r *Receiver) Touch() int64 {
	if r.Done() {
		return 0
	}
	return int64(r.unacked+r.ack.Touch()) + r.totals.DeliveredWhole + r.totals.MeasuredWire + r.log.Touch()
}

// Expects reports whether the flow has a packet of p's PSN. Of a connection it reports
// whether the PSN is less than psnRange beyond the first that is missing.
func (r *Receiver) Expects(p *wire.Packet) bool { return int64(p.PSN()) < r.packets }

// OnData takes an expected data packet of this flow, trimmed or whole, and
// writes the ACK or NACK that it wants into reply, if it wants one.
func (r *Receiver) OnData(now units.Time, p, reply *wire.Packet) bool {
	if r.common.Recovery == GoBackN && (p.PSN() > r.cum || p.Trimmed()) {
		return r.rejectOutOfOrder(p, reply)
	}
	if p.Trimmed() {
		r.refuse(p, reply)
		return true
	}
	psn, flags := p.PSN(), p.Flags()
	first := r.totals.DeliveredWhole == 0
	r.totals.DeliveredWhole++
	from := r.cum
	fresh, completes := r.accept(psn), false
	if fresh {
		if r.messages != nil {
			completes = r.arrive(psn, from, flags&wire.EndOfMessage != 0)
		} else if r.stops && flags&wire.EndOfMessage != 0 {
			r.packets = int64(psn) + 1
		}
		r.count(now, p)
	} else {
		r.totals.Duplicates++
	}
	// ACK at once if marked, asked for, first of the flow, a duplicate, or when
	// it closes the hole before a packet that asked or completes a message of a
	// connection; otherwise every AckEvery bytes.
	marked := p.ECN() == wire.CE
	urgent := marked || flags&wire.AckRequest != 0
	closes := r.owed && r.outOfOrder == 0 || completes
	r.owed = (r.owed || flags&wire.AckRequest != 0) && r.outOfOrder > 0
	if !urgent && !first && fresh && !closes && r.unacked < r.common.AckEvery {
		return false
	}
	r.acknowledge(p, reply, psn, marked, urgent)
	return true
}

func (r *Receiver) count(now units.Time, p *wire.Packet) {
	payload := units.Size(p.PayloadLen)
	size := r.common.Sizes.Header + payload
	r.accepted += size
	r.unacked += size
	r.totals.PayloadBytes += int64(payload)
	r.log.Receive(now, int64(size), int64(payload))
	if r.common.Measure.Contains(now) {
		r.totals.MeasuredWire += int64(size)
		r.totals.MeasuredPayload += int64(payload)
	}
	if r.messages != nil {
		r.becomeIdle(now)
	}
	if r.Done() {
		r.totals.Done = now
		r.beyond = nil
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
		Flow:       r.flow,
		EV:         r.evOf(p),
		Cumulative: r.cum,
		Acked:      psn,
		SackBase:   base,
		SackBits:   r.sack(base),
		Received:   uint64(r.accepted),
		OutOfOrder: uint16(min(r.outOfOrder, 1<<16-1)),
		Penalty:    255,
	})
	reply.SetEcho(p.Tag())
	if r.common.Needs.Hops {
		reply.SetHops(p.Crossed())
	}
	r.unacked = 0
	r.totals.AcksSent++
}

func (r *Receiver) refuse(p, reply *wire.Packet) {
	r.totals.DeliveredTrimmed++
	var flags wire.Flags
	if p.ECN() == wire.CE {
		flags = wire.ECNEcho
	}
	reply.CopyHeader(r.template(&r.nack, wire.Nack))
	reply.SetFlags(flags)
	reply.SetNack(r.flow, r.evOf(p), p.PSN(), p.Transmission(), nackCode(p))
	reply.SetEcho(p.Tag())
	r.totals.NacksSent++
}

// rejectOutOfOrder takes a packet that GoBackN does not accept: trimmed, or behind a hole. It reports
// whether there is a NACK, which is one for each time that the packet expected comes
// trimmed, and one for all that come behind it.
func (r *Receiver) rejectOutOfOrder(p, reply *wire.Packet) bool {
	expected := p.PSN() <= r.cum
	again := r.refusing
	r.refusing = r.refusing || p.PSN() >= r.cum
	if p.Trimmed() && expected {
		r.refuse(p, reply)
		return true
	}
	if p.Trimmed() {
		r.totals.DeliveredTrimmed++
	} else {
		r.totals.DeliveredWhole++
		r.totals.OutOfSequence++
	}
	if again {
		return false
	}
	reply.CopyHeader(r.template(&r.nack, wire.Nack))
	reply.SetNack(r.flow, r.evOf(p), r.cum, 0, wire.NackSequence)
	r.totals.NacksSent++
	return true
}

// accept records a PSN and reports whether it is new.
func (r *Receiver) accept(psn uint32) bool {
	if psn < r.cum || r.has(psn) {
		return false
	}
	if psn == r.cum {
		r.cum++
		r.refusing = false
		for r.outOfOrder > 0 && r.has(r.cum) {
			r.beyond.flip(r.cum)
			r.outOfOrder--
			r.cum++
		}
		return true
	}
	r.beyond.reserve(r.cum, psn)
	r.beyond.flip(psn)
	r.outOfOrder++
	return true
}

// has reports whether a PSN beyond cum has been received; it has none of those
// below, which wrap around to far beyond.
func (r *Receiver) has(psn uint32) bool { return r.beyond.has(r.cum, psn) }

// sack returns which of the 64 PSNs from base have been received beyond the
// cumulative acknowledgement.
func (r *Receiver) sack(base uint32) (set uint64) {
	if r.outOfOrder == 0 {
		return 0
	}
	// A place of the bitmap is that of many PSNs: only those in [cum, cum+span) count.
	from, to := max(base, r.cum), min(int64(base)+64, int64(r.cum)+int64(r.beyond.span()))
	if int64(from) >= to {
		return 0
	}
	set = *r.beyond.word(base)>>(base%64) | *r.beyond.word(base + 64)<<(64-base%64)
	below, above := from-base, 64-(to-int64(base))
	return set >> below << below << above >> above
}

// Done reports whether the receiver has every byte. Of a connection it never knows.
func (r *Receiver) Done() bool { return int64(r.cum) == r.packets }

// Delivered returns the distinct payload bytes received so far.
func (r *Receiver) Delivered() int64 { return r.totals.PayloadBytes }

// Close closes the flow's windows and returns its totals.
func (r *Receiver) Close() metrics.ReceiverTotals {
	r.log.Close()
	return r.totals
}
