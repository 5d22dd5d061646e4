package dataplane

import (
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Postcards says to which host a switch sends the samples of tags that end there: at most
// one in an interval of each flow and type, the first. Between two postcards of the switch
// is a gap, so that those of many flows do not fill a link: they go before data.
type Postcards struct {
	Collector uint32 // address
	Interval  units.Duration
	Gap       units.Duration
}

// samples records the samples of one flow.
type samples struct {
	windows metrics.SignalRecorder
	events  *metrics.EventRecorder // nil: the flow is not traced
	next    [csig.Types]units.Time // when a postcard may be sent
}

// recordSample records the sample that a tag holds where the domain ends, and returns the
// outcome. A tag that no hop has written is a sample if this port has measured: its value
// is then in the best range too.
func (s *Switch) recordSample(now units.Time, p *wire.Packet, tag []byte, measured bool) int {
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
		s.sendPostcard(now, flow, tag)
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

// sendPostcard makes a postcard of a tag. It takes the switch's own delay to a queue, as what comes
// in does; in a port's turn to transmit, ports before it had theirs, so that the pipeline
// asks for another turn.
func (s *Switch) sendPostcard(now units.Time, flow uint32, tag []byte) {
	p := s.pool.Get()
	p.Build(wire.Addresses{
		Source: wire.HostIP(s.cfg.Node), Destination: s.cfg.Postcards.Collector,
		SourcePort: wire.EntropyBase + uint16(wire.Mix(s.cfg.Seed, uint64(flow))%wire.EntropyRange),
	}, wire.Postcard, 0, wire.NotECT, 0)
	p.SetPostcard(uint32(s.cfg.Node), flow, tag)
	p.Size = s.cfg.Sizes.Of(p)
	p.EnqueuedAt, p.Ingress = now, 0
	s.nextCard = now.Add(s.cfg.Postcards.Gap)
	s.made++
	s.postcards++
	s.pipeline.Push(inPipeline{p, now.Add(s.cfg.Delay)})
}

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
		switch {
		case s.cfg.AtArrival:
			queue = p.Ahead
		case out.classPort != nil:
			return out.class[s.classOf(p)].depth.Exact(queue)
		}
		return out.depth.Exact(queue)
	case csig.Delay:
		return int64(s.delay(now, p))
	}
	// The value of a module's function is exact but for the windows of its sums.
	return int64(min(s.signal(now, now, out, t, p), math.MaxInt64/meter.Thousandths)) * meter.Thousandths
}

// Close closes all windows and emits the totals.
func (s *Switch) Close(end units.Time) {
	t := metrics.NodeTotals{Node: int32(s.cfg.Node), Name: s.cfg.Name, Made: s.made, Postcards: s.postcards, Taken: s.taken}
	t.Ports = make([]metrics.PortTotals, 0, len(s.ports))
	for i := range s.ports {
		p := &s.ports[i]
		packets, bytes := p.buffer.Len(), p.buffer.Bytes()
		if p.classPort != nil {
			packets, bytes = packets+p.queues.Len(), bytes+p.queues.Bytes()
			p.record.Totals.PausesReceived, p.record.Totals.PausesSent = p.pfc.frames, p.pfc.sends
		}
		p.record.Close(end, int64(packets), int64(bytes))
		t.Ports = append(t.Ports, p.record.Totals)
	}
	for i, n := range s.drops {
		t.Drops = append(t.Drops, metrics.Count{Name: dropNames[i], Packets: n})
	}
	for i, name := range TagNames() {
		t.Tags = append(t.Tags, metrics.Count{Name: name, Packets: s.tags[i]})
	}
	for _, flow := range slices.Sorted(maps.Keys(s.samples)) {
		s.samples[flow].windows.Close()
	}
	if s.classes != nil {
		t.Memory = s.closeClasses(end)
	}
	s.sink.Emit(&t)
}
