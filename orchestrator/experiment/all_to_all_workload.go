package experiment

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// AllToAll sends from every host to every other.
type AllToAll struct {
	Size     units.Size `yaml:"size"`     // of each message
	Parallel int        `yaml:"parallel"` // messages that a host has under way; 0 or "all": no limit
	Hosts    int        `yaml:"hosts"`    // the first so many; 0 or "all": every host
}

var _ = RegisterWorkload(WorkloadKind{
	Kind: Kind{
		Name: "all_to_all", Doc: "a message from every host to every other", Rank: 50,
		Keys: []Key{
			{Path: "size", Required: true, Rule: Between(units.Byte, maxTransfer), Doc: "of each message, from every host to every other"},
			{Path: "parallel", Default: "all", Rule: Between(1, maxHosts).Or("all"), Doc: "messages that a host has under way at a time"},
			{Path: "hosts", Default: "all", Rule: Between(2, maxHosts).Or("all"), Doc: "the first so many hosts take part"},
		},
	},
	Spec: AllToAll{},
})

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
