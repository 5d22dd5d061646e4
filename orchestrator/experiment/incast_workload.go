package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Incast sends from FanIn hosts to one.
type Incast struct {
	Dst   int        `yaml:"dst"`
	FanIn int        `yaml:"fan_in"`
	Size  units.Size `yaml:"size"`
}

var _ = RegisterWorkload(WorkloadKind{
	Kind: Kind{
		Name: "incast", Doc: "a message from each of several hosts to one", Rank: 40,
		Keys: []Key{
			{Path: "fan_in", Required: true, Rule: Between(1, maxHosts), Doc: "senders: the first so many hosts besides dst"},
			{Path: "size", Required: true, Rule: Between(units.Byte, maxTransfer), Doc: "of each sender's message"},
			{Path: "dst", Default: "0", Rule: Between(0, maxHosts), Doc: "host that receives"},
		},
	},
	Spec: Incast{},
})

// Check implements WorkloadSpec.
func (i Incast) Check(c *Check) {
	c.Size("size", i.Size)
	c.Host("dst", i.Dst)
	if c.Hosts() > 0 && i.FanIn >= c.Hosts() {
		c.Fail("fan_in", "%d senders and a receiver need more than %d hosts", i.FanIn, c.Hosts())
	}
}

// Build implements WorkloadSpec.
func (i Incast) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	load, err := workloads.Incast(in.Hosts, i.Dst, i.FanIn, i.Size)
	return load, nil, err
}
