package experiment

import (
	"github.com/csiglab/csiglab/units"
)

// Clab is a fabric from a containerlab topology file.
type Clab struct {
	File  string         `yaml:"file,required" is:"file" doc:"containerlab '.clab.yml' file"`
	Rate  units.Rate     `yaml:"rate" is:"rate or none" default:"none" doc:"of links without 'rate' in their 'vars'"`
	Delay units.Duration `yaml:"delay" is:"link delay or none" default:"none" doc:"of links without 'delay' in their 'vars'"`
}

// Build implements TopologySpec.
func (f Clab) Build() (Built, error) {
	r := clabReader{rate: f.Rate, delay: f.Delay}
	b, err := r.read(f.File)
	if err != nil {
		return Built{}, inputError{err}
	}
	return b, nil
}
