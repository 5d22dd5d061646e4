package dataplane

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// truth records the exact values of the ports beside the tags that pass them.
type truth struct {
	choice metrics.TruthChoice
	exact  []meter.Exact // by port
	// These are here because a pointer that goes to an interface would be a new object each
	// time.
	record metrics.HopValue
	sample metrics.TaggedSample
}

// newTruth returns the recorder of a switch; nil unless its configuration asks for one.
func (s *Switch) newTruth() *truth {
	if s.cfg.Truth == 0 || s.domain == nil {
		return nil
	}
	t := &truth{choice: s.cfg.Truth, exact: make([]meter.Exact, len(s.ports))}
	for i := range t.exact {
		t.exact[i] = meter.NewExact(s.cfg.Ports[i].Rate, s.domain.Interval())
	}
	return t
}

// recordTruth records the exact value of the port that a tagged packet leaves through.
// Packets that a hop has trimmed have no sample that counts, and raw frames no number by
// which hops could choose the same ones.
func (s *Switch) recordTruth(now units.Time, egress int, p *wire.Packet, tag []byte) {
	if p.Kind() != wire.Data || p.Trimmed() || p.SecondTag() || !s.truth.choice.Has(p.Flow(), p.PSN()) {
		return
	}
	out := &s.ports[egress]
	domain, _, policies := s.formatOf(out, tag)
	t, frozen := domain.Peek(tag)
	if !t.Known() {
		return
	}
	policy := policies[t]
	r := &s.truth.record
	*r = metrics.HopValue{
		Flow: p.Flow(), Packet: p.PSN(), Transmission: p.Transmission(), Type: uint8(t), Hop: uint8(p.Crossed()), Last: out.LastHop,
		Updates: (policy == Update || policy == Terminate) && (!frozen || s.cfg.CSIG.Domain.OverrideD[t]), Ends: policy == Terminate || policy == Strip,
		Node: int32(s.cfg.Node), Port: int32(egress), At: now, Value: s.exactSignal(now, egress, t, p),
	}
	s.sink.Emit(r)
}

// recordPostcard records the sample of a packet whose tag ends here.
func (s *Switch) recordPostcard(now units.Time, p *wire.Packet, sample *csig.Sample, value metrics.Reading) {
	if p.Kind() != wire.Data || p.Trimmed() || !s.truth.choice.Has(p.Flow(), p.PSN()) {
		return
	}
	r := &s.truth.sample
	*r = metrics.TaggedSample{
		Flow: p.Flow(), Packet: p.PSN(), Transmission: p.Transmission(), Type: uint8(sample.Type), Hop: uint8(p.Crossed()),
		Code: sample.Code, Value: value, Locator: s.domain.Label(sample), At: now, Age: metrics.Absent,
	}
	s.sink.Emit(r)
}

// exactSignal is signal without windows of its own and without rounding to the type's
// unit: in its thousandths.
func (s *Switch) exactSignal(now units.Time, egress int, t csig.Type, p *wire.Packet) int64 {
	out, exact := &s.ports[egress], &s.truth.exact[egress]
	if (t == csig.ABW || t == csig.ABWC) && out.classPort != nil && out.shares != nil {
		return int64(s.signal(now, now, out, t, p)) * meter.Thousandths // what a class gets is a figure of its meter alone
	}
	switch t {
	case csig.ABW:
		return exact.Available(now)
	case csig.ABWC:
		return exact.Relative(now)
	case csig.NQD:
		queue, _ := s.queueOf(out, p)
		if out.classPort != nil {
			return out.class[s.classOf(p)].depth.Exact(queue)
		}
		return out.depth.Exact(queue)
	case csig.Delay:
		return int64(s.delay(now, p))
	}
	// The value of a module's function is exact but for the windows of its sums.
	return int64(min(s.signal(now, now, out, t, p), math.MaxInt64/meter.Thousandths)) * meter.Thousandths
}
