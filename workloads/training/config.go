// Package training makes the programs of training jobs: a transformer that is split by
// tensor, pipeline, data, expert and context parallelism, with its compute times, its
// collectives and what overlaps what. Profile is the simple form, a time of compute and a
// number of bytes, in which the literature describes jobs that share a link. Sources:
// docs/reference/references.md#training-jobs. Ours are the Zipf distribution of tokens over experts,
// whole layers in buckets, the pieces of uneven divisions and lognormal compute times. Not modelled:
// the all-reduces of embedding and loss within tensor parallelism, the norm of the gradients,
// recomputation.
//
// # Ranks
//
// Ranks are numbered as by Megatron-LM, order tp-cp-ep-dp-pp: the rank of index t of tensor
// parallelism, c of context, d of data and s of pipeline parallelism is
//
//	((s*DP + d)*CP + c)*TP + t
//
// and there are TP*CP*DP*PP. Expert parallelism splits the ranks of data and context
// parallelism: d*CP + c is x*EP + e, and the experts of index e are on the ranks of index e.
// Each of their matrices is split by tensor parallelism, as others are. Groups have their
// ranks in ascending order and are numbered by their first ranks.
//
// # A step
//
// Each stage runs the passes of its schedule (package pipeline). A pass receives its
// activations, or gradients, computes its layers in groups of Config.Granularity, and sends
// what it has on. Each group of layers has, in this order,
//
//   - cp: the exchange of keys and values in rings, beside its compute; backwards their
//     gradients go around, too, which is twice the bytes;
//   - the compute of the group, or of its attention if the model has experts;
//   - ep: dispatch, the experts' compute and combine, if the model has experts;
//   - tp: two all-reduces for each layer, as one; with sequence parallelism an all-gather
//     before the compute and a reduce-scatter behind it, of the same bytes.
//
// After the last backward pass of a group of layers its gradients go into a bucket. Full
// buckets are reduced over data and context parallelism, one after the other, beside the
// rest of the backward passes: those of experts over the ranks that have the same experts.
// Then comes the all-reduce of shared embeddings, and when all gradients are there the
// optimizer. The step of a rank ends behind the optimizer, and with Sharded behind the
// all-gather of the parameters. Messages between stages do not hold up compute.
//
// Layers need not divide evenly: stages in the middle have one more than those at the ends.
// Experts that get more tokens compute longer in proportion.
//
// Not modelled: the all-reduces of the embedding and of the loss within tensor parallelism,
// the norm of the gradients, recomputation of activations, and an all-gather within tensor
// parallelism behind the messages between stages.
package training

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// Config is a training job. It is plain data. Zero values that a comment gives a meaning
// may be left out; all others are refused by Validate.
type Config struct {
	Model    Model
	Parallel Parallel
	// MicroBatch and GlobalBatch are numbers of sequences: of a microbatch on one rank of
	// data parallelism, and of a step on all of them. A step has GlobalBatch/(MicroBatch*DP)
	// microbatches, which has to be a whole number.
	MicroBatch, GlobalBatch int
	Schedule                pipeline.Kind
	Chunks                  int // of the layers on each stage, for schedule interleaved; 0: 1
	Compute                 Compute
	Gradients               Gradients
	Precision               int // bytes of an activation and of a weight; 0: 2 (bf16)
	// SequenceParallel replaces the all-reduces of tensor parallelism by all-gathers and
	// reduce-scatters (Korthikanti et al., MLSys 2023).
	SequenceParallel bool
	// Skew is the exponent of the Zipf distribution of tokens over experts: the k-th most
	// popular expert gets tokens in proportion to k^-Skew. 0: all get the same. Which
	// expert is popular depends on the seed and is the same in every step and layer.
	Skew        float64
	Collectives Collectives
	Granularity int // layers in one compute and one collective, 0: 1; more make a job cheaper to run
	// Scale multiplies times of compute and sizes of messages alike, so that a step of a
	// large model is as short as a test needs while the relation of compute to
	// communication stays. Latencies of the fabric do not shrink: a step of scale 0.01 feels
	// them a hundred times as much. Pauses do not shrink either. 0: 1. At most 1.
	Scale  float64
	Steps  int  // at least 1
	Held   bool // puts a graph.Hold at the beginning of a step
	Jitter jitter.Config
}

// Model is the shape of a transformer.
type Model struct {
	Layers     int
	Hidden     int  // size of the model's vectors
	FFN        int  // inner size of the feed-forward part, or of one expert
	Heads      int  // of attention
	KVHeads    int  // heads of keys and values, 0: Heads. Fewer are grouped-query attention
	Sequence   int  // tokens of a sequence
	Vocabulary int  // 0: neither embedding nor output layer are counted
	Gated      bool // a feed-forward part of three matrices (SwiGLU) instead of two
	Tied       bool // the output layer uses the embedding's weights
	// Experts is the number of experts of a layer, 0: none. Each token goes to TopK of them.
	Experts, TopK int
}

// Parallel is the degrees of parallelism; 0 is 1. EP divides DP*CP.
type Parallel struct{ TP, PP, DP, EP, CP int }

// Compute says how long computing takes: FLOPS and MFU, or Forward and perhaps Backward.
type Compute struct {
	FLOPS float64 // peak of one GPU, in floating-point operations per second
	MFU   float64 // part of the peak that is reached, above 0 and at most 1
	// Forward is the time of the forward pass of one layer and one microbatch on one rank.
	// Backward is that of its backward pass, weights' gradients included; 0: twice Forward.
	Forward, Backward units.Duration
	Optimizer         units.Duration // of a step, on every rank; 0: none
}

// Gradients says how gradients are reduced over data parallelism.
type Gradients struct {
	Bytes int // of one gradient; 0: 4, as Megatron-LM accumulates in fp32
	// Bucket is the size from which on a bucket is reduced; 0: all at the end of the backward
	// passes of a chunk. A bucket holds whole groups of layers.
	Bucket units.Size
	// Sharded reduces by reduce-scatter and, behind the optimizer, gathers the parameters
	// (ZeRO stage 1, Megatron-LM's distributed optimizer).
	Sharded bool
	// Embedding adds the all-reduce of the embedding's gradients between the first and the
	// last stage, for a Tied model of several stages.
	Embedding bool
}

// Collectives says how the collectives are done.
type Collectives struct {
	// Algorithms of tensor, data and expert parallelism: for all_reduce of the first two, for
	// all_to_all of the last. With SequenceParallel and Sharded they are those of
	// reduce_scatter and all_gather. Context parallelism uses rings.
	TP, DP, EP collective.Algorithm
	Channels   int                // of each collective, see collective.Call; 0: 1
	Chunk      units.Size         // see collective.Call; 0: no slicing
	Local      int                // size of an inner group of DP, if hierarchical
	Servers    collective.Servers // of the ranks
}
