package experiment

import (
	"github.com/csiglab/csiglab/units"
)

// Clab is a fabric from a containerlab topology file.
type Clab struct {
	File  string         `yaml:"file"`
	Rate  units.Rate     `yaml:"rate"`  // of links without a rate in the file; 0 or "none": each has one
	Delay units.Duration `yaml:"delay"` // likewise
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "clab", Doc: "the hosts, switches and links of a containerlab topology file", Rank: 100,
		Keys: []Key{
			{Path: "file", Required: true, Rule: InputFile(), Doc: "containerlab `.clab.yml` file"},
			{Path: "rate", Default: "none", Rule: Between(minRate, maxRate).Or("none"), Doc: "of links without `rate` in their `vars`"},
			{Path: "delay", Default: "none", Rule: Between(minDelay, maxDelay).Or("none"), Doc: "of links without `delay` in their `vars`"},
		},
	},
	Spec: Clab{},
})

// Check implements TopologySpec: the file is read when the topology is built.
func (Clab) Check(*Check) int { return 0 }

// Build implements TopologySpec.
func (f Clab) Build() (Built, error) {
	r := clabReader{rate: f.Rate, delay: f.Delay}
	b, err := r.read(f.File)
	if err != nil {
		return Built{}, inputError{err}
	}
	return b, nil
}
