package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
)

// newGenerators returns the generator of each host that sends raw frames, and of those that
// have nothing to do but receive such frames, by host. shims are the hosts that run programs
// alone.
func newGenerators(r *run, shims []*shim.Config) ([]*generator.Config, error) {
	all := make([]*generator.Config, r.hosts)
	add := func(h int) {
		if all[h] == nil {
			rate := r.fabric.rate(h)
			all[h] = &generator.Config{
				Node: h, Name: r.fabric.graph.Nodes[h].Name, Rate: rate, Queue: r.buffers.port(rate).queue, Format: r.format,
				Pairs: pairsOf(r.flows.pairs, h), Measure: r.Measure, Records: r.Interval, Traced: r.Traced,
			}
		}
	}
	for i, g := range r.experiment.Generators {
		stack, err := g.Tags(r.experiment.CSIG)
		if err != nil {
			return nil, failure.At(fmt.Sprintf("generators[%d].stack", i), err)
		}
		if r.busy[g.Host] {
			return nil, failure.At(fmt.Sprintf("generators[%d].host", i), fmt.Errorf("host %d sends or receives transfers; a host of generators has no transport", g.Host))
		}
		s := generator.Stream{
			To: g.To, Start: units.Time(g.Start), Every: g.Every, Rate: g.Rate, Count: int64(g.Count),
			Size: g.Size, Stack: stack, DSCP: uint8(g.DSCP), Paths: g.Paths,
		}
		if g.Every > 0 {
			s.Rate = 0
		}
		add(g.Host)
		all[g.Host].Streams = append(all[g.Host].Streams, s)
		if !r.busy[g.To] && shims[g.To] == nil {
			add(g.To)
		}
	}
	return all, nil
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
