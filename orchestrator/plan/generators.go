package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/units"
)

// assignGenerators replaces the transport of hosts that send raw frames, and of those
// that only receive such frames, by a generator. It names the flows between hosts that
// raw frames make, which come after all others.
func (s *Shape) assignGenerators(p *Plan) error {
	e := s.experiment
	if len(e.Generators) == 0 {
		return nil
	}
	p.Format.Raw = true
	busy := s.transportHosts()
	streams := make([]generator.Stream, len(e.Generators))
	flows := map[[2]int]bool{}
	hosts := map[int]bool{}
	for i, g := range e.Generators {
		stack, err := g.Tags(e.CSIG)
		if err != nil {
			return failure.At(fmt.Sprintf("generators[%d].stack", i), err)
		}
		streams[i] = generator.Stream{
			To: g.To, Start: units.Time(g.Start), Every: g.Every, Rate: g.Rate, Count: int64(g.Count),
			Size: g.Size, Stack: stack, DSCP: uint8(g.DSCP), Paths: g.Paths,
		}
		if g.Every > 0 {
			streams[i].Rate = 0
		}
		if busy[g.Host] {
			return failure.At(fmt.Sprintf("generators[%d].host", i), fmt.Errorf("host %d sends or receives transfers; a host of generators has no transport", g.Host))
		}
		hosts[g.Host] = true
		if !busy[g.To] && !p.HasPrograms(g.To) {
			hosts[g.To] = true // it has nothing else to do
		}
		if flows[[2]int{g.Host, g.To}] {
			continue
		}
		flows[[2]int{g.Host, g.To}] = true
		name := func(h int) string { return s.graph.Nodes[h].Name }
		id := int32(len(p.Flows))
		p.Flows = append(p.Flows, metrics.FlowInfo{
			Flow: id, Name: fmt.Sprintf("%s-%s raw", name(g.Host), name(g.To)), Src: int32(g.Host), Dst: int32(g.To),
		})
		p.Pairs = append(p.Pairs, metrics.Pair{Flow: id, Source: int32(g.Host), Destination: int32(g.To)})
	}
	for h := range s.graph.Hosts() {
		if !hosts[h] {
			continue
		}
		transport := p.Nodes[h].Host
		c := generator.Config{
			Node: h, Name: transport.Name, Rate: transport.Rate, Queue: s.sizing.port(transport.Rate).queue, Format: p.Format,
			Measure: p.Measure, Records: p.Interval, Traced: p.Traced,
		}
		for i, g := range e.Generators {
			if g.Host == h {
				c.Streams = append(c.Streams, streams[i])
			}
		}
		for _, pair := range p.Pairs {
			if int(pair.Source) == h || int(pair.Destination) == h {
				c.Pairs = append(c.Pairs, pair)
			}
		}
		p.Nodes[h] = machine.Spec{Generator: &c}
	}
	return nil
}

// generated returns how many frames of a stream are sent before the run's end, and
// when about the last one is.
func (p *Plan) generated(c *generator.Stream) (frames int64, last units.Time) {
	every := c.Every
	if every == 0 {
		every = c.Rate.Serialisation(c.Size)
	}
	every = max(every, 1)
	frames = c.Count
	if p.End != units.Never {
		until := max(0, p.End.Sub(c.Start)+every-1) / every
		if frames == 0 || frames > int64(until) {
			frames = int64(until)
		}
	}
	return frames, c.Start.Add(units.Duration(frames) * every)
}

// Stream is frames of a generator, as far as predictions need them.
type Stream struct {
	Source, Destination int
	Frames              int64
	Size                units.Size
	End                 units.Time // when about the last one is sent
}

// Streams returns what the generators send.
func (p *Plan) Streams() []Stream {
	var list []Stream
	for h, n := range p.Nodes {
		if n.Generator == nil {
			continue
		}
		for i := range n.Generator.Streams {
			c := &n.Generator.Streams[i]
			s := Stream{Source: h, Destination: c.To, Size: c.Size}
			s.Frames, s.End = p.generated(c)
			list = append(list, s)
		}
	}
	return list
}
