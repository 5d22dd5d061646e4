package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Permutation sends from every host to another, each receiving from one.
type Permutation struct {
	Size units.Size `yaml:"size"`
	Seed Seed       `yaml:"seed"`
	// Shift is how many hosts further on each host sends; 0: the permutation is random.
	Shift int `yaml:"shift"`
}

var _ = RegisterWorkload(WorkloadKind{
	Kind: Kind{
		Name: "permutation", Doc: "a message from every host to another, each receiving one", Rank: 30,
		Keys: []Key{
			{Path: "size", Required: true, Rule: Between(units.Byte, maxTransfer), Doc: "every host sends this to another; each receives once"},
			{Path: "seed", Default: string(runSeed), Rule: seedRule, Doc: "which permutation; run: another one with each seed of the run, a number: always the same"},
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

// Seeded implements SeededWorkload.
func (p Permutation) Seeded() bool { return p.Shift == 0 && p.Seed.ofRun() }

// Build implements WorkloadSpec.
func (p Permutation) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	if p.Shift > 0 {
		load, err := workloads.Shift(in.Hosts, p.Shift, p.Size)
		return load, nil, err
	}
	load, err := workloads.Permutation(in.Hosts, p.Size, p.Seed.number(in.Seed))
	return load, nil, err
}
