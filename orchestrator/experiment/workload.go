package experiment

import (
	"reflect"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// Workload is the traffic: the value of one kind of workload, and what all kinds
// share.
type Workload struct {
	StartUnit    htsim.StartUnit `yaml:"start_unit" default:"auto" doc:"unit of the file's start times: 'ps' or 'us'"`
	Spec         WorkloadSpec    // nil: none is given, which is allowed beside applications and generators
	StartJitter  units.Duration  `yaml:"start_jitter" is:"delay" default:"1us" doc:"starts are moved by a random time below this; 0s with a file unless given"`
	ControlDelay units.Duration  `yaml:"control_delay" is:"link delay or auto" default:"auto" doc:"of a dependency that crosses hosts; auto, and the least: the smallest link delay"`
}

// WorkloadSpec is the value of a kind of workload: what the keys below the kind's
// name say. Its type is registered with RegisterWorkload.
type WorkloadSpec interface {
	// Check reports values that do not fit one another or the topology.
	Check(c *Check)
	// Build returns the workload. Notes are what the user should know of how a file
	// was read. Workload.Build validates the result.
	Build(in WorkloadInput) (load *workloads.Workload, notes []string, err error)
}

// SeededWorkload is a WorkloadSpec that may be built otherwise for each seed of the run.
type SeededWorkload interface {
	WorkloadSpec
	// Seeded reports whether it is.
	Seeded() bool
}

// Seeded reports whether the workload depends on the seed of the run.
func (w Workload) Seeded() bool {
	s, ok := w.Spec.(SeededWorkload)
	return ok && s.Seeded()
}

// WorkloadInput is what a workload is built for.
type WorkloadInput struct {
	Hosts     int // of the topology; 0: not known, which only a file allows
	Links     Links
	StartUnit htsim.StartUnit // see Workload
	Seed      uint64          // of the run; only a SeededWorkload may depend on it
}

// Build reads or generates the workload of a seed for a topology of so many hosts. Without a
// kind it has no transfers; one with transfers is valid. The error is a
// *PathError, unless it is about a place in an input file.
func (w Workload) Build(hosts int, links Links, seed uint64) (load *workloads.Workload, notes []string, err error) {
	if w.Spec == nil {
		return &workloads.Workload{Hosts: hosts}, nil, nil
	}
	load, notes, err = w.Spec.Build(WorkloadInput{Hosts: hosts, Links: links, StartUnit: w.StartUnit, Seed: seed})
	if err == nil && len(load.Transfers) > 0 {
		err = load.Validate()
	}
	return load, notes, inValue(workloadSection, err)
}

// matrix reports whether the transfers come from a file.
func (w Workload) matrix() bool {
	return slices.ContainsFunc(kinds[workloadSection], func(k registered) bool {
		return k.matrix && k.value == reflect.TypeOf(w.Spec)
	})
}
