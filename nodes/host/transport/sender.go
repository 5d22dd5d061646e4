// Package transport is the reliable transport of the host: UET-like, over IPv4
// and UDP. A Sender and a Receiver are the two halves of a flow, plain state
// machines that the host machine drives: it hands them packets and the time,
// asks them for packets, and owns the NIC. Rules follow the public reference
// simulator (ultraethernet/uet-htsim @40ccb05) unless a line says otherwise.
package transport

import (
	"math/bits"
	"math/rand/v2"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Ends are the addresses that a flow's packets carry.
type Ends struct {
	LocalIP, RemoteIP   uint32
	LocalMAC, RemoteMAC [6]byte // RemoteMAC is the next hop's
}

// Common is the configuration of a host's flows, which does not change, and their scratch
// space. It belongs to one goroutine.
type Common struct {
	MTU      units.Size // wire size of a full data packet
	Sizes    wire.Sizes
	RTO      units.Duration
	AckEvery units.Size // accepted bytes between coalesced ACKs
	Recovery Recovery
	Credit   *CreditTerms // nil: receivers grant no credit
	Sleek    *SleekTerms  // with Recovery Sleek
	Measure  metrics.Span // of the FlowMeasurement, and of some totals of the receiver
	Needs    congestion.Needs
	GiveUp   GiveUp
	Records  units.Duration  // telemetry interval
	Domain   *csig.Domain    // nil without CSIG
	LastHops csig.LocatorSet // locators that stand for ports to hosts alone
	Place    TrimPlace       // of trimmed packets: what says it
	Actions  []string        // names of the controller's actions, by index, for the records
	Sink     metrics.Sink    // takes the flows' windows and events, and their FlowMeasurements
	Traced   metrics.Traced  // events to record
	Truth    metrics.TruthChoice
	Bounds   Bounds // of the controllers' windows
	scratch
}

// scratch is what the flows of a host share while the host handles one event. A pointer to
// an event that goes to an interface would be a new object each time if it were not here.
type scratch struct {
	Waiting int      // with Credit: flows that have their turn at the NIC, the one that sends included
	rings   [][]slot // of connections that are idle, for others

	ack     congestion.Ack // what a controller gets
	nack    congestion.Nack
	late    congestion.Timeout
	sent    congestion.Send
	phase   congestion.Phase
	outcome balance.Feedback     // what a balancer gets
	sample  metrics.TaggedSample // what recordTruth emits
}

// mss returns the payload bytes of a full packet.
func (c *Common) mss() units.Size { return c.MTU - c.Sizes.Header }

// lacks returns how many bytes the last packet of a message lacks of a full one.
func (c *Common) lacks(size units.Size) uint16 { return uint16((c.mss() - size%c.mss()) % c.mss()) }

// SenderConfig is what a Sender is built from.
type SenderConfig struct {
	*Common
	Flow    uint32
	Ends    Ends
	Size    units.Size // payload bytes of the flow; 0: a connection, whose messages come by Post
	Stop    units.Time // when a flow that is no connection ends its message; 0: when all is sent
	CC      congestion.Controller
	LB      balance.Balancer
	Tagging Tagging
	Paths   PathSignals
	DSCP    uint8      // of data and probes; 0: wire.DSCPTrimmable
	Random  *rand.Rand // of the packets that are tagged; may be nil without CSIG, and unless Tagging draws
	Types   *rand.Rand // of the order in which tags ask for types; nil: the same in every round
}

// backlog is what a flow has to send: the PSNs from next to packets.
type backlog struct {
	connection *connection // nil: the flow is one message, all of it known from the start
	packets    uint32      // of the flow; of a connection those of the messages so far
	last       uint32      // PSN of the last packet of the message that next is of
	size       units.Size  // payload bytes of packets
	lastShort  uint16      // bytes that the packet last lacks of a full one
	ready      bool        // the flow has started
	starting   bool        // no packet has been sent since; of a connection since it was idle
}

// records is what the records of a flow are made from.
type records struct {
	events *metrics.EventRecorder // nil: the flow is not traced
	totals metrics.SenderTotals
	meter  metrics.FlowMeter
	ccLog  metrics.CCRecorder
}

// headers is what the headers of a flow's packets are made from.
type headers struct {
	full wire.Packet // template of a full-size packet, without a tag
	ends Ends
	flow uint32
	dscp uint8 // of data and probes; 0: wire.DSCPTrimmable
}

// options is what few flows have. Sender.extra says that a flow may have some of it.
type options struct {
	listener *listener  // nil: the controller has the events of every controller alone
	pacer    *pacer     // nil: the flow has never been paced
	stop     units.Time // of a flow that has not stopped; units.Never: when all is sent
	credit   *credit    // nil without Common.Credit
	silence  *silence   // nil before a timeout that may make the flow give up
	sleek    *sleek     // nil without Common.Sleek
}

// Sender is the sending half of a flow. What each packet needs comes first.
type Sender struct {
	flight
	cc         *congestion.Output
	controller congestion.Controller
	lb         balance.Balancer
	backlog
	timeout    units.Time  // never later than the oldest outstanding packet's
	signalling *signalling // nil without CSIG
	entropy    uint16      // of EV 0, less wire.EntropyBase
	lastEV     uint16      // of the last data packet
	extra      bool        // there is a listener, a pacer or another of the options
	records
	headers
	options
}

// startRing is the most packets for which a flow has room before it has sent any.
const startRing = 64

// NewSender returns a sender that waits for Start, or of a connection for Post.
func NewSender(cfg SenderConfig) *Sender {
	s := &Sender{
		flight:     flight{common: cfg.Common},
		cc:         cfg.CC.Output(),
		controller: cfg.CC,
		lb:         cfg.LB,
		backlog:    backlog{packets: uint32(Packets(cfg.Size, cfg.MTU, cfg.Sizes.Header)), size: cfg.Size},
		timeout:    units.Never,
		entropy:    wire.EntropyOffset(cfg.Flow),
		records: records{
			events: cfg.Traced.Recorder(int32(cfg.Flow), cfg.Sink),
			totals: metrics.SenderTotals{Flow: int32(cfg.Flow), Start: units.Never, Done: units.Never},
			meter:  metrics.NewFlowMeter(int(cfg.Flow)),
			ccLog:  metrics.NewCCRecorder(int(cfg.Flow), cfg.Records, cfg.Actions, cfg.Sink),
		},
		headers: headers{ends: cfg.Ends, flow: cfg.Flow, dscp: cfg.DSCP},
		options: options{listener: newListener(cfg.CC), stop: units.Never},
	}
	if cfg.Size > 0 {
		s.ring = make([]slot, 1<<bits.Len32(min(s.packets, startRing)-1))
		s.last, s.lastShort, s.starting = s.packets-1, cfg.lacks(cfg.Size), true
	} else {
		s.connection = &connection{}
	}
	if cfg.Credit != nil {
		s.credit = &credit{left: cfg.Credit.Max, speculating: true, requested: units.Never, retry: units.Never}
	}
	if cfg.Sleek != nil {
		s.sleek = &sleek{probeAt: units.Never}
	}
	if cfg.Stop > 0 {
		s.stop = cfg.Stop
	}
	s.extra = s.listener != nil || s.credit != nil || s.sleek != nil || s.stop != units.Never
	if cfg.Domain != nil {
		s.signalling = newSignalling(&cfg)
	}
	s.build(&s.full, &cfg.Sizes, int(cfg.mss()))
	return s
}

// Packets returns the number of data packets of a flow of size payload bytes.
func Packets(size, mtu, header units.Size) int64 {
	mss := mtu - header
	return int64((size + mss - 1) / mss)
}

// build writes the headers that all packets of the flow with this payload share.
func (h *headers) build(p *wire.Packet, sizes *wire.Sizes, payload int) {
	e := &h.ends
	p.Build(wire.Addresses{Source: e.LocalIP, Destination: e.RemoteIP, SourcePort: wire.EntropyBase}, wire.Data, 0, wire.ECT0, payload)
	h.setClass(p)
	p.SetMACs(e.RemoteMAC, e.LocalMAC)
	p.SetData(h.flow, 0, 1)
	p.Size = sizes.Of(p)
}

// buildBare writes the headers of a packet without payload with an EV.
func (h *headers) buildBare(p *wire.Packet, kind wire.Kind, ecn uint8, ev uint16) {
	e := &h.ends
	p.Build(wire.Addresses{Source: e.LocalIP, Destination: e.RemoteIP, SourcePort: wire.SourcePort(h.flow, ev)}, kind, 0, ecn, 0)
	p.SetMACs(e.RemoteMAC, e.LocalMAC)
}

// Touch reads from each of the cache lines that a packet or an ACK of the flow needs, and
// returns a number that means nothing (node.Toucher).
func (s *Sender) Touch() int64 {
	if s.Done() {
		return 0
	}
	sum := s.slot(s.next).sentAt + s.slot(s.cum).sentAt + s.timeout
	return int64(sum) + int64(s.cc.Window+s.full.Touch()) + int64(s.lastEV) + s.totals.AcksReceived + s.ccLog.Touch() + s.meter.Touch()
}

// Start makes the flow ready to send.
func (s *Sender) Start(now units.Time) {
	s.ready = true
	s.totals.Start = now
	if s.stop <= now {
		s.endEarly()
	}
	s.onPhase(now, true)
}

// Done reports whether every byte is acknowledged, of a connection every byte so far.
func (s *Sender) Done() bool { return s.cum == s.packets }

// CanSend reports whether the window and the credit let the next packet out, which pacing
// may still hold back.
func (s *Sender) CanSend() bool {
	if !s.ready {
		return false
	}
	var size units.Size
	psn, again := s.nextRefused()
	if again {
		size = s.sizeOf(psn)
	} else if s.next < s.packets {
		if s.connection != nil && s.next-s.cum >= psnRange {
			return false
		}
		size = s.nextSize()
	} else {
		return false
	}
	if s.extra && s.credit != nil && s.credit.left <= 0 {
		return false
	}
	if again && s.extra && s.sleek != nil && s.sleek.recovering {
		return true
	}
	inflight := s.Inflight()
	return s.cc.Window >= inflight+size || inflight == 0 && s.cc.PacingRate > 0
}

// begin is called when the first new packet is sent, of a connection the first since it was
// idle.
func (s *Sender) begin(now units.Time) {
	s.starting = false
	if s.signalling != nil {
		s.signalling.start(now, s.cc.Wants.Any())
	}
}

// endMessage is called when the last packet of a message, which is new, is sent.
func (s *Sender) endMessage(psn uint32) {
	sl := s.slot(psn)
	sl.end, sl.short = true, s.lastShort
	if s.connection != nil {
		s.nextMessage()
	}
}

// Send writes the next packet into p. It may be called after CanSend.
func (s *Sender) Send(now units.Time, p *wire.Packet) {
	psn, again := s.nextRefused()
	if s.common.Measure.Contains(now) {
		s.meter.Sent(again)
	}
	var flags wire.Flags
	if again {
		s.rtx.Pop()
		s.totals.Retransmitted++
		flags = wire.Retransmit | wire.AckRequest
	} else {
		if s.starting {
			s.begin(now)
		}
		psn = s.next
		s.next++
		if s.next-s.cum > uint32(len(s.ring)) {
			s.grow()
		}
		*s.slot(psn) = slot{}
		if psn == s.last {
			s.endMessage(psn)
		}
		s.totals.NewPackets++
	}
	sl := s.slot(psn)
	sl.state, sl.sentAt = outstanding, now
	if sl.transmissions < 255 {
		sl.transmissions++
	}
	size := s.sizeOf(psn)
	s.outstanding += size
	if s.timeout == units.Never {
		s.timeout = now.Add(s.common.RTO)
	}
	// An ACK is wanted at the end of a message, and when the flow has nothing more to send
	// now: a packet like this one would not fit in the window, or the credit is used. An error of
	// one packet here moves the ratio of three-flow with CSIG from 2.3 to 1.6.
	if sl.end || s.Inflight()+size >= s.cc.Window || s.extra && s.credit != nil && s.credit.left <= size {
		flags |= wire.AckRequest
	}
	if sl.end {
		flags |= wire.EndOfMessage
	}
	if sl.short > 0 {
		s.build(p, &s.common.Sizes, int(size-s.common.Sizes.Header))
	} else {
		p.CopyHeader(&s.full)
	}
	tagged := s.signalling != nil && s.signalling.sampler.Due(now)
	if tagged && s.signalling.tagging.Some() {
		flags |= wire.AckRequest
	}
	sl.ev = s.lb.Next(now)
	s.lastEV = sl.ev
	p.Retarget(flags, wire.EntropyBase+(s.entropy+sl.ev)%wire.EntropyRange, psn, sl.transmissions)
	if tagged {
		s.signalling.insert(p, s.cc.Wants)
		p.Size = s.common.Sizes.Of(p)
	}
	if s.extra || s.cc.PacingRate > 0 {
		s.onSend(now, p, size, again)
	}
	if s.events.Wants(metrics.EventSend) {
		s.events.Emit(metrics.Event{
			Kind: metrics.EventSend, At: now, Packet: int64(psn), EV: int32(sl.ev), Bytes: int64(p.Size), Again: again,
			Cwnd: int64(s.cc.Window), Inflight: int64(s.Inflight()), Pacing: s.cc.PacingRate, Tag: s.tagOf(psn),
		})
	}
}

// OnAck takes an ACK of this flow.
func (s *Sender) OnAck(now units.Time, p *wire.Packet) {
	f := p.Ack()
	s.totals.AcksReceived++
	if s.connection != nil {
		s.setLabel(f.Acked)
	}
	event := &s.common.ack
	event.EV, event.ECN, event.Penalty, event.Acked = f.EV, p.Flags()&wire.ECNEcho != 0, f.Penalty, 0
	if s.common.Needs.HostDelay {
		event.HostDelay, event.HasHostDelay = p.HostDelay()
	}
	if s.common.Needs.Hops {
		event.Hops = p.Hops()
	}
	if got := units.Size(f.Received); got > s.reported {
		event.Acked, s.reported = got-s.reported, got
	}
	dated := s.dated(f.Acked, p.Flags()&wire.RetransmitEcho != 0)
	outcome := &s.common.outcome
	*outcome = balance.Feedback{EV: f.EV, Acked: event.Acked, Dated: dated}
	if dated {
		outcome.Age = now.Sub(s.slot(f.Acked).sentAt)
	}
	if event.ECN {
		outcome.Outcome = balance.Marked
	}
	event.RTT, event.HasRTT = 0, dated && s.slot(f.Acked).state == outstanding
	if event.HasRTT {
		event.RTT = now.Sub(s.slot(f.Acked).sentAt)
	}
	var sample held
	if g := s.signalling; g != nil {
		if event.HasRTT {
			g.rtt = event.RTT
		}
		sample = s.sampleOf(now, p, f.Acked, f.EV, dated)
		g.signals(now, s.cc, &sample, &event.CSIG)
	}
	event.AckedPackets = s.acknowledge(f)
	s.feedback(now, outcome, &sample)
	event.Inflight = s.Inflight()
	s.controller.OnAck(now, event)
	s.common.Bounds.check(s.cc)
	if s.extra && s.sleek != nil {
		s.recover(now, f.OutOfOrder)
	}
	s.ccLog.Ack(now, metrics.Answer{Action: s.cc.Action, Delay: s.cc.Delay, Cwnd: int64(s.cc.Window), Pacing: s.cc.PacingRate, BaseRTT: s.cc.BaseRTT})
	if s.extra && s.credit != nil {
		s.credit.feedback(now, s.common.RTO)
	}
	s.measureAck(now, event)
	if s.events != nil {
		s.traceReaction(true)
		s.traceAck(now, f.Acked, event)
	}
	if s.connection != nil {
		s.closeMessages(now)
	}
	if s.Done() && s.totals.Done == units.Never {
		s.complete(now)
	}
}

// complete is called when every byte is acknowledged. A connection may get more.
func (s *Sender) complete(now units.Time) {
	s.totals.Done = now
	s.timeout = units.Never
	if g := s.signalling; g != nil {
		s.recordSampleGap(now)
		g.nextProbe, g.last = units.Never, units.Never
	}
	if s.connection != nil {
		s.becomeIdle()
		return
	}
	s.onPhase(now, false)
	s.ring, s.rtx = nil, fifo.Queue[uint32]{}
}

// measureAck counts an ACK of the measuring window that the controller has had.
func (s *Sender) measureAck(now units.Time, event *congestion.Ack) {
	if !s.common.Measure.Contains(now) {
		return
	}
	rtt := units.Duration(metrics.Absent)
	if event.HasRTT {
		rtt = event.RTT
	}
	s.meter.Ack(s.cc.Window, rtt)
}

// traceAck records an ACK that the packet psn triggered, if the flow's ACKs are traced.
func (s *Sender) traceAck(now units.Time, psn uint32, a *congestion.Ack) {
	if !s.events.Wants(metrics.EventAck) {
		return
	}
	e := metrics.Event{
		Kind: metrics.EventAck, At: now, Packet: int64(psn), EV: int32(a.EV), Bytes: int64(a.Acked),
		Cwnd: int64(s.cc.Window), Inflight: int64(a.Inflight), Pacing: s.cc.PacingRate, RTT: metrics.Absent, ECN: a.ECN, Action: s.action(), Tag: s.label(),
	}
	if a.HasRTT {
		e.RTT = a.RTT
	}
	s.events.Emit(e)
}

// action names what the controller answered the last ACK with; "" of controllers without
// actions.
func (s *Sender) action() string {
	if len(s.common.Actions) == 0 {
		return ""
	}
	return s.common.Actions[s.cc.Action]
}

// sampleOf returns the sample that comes with an ACK or NACK for the packet psn. If
// it is not known when that was sent, its sample is for the records alone.
func (s *Sender) sampleOf(now units.Time, p *wire.Packet, psn uint32, ev uint16, dated bool) held {
	if !dated {
		s.readSample(now, p, origin{ev, int64(psn), units.Never})
		return held{}
	}
	h := s.readSample(now, p, origin{ev, int64(psn), s.slot(psn).sentAt})
	s.recordTruth(now, psn, &h)
	return h
}

// Close closes the flow's windows at the end of the run, emits its FlowMeasurement and
// returns its totals.
func (s *Sender) Close(end units.Time) metrics.SenderTotals {
	s.common.Bounds.check(s.cc)
	s.ccLog.Close()
	if g := s.signalling; g != nil {
		s.recordSampleGap(end)
		g.records.Close()
	}
	s.totals.BaseRTT, s.totals.Cwnd = s.cc.BaseRTT, int64(s.cc.Window)
	s.totals.PayloadBytes = int64(s.payload())
	s.meter.Close(s.common.Sink)
	return s.totals
}

// nextSize is sizeOf of the next packet that is new.
func (s *Sender) nextSize() units.Size {
	if s.next == s.last {
		return s.common.MTU - units.Size(s.lastShort)
	}
	return s.common.MTU
}
