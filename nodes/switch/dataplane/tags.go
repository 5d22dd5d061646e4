package dataplane

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Policy is what an egress port does to the tags of one signal type.
type Policy uint8

// Policies.
const (
	Update    Policy = iota // compare and update
	Pass                    // leave untouched
	Strip                   // remove
	Terminate               // compare and update, record the sample and remove: the domain ends here
)

// ParsePolicy reads update, pass, strip or terminate.
func ParsePolicy(text string) (Policy, error) {
	for p, name := range policyNames {
		if name == text {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("unknown policy %q; use one of %q", text, policyNames)
}

var policyNames = [...]string{"update", "pass", "strip", "terminate"}

// Policies returns the names that ParsePolicy reads, in the order of their values.
func Policies() []string { return slices.Clone(policyNames[:]) }

// Ingress is what a port does to the tags of the frames that come in. The zero value
// leaves them alone.
type Ingress struct {
	// Outside says that the peer is outside the CSIG domain: every tag is removed,
	// whatever its type and format, also a second one and behind VLAN tags.
	Outside bool
	// Refuses are the types for which the peer is outside the domain: their tags are
	// removed, and, if there are any such types, the tags that are of no type of this
	// domain, such as those of the other format.
	Refuses [csig.Types]bool
	// RefusesSecond is Refuses of tags of the domain's second format.
	RefusesSecond [csig.Types]bool
	// Init says which frames for the data queue get a fresh tag, of those that have none
	// then, for a host that puts none on. Their types are Signals in turn, which must
	// not be empty when Init tags some.
	Init    csig.Sampling
	Signals []csig.Type
	Format  csig.Format // of these tags; none: the domain's first
}

// Tag outcomes are those of csig, then these.
const (
	tagPassed = int(csig.Outcomes) + iota
	tagStripped
	tagTerminated
	tagUntouched // removed by Terminate without a sample: no hop could measure
	tagSeveral   // the frame has more than one: left alone
	tagRefused   // removed because it came from outside the domain
	tagInitiated // put on a frame that came in
	tagOutcomes
)

var tagNames = [tagOutcomes]string{
	tagPassed: "passed", tagStripped: "stripped", tagTerminated: "terminated", tagUntouched: "untouched",
	tagSeveral: "several", tagRefused: "refused", tagInitiated: "initiated",
}

// configureIngress prepares what a port does to frames that come in.
func (s *Switch) configureIngress(i int) error {
	in := &s.ports[i]
	in.edge = in.Ingress.Outside || slices.Contains(in.Ingress.Refuses[:], true) || slices.Contains(in.Ingress.RefusesSecond[:], true)
	if in.edge {
		s.filter.Add(i)
	}
	c := in.Ingress.Init
	if c.Every == 0 || s.domain.Format() == csig.FormatNone {
		return nil
	}
	if len(in.Ingress.Signals) == 0 {
		return errors.New("it puts tags on and has no signal to ask for")
	}
	for _, t := range in.Ingress.Signals {
		if !t.Known() {
			return fmt.Errorf("signal %d: unknown", uint8(t))
		}
	}
	if in.initial = s.domain.In(in.Ingress.Format); in.initial == nil {
		return fmt.Errorf("it puts tags of format %v on, which the domain does not have", in.Ingress.Format)
	}
	s.filter.Add(i)
	in.sampler = csig.NewSampler(c, node.Random(s.cfg.Seed, s.cfg.Node, node.RandomIngress, i))
	return nil
}

// admit removes the tags of a frame that comes in from outside the domain, and puts
// one on if it is the frame's turn.
func (s *Switch) admit(now units.Time, in *port, p *wire.Packet) {
	n := p.RemoveTags(s.tpids, func(tag []byte) bool {
		of := s.domain.Of(tag)
		refuses := &in.Ingress.Refuses
		if of != s.domain {
			refuses = &in.Ingress.RefusesSecond
		}
		t, _ := of.Peek(tag)
		return in.Ingress.Outside || in.edge && (!t.Known() || refuses[t])
	})
	s.tags[tagRefused] += int64(n)
	if in.sampler.Every > 0 && p.Tag() == nil && p.Queues() && in.sampler.Due(now) {
		signals := in.Ingress.Signals
		in.initial.Init(p.InsertTag(in.initial.Format().Size()), signals[in.turn])
		in.turn = (in.turn + 1) % len(signals)
		s.tags[tagInitiated]++
		n++
	}
	if n > 0 {
		p.Size = s.cfg.Sizes.Of(p)
	}
}

// formatOf returns the domain of a tag's format, and what a port does to tags of it.
func (s *Switch) formatOf(out *port, tag []byte) (domain *csig.Domain, locator uint16, policies *[csig.Types]Policy) {
	domain = s.domain.Of(tag)
	if domain != s.domain {
		return domain, out.Second.Locator, &out.Second.Policies
	}
	return domain, out.Locator, &out.Policies
}

// handleTag applies the policy of an egress port to the tag of a packet that leaves.
func (s *Switch) handleTag(now units.Time, out *port, p *wire.Packet, tag []byte) {
	if p.SecondTag() { // "a second tag: forward unchanged, count" (docs/reference/references.md#hop-update)
		s.tags[tagSeveral]++
		return
	}
	domain, locator, policies := s.formatOf(out, tag)
	t, _ := domain.Peek(tag)
	if !t.Known() {
		s.tags[csig.Unknown]++
		return
	}
	switch policies[t] {
	case Update:
		outcome := domain.Update(tag, s.signal(now, now, out, t, p), locator)
		s.tags[outcome]++
		return
	case Pass:
		s.tags[tagPassed]++
		return
	case Terminate: // this hop is the last of the domain, and the tag has crossed it
		measured := domain.Update(tag, s.signal(now, now, out, t, p), locator)
		s.tags[s.postcard(now, p, tag, measured == csig.Updated || measured == csig.Kept)]++
	case Strip:
		s.tags[tagStripped]++
	}
	p.StripTag()
	p.Size = s.cfg.Sizes.Of(p)
}

// postcard records the sample that a tag holds where the domain ends, and returns the
// outcome. A tag that no hop has written is a sample if this port has measured: its value
// is then in the best range too.
func (s *Switch) postcard(now units.Time, p *wire.Packet, tag []byte, measured bool) int {
	domain := s.domain.Of(tag)
	sample, ok := domain.Decode(tag)
	if !ok { // such as a first value that is no code of the quantiser
		if t, err := domain.ParseTag(tag); err == nil && t.Locator == 0 {
			return tagUntouched
		}
		return tagTerminated
	}
	if !sample.Measured(measured) {
		return tagUntouched
	}
	flow, ok := s.flowOf(p)
	if !ok {
		return tagTerminated
	}
	r := s.samples[flow]
	if r == nil {
		r = &samples{windows: metrics.NewSignalRecorder(int(flow), s.cfg.Records, s.sink), events: s.cfg.Traced.Recorder(int32(flow), s.sink)}
		s.samples[flow] = r
	}
	if s.cfg.Postcards != nil && now >= max(s.nextCard, r.next[sample.Type]) {
		r.next[sample.Type] = now.Add(s.cfg.Postcards.Interval)
		s.send(now, flow, tag)
	}
	value := metrics.Reading{Point: int64(sample.Point)}
	value.Low, value.High = s.domain.Ends(&sample)
	r.windows.Sample(now, uint8(sample.Type), s.domain.Label(&sample), value)
	if s.truth != nil {
		s.recordPostcard(now, p, &sample, value)
	}
	if r.events.Wants(metrics.EventSample) {
		e := metrics.Event{
			Kind: metrics.EventSample, At: now, Packet: metrics.Absent, EV: metrics.Absent, Type: uint8(sample.Type), Code: sample.Code,
			Value: value, Locator: s.domain.Label(&sample), Age: metrics.Absent, Cwnd: metrics.Absent, Inflight: metrics.Absent,
		}
		if p.Kind() == wire.Data {
			e.Packet = int64(p.PSN())
		}
		r.events.Emit(e)
	}
	return tagTerminated
}

// flowOf returns the flow that the packet is recorded under; false for a raw
// frame that no host with programs, and no generator, sends to another host.
func (s *Switch) flowOf(p *wire.Packet) (uint32, bool) {
	if p.Kind() != wire.Raw {
		return p.Flow(), true
	}
	flow, ok := s.pairs[[2]int{p.SourceHost(), p.DestinationHost()}]
	return flow, ok
}
