package plan

import (
	"fmt"
	"path"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
)

// addSwitches adds the switches' nodes to a plan.
func (s *Shape) addSwitches(p *Plan, seed uint64, adjacency [][]topologies.Adjacent) error {
	var locators []uint16
	if s.tags != nil {
		locators = s.tags.locators
	}
	for n := s.graph.Hosts(); n < len(s.graph.Nodes); n++ {
		c := s.switchConfig(n, seed, p)
		for i, a := range adjacency[n] {
			rate := s.graph.Links[a.Link].Rate
			sizes := s.sizing.port(rate)
			port := dataplane.Port{
				Rate:    rate,
				Buffer:  sizes.buffer(),
				ECN:     sizes.thresholds,
				MAC:     wire.MAC(n, i),
				PeerMAC: wire.MAC(a.Peer.Node, a.Peer.Port),
				LastHop: s.graph.Nodes[a.Peer.Node].Kind == topologies.Host,
			}
			if i < len(locators) {
				port.Locator = locators[i]
			}
			if err := applyPolicies(s.experiment.CSIG.Ports, c.Name, i, &port); err != nil {
				return failure.At("csig.ports", err)
			}
			c.Ports = append(c.Ports, port)
		}
		locators = locators[min(len(adjacency[n]), len(locators)):]
		p.Nodes[n].Switch = &c
	}
	return nil
}

// switchConfig returns the configuration of a switch, without its ports.
func (s *Shape) switchConfig(n int, seed uint64, p *Plan) dataplane.Config {
	c := dataplane.Config{
		Node:  n,
		Name:  s.graph.Nodes[n].Name,
		Delay: s.graph.Nodes[n].Delay,
		Forward: forward.Config{
			Group: s.routes[n].Group,
			Ports: s.routes[n].Ports,
			Seed:  wire.Mix(seed, uint64(n)),
		},
		Sizes:   p.Format.Sizes,
		AQM:     s.marking,
		Trim:    s.experiment.Links.Trim,
		Pairs:   p.Pairs,
		Seed:    seed,
		Records: p.Interval,
	}
	if s.tags != nil {
		c.CSIG = &s.tags.switches
	}
	return c
}

// applyPolicies sets the port's policies from the rules, later ones winning. A
// port that terminates tags is the domain's edge: what comes in there has its
// tags removed.
func applyPolicies(rules []experiment.CSIGPort, name string, index int, port *dataplane.Port) error {
	for _, rule := range rules {
		matches, err := path.Match(rule.Switch, name)
		if err != nil {
			return fmt.Errorf("switch %q: %w", rule.Switch, err)
		}
		if !matches || rule.Port >= 0 && rule.Port != index {
			continue
		}
		policy, err := dataplane.ParsePolicy(rule.Policy)
		if err != nil {
			return err
		}
		for t := range csig.Types {
			if rule.Type == "all" || rule.Type == "" || rule.Type == t.String() {
				port.Policies[t] = policy
			}
		}
	}
	port.Outside = slices.Contains(port.Policies[:], dataplane.Terminate)
	return nil
}

// checkPortRules refuses a rule of csig.ports that no port of the fabric matches.
func checkPortRules(g *topologies.Graph, rules []experiment.CSIGPort) error {
	adjacency := g.Adjacency()
	for i, rule := range rules {
		matched, most := false, 0
		var names []string
		for n := g.Hosts(); n < len(g.Nodes); n++ {
			name := g.Nodes[n].Name
			names = append(names, name)
			if ok, err := path.Match(rule.Switch, name); err != nil {
				return failure.At(fmt.Sprintf("csig.ports[%d].switch", i), fmt.Errorf("%q: %w", rule.Switch, err))
			} else if ok {
				matched, most = true, max(most, len(adjacency[n])-1)
			}
		}
		switch {
		case !matched:
			return failure.At(fmt.Sprintf("csig.ports[%d].switch", i), unknownSwitch(rule.Switch, names))
		case rule.Port > most:
			return failure.At(fmt.Sprintf("csig.ports[%d].port", i), fmt.Errorf("%s has no port %d; ports go from 0 to %d", rule.Switch, rule.Port, most))
		}
	}
	return nil
}
