package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Permutation sends from every host to another, each receiving from one.
type Permutation struct {
	Size units.Size `yaml:"size"`
	Seed uint64     `yaml:"seed"`
}

var _ = RegisterWorkload(WorkloadKind{
	Kind: Kind{
		Name: "permutation", Doc: "a message from every host to another, each receiving one", Rank: 30,
		Keys: []Key{
			{Path: "size", Required: true, Rule: Between(units.Byte, maxTransfer), Doc: "every host sends this to another; each receives once"},
			{Path: "seed", Default: "1", Doc: "which permutation; the run's seeds do not change it"},
		},
	},
	Spec: Permutation{},
})

// Check implements WorkloadSpec.
func (p Permutation) Check(c *Check) {
	c.Size("size", p.Size)
}

// Build implements WorkloadSpec.
func (p Permutation) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	load, err := workloads.Permutation(in.Hosts, p.Size, p.Seed)
	return load, nil, err
}
