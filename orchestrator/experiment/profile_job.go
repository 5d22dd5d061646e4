package experiment

import (
	"strconv"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/training"
)

// ProfileJob is a job that computes for a time and then communicates, again and again. In
// YAML also short: the name of a preset.
type ProfileJob struct {
	Preset    string               `yaml:"preset,short" is:"profile" default:"none" doc:"a model with the bytes of its communication and, where it is known, its compute"`
	Compute   units.Duration       `yaml:"compute" is:"time or auto as -1" default:"auto" doc:"time of a step; auto: the preset's, or 10ms"`
	Bytes     units.Size           `yaml:"bytes" is:"payload or auto" default:"auto" doc:"of the buffer of the all-reduce; auto: the preset's, or 100MB"`
	Overlap   float64              `yaml:"overlap" default:"0" doc:"part of 'compute' that runs beside the communication"`
	Pairs     bool                 `yaml:"pairs" default:"false" doc:"each rank of the first half sends 'bytes' to one of the second half, in place of the all-reduce"`
	Algorithm collective.Algorithm `yaml:"algorithm" is:"all-reduce algorithm" default:"auto" doc:"of the all-reduce"`
	Channels  int                  `yaml:"channels" is:"channels" default:"1" doc:"as NCCL's"`
	Chunk     units.Size           `yaml:"chunk" is:"payload or none" default:"none" doc:"largest message; none: no slicing"`
	Local     int                  `yaml:"local" is:"hosts or auto" default:"auto" doc:"of algorithm hierarchical: ranks of an inner group; auto: those of a server"`
	Scale     float64              `yaml:"scale" default:"1" doc:"multiplies 'compute' and 'bytes', so that a step is short enough to emulate"`

	BytesScale float64 `yaml:"bytes_scale" default:"1" doc:"multiplies 'bytes' alone: on links as much slower, phases take the times that they take on fast ones, with fewer packets"`
}

// autoCompute is the ProfileJob.Compute that is not given.
const autoCompute units.Duration = -1

// profilePresets returns the names of the presets, and noPreset.
func profilePresets() []string {
	names := []string{noPreset}
	for _, p := range training.ProfilePresets {
		names = append(names, p.Name)
	}
	return names
}

// Check implements JobSpec.
func (p ProfileJob) Check(c *Check) {
	config := p.config(JobInput{Ranks: 2, Steps: 1, Local: 1})
	for _, scale := range []struct {
		key   string
		value float64
	}{{"scale", p.Scale}, {"bytes_scale", p.BytesScale}} {
		if scale.value == 0 { // which would be 1 in config
			c.Fail(scale.key, "%v, want above 0 and at most 1", scale.value)
			return
		}
	}
	if !p.Pairs && p.Local != 0 { // whether it divides the ranks shows when there are ranks
		config.Local = 1
	}
	c.Fault(config.Validate(), nil)
}

// Ranks implements JobSpec.
func (p ProfileJob) Ranks(asked, room int) (int, error) {
	switch {
	case asked != 0:
		return asked, nil
	case p.Pairs:
		return room / 2 * 2, nil
	}
	return room, nil
}

// Auto implements JobDeriver.
func (p ProfileJob) Auto(key string, in JobInput) string {
	c := p.config(in)
	switch key {
	case "algorithm":
		return collective.AlgorithmsOf(collective.AllReduce)[0].String()
	case "compute":
		return c.Compute.String()
	case "bytes":
		return c.Bytes.String()
	}
	return strconv.Itoa(c.Local)
}

// Computes implements JobPhases.
func (p ProfileJob) Computes() units.Duration {
	c := p.config(JobInput{Ranks: 2, Steps: 1, Local: 1})
	before, _ := c.Computes()
	return before
}

// Build implements JobSpec.
func (p ProfileJob) Build(in JobInput) (graph.Source, error) {
	source, err := training.NewProfile(p.config(in))
	return source, inKeys(err, nil)
}

func (p ProfileJob) config(in JobInput) training.Profile {
	c := training.Profile{
		Ranks: in.Ranks, Compute: p.Compute, Bytes: p.Bytes, Overlap: p.Overlap, Pairs: p.Pairs, Algorithm: p.Algorithm, Channels: p.Channels,
		Chunk: p.Chunk, Local: p.Local, Scale: p.Scale, BytesScale: p.BytesScale, Steps: in.Steps, Held: in.Held, Jitter: in.Jitter, Servers: in.Servers,
	}
	preset, _ := training.FindProfile(p.Preset)
	if c.Compute == autoCompute {
		if c.Compute = preset.Compute; c.Compute == 0 {
			c.Compute = 10 * units.Millisecond
		}
	}
	if c.Bytes == 0 {
		if c.Bytes = preset.Bytes(); c.Bytes == 0 {
			c.Bytes = 100 * units.MB
		}
	}
	if c.Local == 0 && !p.Pairs {
		c.Local = in.Local
	}
	return c
}
