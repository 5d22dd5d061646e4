package fit

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/training"
)

// Preset is a published job.
type Preset struct {
	Name        string       `json:"name"`
	Parameters  int64        `json:"parameters,omitempty"` // absent: not published
	Bytes       units.Size   `json:"bytes"`                // of the communication of a step
	Compute     Microseconds `json:"computeUs,omitempty"`  // absent: not known, and the period neither
	Communicate Microseconds `json:"communicateUs"`        // with the link for itself, at training.TestbedRate
	Period      Microseconds `json:"periodUs,omitempty"`
	Published   string       `json:"published,omitempty"`
	Derived     string       `json:"derived,omitempty"`
}

// Presets returns the published jobs, in an order for reading.
func Presets() []Preset {
	all := make([]Preset, len(training.ProfilePresets))
	for i := range all {
		p := &training.ProfilePresets[i]
		all[i] = Preset{
			Name: p.Name, Parameters: p.Parameters, Bytes: p.Bytes(), Compute: Microseconds(p.Compute), Communicate: Microseconds(p.Communicate()),
			Published: p.Published, Derived: p.Derived,
		}
		if p.Compute > 0 {
			all[i].Period = all[i].Compute + all[i].Communicate
		}
	}
	return all
}

// presets returns the names of the presets with a profile.
func presets() (names []string) {
	for _, p := range Presets() {
		if p.Period > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

func presetJob(p *training.ProfilePreset) (Job, error) {
	if p.Compute == 0 {
		return Job{}, fmt.Errorf("preset %s: its compute time is not known; see csiglab jobs list", p.Name)
	}
	burst := circle.Burst{At: p.Compute, Length: p.Communicate(), Rate: training.TestbedRate}
	return Job{Profile: circle.Profile{Name: p.Name, Period: p.Compute + burst.Length, Bursts: []circle.Burst{burst}}, Source: "preset"}, nil
}
