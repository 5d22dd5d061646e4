package pipeline

import (
	"sort"

	"github.com/csiglab/csiglab/workloads/graph"
)

// Shape is a schedule of given size. It says in closed form what each stage does when.
type Shape struct {
	Kind         Kind
	Stages       int // p
	Microbatches int // m
	Chunks       int // v, at least 1
}

// Work is what a pass computes.
type Work uint8

// Kinds of work.
const (
	Forward  Work = iota
	Backward      // whole, or of ZeroBubble that of the inputs' gradients
	Weight        // gradients of the weights; of ZeroBubble only
)

// Pass is one microbatch on one chunk of a stage.
type Pass struct {
	Work       Work
	Microbatch int
	Chunk      int // on the stage; chunk c of stage r holds part c*p + r of the model
}

// Validate checks the shape. Its errors are of type *graph.FieldError.
func (s Shape) Validate() error {
	switch {
	case s.Kind > ZeroBubble:
		return graph.Fault("schedule", "unknown schedule %d", s.Kind)
	case s.Stages < 1 || s.Stages > MaxStages:
		return graph.Fault("stages", "%d, want 1 to %d", s.Stages, MaxStages)
	case s.Microbatches < 1 || s.Microbatches > MaxMicrobatches:
		return graph.Fault("microbatches", "%d, want 1 to %d", s.Microbatches, MaxMicrobatches)
	case s.Chunks < 1 || s.Chunks > MaxChunks:
		return graph.Fault("chunks", "%d, want 1 to %d", s.Chunks, MaxChunks)
	case s.Chunks > 1 && s.Kind != Interleaved:
		return graph.Fault("chunks", "%d, want 1 with schedule %s: only interleaved has more", s.Chunks, s.Kind)
	case s.Kind == Interleaved && s.Microbatches%s.Stages != 0:
		return graph.Fault("microbatches", "%d, want a multiple of the %d stages with schedule %s", s.Microbatches, s.Stages, s.Kind)
	}
	return nil
}

// Passes returns the number of passes of a stage in a step.
func (s Shape) Passes() int {
	n := 2 * s.Microbatches * s.Chunks
	if s.Kind == ZeroBubble {
		n += s.Microbatches
	}
	return n
}

// Pass returns pass number k of a stage, from 0 to Passes() - 1.
func (s Shape) Pass(stage, k int) Pass {
	n := s.Microbatches * s.Chunks
	warmup := s.warmup(stage)
	if k < warmup {
		return s.virtual(Forward, k)
	}
	k -= warmup
	// Then come rounds of a forward, a backward and the weights' gradients of an earlier
	// backward. The last rounds have no forward, the first ones no weights.
	delay := n
	if s.Kind == ZeroBubble {
		delay = min(stage, n)
	}
	before := func(round int) int { return min(round, n-warmup) + round + max(0, round-delay) }
	round := sort.Search(n, func(j int) bool { return before(j+1) > k })
	k -= before(round)
	switch {
	case round == n:
		return s.virtual(Weight, n-delay+k) // what the delay has left over
	case warmup+round < n && k == 0:
		return s.virtual(Forward, warmup+round)
	case warmup+round >= n && k == 0, warmup+round < n && k == 1:
		return s.virtual(Backward, round)
	default:
		return s.virtual(Weight, round-delay)
	}
}

// warmup returns how many forward passes a stage runs before it alternates. Under
// ZeroBubble the weights' gradients follow the backwards stage rounds late, so that every
// stage has at most p microbatches under way, as the first one has under 1F1B.
func (s Shape) warmup(stage int) int {
	later := s.Stages - 1 - stage
	switch s.Kind {
	case GPipe:
		return s.Microbatches
	case Interleaved:
		// Megatron-LM: one group of p microbatches through all chunks but the last, and two
		// for each stage behind this one.
		return min(2*later+(s.Chunks-1)*s.Stages, s.Microbatches*s.Chunks)
	default:
		return min(later, s.Microbatches)
	}
}

// virtual returns the i-th forward, backward or weights' gradients of a stage. Interleaved,
// groups of p microbatches go through the chunks one after the other, backwards from the
// last chunk.
func (s Shape) virtual(work Work, i int) Pass {
	if s.Kind == GPipe && work == Backward {
		return Pass{work, s.Microbatches - 1 - i, 0}
	}
	if s.Chunks == 1 {
		return Pass{work, i, 0}
	}
	group := s.Stages * s.Chunks
	chunk := i % group / s.Stages
	if work == Backward {
		chunk = s.Chunks - 1 - chunk
	}
	return Pass{work, i/group*s.Stages + i%s.Stages, chunk}
}

// From returns the stage that sends a pass its input. ok is false if it needs no message:
// the first part of the model forwards, the last one backwards, weights, and a pipeline of
// one stage. Interleaved, the first stage gets what the last one has computed of the chunk
// before.
func (s Shape) From(stage int, p Pass) (from int, ok bool) {
	switch p.Work {
	case Forward:
		return s.wrap(stage-1, p.Chunk-1)
	case Backward:
		return s.wrap(stage+1, p.Chunk+1)
	default:
		return 0, false
	}
}

// To returns the stage that a pass sends its output to. ok is false if there is none.
func (s Shape) To(stage int, p Pass) (to int, ok bool) {
	switch p.Work {
	case Forward:
		return s.wrap(stage+1, p.Chunk+1)
	case Backward:
		return s.wrap(stage-1, p.Chunk-1)
	default:
		return 0, false
	}
}

// wrap returns a neighbour, which is around the end if there is a chunk to go on with.
func (s Shape) wrap(stage, chunk int) (int, bool) {
	switch {
	case s.Stages == 1:
		return 0, false
	case stage >= 0 && stage < s.Stages:
		return stage, true
	default:
		return (stage + s.Stages) % s.Stages, chunk >= 0 && chunk < s.Chunks
	}
}

// Sends returns how many messages of a kind of work, Forward or Backward, a stage sends in a
// step.
func (s Shape) Sends(stage int, work Work) int {
	switch {
	case s.Stages == 1 || work == Weight:
		return 0
	case work == Forward && stage == s.Stages-1, work == Backward && stage == 0:
		return s.Microbatches * (s.Chunks - 1)
	default:
		return s.Microbatches * s.Chunks
	}
}
