package transport

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Tagging is the CSIG init policy of a sender: which packets carry a tag, and what
// the tags ask for. The zero value tags nothing. If only some data packets carry a
// tag, each of these asks for an ACK of its own, so that its sample comes back with
// its EV and its age, whatever the receiver coalesces.
type Tagging struct {
	csig.Sampling // of data packets

	// Probe is the time between probes of a flow that has data to send; 0: no probes.
	Probe units.Duration

	// Signal is asked for if nobody wants a type.
	Signal csig.Type
	// Format is that of the tags; none: the first of the domain.
	Format csig.Format
	// Telemetry is what the records want, beside what the controller and the balancer
	// want.
	Telemetry csig.Weights
	// MaxAge is up to which age a sample of delay or queue depth is used, which are of
	// one moment; 0: twice the last RTT.
	MaxAge units.Duration
}

// PathSignals is what is known of a flow's paths before a run, for reading its
// samples.
type PathSignals struct {
	// Covered says by type whether every hop of every path updates it: then a tag that
	// no hop has written is a measurement.
	Covered [csig.Types]bool
	// Unloaded is the residence of a full packet in the slowest hop of the idle paths;
	// 0 if samples of Delay hold waiting alone.
	Unloaded units.Duration
}

// held is a sample that is kept for the events that bring none of its type.
type held struct {
	valid    bool
	ev       uint16
	sample   csig.Sample
	sentAt   units.Time // of the packet that carried it
	unloaded units.Duration
	// delivered reports that the controller has had it. What a probe brings is not
	// delivered before the next ACK.
	delivered bool
	kept      bool // in signalling, unless a newer one is
}

// signalling is the part of a sender that asks the network for CSIG samples, on
// data packets or with probes, and hands them to those who want them.
type signalling struct {
	domain  *csig.Domain // of the format of the flow's tags
	tagging Tagging
	paths   PathSignals
	sampler csig.Sampler
	lb      balance.Listener // nil: the balancer wants no samples
	types   csig.Multiplexer

	nextProbe units.Time // units.Never: none
	probes    uint32
	probed    [probesKept]units.Time // when the last ones were sent, by number

	held []held         // by type, up to the last known one
	rtt  units.Duration // the last one measured
	last units.Time     // a sample came then, or the flow started to want them; units.Never: it does not

	records metrics.SignalRecorder
}

func newSignalling(c *SenderConfig) *signalling {
	g := &signalling{
		domain: c.Domain.In(c.Tagging.Format), tagging: c.Tagging, paths: c.Paths, nextProbe: units.Never, last: units.Never,
		sampler: csig.NewSampler(c.Tagging.Sampling, c.Random),
		types:   csig.NewMultiplexer(c.Types),
		records: metrics.NewSignalRecorder(int(c.Flow), c.Records, c.Sink),
		held:    make([]held, csig.End()),
	}
	g.lb, _ = c.LB.(balance.Listener)
	return g
}

// start is called when the flow's first data packet is sent. wanted says that the controller wants
// samples: without it, and without a balancer that does, tags are for telemetry alone.
func (g *signalling) start(now units.Time, wanted bool) {
	if g.domain.Format() == csig.FormatNone {
		return
	}
	if g.tagging.Probe > 0 {
		g.nextProbe = now
	}
	if (wanted || g.lb != nil) && (g.tagging.Probe > 0 || g.tagging.Every > 0) {
		g.last = now
	}
}

// insert puts a fresh tag on a packet, of the type whose turn it is.
func (g *signalling) insert(p *wire.Packet, wanted csig.Weights) {
	wanted = wanted.Merge(g.tagging.Telemetry)
	if g.lb != nil {
		wanted = wanted.Merge(g.lb.Wants())
	}
	signal := g.tagging.Signal
	if wanted.Any() {
		signal = g.types.Next(wanted)
	}
	g.domain.Init(p.InsertTag(g.domain.Format().Size()), signal)
}

// decode reads the tag that a packet echoes; false if it echoes none of this domain.
func decode(domain *csig.Domain, p *wire.Packet) (s csig.Sample, ok bool) {
	var echo [wire.EchoLen]byte
	return domain.DecodeEcho(echo[:p.Echo(&echo)])
}

// limit returns the age up to which a sample of type t is used. It has the age of an
// RTT when it arrives, and what is measured over an interval is as old as that
// besides (docs/reference/references.md#reflection).
func (g *signalling) limit(t csig.Type, base units.Duration) units.Duration {
	rtt := max(g.rtt, base)
	switch {
	case t.Windowed():
		return 2 * max(rtt, g.domain.Interval())
	case g.tagging.MaxAge > 0:
		return g.tagging.MaxAge
	}
	return 2 * rtt
}

// signals writes what the controller gets at an event: fresh, if that is valid, and
// of the other types that it wants the samples held.
func (g *signalling) signals(now units.Time, wanted *congestion.Output, fresh *held, out *congestion.Signals) {
	for t := range csig.Type(len(g.held)) {
		if out[t].Valid {
			out[t] = congestion.Signal{}
		}
		if wanted.Wants[t] == 0 {
			continue
		}
		s := &g.held[t]
		if fresh.valid && fresh.sample.Type == t {
			s.delivered = s.delivered || fresh.kept
			s = fresh
		}
		age := now.Sub(s.sentAt)
		if !s.valid || s != fresh && age > g.limit(t, wanted.BaseRTT) {
			continue
		}
		first := !s.delivered
		s.delivered = true
		out[t] = congestion.Signal{
			Valid: true, Fresh: first, EV: s.ev, Sample: s.sample, SentAt: s.sentAt, Age: age, Unloaded: s.unloaded,
		}
	}
}

// origin is the packet that a sample is from.
type origin struct {
	ev     uint16
	psn    int64      // metrics.Absent of a probe
	sentAt units.Time // units.Never: it is not known
}

// readSample reads the sample of a packet, which p brings back. It keeps the sample for the events to come
// unless a newer one is held or trimming may have forced it. A tag that no hop has
// written is a sample only if it is known that every hop would have.
func (s *Sender) readSample(now units.Time, p *wire.Packet, from origin) (h held) {
	g := s.signalling
	sample, ok := decode(s.common.Domain, p)
	if !ok {
		return h
	}
	if sample.Untouched {
		s.totals.Untouched++
	}
	if !sample.Measured(g.paths.Covered[sample.Type] && sample.Format == g.domain.Format()) {
		return h
	}
	h = held{valid: true, ev: from.ev, sample: sample, sentAt: from.sentAt}
	if sample.Type == csig.Delay {
		h.unloaded = g.paths.Unloaded
	}
	if sample.DoNotUpdate {
		return h
	}
	s.totals.Samples++
	if s.common.Measure.Contains(now) {
		s.meter.Sample()
	}
	value := metrics.Reading{Point: int64(sample.Point)}
	value.Low, value.High = s.common.Domain.Ends(&sample)
	g.records.Sample(now, uint8(sample.Type), s.common.Domain.Label(&sample), value)
	if s.events.Wants(metrics.EventSample) {
		s.traceSample(now, &sample, value, from)
	}
	if s.recordSampleGap(now); g.last != units.Never {
		g.last = now
	}
	if old := &g.held[sample.Type]; from.sentAt != units.Never && (!old.valid || old.sentAt <= from.sentAt) {
		s.totals.FreshSamples++
		h.kept = true
		*old = h
	}
	return h
}

// traceSample keeps a sample for traceReaction.
func (s *Sender) traceSample(now units.Time, sample *csig.Sample, value metrics.Reading, from origin) {
	e := metrics.Event{
		Kind: metrics.EventSample, At: now, Packet: from.psn, EV: int32(from.ev), Type: uint8(sample.Type), Code: sample.Code,
		Value: value, Locator: s.common.Domain.Label(sample), Age: metrics.Absent, Tag: s.label(),
	}
	if from.sentAt != units.Never {
		e.Age = now.Sub(from.sentAt)
	}
	s.events.Hold(e)
}

// traceReaction records the sample that an event of the flow has brought, if there is one
// and the flow is traced, with what the controller has made of the event. acked says that
// it was an ACK.
func (s *Sender) traceReaction(acked bool) {
	e := s.events.Held()
	if e == nil {
		return
	}
	e.Cwnd, e.Inflight, e.Pacing = int64(s.cc.Window), int64(s.Inflight()), s.cc.PacingRate
	if acked {
		e.Action = s.action()
	}
	s.events.Release()
}

// recordTruth records the sample that a packet has brought if the packet is chosen, for the
// values that it met on its way to be compared with. It is known when the packet was sent.
func (s *Sender) recordTruth(now units.Time, psn uint32, h *held) {
	if s.common.Truth == 0 || !h.valid || h.sample.DoNotUpdate || !s.common.Truth.Has(s.flow, psn) {
		return
	}
	r, from := &s.common.sample, s.slot(psn)
	*r = metrics.TaggedSample{
		Flow: s.flow, Packet: psn, Transmission: from.transmissions, Type: uint8(h.sample.Type), Code: h.sample.Code,
		Value: metrics.Reading{Point: int64(h.sample.Point)}, Locator: s.common.Domain.Label(&h.sample), At: now, Age: now.Sub(from.sentAt),
	}
	r.Value.Low, r.Value.High = s.common.Domain.Ends(&h.sample)
	s.common.Sink.Emit(r)
}

// recordSampleGap records for how long the flow has wanted samples and got none.
func (s *Sender) recordSampleGap(now units.Time) {
	if last := s.signalling.last; last != units.Never {
		s.totals.SampleGap = max(s.totals.SampleGap, now.Sub(last))
	}
}

// TrimPlace is what says whether a packet was trimmed at the last hop. The zero value is
// ByDSCP.
type TrimPlace uint8

// Sources of the place of a trim.
const (
	// ByDSCP is the code of the NACK, which follows from which of two DSCPs the trimmed
	// packet had (docs/reference/references.md#trimming-and-d).
	ByDSCP TrimPlace = iota
	// ByLocator is the locator of the trimmed packet's tag. Without a tag, or without a
	// locator, the packet counts as trimmed inside the fabric.
	ByLocator
)

var trimPlaces = []string{"dscp", "locator"}

// Names returns the names of the sources, in the order of their values.
func (TrimPlace) Names() []string { return slices.Clone(trimPlaces) }

// String returns dscp or locator.
func (p TrimPlace) String() string { return trimPlaces[p] }

// UnmarshalText implements encoding.TextUnmarshaler: dscp or locator.
func (p *TrimPlace) UnmarshalText(text []byte) error {
	return spelling.Enum(p, "source of the place of a trim", text, trimPlaces)
}

// atLastHop reports whether a packet was trimmed at the last hop, by the code of its NACK
// or by the sample that this brought back.
func (s *Sender) atLastHop(code uint8, h *held) bool {
	if s.common.Place == ByLocator {
		return h.valid && s.lastHop(&h.sample)
	}
	return code == wire.NackTrimmedLastHop
}

// lastHop reports whether the port that a sample names leads to a host.
func (s *Sender) lastHop(sample *csig.Sample) bool {
	return s.common.LastHops.Has(s.common.Domain.Label(sample))
}

// feedback hands the balancer what became of a packet, with its sample if the
// balancer wants the type.
func (s *Sender) feedback(now units.Time, f *balance.Feedback, h *held) {
	f.Inflight = s.Inflight()
	if g := s.signalling; g != nil && g.lb != nil && h.valid && g.lb.Wants()[h.sample.Type] > 0 {
		f.Sample, f.Sampled = h.sample, true
		f.LastHop = s.lastHop(&h.sample)
	}
	s.lb.OnFeedback(now, f)
}
