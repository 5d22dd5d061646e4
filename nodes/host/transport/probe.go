package transport

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// probesKept is how many probes may be under way before the time of sending of
// the oldest is forgotten.
const probesKept = 16

// ProbeDue reports whether a probe is to be sent.
func (s *Sender) ProbeDue(now units.Time) bool {
	return s.signalling != nil && s.signalling.nextProbe <= now || s.lossProbeDue(now)
}

// Probe writes the probe that is due into p, one for a loss (Sleek) or one for a sample: a packet without payload that carries
// a tag and queues with data, so that it meets what data meets. It takes the path
// of the last data packet and no EV out of the balancer.
func (s *Sender) Probe(now units.Time, p *wire.Packet) {
	if s.lossProbeDue(now) {
		s.sendLossProbe(now, p)
		return
	}
	g := s.signalling
	g.nextProbe = now.Add(g.tagging.Probe)
	s.buildBare(p, wire.Probe, wire.ECT0, s.lastEV)
	s.setClass(p)
	p.SetData(s.flow, g.probes, 1)
	g.insert(p, s.cc.Wants)
	p.Size = s.common.Sizes.Of(p)
	g.probed[g.probes%probesKept] = now
	g.probes++
	s.totals.Probes++
}

// OnProbeReply takes the answer to a probe of this flow. Its sample is kept for the
// ACKs to come; the balancer learns of its path.
func (s *Sender) OnProbeReply(now units.Time, p *wire.Packet) {
	g, number := s.signalling, p.PSN()
	if number&lossProbe != 0 {
		s.onLossProbe(now, p)
		return
	}
	if g == nil || number >= g.probes || g.probes-number > probesKept {
		return // not ours, or too old to be dated
	}
	if s.connection != nil {
		s.setLabel(s.cum)
	}
	sent := g.probed[number%probesKept]
	h := s.readSample(now, p, origin{p.EV(), metrics.Absent, sent})
	outcome := &s.common.outcome
	*outcome = balance.Feedback{EV: p.EV(), Outcome: s.replyOutcome(p, &h), Age: now.Sub(sent), Dated: true}
	s.feedback(now, outcome, &h)
	s.traceReaction(false)
}

// replyOutcome returns what the answer to a probe says of its path. As for data, a
// trim at the last hop says nothing about it.
func (s *Sender) replyOutcome(p *wire.Packet, h *held) balance.Outcome {
	trimmed := p.NackCode() == wire.NackTrimmed || p.NackCode() == wire.NackTrimmedLastHop
	switch {
	case trimmed && !s.atLastHop(p.NackCode(), h):
		return balance.Trimmed
	case p.Flags()&wire.ECNEcho != 0:
		return balance.Marked
	}
	return balance.Good
}

// OnProbe takes a probe of this flow, trimmed or whole, and writes its answer into
// reply.
func (r *Receiver) OnProbe(p, reply *wire.Packet) {
	var flags wire.Flags
	if p.ECN() == wire.CE {
		flags = wire.ECNEcho
	}
	var code uint8
	if p.Trimmed() {
		code = nackCode(p)
	}
	reply.CopyHeader(r.template(&r.answer, wire.ProbeReply))
	reply.SetFlags(flags)
	reply.SetNack(r.flow, r.evOf(p), p.PSN(), p.Transmission(), code)
	reply.SetEcho(p.Tag())
}

// nackCode returns which code a NACK of a trimmed packet has.
func nackCode(p *wire.Packet) uint8 {
	if p.TrimmedLastHop() {
		return wire.NackTrimmedLastHop
	}
	return wire.NackTrimmed
}
