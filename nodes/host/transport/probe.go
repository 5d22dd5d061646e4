package transport

import (
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// probesKept is how many probes may be under way before the time of sending of
// the oldest is forgotten.
const probesKept = 16

// signalling is the part of a sender that asks the network for CSIG samples and
// keeps the last one: on data packets, or with probes, packets of their own that
// take the way of data.
type signalling struct {
	domain   *csig.Domain // nil without CSIG
	tagging  Tagging
	untilTag int

	nextProbe units.Time // units.Never: none
	probes    uint32
	sentAt    [probesKept]units.Time // of the last probes, by number

	held   csig.Sample
	heldAt units.Time // when the packet that brought held was sent; units.Never: none
}

func newSignalling(d *csig.Domain, t Tagging) signalling {
	return signalling{domain: d, tagging: t, untilTag: t.Phase, nextProbe: units.Never, heldAt: units.Never}
}

// start begins probing.
func (g *signalling) start(now units.Time) {
	if g.domain != nil && g.tagging.Probe > 0 {
		g.nextProbe = now
	}
}

// tag puts a fresh tag on a data packet if the init policy says so, and tells
// whether it did.
func (g *signalling) tag(p *wire.Packet, wanted *congestion.Output) bool {
	if g.domain == nil || g.tagging.Every == 0 {
		return false
	}
	if g.untilTag > 0 {
		g.untilTag--
		return false
	}
	g.untilTag = g.tagging.Every - 1
	g.insert(p, wanted)
	return true
}

func (g *signalling) insert(p *wire.Packet, wanted *congestion.Output) {
	signal := g.tagging.Signal
	if wanted.WantSignal {
		signal = wanted.Signal
	}
	g.domain.Init(p.InsertTag(g.domain.Format().Size()), signal)
}

// decode reads the tag that a packet echoes.
func (g *signalling) decode(p *wire.Packet) (csig.Sample, bool) {
	var tag [2 + wire.EchoLen]byte
	n := p.Echo((*[wire.EchoLen]byte)(tag[2:]))
	if n == 0 || g.domain == nil || n+2 != g.domain.Format().Size() {
		return csig.Sample{}, false
	}
	tpid := g.domain.TPID()
	tag[0], tag[1] = byte(tpid>>8), byte(tpid)
	return g.domain.Decode(tag[:n+2])
}

// hold keeps a sample for the events that bring none. A trimmed packet's is not
// kept: its value may be forced.
func (g *signalling) hold(s csig.Sample, sentAt units.Time) {
	if !s.DoNotUpdate {
		g.held, g.heldAt = s, sentAt
	}
}

// latest returns the sample held, while it is not older than twice the RTT or
// twice the interval of the meters, whichever is longer
// (docs/references.md#reflection).
func (g *signalling) latest(now units.Time, rtt units.Duration) (sig congestion.Signal) {
	if g.heldAt == units.Never {
		return sig
	}
	age := now.Sub(g.heldAt)
	if age > 2*max(rtt, g.domain.Interval()) {
		return sig
	}
	return congestion.Signal{Valid: true, Sample: g.held, Age: age}
}

// ProbeDue reports whether a probe is to be sent.
func (s *Sender) ProbeDue(now units.Time) bool { return s.signalling.nextProbe <= now }

// Probe writes the probe that is due into p: a packet without payload that
// carries a tag and queues with data, so that it meets what data meets.
func (s *Sender) Probe(now units.Time, p *wire.Packet) {
	g := &s.signalling
	g.nextProbe = now.Add(g.tagging.Probe)
	g.sentAt[g.probes%probesKept] = now
	e := s.cfg.Ends
	p.Build(wire.Addresses{
		Source: e.LocalIP, Destination: e.RemoteIP, SourcePort: SourcePort(s.cfg.Flow, s.cfg.LB.Next(now)),
	}, wire.Probe, 0, wire.NotECT, 0)
	p.SetMACs(e.RemoteMAC, e.LocalMAC)
	p.SetData(s.cfg.Flow, g.probes, 1)
	g.insert(p, s.cc)
	p.Size = s.cfg.Sizes.Of(p)
	g.probes++
	s.totals.Probes++
}

// OnProbeReply takes the answer to a probe of this flow.
func (s *Sender) OnProbeReply(now units.Time, p *wire.Packet) {
	g := &s.signalling
	number := p.PSN()
	if number >= g.probes || g.probes-number > probesKept {
		return // not ours, or too old to be dated
	}
	if sample, ok := g.decode(p); ok {
		g.hold(sample, g.sentAt[number%probesKept])
		s.recordSample(now, sample)
	}
}

// recordSample keeps a sample for the records, trimmed packets' apart.
func (s *Sender) recordSample(now units.Time, sample csig.Sample) {
	if !sample.DoNotUpdate {
		s.signals.Sample(now, uint8(sample.Type), sample.Locator, int64(sample.Point))
	}
}

// OnProbe takes a probe of this flow and writes its answer into reply.
func (r *Receiver) OnProbe(p, reply *wire.Packet) {
	reply.CopyHeader(&r.answer)
	reply.SetNack(r.cfg.Flow, EntropyOf(r.cfg.Flow, p.SourcePort()), p.PSN(), p.Transmission(), 0)
	reply.SetEcho(p.Tag())
}
