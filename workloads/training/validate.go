package training

import (
	"errors"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// Limits of a Config: more is a mistake.
const (
	MaxRanks    = 1 << 17
	MaxLayers   = 1 << 14
	MaxSize     = 1 << 24 // of hidden, sequence and the other sizes of a model
	MaxBatch    = 1 << 30 // sequences
	MaxChannels = 64
	// MaxOperations bounds the operations of a rank in all steps, which have numbers of 32 bits.
	MaxOperations = 1 << 31
	// MaxCollectives bounds the names of collectives; records have 15 bits for their numbers.
	MaxCollectives = 1<<15 - 2
	// longest is the longest computation of one group of layers.
	longest = 24 * 3600 * units.Second
)

// Validate checks the configuration. Its errors are of type *graph.FieldError; fields have
// the names of the structs in lower case, words divided by _, with the names of inner structs
// before a dot: parallel.tp, global_batch.
func (c *Config) Validate() error {
	for _, check := range []func() error{
		c.Model.validate, c.validateParallel, c.validateBatch, c.Compute.validate, c.validateRest, c.validateCollectives, c.validateSize,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return c.Jitter.Validate(c.Parallel.Ranks(), c.Steps)
}

// bound is a field with the range that it has to be in.
type bound struct {
	field              string
	value, least, most int
}

func checkBounds(bounds []bound) error {
	for _, b := range bounds {
		if b.value < b.least || b.value > b.most {
			return graph.Fault(b.field, "%d, want %d to %d", b.value, b.least, b.most)
		}
	}
	return nil
}

func (m *Model) validate() error {
	err := checkBounds([]bound{
		{"model.layers", m.Layers, 1, MaxLayers},
		{"model.hidden", m.Hidden, 1, MaxSize},
		{"model.ffn", m.FFN, 1, MaxSize},
		{"model.heads", m.Heads, 1, m.Hidden},
		{"model.kv_heads", m.KVHeads, 0, m.Heads},
		{"model.sequence", m.Sequence, 1, MaxSize},
		{"model.vocabulary", m.Vocabulary, 0, MaxSize},
		{"model.experts", m.Experts, 0, 1 << 16},
		{"model.top_k", m.TopK, min(m.Experts, 1), m.Experts},
	})
	switch {
	case err != nil:
		return err
	case m.Hidden%m.Heads != 0:
		return graph.Fault("model.heads", "%d, which does not divide hidden %d", m.Heads, m.Hidden)
	case m.KVHeads > 0 && m.Heads%m.KVHeads != 0:
		return graph.Fault("model.kv_heads", "%d, which does not divide heads %d", m.KVHeads, m.Heads)
	case m.Experts == 1:
		return graph.Fault("model.experts", "1, want none or several")
	case m.Tied && m.Vocabulary == 0:
		return graph.Fault("model.tied", "there is no vocabulary")
	}
	return nil
}

func (c *Config) validateParallel() error {
	p := c.Parallel
	err := checkBounds([]bound{
		{"parallel.tp", p.TP, 0, MaxRanks}, {"parallel.pp", p.PP, 0, pipeline.MaxStages}, {"parallel.dp", p.DP, 0, MaxRanks},
		{"parallel.ep", p.EP, 0, MaxRanks}, {"parallel.cp", p.CP, 0, MaxRanks}, {"chunks", c.Chunks, 0, pipeline.MaxChunks},
	})
	if err != nil {
		return err
	}
	p = p.degrees()
	switch ranks := float64(p.TP) * float64(p.PP) * float64(p.DP) * float64(p.CP); {
	case ranks > MaxRanks:
		return graph.Fault("parallel", "%.0f ranks, want at most %d", ranks, MaxRanks)
	case ranks < 2:
		return graph.Fault("parallel", "one rank sends nothing, want two or more")
	case c.Model.Heads%p.TP != 0:
		return graph.Fault("parallel.tp", "%d, which does not divide the model's %d heads", p.TP, c.Model.Heads)
	case c.Model.Sequence%p.CP != 0:
		return graph.Fault("parallel.cp", "%d, which does not divide the model's sequence of %d", p.CP, c.Model.Sequence)
	case p.DP*p.CP%p.EP != 0:
		return graph.Fault("parallel.ep", "%d, which does not divide dp times cp, %d", p.EP, p.DP*p.CP)
	case p.EP > 1 && c.Model.Experts == 0:
		return graph.Fault("parallel.ep", "%d, but the model has no experts", p.EP)
	case c.Model.Experts%p.EP != 0:
		return graph.Fault("parallel.ep", "%d, which does not divide the model's %d experts", p.EP, c.Model.Experts)
	case c.Model.Layers < p.PP*max(c.Chunks, 1):
		return graph.Fault("model.layers", "%d, fewer than %d stages of %d chunks", c.Model.Layers, p.PP, max(c.Chunks, 1))
	}
	return nil
}

func (c *Config) validateBatch() error {
	if err := checkBounds([]bound{{"micro_batch", c.MicroBatch, 1, MaxBatch}, {"global_batch", c.GlobalBatch, 1, MaxBatch}}); err != nil {
		return err
	}
	if part := c.MicroBatch * c.Parallel.degrees().DP; c.GlobalBatch%part != 0 {
		return graph.Fault("global_batch", "%d, which is no multiple of micro_batch times dp, %d", c.GlobalBatch, part)
	}
	err := c.shape().Validate()
	var fault *graph.FieldError
	if errors.As(err, &fault) && fault.Field == "microbatches" {
		return graph.Fault("global_batch", "%d microbatches: %s", c.shape().Microbatches, fault.Problem)
	}
	return err
}

func (c *Compute) validate() error {
	switch {
	case !(c.FLOPS >= 0 && c.FLOPS <= 1e24):
		return graph.Fault("compute.flops", "%v, want 0 to 1e24", c.FLOPS)
	case !(c.MFU >= 0 && c.MFU <= 1):
		return graph.Fault("compute.mfu", "%v, want above 0 and at most 1", c.MFU)
	case c.Forward < 0:
		return graph.Fault("compute.forward", "%v is negative", c.Forward)
	case c.Backward < 0:
		return graph.Fault("compute.backward", "%v is negative", c.Backward)
	case c.Optimizer < 0 || c.Optimizer > longest:
		return graph.Fault("compute.optimizer", "%v, want 0 to %v", c.Optimizer, units.Duration(longest))
	case c.Forward > 0 && (c.FLOPS > 0 || c.MFU > 0):
		return graph.Fault("compute.forward", "give either forward or flops and mfu")
	case c.Forward == 0 && c.Backward > 0:
		return graph.Fault("compute.backward", "needs forward")
	case c.Forward == 0 && c.FLOPS == 0:
		return graph.Fault("compute.flops", "missing: give flops and mfu, or forward")
	case c.Forward == 0 && c.MFU == 0:
		return graph.Fault("compute.mfu", "missing: flops needs it")
	}
	return nil
}

func (c *Config) validateRest() error {
	p := c.Parallel.degrees()
	err := checkBounds([]bound{
		{"precision", c.Precision, 0, 8}, {"gradients.bytes", c.Gradients.Bytes, 0, 8},
		{"granularity", c.Granularity, 0, MaxLayers}, {"steps", c.Steps, 1, pipeline.MaxSteps},
	})
	switch {
	case err != nil:
		return err
	case c.Gradients.Bucket < 0:
		return graph.Fault("gradients.bucket", "%d B is negative", int64(c.Gradients.Bucket))
	case c.Gradients.Sharded && p.DP*p.CP == 1:
		return graph.Fault("gradients.sharded", "there is no data parallelism")
	case c.Gradients.Embedding && (!c.Model.Tied || p.PP == 1):
		return graph.Fault("gradients.embedding", "it is for a tied model of several stages")
	case c.SequenceParallel && p.TP == 1:
		return graph.Fault("sequence_parallel", "there is no tensor parallelism")
	case c.SequenceParallel && c.Model.Sequence/p.CP%p.TP != 0:
		return graph.Fault("sequence_parallel", "tp %d does not divide a rank's sequence of %d", p.TP, c.Model.Sequence/p.CP)
	case !(c.Skew >= 0 && c.Skew <= 10):
		return graph.Fault("skew", "%v, want 0 to 10", c.Skew)
	case c.Skew > 0 && c.Model.Experts == 0:
		return graph.Fault("skew", "the model has no experts")
	case !(c.Scale >= 0 && c.Scale <= 1):
		return graph.Fault("scale", "%v, want above 0 and at most 1", c.Scale)
	}
	return nil
}

// validateCollectives tries the collectives of rank 0, whose groups have the sizes of all.
func (c *Config) validateCollectives() error {
	o := &c.Collectives
	if err := checkBounds([]bound{{"collectives.channels", o.Channels, 0, MaxChannels}, {"collectives.local", o.Local, 0, MaxRanks}}); err != nil {
		return err
	}
	if o.Chunk < 0 {
		return graph.Fault("collectives.chunk", "%d B is negative", int64(o.Chunk))
	}
	g := c.Parallel.degrees().groups(0)
	try := func(field string, g group, kinds []collective.Kind, a collective.Algorithm, local int) error {
		for _, kind := range kinds {
			call := collective.Call{Kind: kind, Algorithm: a, Group: g.ranks, Bytes: 1, Channels: o.Channels, Chunk: o.Chunk, Local: local}
			if err := call.Validate(); len(g.ranks) > 1 && err != nil {
				return &graph.FieldError{Field: field, Problem: err.Error()}
			}
		}
		return nil
	}
	reduce := func(split bool) []collective.Kind {
		if split {
			return []collective.Kind{collective.ReduceScatter, collective.AllGather}
		}
		return []collective.Kind{collective.AllReduce}
	}
	if err := try("collectives.tp", g.tp, reduce(c.SequenceParallel), o.TP, 0); err != nil {
		return err
	}
	for _, over := range []group{g.dp, g.experts} {
		if err := try("collectives.dp", over, reduce(c.Gradients.Sharded), o.DP, o.Local); err != nil {
			return err
		}
	}
	if o.EP != collective.Auto && o.EP != collective.Direct {
		return graph.Fault("collectives.ep", "%s, want direct: ranks get different sizes", o.EP)
	}
	return nil
}

// validateSize refuses steps whose times or operations cannot be counted.
func (c *Config) validateSize() error {
	l := newLayout(c)
	most := 0.0
	for _, stage := range l.stages {
		operations := 0.0
		for _, chunk := range stage.chunks {
			for _, g := range chunk.groups {
				for _, t := range []times{g.forward, g.backward, g.weight} {
					if !(t.dense+float64(c.Model.Experts)*t.experts <= units.Duration(longest).Seconds()) {
						return graph.Fault("compute", "a group of %d layers computes for longer than %v", g.layers, units.Duration(longest))
					}
				}
				operations += float64(l.shape.Microbatches) * l.estimate(&g)
			}
			for _, b := range chunk.buckets {
				operations += 2*l.messages(b.dense.bytes, l.parallel.DP*l.parallel.CP) + 2*l.messages(b.experts.bytes, l.parallel.DP*l.parallel.CP)
			}
		}
		most = max(most, operations)
	}
	if len(l.names.Collectives) > MaxCollectives {
		return graph.Fault("gradients.bucket", "%d buckets and other collectives are more than %d", len(l.names.Collectives), MaxCollectives)
	}
	for _, what := range l.names.Collectives {
		if err := c.tryMessages(what); err != nil {
			return err
		}
	}
	if most*float64(c.Steps) > MaxOperations {
		return graph.Fault("steps", "%d steps of about %.3g operations are too many for one rank", c.Steps, most)
	}
	return nil
}

// tryMessages refuses a collective that takes more messages than package collective expands.
func (c *Config) tryMessages(what graph.Collective) error {
	kind, err := collective.ParseKind(what.Kind)
	if err != nil || kind == collective.SendRecv {
		return err
	}
	field := "collectives.chunk"
	call := collective.Call{Kind: kind, Group: make([]int, what.Ranks), Bytes: what.Bytes, Channels: c.Collectives.Channels, Chunk: c.Collectives.Chunk}
	if kind == collective.AllToAll {
		if call.Channels = what.Ranks; c.Collectives.Chunk == 0 {
			field = "parallel.ep"
		}
		call.Bytes *= units.Size(what.Ranks + 2) // a rank may get all tokens of all others
	}
	if err := call.Validate(); err != nil {
		return graph.Fault(field, "%s: %v", what.Name, err)
	}
	return nil
}
