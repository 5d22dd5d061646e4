package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Incast sends from FanIn hosts to one.
type Incast struct {
	Dst   int        `yaml:"dst" is:"host" default:"0" doc:"host that receives"`
	FanIn int        `yaml:"fan_in,required" is:"hosts" doc:"senders: the first so many hosts besides dst"`
	Size  units.Size `yaml:"size,required" is:"payload" doc:"of each sender's message"`
}

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
