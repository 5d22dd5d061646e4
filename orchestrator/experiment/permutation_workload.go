package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Permutation sends from every host to another, each receiving from one.
type Permutation struct {
	Size units.Size `yaml:"size,required" is:"payload" doc:"every host sends this to another; each receives once"`
	Seed Seed       `yaml:"seed" is:"seed" default:"run" doc:"which permutation; run: another one with each seed of the run, a number: always the same"`
	// Shift is how many hosts further on each host sends; 0: the permutation is random.
	Shift int `yaml:"shift" is:"host" default:"0" doc:"host i sends to host i + shift, around the end; 0: a random permutation"`
}

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
