package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/training"
)

// ModelJob is the training of a transformer. In YAML also short: the name of a preset.
type ModelJob struct {
	Preset     string   `yaml:"preset,short" is:"model" default:"none" doc:"a model with its sizes, which the keys below may change; none: the keys say all"`
	Layers     int      `yaml:"layers" is:"model size or auto" default:"auto" doc:"of the model; auto: the preset's"`
	Hidden     int      `yaml:"hidden" is:"model size or auto" default:"auto" doc:"size of the model's vectors; auto: the preset's"`
	FFN        int      `yaml:"ffn" is:"model size or auto" default:"auto" doc:"inner size of the feed-forward part, or of one expert; auto: the preset's"`
	Heads      int      `yaml:"heads" is:"model size or auto" default:"auto" doc:"of attention; auto: the preset's"`
	KVHeads    int      `yaml:"kv_heads" is:"model size or auto" default:"auto" doc:"of keys and values; auto: the preset's"`
	Sequence   int      `yaml:"sequence" is:"model size or auto" default:"auto" doc:"tokens of a sequence; auto: the preset's"`
	Vocabulary int      `yaml:"vocabulary" is:"model size or auto" default:"auto" doc:"tokens that there are; auto: the preset's"`
	Experts    int      `yaml:"experts" is:"model size or auto" default:"auto" doc:"of a layer; auto: the preset's"`
	TopK       int      `yaml:"top_k" is:"model size or auto" default:"auto" doc:"experts that each token goes to; auto: the preset's"`
	Gated      bool     `yaml:"gated" default:"false" doc:"a feed-forward part of three matrices (SwiGLU) instead of two; also where the preset has it"`
	Tied       bool     `yaml:"tied" default:"false" doc:"the output layer uses the embedding's weights; also where the preset has it"`
	Parallel   Parallel `yaml:"parallel" doc:"degrees of parallelism; their product is the number of ranks"`

	MicroBatch   int           `yaml:"micro_batch" is:"model size" default:"1" doc:"sequences of a microbatch"`
	Microbatches int           `yaml:"microbatches" is:"microbatches or auto" default:"auto" doc:"of a step, on each rank; auto: by 'global_batch', or without it twice as many as stages, and 1 without pipeline"`
	GlobalBatch  int           `yaml:"global_batch" is:"model size or auto" default:"auto" doc:"sequences of a step on all ranks; auto: by 'microbatches'"`
	Schedule     pipeline.Kind `yaml:"schedule" default:"1f1b" doc:"of the pipeline"`
	Chunks       int           `yaml:"chunks" is:"chunks" default:"1" doc:"of the layers on each stage, with schedule interleaved"`

	TFLOPS    float64        `yaml:"tflops" default:"989" doc:"10¹² floating-point operations per second of a GPU at its peak; 989: H100, dense bf16"`
	MFU       float64        `yaml:"mfu" default:"0.4" doc:"part of the peak that is reached"`
	Forward   units.Duration `yaml:"forward" is:"compute time or auto" default:"auto" doc:"time of the forward pass of one layer and one microbatch on one rank; auto: by 'tflops' and 'mfu'"`
	Backward  units.Duration `yaml:"backward" is:"compute time or auto" default:"auto" doc:"time of the backward pass; auto: twice 'forward'; only with 'forward'"`
	Optimizer units.Duration `yaml:"optimizer" is:"time" default:"0s" doc:"time of the optimizer in a step"`

	Precision        int        `yaml:"precision" is:"1 to 8" default:"2" doc:"bytes of an activation and of a weight; 2: bf16"`
	Gradient         int        `yaml:"gradient" is:"1 to 8" default:"4" doc:"bytes of a gradient; 4: fp32"`
	Bucket           units.Size `yaml:"bucket" is:"payload or none" default:"none" doc:"size from which on gradients are reduced while the backward pass goes on; none: all at its end"`
	Sharded          bool       `yaml:"sharded" default:"false" doc:"gradients by reduce-scatter, parameters by all-gather (ZeRO stage 1)"`
	SequenceParallel bool       `yaml:"sequence_parallel" default:"false" doc:"reduce-scatter and all-gather in place of the all-reduces of tensor parallelism"`
	Skew             float64    `yaml:"skew" default:"0" doc:"exponent of the Zipf distribution of tokens over experts; 0: all get the same"`

	Algorithms  TrainingAlgorithms `yaml:"algorithms" doc:"of the collectives"`
	Channels    int                `yaml:"channels" is:"channels" default:"1" doc:"of each collective, as NCCL's"`
	Chunk       units.Size         `yaml:"chunk" is:"payload or none" default:"none" doc:"largest message of a collective; none: no slicing"`
	Local       int                `yaml:"local" is:"hosts or auto" default:"auto" doc:"of algorithm hierarchical of 'dp': ranks of an inner group; auto: those on a server"`
	Granularity int                `yaml:"granularity" is:"model size" default:"1" doc:"layers in one compute and one collective; more make a job cheaper to run"`
	Scale       float64            `yaml:"scale" default:"1" doc:"multiplies times of compute and sizes of messages, so that a step is short enough to emulate"`
}

// Parallel is the degrees of parallelism of a ModelJob.
type Parallel struct {
	TP int `yaml:"tp" is:"hosts" default:"1" doc:"tensor parallelism: neighbouring ranks"`
	PP int `yaml:"pp" is:"hosts" default:"1" doc:"pipeline parallelism: stages"`
	DP int `yaml:"dp" is:"hosts or auto" default:"auto" doc:"data parallelism; auto: what the ranks leave"`
	EP int `yaml:"ep" is:"hosts" default:"1" doc:"expert parallelism, within data parallelism"`
	CP int `yaml:"cp" is:"hosts" default:"1" doc:"context parallelism"`
}

// TrainingAlgorithms are the algorithms of the collectives of a ModelJob.
type TrainingAlgorithms struct {
	TP collective.Algorithm `yaml:"tp" is:"all-reduce algorithm" default:"auto" doc:"of tensor parallelism"`
	DP collective.Algorithm `yaml:"dp" is:"all-reduce algorithm" default:"auto" doc:"of data parallelism"`
}

// noPreset is the ModelJob.Preset of a model whose sizes are all given.
const noPreset = "none"

// modelPresets returns the names of the presets, and noPreset.
func modelPresets() []string {
	names := []string{noPreset}
	for _, p := range training.Presets {
		names = append(names, p.Name)
	}
	return names
}

// Check implements JobSpec.
func (m ModelJob) Check(c *Check) {
	if m.Microbatches != 0 && m.GlobalBatch != 0 {
		c.Fail("global_batch", "excludes microbatches; give one of them")
		return
	}
	var missing []string
	for _, size := range []struct {
		key   string
		value int
	}{{"layers", m.Layers}, {"hidden", m.Hidden}, {"ffn", m.FFN}, {"heads", m.Heads}, {"sequence", m.Sequence}} {
		if size.value == 0 {
			missing = append(missing, size.key)
		}
	}
	if m.Preset == noPreset && len(missing) > 0 {
		c.Fail("", "without preset, %s are missing; presets: %s", strings.Join(missing, ", "), strings.Join(modelPresets()[1:], " "))
		return
	}
	if m.Scale == 0 { // which would be 1 in training.Config
		c.Fail("scale", "%v, want above 0 and at most 1", m.Scale)
		return
	}
	copies := m.Parallel.DP
	if copies == 0 { // they follow from the hosts: what depends on their number is checked then
		copies = 2 * m.Parallel.EP
		m.Microbatches, m.GlobalBatch = max(m.Microbatches, m.Parallel.PP), 0
	}
	if m.fixed() > training.MaxRanks || copies > training.MaxRanks/m.fixed() {
		c.Fail("parallel", "more than %d ranks", training.MaxRanks)
		return
	}
	config := m.config(JobInput{Ranks: m.fixed() * copies, Steps: 1, Local: 1})
	config.Collectives.Local = 1 // as that of a server
	c.Fault(modelFault(config.Validate()), nil)
}

// fixed returns the number of ranks of one copy of the model.
func (m ModelJob) fixed() int { return m.Parallel.TP * m.Parallel.PP * m.Parallel.CP }

// Ranks implements JobSpec.
func (m ModelJob) Ranks(asked, room int) (int, error) {
	copyOf := m.fixed()
	switch n := cmp.Or(asked, room); {
	case m.Parallel.DP != 0 && asked != 0 && asked != copyOf*m.Parallel.DP:
		return 0, &PathError{"parallel", fmt.Errorf("%s = %d ranks, but the job's key ranks says %d", m.Factors(0), copyOf*m.Parallel.DP, asked)}
	case m.Parallel.DP != 0:
		return copyOf * m.Parallel.DP, nil
	case asked != 0 && asked%copyOf != 0:
		return 0, &PathError{"parallel", fmt.Errorf("%s = %d ranks do not divide the %d of the job's key ranks", m.Factors(0), copyOf, asked)}
	case n != 0 && n < copyOf:
		return copyOf, nil // which is too many
	default:
		return n / copyOf * copyOf, nil
	}
}

// Factors says what the number of ranks is the product of.
func (m ModelJob) Factors(ranks int) string {
	dp := m.Parallel.DP
	if dp == 0 {
		dp = ranks / m.fixed()
	}
	var parts []string
	for _, f := range []struct {
		name   string
		degree int
	}{{"tp", m.Parallel.TP}, {"pp", m.Parallel.PP}, {"cp", m.Parallel.CP}, {"dp", dp}} {
		if f.degree > 1 {
			parts = append(parts, fmt.Sprintf("%s %d", f.name, f.degree))
		}
	}
	return strings.Join(parts, " x ")
}

// Auto implements JobDeriver.
func (m ModelJob) Auto(key string, in JobInput) string {
	c := m.config(in)
	switch key {
	case "parallel.dp":
		return strconv.Itoa(c.Parallel.DP)
	case "global_batch":
		return strconv.Itoa(c.GlobalBatch)
	case "microbatches":
		return strconv.Itoa(c.GlobalBatch / c.MicroBatch / c.Parallel.DP)
	case "local":
		return strconv.Itoa(c.Collectives.Local)
	case "algorithms.tp", "algorithms.dp":
		return collective.AlgorithmsOf(collective.AllReduce)[0].String()
	case "forward":
		return "by tflops and mfu"
	case "backward":
		if m.Forward > 0 {
			return (2 * m.Forward).String()
		}
		return "by tflops and mfu"
	}
	size := map[string]int{
		"layers": c.Model.Layers, "hidden": c.Model.Hidden, "ffn": c.Model.FFN, "heads": c.Model.Heads, "kv_heads": c.Model.KVHeads,
		"sequence": c.Model.Sequence, "vocabulary": c.Model.Vocabulary, "experts": c.Model.Experts, "top_k": c.Model.TopK,
	}[key]
	if size == 0 {
		return "none"
	}
	return strconv.Itoa(size)
}

// Build implements JobSpec.
func (m ModelJob) Build(in JobInput) (graph.Source, error) {
	source, err := training.New(m.config(in))
	return source, inKeys(modelFault(err), nil)
}

func (m ModelJob) config(in JobInput) training.Config {
	model, _ := training.FindPreset(m.Preset) // it was checked when it was read
	for _, size := range []struct{ of, given *int }{
		{&model.Layers, &m.Layers}, {&model.Hidden, &m.Hidden}, {&model.FFN, &m.FFN}, {&model.Heads, &m.Heads}, {&model.KVHeads, &m.KVHeads},
		{&model.Sequence, &m.Sequence}, {&model.Vocabulary, &m.Vocabulary}, {&model.Experts, &m.Experts}, {&model.TopK, &m.TopK},
	} {
		if *size.given != 0 {
			*size.of = *size.given
		}
	}
	model.Gated, model.Tied = model.Gated || m.Gated, model.Tied || m.Tied
	p := training.Parallel{TP: m.Parallel.TP, PP: m.Parallel.PP, DP: in.Ranks / m.fixed(), EP: m.Parallel.EP, CP: m.Parallel.CP}
	c := training.Config{
		Model: model, Parallel: p, MicroBatch: m.MicroBatch, GlobalBatch: m.GlobalBatch, Schedule: m.Schedule, Chunks: m.Chunks,
		Compute:   training.Compute{FLOPS: m.TFLOPS * 1e12, MFU: m.MFU, Optimizer: m.Optimizer},
		Gradients: training.Gradients{Bytes: m.Gradient, Bucket: m.Bucket, Sharded: m.Sharded, Embedding: model.Tied && p.PP > 1},
		Precision: m.Precision, SequenceParallel: m.SequenceParallel, Skew: m.Skew,
		Collectives: training.Collectives{TP: m.Algorithms.TP, DP: m.Algorithms.DP, Channels: m.Channels, Chunk: m.Chunk, Local: m.Local, Servers: in.Servers},
		Granularity: m.Granularity, Scale: m.Scale, Steps: in.Steps, Held: in.Held, Jitter: in.Jitter,
	}
	if m.Forward > 0 || m.Backward > 0 {
		c.Compute.FLOPS, c.Compute.MFU, c.Compute.Forward, c.Compute.Backward = 0, 0, m.Forward, m.Backward
	}
	if c.GlobalBatch == 0 {
		n := m.Microbatches
		switch {
		case n == 0 && p.PP == 1:
			n = 1
		case n == 0:
			n = 2 * p.PP
		}
		c.GlobalBatch = n * m.MicroBatch * p.DP
	}
	if c.Collectives.Local == 0 {
		c.Collectives.Local = max(1, in.Local/(p.TP*p.CP))
	}
	return c
}

// modelFault returns an error of a training.Config with the key in place of the field's name.
func modelFault(err error) error {
	var fault *graph.FieldError
	if !errors.As(err, &fault) {
		return err
	}
	key := fault.Field
	for _, inner := range []string{"model.", "compute.", "gradients.", "collectives."} {
		key = strings.TrimPrefix(key, inner)
	}
	switch fault.Field {
	case "gradients.bytes":
		key = "gradient"
	case "compute.flops":
		key = "tflops"
	case "collectives.tp", "collectives.dp":
		key = "algorithms." + key
	case "compute", "steps":
		key = ""
	}
	return &graph.FieldError{Field: key, Problem: fault.Problem}
}
