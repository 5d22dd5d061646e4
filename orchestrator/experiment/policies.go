package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
)

// CSIGPolicy is the init policy of some flows, or of some of their packets. What it
// leaves out stays as it is without it.
type CSIGPolicy struct {
	Match CSIGMatch `yaml:"match,required" doc:"packets that it is for: those that fit every list that is given"`
	Init  string    `yaml:"init" is:"init" doc:"as 'csig.init'; probes are for transfers alone"`
	// Signals are the types that the tags ask for, with weights: of a transfer beside
	// those that its CC and its LB want, of programs in place of Applications.Signals.
	Signals map[string]int `yaml:"signals" doc:"what the tags ask for, with weights from 1 to 255: '{abw: 3, delay: 1}'. For transfers the types that CC and LB want are added, each with its own weight; for programs this replaces 'applications.signals'"`
	Format  string         `yaml:"format" is:"tag format" doc:"format of the tags: 'compact' or 'wide', see [Two formats](../explanation/csig.md#two-formats)"`
}

// CSIGMatch says which packets a policy is for: those that fit all lists that are not
// empty. A packet fits a list if it fits one of its items.
type CSIGMatch struct {
	Flows []string `yaml:"flows" doc:"names of flows as in the results, or patterns: '0-13', '\"0-*\"', '\"h0-h3 app\"'"`
	Src   []int    `yaml:"src" is:"host" doc:"hosts that send"`
	Dst   []int    `yaml:"dst" is:"host" doc:"hosts that receive"`
	Hosts []int    `yaml:"hosts" is:"host" doc:"the hosts of a tenant: both ends of the flow are among them"`
	Jobs  []int    `yaml:"jobs" is:"job" doc:"jobs of the workload's transfers, see 'workload.transfers[].job'; packets of programs have no job"`
	DSCP  []int    `yaml:"dscp" is:"dscp" doc:"classes: DSCPs of the packets. The transport's data has 10; programs set it in the header of IPv4 or IPv6, and other frames count as 0"`
}

// Empty reports whether no list has an item.
func (m *CSIGMatch) Empty() bool {
	return len(m.Flows)+len(m.Src)+len(m.Dst)+len(m.Hosts)+len(m.Jobs)+len(m.DSCP) == 0
}

// policies checks the init policies. Whether flows of the given names exist shows when
// the plan is made.
func (d *decoder) policies(e *Experiment, hosts int) {
	for i, p := range e.CSIG.Policies {
		path := fmt.Sprintf("csig.policies[%d]", i)
		if !d.sound(path) {
			continue
		}
		if p.Match.Empty() {
			d.failAt(path+".match", "the lists are empty; csig.init and csig.signal are for all packets", "")
		}
		if p.Init == "" && len(p.Signals) == 0 && p.Format == "" {
			d.failAt(path, "want one of the keys init, signals and format", "")
		}
		for _, signal := range slices.Sorted(maps.Keys(p.Signals)) {
			at := path + ".signals." + signal
			if !slices.Contains(signals(), signal) {
				d.failAt(at, unknown("signal", signal, signals()).Error(), spelling.Nearest(signal, signals()))
			} else if weight := p.Signals[signal]; weight < 1 || weight > maxWeight {
				d.failAt(at, fmt.Sprintf("a weight of %d; want 1 to %d", weight, maxWeight), "")
			}
		}
		d.matchedHosts(path+".match", p.Match.Src, p.Match.Dst, p.Match.Hosts, hosts)
	}
}
