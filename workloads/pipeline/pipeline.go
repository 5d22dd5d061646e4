// Package pipeline makes the programs of pipeline parallelism: which forward and backward
// passes a stage runs in which order, and the messages between stages. Package training
// builds whole jobs on the same schedules. Sources: docs/reference/references.md#training-jobs.
//
// With p stages, m microbatches and v chunks a stage is idle for this share of its compute: (p-1)/m
// with GPipe and 1F1B, (p-1)/(v m) interleaved, (p-1)/(3m) with ZB-H1 where forward, inputs and
// weights take the same time. ZB-H1 has the weights' gradients r rounds behind those of the inputs
// on stage r, which is derived: it gives the paper's bubble and memory.
package pipeline

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// Kind is a schedule: the order of the passes on a stage.
type Kind uint8

// Kinds of schedule.
const (
	// OneFOneB is 1F1B with a flush (PipeDream-Flush, Megatron-LM): warm-up forwards, then a
	// forward and a backward in turn, then the remaining backwards.
	OneFOneB Kind = iota
	// Interleaved is 1F1B with several chunks of the model on each device (Narayanan et al.,
	// SC 2021, section 2.2). The number of microbatches is a multiple of that of stages.
	Interleaved
	// GPipe runs all forwards, then all backwards from the last microbatch to the first
	// (Huang et al., NeurIPS 2019, figure 2c).
	GPipe
	// ZeroBubble is ZB-H1 (Qi et al., ICLR 2024, section 2.1): the backward pass is split into
	// that of the inputs' gradients and that of the weights' gradients, which fills the
	// bubbles at the end.
	ZeroBubble
)

var kindNames = []string{"1f1b", "interleaved", "gpipe", "zb-h1"}

// Names returns the names of all schedules, in the order of their constants.
func (Kind) Names() []string { return slices.Clone(kindNames) }

// String returns the schedule's name.
func (k Kind) String() string { return kindNames[k] }

// UnmarshalText implements encoding.TextUnmarshaler: the name of a schedule.
func (k *Kind) UnmarshalText(text []byte) error { return spelling.Enum(k, "schedule", text, kindNames) }

// Config is a job of pipeline parallelism alone, with given times: a rank per stage. It is
// plain data.
type Config struct {
	Schedule     Kind
	Stages       int // p: ranks of the job, at least 2
	Microbatches int // m: in a step, at least 1
	Chunks       int // v: of the model on each stage; 0 is 1, and more than 1 is for Interleaved
	// Forward, Backward and Weight are the times of one microbatch on one stage, all of its
	// chunks together: the forward pass, the gradients of the inputs and those of the
	// weights. Weight may be 0 unless the schedule is ZeroBubble: Backward is the whole
	// backward pass then. Schedules that do not split it take Backward + Weight.
	Forward, Backward, Weight units.Duration
	Message                   units.Size // between two stages, one microbatch, forward or backward; see MessageSize
	Steps                     int        // at least 1
	Held                      bool       // puts a graph.Hold at the beginning of a step
	Jitter                    jitter.Config
}

// MessageSize returns the size of the activations of a microbatch between two stages: its
// sequences times their length times hidden times the bytes of a number, divided among the
// ranks of tensor parallelism (scatter/gather optimisation of Narayanan et al., SC 2021,
// section 4.1), rounded up. The gradients that go back are as large.
func MessageSize(microbatch, sequence, hidden, bytes, tensorParallel int) units.Size {
	whole := units.Size(microbatch) * units.Size(sequence) * units.Size(hidden) * units.Size(bytes)
	return (whole + units.Size(tensorParallel) - 1) / units.Size(tensorParallel)
}

// Limits of a Config: more is a mistake.
const (
	MaxStages       = 4096
	MaxMicrobatches = 1 << 20
	MaxChunks       = 1024
	MaxSteps        = 1 << 20
	MaxPasses       = 1 << 29 // of a stage in all steps: a rank's operations have numbers of 32 bits
)

// Validate checks the configuration. Its errors are of type *graph.FieldError; fields have
// the names of the struct in lower case.
func (c *Config) Validate() error {
	if c.Stages < 2 || c.Stages > MaxStages {
		return graph.Fault("stages", "%d, want 2 to %d", c.Stages, MaxStages)
	}
	if err := c.shape().Validate(); err != nil {
		return err
	}
	switch {
	case c.Forward < 0:
		return graph.Fault("forward", "%v is negative", c.Forward)
	case c.Backward < 0:
		return graph.Fault("backward", "%v is negative", c.Backward)
	case c.Weight < 0:
		return graph.Fault("weight", "%v is negative", c.Weight)
	case c.Schedule == ZeroBubble && c.Weight == 0:
		return graph.Fault("weight", "schedule %s needs the time of the weights' gradients", c.Schedule)
	case c.Message < 1:
		return graph.Fault("message", "%v is not positive", c.Message)
	case c.Steps < 1 || c.Steps > MaxSteps:
		return graph.Fault("steps", "%d, want 1 to %d", c.Steps, MaxSteps)
	}
	if passes := c.shape().Passes(); c.Steps > MaxPasses/passes {
		return graph.Fault("steps", "%d steps of %d passes are more than %d passes of a rank", c.Steps, passes, MaxPasses)
	}
	return c.Jitter.Validate(c.Stages, c.Steps)
}

// shape returns the schedule of the configuration.
func (c *Config) shape() Shape {
	return Shape{Kind: c.Schedule, Stages: c.Stages, Microbatches: c.Microbatches, Chunks: max(c.Chunks, 1)}
}
