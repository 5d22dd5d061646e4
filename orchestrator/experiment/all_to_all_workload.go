package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// AllToAll sends from every host to every other.
type AllToAll struct {
	Size     units.Size `yaml:"size,required" is:"payload" doc:"of each message, from every host to every other"`
	Parallel int        `yaml:"parallel" is:"hosts or all" default:"all" doc:"messages that a host has under way at a time"`
	Hosts    int        `yaml:"hosts" is:"2 to 1048576 or all" default:"all" doc:"the first so many hosts take part"`
}

// Check implements WorkloadSpec.
func (a AllToAll) Check(c *Check) {
	c.Size("size", a.Size)
	if c.Hosts() > 0 {
		if a.Hosts > c.Hosts() {
			c.Fail("hosts", "%d is too large; the topology has %d hosts", a.Hosts, c.Hosts())
		}
		n := a.senders(c.Hosts())
		if n*(n-1) > workloads.MaxTransfers {
			c.Fail("", "%d hosts would send %d messages; the most is %d", n, n*(n-1), workloads.MaxTransfers)
		}
	}
}

// Build implements WorkloadSpec.
func (a AllToAll) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	load, err := workloads.AllToAll(a.senders(in.Hosts), a.Parallel, a.Size)
	if err != nil {
		return nil, nil, err
	}
	load.Hosts = in.Hosts
	return load, nil, nil
}

// senders returns the number of hosts that take part.
func (a AllToAll) senders(hosts int) int {
	if a.Hosts == 0 {
		return hosts
	}
	return a.Hosts
}
