package pipeline

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// Source is the programs of a Config. Its fields are for gob; New makes it.
type Source struct {
	Config Config
	Names  graph.Labels
}

// New returns the programs of a pipeline. The error is that of Config.Validate.
func New(c Config) (graph.Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	names := graph.Labels{Phases: PhaseNames()}
	for _, name := range MessageNames() {
		names.Collectives = append(names.Collectives, graph.Collective{Name: name, Kind: "send_recv", Ranks: 2, Bytes: c.Message})
	}
	return &Source{c, names}, nil
}

// PhaseNames returns the names of the phases of the kinds of work, in their order.
func PhaseNames() []string { return []string{"forward", "backward", "weight"} }

// MessageNames returns the names under which messages forwards and backwards are tagged.
func MessageNames() []string { return []string{"pp-forward", "pp-backward"} }

// Ranks implements graph.Source: a rank for each stage.
func (s *Source) Ranks() int { return s.Config.Stages }

// PerStage returns how many ranks a stage has.
func (s *Source) PerStage() int { return 1 }

// Steps implements graph.Source.
func (s *Source) Steps() int { return s.Config.Steps }

// Labels implements graph.Source.
func (s *Source) Labels() *graph.Labels { return &s.Names }

// Only implements graph.Source. Programs are computed, so that there is nothing to leave out.
func (s *Source) Only([]int) graph.Source { return s }

// Program implements graph.Source.
func (s *Source) Program(rank int, seed uint64) graph.Program {
	p := &program{config: &s.Config, shape: s.Config.shape(), stage: rank, clock: s.Config.Jitter.NewClock(seed, rank)}
	return &graph.Pieces{Append: p.append}
}

// program expands the program of a stage, a pass at a time.
type program struct {
	config     *Config
	shape      Shape
	stage      int
	clock      *jitter.Clock
	step, pass int
	tail       uint32    // the operation that the next pass follows
	sent       [2]uint32 // last sends forwards and backwards, or tail without any
}

// append appends the next pass, with the marks of the step around the first and the last.
func (p *program) append(b *graph.Builder) bool {
	mark := graph.Tag{Step: int32(p.step), Phase: graph.None, Collective: graph.None, Group: graph.None}
	if p.pass == 0 {
		p.clock.StartStep(p.step)
		b.Tag = mark
		if p.step == 0 {
			p.tail = b.Begin()
		} else {
			p.tail = b.Begin(p.tail)
		}
		if p.config.Held {
			p.tail = b.Hold(p.tail)
		}
		p.sent = [2]uint32{p.tail, p.tail}
	}
	p.appendPass(b, p.shape.Pass(p.stage, p.pass))
	p.pass++
	if p.pass < p.shape.Passes() {
		return true
	}
	b.Tag = mark
	p.tail = b.Add(graph.Op{Kind: graph.End, Fence: true}, p.tail, p.sent[0], p.sent[1])
	p.pass = 0
	p.step++
	return p.step < p.config.Steps
}

// appendPass appends a pass. Channels, phases and the numbers of MessageNames are those of
// Work: activations and gradients are streams of their own.
func (p *program) appendPass(b *graph.Builder, pass Pass) {
	tag := graph.Tag{Step: int32(p.step), Phase: int32(pass.Work), Collective: graph.None, Group: graph.None}
	message := tag
	message.Collective = int32(pass.Work)
	if from, ok := p.shape.From(p.stage, pass); ok {
		message.Group = int32(from)
		b.Tag = message
		p.tail = b.Recv(from, uint16(pass.Work), p.config.Message, p.tail)
	}
	b.Tag = tag
	p.tail = b.Add(graph.Op{Kind: graph.Compute, Duration: p.clock.Compute(p.config.duration(pass)), Fence: true}, p.tail)
	if to, ok := p.shape.To(p.stage, pass); ok {
		message.Group = int32(p.stage)
		b.Tag = message
		total := units.Size(p.shape.Sends(p.stage, pass.Work)) * p.config.Message
		p.sent[pass.Work] = b.Add(graph.Op{Kind: graph.Send, Peer: int32(to), Channel: uint16(pass.Work), Bytes: p.config.Message, Total: total}, p.tail)
	}
}

// duration returns the time of a pass: a chunk's share of the stage's.
func (c *Config) duration(p Pass) units.Duration {
	all := c.Forward
	switch {
	case p.Work == Backward && c.Schedule == ZeroBubble:
		all = c.Backward
	case p.Work == Backward:
		all = c.Backward + c.Weight
	case p.Work == Weight:
		all = c.Weight
	}
	chunks := units.Duration(max(c.Chunks, 1))
	share, over := all/chunks, all%chunks
	if units.Duration(p.Chunk) < over {
		share++
	}
	return share
}
