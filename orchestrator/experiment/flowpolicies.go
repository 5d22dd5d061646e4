package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
)

// HostPolicy changes parameters of the congestion control for some transfers. What it
// leaves out stays as Hosts.CC has it.
type HostPolicy struct {
	Match FlowMatch        `yaml:"match,required" doc:"transfers that it is for: those that fit every list that is given"`
	CC    algorithm.Values `yaml:"cc,required" doc:"parameters of the algorithm in 'hosts.cc': '{timer: 100us}'"`
}

// FlowMatch says which transfers a policy is for: those that fit all lists that are not
// empty. A transfer fits a list if it fits one of its items.
type FlowMatch struct {
	Flows []string `yaml:"flows" doc:"a policy is for the transfers that fit all its lists, of each one item; names of flows as in the results, or patterns: '0-13', '\"0-*\"'"`
	Src   []int    `yaml:"src" is:"host" doc:"hosts that send"`
	Dst   []int    `yaml:"dst" is:"host" doc:"hosts that receive"`
	Hosts []int    `yaml:"hosts" is:"host" doc:"the hosts of a tenant: both ends of the transfer are among them"`
	Jobs  []int    `yaml:"jobs" is:"job" doc:"jobs, see 'workload.transfers[].job'"`
}

// CSIG returns the same match for a policy of CSIG.
func (m *FlowMatch) CSIG() CSIGMatch {
	return CSIGMatch{Flows: m.Flows, Src: m.Src, Dst: m.Dst, Hosts: m.Hosts, Jobs: m.Jobs}
}

// hostPolicies checks hosts.policies and brings its values into their canonical form.
// Whether flows of the given names exist shows when the plan is made.
func (d *decoder) hostPolicies(e *Experiment, hosts int) {
	specs := d.tables.CC
	at := slices.IndexFunc(specs, func(s algorithm.Spec) bool { return s.Name == e.Hosts.CC.Name })
	for i, p := range e.Hosts.Policies {
		path := fmt.Sprintf("hosts.policies[%d]", i)
		if !d.sound(path) {
			continue
		}
		match := p.Match.CSIG()
		if match.Empty() {
			d.failAt(path+".match", "the lists are empty; hosts.cc is for all transfers", "")
		}
		if len(p.CC) == 0 {
			d.failAt(path+".cc", "want parameters of "+e.Hosts.CC.Name, "")
		}
		d.matchedHosts(path+".match", match.Src, match.Dst, match.Hosts, hosts)
		if at < 0 {
			continue // the name of hosts.cc is an error already, or every name is taken
		}
		for _, name := range slices.Sorted(maps.Keys(p.CC)) {
			d.policyParam(join(path+".cc", name), specs[at], name, p.CC, e.CSIG.Format)
		}
	}
}

// policyParam checks a parameter of an algorithm and stores its canonical form.
func (d *decoder) policyParam(at string, spec algorithm.Spec, name string, values algorithm.Values, format csig.Format) {
	param, ok := spec.Param(name)
	if !ok {
		names := paramNames(spec.Params)
		d.failAt(at, unknown("parameter of "+spec.Name, name, names).Error(), spelling.Nearest(name, names))
		return
	}
	text, err := param.Parse(values[name])
	switch {
	case err != nil:
		d.failAt(at, err.Error(), suggestion(param, values[name]))
	case param.NeedsTag && text != param.Default && format == csig.FormatNone:
		d.failAt(at, text+" needs a CSIG tag; set csig.format to compact or wide", "")
	default:
		values[name] = text
	}
}

// matchedHosts refuses hosts of a match that do not exist: there are count of them, if it
// is known.
func (d *decoder) matchedHosts(path string, src, dst, both []int, count int) {
	for _, list := range []struct {
		key   string
		hosts []int
	}{{"src", src}, {"dst", dst}, {"hosts", both}} {
		for k, h := range list.hosts {
			if count > 0 && h >= count {
				d.failAt(fmt.Sprintf("%s.%s[%d]", path, list.key, k), fmt.Sprintf("no host %d; hosts go from 0 to %d", h, count-1), "")
			}
		}
	}
}
