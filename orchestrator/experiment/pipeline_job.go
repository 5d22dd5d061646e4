package experiment

import (
	"fmt"
	"strconv"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// PipelineJob is a job of pipeline parallelism alone, with given times: a rank per stage. In
// YAML also short: the schedule.
type PipelineJob struct {
	Schedule     pipeline.Kind  `yaml:"schedule"`
	Stages       int            `yaml:"stages"` // 0 or "auto": the job's ranks
	Microbatches int            `yaml:"microbatches"`
	Chunks       int            `yaml:"chunks"`
	Forward      units.Duration `yaml:"forward"`
	Backward     units.Duration `yaml:"backward"` // 0 or "auto": twice Forward, with zb-h1 as long
	Weight       units.Duration `yaml:"weight"`   // 0 or "auto": with zb-h1 as long as Forward, else part of Backward
	Message      units.Size     `yaml:"message"`
}

var _ = RegisterJob(JobKind{
	Kind: Kind{
		Name: "pipeline", Doc: "pipeline parallelism with given times: a rank for each stage", Rank: 20,
		Keys: []Key{
			{Path: "", Default: pipeline.OneFOneB.String(), Doc: "the schedule alone, or a mapping"},
			{Path: "schedule", Default: pipeline.OneFOneB.String(), Rule: OneOf(pipeline.KindNames()...), Doc: "order of the passes on a stage"},
			{Path: "stages", Default: "auto", Rule: Between(2, pipeline.MaxStages).Or("auto"), Doc: "of the pipeline; auto: as many as the job has ranks"},
			{Path: "microbatches", Default: "8", Rule: Between(1, pipeline.MaxMicrobatches), Doc: "of a step"},
			{Path: "chunks", Default: "1", Rule: Between(1, pipeline.MaxChunks), Doc: "of the model on each stage, with schedule interleaved"},
			{Path: "forward", Default: "1ms", Rule: Between(0, maxLength), Doc: "time of the forward pass of a microbatch on a stage, all its chunks together"},
			{Path: "backward", Default: "auto", Rule: Between(units.Picosecond, maxLength).Or("auto"), Doc: "time of the backward pass; with zb-h1 of the gradients of the inputs alone; auto: twice `forward`, with zb-h1 as long"},
			{Path: "weight", Default: "auto", Rule: Between(units.Picosecond, maxLength).Or("auto"), Doc: "time of the gradients of the weights; auto: with zb-h1 as long as `forward`, with the others a part of `backward`"},
			{Path: "message", Default: "16MiB", Rule: Between(units.Byte, maxTransfer), Doc: "between two stages, forward or backward, one microbatch"},
		},
	},
	Spec: PipelineJob{},
})

// Check implements JobSpec.
func (p PipelineJob) Check(c *Check) {
	config := p.config(JobInput{Ranks: max(p.Stages, 2), Steps: 1})
	if p.Stages == 0 && p.Schedule == pipeline.Interleaved {
		config.Microbatches = config.Stages // what it has to be a multiple of is not known yet
	}
	c.Fault(config.Validate(), nil)
}

// Ranks implements JobSpec.
func (p PipelineJob) Ranks(asked, room int) (int, error) {
	switch {
	case p.Stages == 0 && asked == 0:
		return room, nil
	case p.Stages == 0:
		return asked, nil
	case asked != 0 && asked != p.Stages:
		return 0, &PathError{"stages", fmt.Errorf("%d stages are as many ranks, but the job's key ranks says %d", p.Stages, asked)}
	}
	return p.Stages, nil
}

// Auto implements JobDeriver.
func (p PipelineJob) Auto(key string, in JobInput) string {
	c := p.config(in)
	switch key {
	case "stages":
		return strconv.Itoa(c.Stages)
	case "backward":
		return c.Backward.String()
	}
	if c.Weight == 0 {
		return "part of backward"
	}
	return c.Weight.String()
}

// Build implements JobSpec.
func (p PipelineJob) Build(in JobInput) (graph.Source, error) {
	source, err := pipeline.New(p.config(in))
	return source, inKeys(err, nil)
}

func (p PipelineJob) config(in JobInput) pipeline.Config {
	c := pipeline.Config{
		Schedule: p.Schedule, Stages: in.Ranks, Microbatches: p.Microbatches, Chunks: p.Chunks,
		Forward: p.Forward, Backward: p.Backward, Weight: p.Weight, Message: p.Message, Steps: in.Steps, Held: in.Held, Jitter: in.Jitter,
	}
	split := p.Schedule == pipeline.ZeroBubble
	if c.Backward == 0 && split {
		c.Backward = p.Forward
	} else if c.Backward == 0 {
		c.Backward = 2 * p.Forward
	}
	if c.Weight == 0 && split {
		c.Weight = p.Forward
	}
	return c
}
