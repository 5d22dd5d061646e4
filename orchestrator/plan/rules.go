package plan

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// rules is what classes and policies say of each transfer. A list is nil where an experiment
// has none of them.
type rules struct {
	class   []uint8              // of its data
	tagging []*transport.Tagging // nil: that of all
	cc      []*algorithm.Choice  // nil: that of all
}

// at returns what a list of rules says of a transfer.
func at[T any](list []T, transfer int) (said T) {
	if list != nil {
		said = list[transfer]
	}
	return said
}

// newRules applies the classes and policies of an experiment to the flows of a run.
func newRules(r *run) (all rules, err error) {
	e, data := r.experiment, r.buffers.data
	dscps := make([]int, r.flows.transfers) // of the data of each transfer
	for i := range dscps {
		dscps[i] = wire.DSCPTrimmable
	}
	if data != nil {
		if all.class, err = data.transfers(e, &r.flows); err != nil {
			return all, err
		}
		for i, k := range all.class {
			dscps[i] = int(data.list[k].DSCP)
		}
	}
	if len(r.signals.policies) > 0 {
		if err = checkPolicies(r.signals.policies, &r.flows, dscps); err != nil {
			return all, err
		}
		if r.signals.tags != nil {
			all.tagging = r.signals.taggings(&r.flows, dscps)
		}
	}
	if len(e.Hosts.Policies) > 0 {
		all.cc, err = ccPolicies(r)
	}
	return all, err
}

// ccPolicies returns the congestion control of the transfers that hosts.policies are for: with
// parameters of their own.
func ccPolicies(r *run) ([]*algorithm.Choice, error) {
	list, base := r.experiment.Hosts.Policies, r.experiment.Hosts.CC
	matches := make([]flowMatch, len(list))
	for i := range list {
		matches[i] = flowMatch(list[i].Match.CSIG())
		at := fmt.Sprintf("hosts.policies[%d].match", i)
		if err := matches[i].checkPatterns(at); err != nil {
			return nil, err
		}
		if err := matches[i].checkNames(at, r.flows.ruled()); err != nil {
			return nil, err
		}
	}
	cc, _ := congestion.Table.Lookup(base.Name) // checkAlgorithms has found it
	needs := cc.NeedsOf(base.Params)
	own := make([]*algorithm.Choice, r.flows.transfers)
	made := map[string]*algorithm.Choice{} // by the policies that are for a transfer
	used := make([]bool, len(matches))
	var failed error
	bySource(r.flows.sent(), func(i int) {
		f := &r.flows.list[i]
		rate := r.fabric.rate(int(f.Src))
		key, last := fmt.Sprint(rate), -1
		params := maps.Clone(base.Params)
		for k := range matches {
			if matches[k].flow(f, true) {
				key, last, used[k] = fmt.Sprint(key, " ", k), k, true
				maps.Copy(params, list[k].CC)
			}
		}
		if last < 0 || failed != nil {
			return
		}
		if made[key] == nil {
			at := fmt.Sprintf("hosts.policies[%d].cc", last)
			if _, err := cc.New(r.buffers.path(rate), params); err != nil {
				failed = failure.AtParam(at, err)
			} else if cc.NeedsOf(params) != needs {
				failed = failure.At(at, errors.New("receivers follow hosts.cc: what they send, such as congestion notification packets, is the same for all transfers"))
			}
			made[key] = &algorithm.Choice{Name: cc.Name, Params: params}
		}
		own[i] = made[key]
	})
	if i := slices.Index(used, false); i >= 0 && failed == nil {
		failed = failure.At(fmt.Sprintf("hosts.policies[%d].match", i), errors.New("no transfer fits all of it"))
	}
	return own, failed
}

// flowMatch is lists of flows of an experiment: what fits all lists that are not empty.
type flowMatch experiment.CSIGMatch

// checkPatterns refuses patterns of flows' names that cannot be read.
func (m *flowMatch) checkPatterns(at string) error {
	for k, pattern := range m.Flows {
		if _, err := path.Match(pattern, ""); err != nil {
			return failure.At(fmt.Sprintf("%s.flows[%d]", at, k), fmt.Errorf("%q: %w", pattern, err))
		}
	}
	return nil
}

// checkNames refuses a name and a pattern that no flow has.
func (m *flowMatch) checkNames(at string, flows []metrics.FlowInfo) error {
	for k, pattern := range m.Flows {
		if !slices.ContainsFunc(flows, named(pattern)) {
			return failure.At(fmt.Sprintf("%s.flows[%d]", at, k), unknownFlow(pattern, flows))
		}
	}
	return nil
}

// flow reports whether a flow, or its packets of some DSCPs, fit. A transfer has a job; the
// flow between the programs of two hosts has none.
func (m *flowMatch) flow(f *metrics.FlowInfo, transfer bool) bool {
	return (len(m.Flows) == 0 || slices.ContainsFunc(m.Flows, func(pattern string) bool { return named(pattern)(*f) })) &&
		fits(m.Src, f.Src) && fits(m.Dst, f.Dst) && fits(m.Hosts, f.Src) && fits(m.Hosts, f.Dst) &&
		(len(m.Jobs) == 0 || transfer && slices.Contains(m.Jobs, int(f.Job)))
}

// class reports whether packets with a DSCP fit.
func (m *flowMatch) class(dscp int) bool { return fits(m.DSCP, int32(dscp)) }

// transfer reports whether the data packets of a transfer fit, which have a DSCP.
func (m *flowMatch) transfer(f *metrics.FlowInfo, dscp int) bool {
	return m.class(dscp) && m.flow(f, true)
}

// fits reports whether a number is in a list; all are in an empty one.
func fits(list []int, n int32) bool { return len(list) == 0 || slices.Contains(list, int(n)) }

// named returns the test of a name or pattern, which has been checked.
func named(pattern string) func(metrics.FlowInfo) bool {
	return func(f metrics.FlowInfo) bool { ok, _ := path.Match(pattern, f.Name); return ok }
}

// fitting reports of each flow whether it fits an item of a list such as trace.flows: a name, a
// pattern, a number of a flow or a range of them. An item that no flow fits is an error; at is
// its index.
func fitting(items []string, flows []metrics.FlowInfo) (fit []bool, at int, err error) {
	fit = make([]bool, len(flows))
	for at, item := range items {
		first, last, numbers, err := experiment.ParseFlowNumbers(item)
		test := named(item)
		switch {
		case err != nil:
			return nil, at, err
		case numbers && last >= len(flows):
			return nil, at, fmt.Errorf("there is no flow %d; flows go from 0 to %d", max(first, len(flows)), len(flows)-1)
		case numbers:
			test = func(f metrics.FlowInfo) bool { return int(f.Flow) >= first && int(f.Flow) <= last }
		case !slices.ContainsFunc(flows, test):
			return nil, at, unknownFlow(item, flows)
		}
		for i, f := range flows {
			fit[i] = fit[i] || test(f)
		}
	}
	return fit, 0, nil
}

// unknownFlow returns the error of a name or pattern that no flow has.
func unknownFlow(pattern string, flows []metrics.FlowInfo) error {
	names := make([]string, len(flows))
	for i, f := range flows {
		names[i] = f.Name
	}
	hint := spelling.Hint(spelling.Nearest(pattern, names))
	return fmt.Errorf("no flow is called %q; the %d flows are called like %q%s", pattern, len(names), names[0], hint)
}
