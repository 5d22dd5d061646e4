package experiment

import (
	"errors"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/training"
)

// ProfileJob is a job that computes for a time and then communicates, again and again. In
// YAML also short: the name of a preset.
type ProfileJob struct {
	Preset    string         `yaml:"preset"`  // see training.ProfilePresets; "none": the keys below say all
	Compute   units.Duration `yaml:"compute"` // -1 or "auto": the preset's
	Bytes     units.Size     `yaml:"bytes"`   // 0 or "auto": the preset's
	Overlap   float64        `yaml:"overlap"`
	Pairs     bool           `yaml:"pairs"`
	Algorithm string         `yaml:"algorithm"` // of the all-reduce
	Channels  int            `yaml:"channels"`
	Chunk     units.Size     `yaml:"chunk"` // 0 or "none": no slicing
	Local     int            `yaml:"local"` // 0 or "auto": the ranks of a server
	Scale     float64        `yaml:"scale"`
}
