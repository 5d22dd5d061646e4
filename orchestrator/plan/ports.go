package plan

import (
	"fmt"
	"path"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
)

// selects reports whether a rule of csig.ports applies to a port of a switch.
func selects(rule *experiment.CSIGPort, node *topologies.Node, p *switchPort) (bool, error) {
	matches, err := path.Match(rule.Switch, node.Name)
	if err != nil {
		return false, fmt.Errorf("switch %q: %w", rule.Switch, err)
	}
	return matches && (rule.Port < 0 || rule.Port == p.Port) && (rule.Tier == "" || rule.Tier == node.Tier.String()) &&
		(rule.To == "" || (rule.To == "host") == p.toHost), nil
}

// portTags is what a switch port does to tags.
type portTags struct {
	policies [2][csig.Types]dataplane.Policy // of the fabric's first format, and of its second
	ingress  dataplane.Ingress
}

// allTags returns the same policy for tags of all types and formats; outside says that none comes in.
func allTags(policy dataplane.Policy, outside bool) (p portTags) {
	for i := range p.policies {
		for t := range p.policies[i] {
			p.policies[i][t] = policy
		}
	}
	p.ingress.Outside = outside
	return p
}

// updates reports whether tags of a type that leave by the port are updated. second says
// that they are of the fabric's second format.
func (p *portTags) updates(second bool, t csig.Type) bool {
	return p.policies[formatIndex(second)][t] == dataplane.Update
}

// formatIndex returns the index of a format in arrays of two.
func formatIndex(second bool) int {
	if second {
		return 1
	}
	return 0
}

// applyPortRules returns what each switch port does to tags, as fabric.ports.
func applyPortRules(c experiment.CSIG, f *fabric) (ports []portTags, err error) {
	ports = make([]portTags, len(f.ports))
	for i := range ports {
		p := &f.ports[i]
		if ports[i], err = newPortTags(c, &f.graph.Nodes[p.Node], p, f.strips(p.peer.Node)); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// newPortTags returns what a port does to tags by the rules of csig.ports, of which later ones
// win. Where no rule says on which side of the domain's edge the peer is, it is
// outside for the types whose tags the port strips or terminates. Where tags end before the peer
// (fabric.strips), the port terminates them if no rule says otherwise.
func newPortTags(c experiment.CSIG, node *topologies.Node, at *switchPort, end bool) (p portTags, err error) {
	var outside *bool
	first := c.Format
	if end {
		p = allTags(dataplane.Terminate, false)
	}
	for i := range c.Ports {
		rule := &c.Ports[i]
		if matches, err := selects(rule, node, at); err != nil {
			return p, err
		} else if !matches {
			continue
		}
		if rule.Policy != "" {
			policy, err := dataplane.ParsePolicy(rule.Policy)
			if err != nil {
				return p, err
			}
			for i, format := range []csig.Format{first, first.Other()} {
				for t := range csig.Types {
					if rule.For(format) && (rule.Type == "all" || rule.Type == "" || rule.Type == t.String()) {
						p.policies[i][t] = policy
					}
				}
			}
		}
		if rule.Outside != nil {
			outside = rule.Outside
		}
		if rule.Init != "" {
			p.ingress.Format = csig.FormatNone
			if c.Second != nil && rule.For(first.Other()) && !rule.For(first) {
				p.ingress.Format = first.Other()
			}
			if p.ingress.Init, err = csig.ParseSampling(rule.Init); err != nil {
				return p, err
			}
			if p.ingress.Signals = rule.Signals; len(rule.Signals) == 0 {
				p.ingress.Signals = []csig.Type{c.Signal}
			}
		}
	}
	if outside != nil {
		p.ingress.Outside = *outside
		return p, nil
	}
	ends := func(policy dataplane.Policy) bool { return policy == dataplane.Strip || policy == dataplane.Terminate }
	p.ingress.Outside = true
	for _, t := range csig.KnownTypes() {
		p.ingress.Refuses[t] = ends(p.policies[0][t])
		p.ingress.Outside = p.ingress.Outside && p.ingress.Refuses[t]
		if c.Second != nil {
			p.ingress.RefusesSecond[t] = ends(p.policies[1][t])
			p.ingress.Outside = p.ingress.Outside && p.ingress.RefusesSecond[t]
		}
	}
	return p, nil
}

// allTypes has every known type.
func allTypes() (all [csig.Types]bool) {
	for _, t := range csig.KnownTypes() {
		all[t] = true
	}
	return all
}

// checkPortRules refuses a rule of csig.ports that no port of the fabric matches.
func checkPortRules(f *fabric, rules []experiment.CSIGPort) error {
	for i := range rules {
		rule := &rules[i]
		named, matched, most := false, false, 0
		for n := f.graph.Hosts(); n < len(f.graph.Nodes); n++ {
			node := &f.graph.Nodes[n]
			if ok, err := path.Match(rule.Switch, node.Name); err != nil {
				return failure.At(fmt.Sprintf("csig.ports[%d].switch", i), fmt.Errorf("%q: %w", rule.Switch, err))
			} else if !ok {
				continue
			}
			named, most = true, max(most, len(f.adjacency[n])-1)
			matched = matched || slices.ContainsFunc(f.portsOf(n), func(p switchPort) bool { ok, _ := selects(rule, node, &p); return ok })
		}
		switch {
		case !named:
			return failure.At(fmt.Sprintf("csig.ports[%d].switch", i), unknownSwitch(rule.Switch, f.switchNames()))
		case rule.Port > most:
			return failure.At(fmt.Sprintf("csig.ports[%d].port", i), fmt.Errorf("%s has no port %d; ports go from 0 to %d", rule.Switch, rule.Port, most))
		case !matched:
			return failure.At(fmt.Sprintf("csig.ports[%d]", i), fmt.Errorf("no port of the fabric is meant: %s", rule))
		}
	}
	return nil
}
