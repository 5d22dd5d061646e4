package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/failure"
)

// assignCC gives the transfers that hosts.policies are for a congestion control with
// parameters of its own.
func (s *Shape) assignCC(p *Plan, hosts []host.Config) error {
	list := s.experiment.Hosts.Policies
	if len(list) == 0 {
		return nil
	}
	rules := make([]policy, len(list))
	for i := range list {
		rules[i].match = list[i].Match.CSIG()
		at := fmt.Sprintf("hosts.policies[%d].match", i)
		if err := checkPatterns(at, rules[i].match.Flows); err != nil {
			return err
		}
		if err := checkNames(at, &rules[i], p); err != nil {
			return err
		}
	}
	cc, _ := congestion.Table.Lookup(s.experiment.Hosts.CC.Name) // configureCC has found it
	needs := cc.NeedsOf(s.experiment.Hosts.CC.Params)
	made := map[string]*algorithm.Choice{} // by the policies that are for a transfer
	used := make([]bool, len(rules))
	for h := range hosts {
		for i := range hosts[h].Sends {
			f := &hosts[h].Sends[i]
			key, last := fmt.Sprint(hosts[h].Rate), -1
			params := maps.Clone(hosts[h].CC.Params)
			for k := range rules {
				if rules[k].flow(&p.Flows[f.ID], true) {
					key, last, used[k] = fmt.Sprint(key, " ", k), k, true
					maps.Copy(params, list[k].CC)
				}
			}
			if last < 0 {
				continue
			}
			if made[key] == nil {
				at := fmt.Sprintf("hosts.policies[%d].cc", last)
				if _, err := cc.New(hosts[h].Path, params); err != nil {
					return failure.AtParam(at, err)
				}
				if cc.NeedsOf(params) != needs {
					return failure.At(at, errors.New("receivers follow hosts.cc: what they send, such as congestion notification packets, is the same for all transfers"))
				}
				made[key] = &algorithm.Choice{Name: cc.Name, Params: params}
			}
			f.CC = made[key]
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return failure.At(fmt.Sprintf("hosts.policies[%d].match", i), errors.New("no transfer fits all of it"))
	}
	return nil
}
