package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Permutation sends from every host to another, each receiving from one.
type Permutation struct {
	Size units.Size `yaml:"size"`
	Seed uint64     `yaml:"seed"`
	// Shift is how many hosts further on each host sends; 0: the permutation is random.
	Shift int `yaml:"shift"`
}

var _ = RegisterWorkload(WorkloadKind{
	Kind: Kind{
		Name: "permutation", Doc: "a message from every host to another, each receiving one", Rank: 30,
		Keys: []Key{
			{Path: "size", Required: true, Rule: Between(units.Byte, maxTransfer), Doc: "every host sends this to another; each receives once"},
			{Path: "seed", Default: "1", Doc: "which permutation; the run's seeds do not change it"},
			{Path: "shift", Default: "0", Rule: Between(0, maxHosts), Doc: "host i sends to host i + shift, around the end; 0: a random permutation"},
		},
	},
	Spec: Permutation{},
})

// Check implements WorkloadSpec.
func (p Permutation) Check(c *Check) {
	c.Size("size", p.Size)
	if hosts := c.Hosts(); hosts > 0 && p.Shift >= hosts {
		c.Fail("shift", "%d is too large; the most is %d, as there are %d hosts", p.Shift, hosts-1, hosts)
	}
}

// Build implements WorkloadSpec.
func (p Permutation) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	if p.Shift > 0 {
		load, err := workloads.Shift(in.Hosts, p.Shift, p.Size)
		return load, nil, err
	}
	load, err := workloads.Permutation(in.Hosts, p.Size, p.Seed)
	return load, nil, err
}
