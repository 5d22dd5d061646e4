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
	Preset    string               `yaml:"preset"`  // see training.ProfilePresets; "none": the keys below say all
	Compute   units.Duration       `yaml:"compute"` // -1 or "auto": the preset's, or 10ms
	Bytes     units.Size           `yaml:"bytes"`   // 0 or "auto": the preset's, or 100MB
	Overlap   float64              `yaml:"overlap"`
	Pairs     bool                 `yaml:"pairs"`
	Algorithm collective.Algorithm `yaml:"algorithm"` // of the all-reduce
	Channels  int                  `yaml:"channels"`
	Chunk     units.Size           `yaml:"chunk"` // 0 or "none": no slicing
	Local     int                  `yaml:"local"` // 0 or "auto": the ranks of a server
	Scale     float64              `yaml:"scale"`

	BytesScale float64 `yaml:"bytes_scale"`
}

// autoCompute is the ProfileJob.Compute that is not given.
const autoCompute units.Duration = -1

var _ = RegisterJob(JobKind{
	Kind: Kind{
		Name: "profile", Doc: "a time of compute and then an all-reduce, again and again, as the literature describes jobs that share a link", Rank: 25,
		Keys: []Key{
			{Path: "", Default: noPreset, Doc: "a preset alone, such as `vgg19`, or a mapping"},
			{Path: "preset", Default: noPreset, Rule: oneOfTable(profilePresets), Doc: "a model with the bytes of its communication and, where it is known, its compute"},
			{Path: "compute", Default: "auto", Rule: Rule{min: 0, max: int64(maxLength), word: "auto", special: int64(autoCompute)}, Doc: "time of a step; auto: the preset's, or 10ms"},
			{Path: "bytes", Default: "auto", Rule: Between(units.Byte, maxTransfer).Or("auto"), Doc: "of the buffer of the all-reduce; auto: the preset's, or 100MB"},
			{Path: "overlap", Default: "0", Doc: "part of `compute` that runs beside the communication"},
			{Path: "pairs", Default: "false", Doc: "each rank of the first half sends `bytes` to one of the second half, in place of the all-reduce"},
			algorithmKey("algorithm", collective.AllReduce, "of the all-reduce"),
			{Path: "channels", Default: "1", Rule: Between(1, maxChannels), Doc: "as NCCL's"},
			{Path: "chunk", Default: "none", Rule: Between(units.Byte, maxTransfer).Or("none"), Doc: "largest message; none: no slicing"},
			{Path: "local", Default: "auto", Rule: Between(1, maxHosts).Or("auto"), Doc: "of algorithm hierarchical: ranks of an inner group; auto: those of a server"},
			{Path: "scale", Default: "1", Doc: "multiplies `compute` and `bytes`, so that a step is short enough to emulate"},
			{Path: "bytes_scale", Default: "1", Doc: "multiplies `bytes` alone: on links as much slower, phases take the times that they take on fast ones, with fewer packets"},
		},
	},
	Spec: ProfileJob{},
})

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
		Chunk: p.Chunk, Local: p.Local, Scale: p.Scale, BytesScale: p.BytesScale, Steps: in.Steps, Held: in.Held, Jitter: in.Jitter,
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
