package training

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// layout is what follows from a Config: what each stage computes and sends in a pass.
type layout struct {
	config    *Config
	parallel  Parallel // without 0
	shape     pipeline.Shape
	precision int64 // bytes
	gradient  int64 // bytes
	scale     float64
	stages    []stage
	names     graph.Labels
	labels    map[label]int32 // numbers in names.Collectives
	message   units.Size      // between stages
	forward   int32           // label of messages between stages; backward's is the next
	embedding traffic
}

// stage is the part of the model on one stage of the pipeline.
type stage struct{ chunks []chunk }

// chunk is the layers that one pass goes through.
type chunk struct {
	groups  []layers
	buckets []bucket // in the order in which they get full
}

// layers is the layers of one compute and one collective.
type layers struct {
	layers                    int
	forward, backward, weight times   // one microbatch; weight is 0 unless the schedule splits the backward pass
	reduce                    traffic // tp: all-reduce, or with sequence parallelism the reduce-scatter
	gather                    traffic // tp: the all-gather of sequence parallelism
	keys, keysBack            traffic // cp
	dispatch, combine         traffic // ep: bytes is what a rank sends, its own part included
	tokens                    int64   // ep: that a rank sends, each TopK times
	full                      int     // number of the bucket that is full when the layers' gradients are in it, or none
}

// none is the absence of a bucket.
const none = -1

// times are compute times in seconds. That of the experts is for a rank that gets as many
// tokens as it sends.
type times struct{ dense, experts float64 }

// traffic is a collective: its number in the labels, and its size as graph.Collective
// counts it. Without bytes there is none.
type traffic struct {
	label int32
	bytes units.Size
}

// bucket is gradients that are reduced together, and the parameters that they belong to.
type bucket struct{ dense, experts, parameters, expertParameters traffic }

// label identifies a collective by what its name is made of.
type label struct {
	name  string
	bytes units.Size
}

// newLayout computes the layout of a configuration whose numbers are in their ranges.
func newLayout(c *Config) *layout {
	l := &layout{
		config: c, parallel: c.Parallel.degrees(), shape: c.shape(), precision: int64(c.Precision), gradient: int64(c.Gradients.Bytes),
		scale: c.Scale, labels: map[label]int32{}, names: graph.Labels{Phases: append(pipeline.PhaseNames(), "optimizer")},
	}
	if l.precision == 0 {
		l.precision = 2
	}
	if l.gradient == 0 {
		l.gradient = 4
	}
	if l.scale == 0 {
		l.scale = 1
	}
	l.stages = make([]stage, l.parallel.PP)
	// Stages in the middle give the plain names; those at the ends have an embedding more.
	for s := range l.stages {
		if s > 0 && s < len(l.stages)-1 {
			l.stages[s] = l.stage(s)
		}
	}
	l.stages[0] = l.stage(0)
	if last := len(l.stages) - 1; last > 0 {
		l.stages[last] = l.stage(last)
		m := &c.Model
		l.message = l.scaled(pipeline.MessageSize(c.MicroBatch, m.Sequence/l.parallel.CP, m.Hidden, int(l.precision), l.parallel.TP))
		for i, name := range pipeline.MessageNames() {
			n := l.add(graph.Collective{Name: name, Kind: collective.SendRecv.String(), Algorithm: collective.Direct.String(), Ranks: 2, Bytes: l.message}, "")
			if i == 0 {
				l.forward = n
			}
		}
		if c.Gradients.Embedding {
			l.embedding = l.traffic("embedding", "", collective.AllReduce, collective.Ring, 2, l.part(m.embedding())*l.gradient)
		}
	}
	return l
}

// shape returns the schedule.
func (c *Config) shape() pipeline.Shape {
	p := c.Parallel.degrees()
	return pipeline.Shape{Kind: c.Schedule, Stages: p.PP, Microbatches: c.GlobalBatch / (c.MicroBatch * p.DP), Chunks: max(c.Chunks, 1)}
}

// part returns a rank's share of n under tensor parallelism, rounded up.
func (l *layout) part(n int64) int64 { return (n + int64(l.parallel.TP) - 1) / int64(l.parallel.TP) }

// scaled returns a size times the scale, rounded up.
func (l *layout) scaled(size units.Size) units.Size {
	if l.scale == 1 {
		return size
	}
	return units.Size(math.Ceil(float64(size) * l.scale))
}

// depth returns the number of layers of a part of the model, of n parts. If the parts are
// not equal, those in the middle have one more, as the first and the last one have the
// embedding and the output layer besides: 126 layers in 16 parts are 7, 14 times 8, and 7.
func depth(all, n, part int) int {
	each, more := all/n, all%n
	if first := (n - more) / 2; part >= first && part < first+more {
		return each + 1
	}
	return each
}

func (l *layout) stage(number int) stage {
	c := l.config
	s := stage{make([]chunk, l.shape.Chunks)}
	buckets := 0
	for i := len(s.chunks) - 1; i >= 0; i-- { // backwards, as gradients get ready
		part, parts := i*l.parallel.PP+number, l.parallel.PP*len(s.chunks)
		for left := depth(c.Model.Layers, parts, part); left > 0; {
			n := min(max(c.Granularity, 1), left)
			left -= n
			s.chunks[i].groups = append(s.chunks[i].groups, l.layers(n, part == parts-1 && left == 0))
		}
		l.fill(&s.chunks[i], number, part == 0, part == parts-1, &buckets)
	}
	return s
}

// layers returns a group of n layers; the last one of the model has the output layer.
func (l *layout) layers(n int, last bool) layers {
	c, m, p := l.config, &l.config.Model, l.parallel
	tokens := int64(c.MicroBatch) * int64(m.Sequence) / int64(p.CP)
	g := layers{layers: n, full: none}
	l.compute(&g, float64(tokens)/float64(p.TP), last)
	suffix := fmt.Sprintf("-%d-layers", n)
	if bytes := 2 * int64(n) * tokens * int64(m.Hidden) * l.precision; c.SequenceParallel {
		g.gather = l.traffic("tp-gather", suffix, collective.AllGather, c.Collectives.TP, p.TP, bytes)
		g.reduce = l.traffic("tp-scatter", suffix, collective.ReduceScatter, c.Collectives.TP, p.TP, bytes)
	} else {
		g.reduce = l.traffic("tp", suffix, collective.AllReduce, c.Collectives.TP, p.TP, bytes)
	}
	// Each rank has the keys and values of its own tokens and heads.
	keys := 2 * int64(n) * l.part(tokens*m.kvHidden()*l.precision) * int64(p.CP)
	g.keys = l.traffic("cp", suffix, collective.AllGather, collective.Ring, p.CP, keys)
	g.keysBack = l.traffic("cp-backward", suffix, collective.AllGather, collective.Ring, p.CP, 2*keys)
	if m.Experts > 0 && p.EP > 1 {
		g.tokens = int64(n) * l.part(tokens)
		bytes := g.tokens * int64(m.TopK) * int64(m.Hidden) * l.precision
		g.dispatch = l.traffic("ep-dispatch", suffix, collective.AllToAll, collective.Direct, p.EP, bytes)
		g.combine = l.traffic("ep-combine", suffix, collective.AllToAll, collective.Direct, p.EP, bytes)
	}
	return g
}

// compute sets the times of a group of layers for one microbatch: tokens of a rank, in
// effect divided by tensor parallelism.
func (l *layout) compute(g *layers, tokens float64, last bool) {
	c, n := &l.config.Compute, float64(g.layers)
	f := l.config.Model.layer(tokens)
	split := l.shape.Kind == pipeline.ZeroBubble
	if c.Forward > 0 {
		back := 2 * c.Forward.Seconds()
		if c.Backward > 0 {
			back = c.Backward.Seconds()
		}
		part := f.experts / (float64(f.weights+f.scores) + f.experts)
		of := func(time float64) times { return times{n * time * (1 - part), n * time * part} }
		g.forward = of(c.Forward.Seconds())
		if split {
			g.backward, g.weight = of(back/2), of(back/2)
		} else {
			g.backward = of(back)
		}
		return
	}
	rate := c.FLOPS * c.MFU
	weights, scores, experts := float64(n*f.weights), float64(n*f.scores), float64(n*f.experts)
	if last {
		weights += l.config.Model.output(tokens)
	}
	// Backwards, each product of the forward pass becomes two, one for each factor's gradient.
	// Those for the gradients of weights can wait.
	g.forward = times{(weights + scores) / rate, experts / rate}
	g.backward = times{2 * (weights + scores) / rate, 2 * experts / rate}
	if split {
		g.backward = times{(weights + 2*scores) / rate, experts / rate}
		g.weight = g.forward
		g.weight.dense = weights / rate
	}
}

// fill puts the gradients of a chunk into buckets, last layers first. first and last say
// whether the chunk has the embedding and the output layer.
func (l *layout) fill(c *chunk, stage int, first, last bool, buckets *int) {
	m, p := &l.config.Model, l.parallel
	over, expertsOver := p.DP*p.CP, p.DP*p.CP/p.EP
	var dense, experts int64 // parameters of a rank
	for i := len(c.groups) - 1; i >= 0; i-- {
		g := &c.groups[i]
		weights := int64(g.layers) * m.dense()
		if last && i == len(c.groups)-1 {
			weights += int64(m.Hidden) // the last normalisation
			if !m.Tied || l.parallel.PP*l.shape.Chunks > 1 {
				weights += m.embedding() // the output layer, or its copy of the embedding
			}
		}
		if first && i == 0 {
			weights += m.embedding()
		}
		dense += l.part(weights)
		experts += int64(g.layers) * l.part(m.experts()/int64(p.EP))
		if size := (dense + experts) * l.gradient; i > 0 && (l.config.Gradients.Bucket == 0 || size < int64(l.config.Gradients.Bucket)) {
			continue
		}
		g.full = len(c.buckets)
		c.buckets = append(c.buckets, l.bucket(*buckets, stage, dense, experts, over, expertsOver))
		*buckets++
		dense, experts = 0, 0
	}
}

func (l *layout) bucket(number, stage int, dense, experts int64, over, expertsOver int) bucket {
	kind := collective.AllReduce
	if l.config.Gradients.Sharded {
		kind = collective.ReduceScatter
	}
	a, suffix := l.config.Collectives.DP, fmt.Sprintf("-stage-%d", stage)
	b := bucket{
		dense:   l.traffic(fmt.Sprintf("dp-%d", number), suffix, kind, a, over, dense*l.gradient),
		experts: l.traffic(fmt.Sprintf("dp-experts-%d", number), suffix, kind, a, expertsOver, experts*l.gradient),
	}
	if l.config.Gradients.Sharded {
		b.parameters = l.traffic(fmt.Sprintf("parameters-%d", number), suffix, collective.AllGather, a, over, dense*l.precision)
		b.expertParameters = l.traffic(fmt.Sprintf("parameters-experts-%d", number), suffix, collective.AllGather, a, expertsOver, experts*l.precision)
	}
	return b
}

// traffic names a collective of a number of ranks, if there are several and bytes. A
// collective of the same name and another size has the suffix in its name.
func (l *layout) traffic(name, suffix string, kind collective.Kind, a collective.Algorithm, ranks int, bytes int64) traffic {
	if ranks < 2 || bytes == 0 {
		return traffic{}
	}
	if a == collective.Auto {
		a = collective.AlgorithmsOf(kind)[0]
	}
	size := l.scaled(units.Size(bytes))
	return traffic{l.add(graph.Collective{Name: name, Kind: kind.String(), Algorithm: a.String(), Ranks: ranks, Bytes: size}, suffix), size}
}

// add returns the number of a collective in the labels.
func (l *layout) add(what graph.Collective, suffix string) int32 {
	if n, ok := l.labels[label{what.Name, what.Bytes}]; ok {
		return n
	}
	n := int32(len(l.names.Collectives))
	l.labels[label{what.Name, what.Bytes}] = n
	if plain := (label{name: what.Name}); l.labels[plain] == 0 { // the number of the first one, plus 1
		l.labels[plain] = n + 1
	} else {
		what.Name += suffix
	}
	l.names.Collectives = append(l.names.Collectives, what)
	return n
}

// duration returns a compute time of the job: of a rank whose experts get load times as
// many tokens as it sends.
func (l *layout) duration(t times, load float64) units.Duration {
	return units.Duration(math.Round((t.dense + float64(t.experts*load)) * l.scale * float64(units.Second)))
}

// messages returns about how many operations a collective of n ranks takes.
func (l *layout) messages(bytes units.Size, n int) float64 {
	if bytes == 0 {
		return 0
	}
	operations := 6 + 8*float64(n)*float64(max(l.config.Collectives.Channels, 1))
	if chunk := l.config.Collectives.Chunk; chunk > 0 {
		operations += 8 * float64(bytes) / float64(chunk)
	}
	return operations
}

// estimate returns about how many operations all passes of a group take in a step, for one
// microbatch.
func (l *layout) estimate(g *layers) float64 {
	return 24 + 2*(l.messages(g.reduce.bytes, l.parallel.TP)+l.messages(g.gather.bytes, l.parallel.TP)) +
		2*(l.messages(g.dispatch.bytes, l.parallel.EP)+l.messages(g.combine.bytes, l.parallel.EP)) + 3*l.messages(g.keys.bytes, l.parallel.CP)
}
