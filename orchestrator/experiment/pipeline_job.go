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
	Schedule     pipeline.Kind  `yaml:"schedule,short" default:"1f1b" doc:"order of the passes on a stage"`
	Stages       int            `yaml:"stages" is:"stages or auto" default:"auto" doc:"of the pipeline; auto: as many as the job has ranks"`
	Microbatches int            `yaml:"microbatches" is:"microbatches" default:"8" doc:"of a step"`
	Chunks       int            `yaml:"chunks" is:"chunks" default:"1" doc:"of the model on each stage, with schedule interleaved"`
	Forward      units.Duration `yaml:"forward" is:"time" default:"1ms" doc:"time of the forward pass of a microbatch on a stage, all its chunks together"`
	Backward     units.Duration `yaml:"backward" is:"compute time or auto" default:"auto" doc:"time of the backward pass; with zb-h1 of the gradients of the inputs alone; auto: twice 'forward', with zb-h1 as long"`
	Weight       units.Duration `yaml:"weight" is:"compute time or auto" default:"auto" doc:"time of the gradients of the weights; auto: with zb-h1 as long as 'forward', with the others a part of 'backward'"`
	Message      units.Size     `yaml:"message" is:"payload" default:"16MiB" doc:"between two stages, forward or backward, one microbatch"`
}

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
