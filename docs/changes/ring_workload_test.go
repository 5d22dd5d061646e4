package changes_test

import (
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Neighbours sends from every host to the next ones.
type Neighbours struct {
	Size  units.Size `yaml:"size,required" is:"1B to 1GB" doc:"of each message"`
	Reach int        `yaml:"reach" is:"1 to 8" default:"1" doc:"how many next hosts"`
}

var _ = experiment.RegisterWorkload(experiment.WorkloadKind{
	Kind: experiment.Kind{Name: "neighbours", Doc: "messages from every host to the next ones"}, Spec: Neighbours{},
})

func (n Neighbours) Check(c *experiment.Check) {
	c.Size("size", n.Size)
	if c.Hosts() > 0 && n.Reach >= c.Hosts() {
		c.Fail("reach", "%d is too far among %d hosts", n.Reach, c.Hosts())
	}
}

func (n Neighbours) Build(in experiment.WorkloadInput) (*workloads.Workload, []string, error) {
	return neighbourTransfers(in.Hosts, n.Reach, n.Size), []string{"neighbours are next by number"}, nil
}
