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
	Communicate Microseconds `json:"communicateUs"`
	Period      Microseconds `json:"periodUs,omitempty"`
	Published   string       `json:"published,omitempty"`
	Derived     string       `json:"derived,omitempty"`
}

// testbed is the rate at which a job alone sends on the testbed of the published times.
const testbed = 38_837 * units.Mbps

// Presets returns the published jobs, in an order for reading.
func Presets() []Preset {
	all := make([]Preset, len(training.ProfilePresets))
	for i := range all {
		p := &training.ProfilePresets[i]
		send := Microseconds(float64(p.Bytes()) * 8 / float64(testbed) * float64(units.Second))
		all[i] = Preset{Name: p.Name, Parameters: p.Parameters, Bytes: p.Bytes(), Compute: Microseconds(p.Compute), Communicate: send, Published: p.Doc}
		if p.Compute > 0 {
			all[i].Period = all[i].Compute + send
		}
	}
	return all
}

// find returns the preset of a name, or nil.
func find(name string) *Preset {
	for _, p := range Presets() {
		if p.Name == name {
			return &p
		}
	}
	return nil
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

func (p *Preset) job() (Job, error) {
	if p.Period == 0 {
		return Job{}, fmt.Errorf("preset %s: its compute time is not known; see csiglab jobs list", p.Name)
	}
	burst := circle.Burst{At: units.Duration(p.Compute), Length: units.Duration(p.Communicate), Rate: testbed}
	return Job{circle.Profile{Name: p.Name, Period: units.Duration(p.Period), Bursts: []circle.Burst{burst}}, "preset"}, nil
}
