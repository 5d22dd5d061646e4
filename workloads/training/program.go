package training

import (
	"cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// Source is the programs of a Config. Its fields are for gob; New makes it.
type Source struct {
	Config Config
	Names  graph.Labels

	layout *layout // shared by all programs, which do not change it; nil behind gob
}

// New returns the programs of a training job. The error is that of Config.Validate.
func New(c Config) (graph.Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l := newLayout(&c)
	return &Source{c, l.names, l}, nil
}

// Ranks implements graph.Source.
func (s *Source) Ranks() int { return s.Config.Parallel.Ranks() }

// TimeScale returns what times and bytes of the real job are multiplied by, 1 for all of it.
func (s *Source) TimeScale() float64 { return cmp.Or(s.Config.Scale, 1) }

// Once returns the programs of a single step.
func (s *Source) Once() graph.Source {
	once := *s
	once.Config.Steps, once.layout = 1, nil
	return &once
}

// FLOPs returns the floating-point operations of the real model in a step, on all ranks, and how
// many per second the ranks have together at their peak; 0 and 0 if compute times are given.
func (s *Source) FLOPs() (step, peak float64) {
	c := &s.Config
	if c.Compute.FLOPS == 0 {
		return 0, 0
	}
	return c.Model.FLOPs(float64(c.GlobalBatch) * float64(c.Model.Sequence)), c.Compute.FLOPS * float64(s.Ranks())
}

// PerStage returns how many ranks a stage of the pipeline has, 0 without a pipeline: those
// from 0 on are the first stage.
func (s *Source) PerStage() int {
	if p := s.Config.Parallel.degrees(); p.PP > 1 {
		return p.Ranks() / p.PP
	}
	return 0
}

// Steps implements graph.Source.
func (s *Source) Steps() int { return s.Config.Steps }

// Labels implements graph.Source.
func (s *Source) Labels() *graph.Labels { return &s.Names }

// Only implements graph.Source. Programs are computed, so that there is nothing to leave out.
func (s *Source) Only([]int) graph.Source { return s }

// Program implements graph.Source.
func (s *Source) Program(rank int, seed uint64) graph.Program {
	c, l := &s.Config, s.layout
	if l == nil {
		l = newLayout(c)
	}
	p := &program{
		layout: l, groups: c.Parallel.degrees().groups(rank), at: c.Parallel.degrees().place(rank),
		clock: c.Jitter.NewClock(seed, rank), load: 1,
	}
	p.stage = &l.stages[p.at.pp]
	if c.Model.Experts > 0 {
		p.shares = c.shares(seed)
		p.load = p.shares[p.groups.ep.me] * float64(p.layout.parallel.EP)
	}
	return &graph.Pieces{Append: p.append}
}

// streams of a rank's collectives begin at multiples of Streams of the widest one.
const (
	onTP = iota
	onCP
	onEP
	onDP
	onExperts
	onEmbedding
	onPipeline // forwards; backwards is the next
)

// program expands the program of a rank, a group of layers at a time.
type program struct {
	layout *layout
	stage  *stage
	groups groups
	at     place
	clock  *jitter.Clock
	shares []float64 // of expert parallelism, by index
	load   float64   // tokens of the rank's experts over those that it sends

	step, pass, group int
	begun             bool
	done              []int     // backward passes of each chunk that are complete
	tail              uint32    // the operation that the next pass follows
	sent              [2]uint32 // last messages to other stages, forwards and backwards; the step's begin without any
	reduced           uint32    // end of the last collective of gradients; the step's begin without any
	tag               graph.Tag // of compute
}

// append appends the next group of layers, or the rest of the step.
func (p *program) append(b *graph.Builder) bool {
	if !p.begun {
		p.begin(b)
	}
	if p.pass < p.layout.shape.Passes() {
		p.appendGroup(b, p.layout.shape.Pass(p.at.pp, p.pass))
		return true
	}
	p.end(b)
	return p.step < p.layout.config.Steps
}

// mark returns the tag of the step.
func (p *program) mark() graph.Tag {
	return graph.Tag{Step: int32(p.step), Phase: graph.None, Collective: graph.None, Group: graph.None}
}

func (p *program) begin(b *graph.Builder) {
	p.clock.StartStep(p.step)
	b.Tag = p.mark()
	if p.step == 0 {
		p.tail = b.Begin()
	} else {
		p.tail = b.Begin(p.tail)
	}
	if p.layout.config.Held {
		p.tail = b.Hold(p.tail)
	}
	p.sent, p.reduced = [2]uint32{p.tail, p.tail}, p.tail
	p.done = make([]int, len(p.stage.chunks))
	p.pass, p.group, p.begun = 0, 0, true
}

// appendGroup appends one group of layers of a pass, with the pass's messages around the
// first and the last.
func (p *program) appendGroup(b *graph.Builder, pass pipeline.Pass) {
	chunk := &p.stage.chunks[pass.Chunk]
	p.tag = p.mark()
	p.tag.Phase = int32(pass.Work)
	first, last := p.group == 0, p.group == len(chunk.groups)-1
	if first {
		p.receive(b, pass)
	}
	g := &chunk.groups[p.group]
	if pass.Work != pipeline.Forward {
		g = &chunk.groups[len(chunk.groups)-1-p.group]
	}
	if pass.Work == pipeline.Weight {
		p.compute(b, p.layout.duration(g.weight, p.load))
	} else {
		p.appendLayers(b, g, pass.Work)
	}
	if last {
		p.send(b, pass)
	}
	if work := p.lastWork(); pass.Work == work && p.done[pass.Chunk] == p.layout.shape.Microbatches-1 && g.full != none {
		p.reduce(b, &chunk.buckets[g.full])
	}
	p.group++
	if last {
		if pass.Work == p.lastWork() {
			p.done[pass.Chunk]++
		}
		p.group, p.pass = 0, p.pass+1
	}
}

// lastWork returns the work after which gradients of the weights are there.
func (p *program) lastWork() pipeline.Work {
	if p.layout.shape.Kind == pipeline.ZeroBubble {
		return pipeline.Weight
	}
	return pipeline.Backward
}

// receive appends the message from another stage that a pass needs.
func (p *program) receive(b *graph.Builder, pass pipeline.Pass) {
	from, ok := p.layout.shape.From(p.at.pp, pass)
	if !ok {
		return
	}
	peer := p.stageRank(from)
	b.Tag = p.tag
	b.Tag.Collective, b.Tag.Group = p.layout.forward+int32(pass.Work), int32(peer)
	p.tail = b.Recv(peer, p.channel(onPipeline+int(pass.Work)), p.layout.message, p.tail)
}

// send appends the message to another stage behind a pass.
func (p *program) send(b *graph.Builder, pass pipeline.Pass) {
	to, ok := p.layout.shape.To(p.at.pp, pass)
	if !ok {
		return
	}
	b.Tag = p.tag
	b.Tag.Collective, b.Tag.Group = p.layout.forward+int32(pass.Work), int32(p.stageRank(p.at.pp))
	p.sent[pass.Work] = b.Add(graph.Op{
		Kind: graph.Send, Peer: int32(p.stageRank(to)), Channel: p.channel(onPipeline + int(pass.Work)), Bytes: p.layout.message,
		Total: units.Size(p.layout.shape.Sends(p.at.pp, pass.Work)) * p.layout.message,
	}, p.tail)
}

// stageRank returns the rank at the same place of another stage.
func (p *program) stageRank(stage int) int {
	at := p.at
	at.pp = stage
	return p.layout.parallel.rank(at)
}

// channel returns the first stream number of what a rank sends for one purpose.
func (p *program) channel(on int) uint16 {
	return uint16(2 * max(p.layout.config.Collectives.Channels, 1) * on) // trees use two for each channel
}

// appendLayers appends the compute and the collectives of a group of layers. What overlaps
// a computation comes before it, as every operation behind it waits for it.
func (p *program) appendLayers(b *graph.Builder, g *layers, work pipeline.Work) {
	t, keys := g.forward, g.keys
	if work == pipeline.Backward {
		t, keys = g.backward, g.keysBack
	}
	beside := p.collective(b, keys, collective.AllGather, collective.Ring, p.groups.cp, onCP, p.tail)
	p.tail = p.collective(b, g.gather, collective.AllGather, p.layout.config.Collectives.TP, p.groups.tp, onTP, p.tail)
	switch {
	case g.dispatch.bytes == 0:
		p.compute(b, p.layout.duration(t, p.load))
		p.join(b, beside)
	case work == pipeline.Forward:
		p.compute(b, p.layout.duration(times{dense: t.dense}, 1))
		p.join(b, beside)
		p.appendExperts(b, g, t)
	default:
		p.appendExperts(b, g, t)
		p.compute(b, p.layout.duration(times{dense: t.dense}, 1))
		p.join(b, beside)
	}
	kind := collective.AllReduce
	if g.gather.bytes > 0 {
		kind = collective.ReduceScatter
	}
	p.tail = p.collective(b, g.reduce, kind, p.layout.config.Collectives.TP, p.groups.tp, onTP, p.tail)
}

// appendExperts appends dispatch, the experts' compute and combine. Backwards the
// gradients go the same ways.
func (p *program) appendExperts(b *graph.Builder, g *layers, t times) {
	to, from := p.layout.sizes(g.tokens, p.shares, p.groups.ep.me)
	p.allToAll(b, g.dispatch, to, from)
	p.compute(b, p.layout.duration(times{experts: t.experts}, p.load))
	p.allToAll(b, g.combine, from, to)
}

// compute appends a computation, behind which the program is not expanded before it is
// complete.
func (p *program) compute(b *graph.Builder, d units.Duration) {
	b.Tag = p.tag
	p.tail = b.Add(graph.Op{Kind: graph.Compute, Duration: p.clock.Compute(d), Fence: true}, p.tail)
}

// join lets what follows wait for the exchange of context parallelism, too.
func (p *program) join(b *graph.Builder, other uint32) {
	if len(p.groups.cp.ranks) > 1 {
		b.Tag = p.tag
		p.tail = b.Barrier(p.tail, other)
	}
}

// collective appends a collective of a group and returns its end, or after if there is none.
func (p *program) collective(b *graph.Builder, t traffic, kind collective.Kind, a collective.Algorithm, g group, on int, after ...uint32) uint32 {
	o := &p.layout.config.Collectives
	call := collective.Call{Kind: kind, Algorithm: a, Bytes: t.bytes, Channels: o.Channels, Chunk: o.Chunk, Local: o.Local, Servers: o.Servers}
	return p.run(b, t, &call, g, on, after...)
}

// allToAll appends an all-to-all of expert parallelism, in which all ranks send to all others
// at the same time.
func (p *program) allToAll(b *graph.Builder, t traffic, to, from []units.Size) {
	call := collective.Call{Kind: collective.AllToAll, Algorithm: collective.Direct, Channels: len(to), Chunk: p.layout.config.Collectives.Chunk, Split: to, From: from, Servers: p.layout.config.Collectives.Servers}
	p.tail = p.run(b, t, &call, p.groups.ep, onEP, p.tail)
}

func (p *program) run(b *graph.Builder, t traffic, call *collective.Call, g group, on int, after ...uint32) uint32 {
	if t.bytes == 0 {
		return after[0]
	}
	b.Tag = p.tag
	b.Tag.Collective, b.Tag.Group = t.label, int32(g.number)
	call.Group, call.Me, call.Channel = g.ranks, g.me, p.channel(on)
	end, err := collective.Append(b, call, after...)
	if err != nil {
		panic("training: " + err.Error()) // Validate has tried them
	}
	return end
}

// reduce appends the reduction of a bucket of gradients, beside the passes that follow. It
// waits for the one before.
func (p *program) reduce(b *graph.Builder, k *bucket) {
	kind := collective.AllReduce
	if p.layout.config.Gradients.Sharded {
		kind = collective.ReduceScatter
	}
	a := p.layout.config.Collectives.DP
	if k.dense.bytes > 0 {
		p.reduced = p.collective(b, k.dense, kind, a, p.groups.dp, onDP, p.tail, p.reduced)
	}
	if k.experts.bytes > 0 {
		p.reduced = p.collective(b, k.experts, kind, a, p.groups.experts, onExperts, p.tail, p.reduced)
	}
}

// end appends what follows the last pass of a step.
func (p *program) end(b *graph.Builder) {
	p.tag = p.mark()
	p.tag.Phase = int32(len(pipeline.PhaseNames())) // optimizer
	if embedding := p.layout.embedding; embedding.bytes > 0 && (p.at.pp == 0 || p.at.pp == p.layout.parallel.PP-1) {
		p.reduced = p.collective(b, embedding, collective.AllReduce, collective.Ring, p.groups.embedding, onEmbedding, p.tail, p.reduced)
	}
	b.Tag = p.tag
	p.tail = b.Add(graph.Op{Kind: graph.Barrier, Fence: true}, p.tail, p.reduced, p.sent[0], p.sent[1])
	if optimizer := p.layout.config.Compute.Optimizer; optimizer > 0 {
		p.compute(b, p.layout.duration(times{dense: optimizer.Seconds()}, 1))
	}
	for i := range p.stage.chunks {
		buckets := p.stage.chunks[i].buckets
		for k := len(buckets) - 1; k >= 0; k-- { // parameters of the first layers come first
			p.tail = p.collective(b, buckets[k].parameters, collective.AllGather, p.layout.config.Collectives.DP, p.groups.dp, onDP, p.tail)
			p.tail = p.collective(b, buckets[k].expertParameters, collective.AllGather, p.layout.config.Collectives.DP, p.groups.experts, onExperts, p.tail)
		}
	}
	b.Tag = p.mark()
	p.tail = b.Add(graph.Op{Kind: graph.End, Fence: true}, p.tail)
	p.step++
	p.begun = false
}
