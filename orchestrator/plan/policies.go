package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
)

// policy is an entry of csig.policies.
type policy struct {
	flowMatch
	init     bool // sampling and probe are given
	sampling csig.Sampling
	probe    units.Duration
	signals  csig.Weights // none: not given
	format   csig.Format  // none: not given
}

// newPolicies reads csig.policies.
func newPolicies(list []experiment.CSIGPolicy) ([]policy, error) {
	policies := make([]policy, len(list))
	for i, given := range list {
		p := &policies[i]
		p.flowMatch, p.init = flowMatch(given.Match), given.Init != ""
		at := fmt.Sprintf("csig.policies[%d]", i)
		var err error
		if p.init {
			if p.sampling, p.probe, err = experiment.ParseInit(given.Init); err != nil {
				return nil, failure.At(at+".init", err)
			}
		}
		if p.format, err = csig.ParseFormat(given.Format); err != nil {
			return nil, failure.At(at+".format", err)
		}
		for text, weight := range given.Signals {
			t, err := csig.ParseType(text)
			if err != nil {
				return nil, failure.At(at+".signals", err)
			}
			p.signals[t] = uint8(weight)
		}
		if err := p.checkPatterns(at + ".match"); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// taggings returns the init policy of the transfers that policies are for, by the DSCPs of their
// data.
func (s *signals) taggings(all *flows, dscps []int) []*transport.Tagging {
	own := make([]*transport.Tagging, all.transfers)
	same := map[transport.Tagging]*transport.Tagging{}
	for i := range own {
		t, changed := s.tags.tagging, false
		for k := range s.policies {
			if rule := &s.policies[k]; rule.transfer(&all.list[i], dscps[i]) {
				t, changed = rule.apply(t, s.tags.domain.Format), true
			}
		}
		if !changed {
			continue
		}
		if same[t] == nil {
			same[t] = &t
		}
		own[i] = same[t]
	}
	return own
}

// tags returns the format of tags where the policy holds: none for the first one.
func (p *policy) tags(before, first csig.Format) csig.Format {
	switch p.format {
	case csig.FormatNone:
		return before
	case first:
		return csig.FormatNone
	}
	return p.format
}

// apply returns the tagging of a transfer that the policy is for, in a fabric whose first
// format is the given one.
func (p *policy) apply(t transport.Tagging, first csig.Format) transport.Tagging {
	t.Format = p.tags(t.Format, first)
	if p.init {
		t.Sampling, t.Probe = p.sampling, p.probe
	}
	if p.signals.Any() {
		t.Telemetry = p.signals
	}
	return t
}

// dscps is the number of DSCPs.
const dscps = 64

// classes returns the exceptions from init for the packets of programs of one flow.
// Packets that are treated alike share a class.
func (s *signals) classes(c experiment.CSIG, f *metrics.FlowInfo, init shim.Init) ([]shim.Class, error) {
	_, probe, err := c.Tagging()
	if err != nil {
		return nil, failure.At("csig.init", err)
	}
	probed := "" // path of the init policy that asks for probes of DSCP 0 and so on
	var list []shim.Class
	for dscp := range dscps {
		got, probing := init, probe > 0
		if probing {
			probed = "csig.init"
		}
		for i := range s.policies {
			p := &s.policies[i]
			if !p.class(dscp) || !p.flow(f, false) {
				continue
			}
			if p.init {
				got.Sampling, probing = p.sampling, p.probe > 0
				if probing {
					probed = fmt.Sprintf("csig.policies[%d].init", i)
				}
			}
			if p.signals.Any() {
				got.Signals = p.signals
			}
			got.Format = p.tags(got.Format, s.tags.domain.Format)
		}
		if probing {
			return nil, failure.At(probed, fmt.Errorf("%s has probes, which are the transport's; for programs want %s", f.Name, csig.SamplingWords))
		}
		if got == init {
			continue
		}
		at := slices.IndexFunc(list, func(c shim.Class) bool { return c.Init == got })
		if at < 0 {
			at, list = len(list), append(list, shim.Class{Flow: f.Flow, Init: got})
		}
		list[at].DSCPs |= 1 << dscp
	}
	return list, nil
}

// checkPolicies refuses a policy that is for no packet of the run, and a name or a
// pattern that no flow has.
func checkPolicies(policies []policy, all *flows, dscps []int) error {
	for i := range policies {
		rule := &policies[i]
		at := fmt.Sprintf("csig.policies[%d].match", i)
		if err := rule.checkNames(at, all.ruled()); err != nil {
			return err
		}
		used := false
		for k := range all.ruled() {
			f := &all.list[k]
			used = used || k < all.transfers && rule.transfer(f, dscps[k]) || k >= all.transfers && rule.flow(f, false)
		}
		if !used {
			return failure.At(at, errors.New("no flow fits all of it; the data of transfers has DSCP 10, or that of its class, and programs have no job"))
		}
	}
	return nil
}
