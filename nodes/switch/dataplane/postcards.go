package dataplane

import (
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

// send makes a postcard of a tag. It takes the switch's own delay to a queue, as what comes
// in does; in a port's turn to transmit, ports before it had theirs, so that the pipeline
// asks for another turn.
func (s *Switch) send(now units.Time, flow uint32, tag []byte) {
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

// takeWeights takes a packet that sets weights here; others go on.
func (s *Switch) takeWeights(p *wire.Packet) bool {
	f := p.Weights()
	if int64(f.Node) != int64(s.cfg.Node) {
		return false
	}
	s.weighted.SetWeights(&f)
	s.taken++
	s.pool.Put(p)
	return true
}
