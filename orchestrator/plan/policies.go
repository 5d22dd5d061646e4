package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/units"
)

// policy is an entry of csig.policies.
type policy struct {
	match    experiment.CSIGMatch
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
		p.match, p.init = given.Match, given.Init != ""
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
		if err := checkPatterns(at+".match", given.Match.Flows); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// checkPatterns refuses patterns of flows' names that cannot be read.
func checkPatterns(at string, patterns []string) error {
	for k, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return failure.At(fmt.Sprintf("%s.flows[%d]", at, k), fmt.Errorf("%q: %w", pattern, err))
		}
	}
	return nil
}

// flow reports whether the policy is for a flow, or for its packets of some DSCPs. A
// transfer has a job; the flow between the programs of two hosts has none.
func (p *policy) flow(f *metrics.FlowInfo, transfer bool) bool {
	m := &p.match
	in := func(list []int, host int32) bool { return len(list) == 0 || slices.Contains(list, int(host)) }
	named := len(m.Flows) == 0 || slices.ContainsFunc(m.Flows, func(pattern string) bool {
		ok, _ := path.Match(pattern, f.Name) // newPolicies has checked the pattern
		return ok
	})
	return named && in(m.Src, f.Src) && in(m.Dst, f.Dst) && in(m.Hosts, f.Src) && in(m.Hosts, f.Dst) &&
		(len(m.Jobs) == 0 || transfer && slices.Contains(m.Jobs, int(f.Job)))
}

// class reports whether the policy is for packets with a DSCP.
func (p *policy) class(dscp int) bool {
	return len(p.match.DSCP) == 0 || slices.Contains(p.match.DSCP, dscp)
}

// transfer reports whether the policy is for the data packets of a transfer, which have
// a DSCP.
func (p *policy) transfer(f *metrics.FlowInfo, dscp int) bool {
	return p.class(dscp) && p.flow(f, true)
}

// dscpOf returns the DSCP of the data of a transfer.
func dscpOf(c *host.Config, f *host.Flow) int {
	if c.Classes == nil {
		return wire.DSCPTrimmable
	}
	return int(c.Classes[f.Class].DSCP)
}

// assignTagging gives the transfers that policies are for an init policy of their own.
func (s *Shape) assignTagging(p *Plan, hosts []host.Config) {
	if s.tags == nil || len(s.policies) == 0 {
		return
	}
	same := map[transport.Tagging]*transport.Tagging{}
	for h := range hosts {
		for i := range hosts[h].Sends {
			f := &hosts[h].Sends[i]
			t, changed := s.tags.tagging, false
			for k := range s.policies {
				if rule := &s.policies[k]; rule.transfer(&p.Flows[f.ID], dscpOf(&hosts[h], f)) {
					t, changed = rule.apply(t, s.tags.domain.Format), true
				}
			}
			if !changed {
				continue
			}
			if same[t] == nil {
				same[t] = &t
			}
			f.Tagging = same[t]
			if t.Format != csig.FormatNone {
				f.Paths = s.secondPaths.between(h, int(p.Flows[f.ID].Dst))
			}
		}
	}
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
func (s *Shape) classes(f *metrics.FlowInfo, init shim.Init) ([]shim.Class, error) {
	_, probe, err := s.experiment.CSIG.Tagging()
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
func (s *Shape) checkPolicies(p *Plan, hosts []host.Config) error {
	if len(s.policies) == 0 {
		return nil
	}
	dscps := make([]int, p.Transfers)
	for h := range hosts {
		for i := range hosts[h].Sends {
			f := &hosts[h].Sends[i]
			dscps[f.ID] = dscpOf(&hosts[h], f)
		}
	}
	for i := range s.policies {
		rule := &s.policies[i]
		at := fmt.Sprintf("csig.policies[%d].match", i)
		if err := checkNames(at, rule, p); err != nil {
			return err
		}
		used := false
		for k := range p.Flows {
			f := &p.Flows[k]
			if k < p.Transfers && rule.transfer(f, dscps[k]) || k >= p.Transfers && rule.flow(f, false) {
				used = true
				break
			}
		}
		if !used {
			return failure.At(at, errors.New("no flow fits all of it; the data of transfers has DSCP 10, or that of its class, and programs have no job"))
		}
	}
	return nil
}

// checkNames refuses a name and a pattern that no flow has.
func checkNames(at string, rule *policy, p *Plan) error {
	for k, pattern := range rule.match.Flows {
		if !slices.ContainsFunc(p.Flows, func(f metrics.FlowInfo) bool { ok, _ := path.Match(pattern, f.Name); return ok }) {
			return failure.At(fmt.Sprintf("%s.flows[%d]", at, k), unknownFlow(pattern, p.Flows))
		}
	}
	return nil
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
