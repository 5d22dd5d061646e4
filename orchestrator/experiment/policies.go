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
	Match CSIGMatch `yaml:"match"`
	Init  string    `yaml:"init"` // as CSIG.Init
	// Signals are the types that the tags ask for, with weights: of a transfer beside
	// those that its CC and its LB want, of programs in place of Applications.Signals.
	Signals map[string]int `yaml:"signals"`
	Format  string         `yaml:"format"` // of the tags, compact or wide; "": CSIG.Format
}

// CSIGMatch says which packets a policy is for: those that fit all lists that are not
// empty. A packet fits a list if it fits one of its items.
type CSIGMatch struct {
	Flows []string `yaml:"flows"` // names of flows or patterns with *, such as 0-13 or "h0-* app"
	Src   []int    `yaml:"src"`   // hosts that send
	Dst   []int    `yaml:"dst"`   // hosts that receive
	Hosts []int    `yaml:"hosts"` // hosts of a tenant: both ends are among them
	Jobs  []int    `yaml:"jobs"`  // jobs of the workload's transfers; programs have none
	DSCP  []int    `yaml:"dscp"`  // of the packets; the transport's data has 10
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
