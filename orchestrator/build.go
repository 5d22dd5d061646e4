package orchestrator

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// configureCSIG fills in the domain's part of the fabric; without a format
// there is none.
func (f *fabric) configureCSIG() error {
	c := f.experiment.CSIG
	format, err := csig.ParseFormat(c.Format)
	if err != nil || format == csig.FormatNone {
		return err
	}
	cfg := csig.Config{Format: format, TPIDCompact: c.TPIDCompact, TPIDWide: c.TPIDWide, Interval: c.Interval}
	for _, l := range f.graph.Links {
		cfg.MaxRate = max(cfg.MaxRate, l.Rate)
	}
	if cfg.Dialect, err = csig.ParseDialect(c.Dialect); err != nil {
		return err
	}
	if cfg.Decode, err = csig.ParseDecodeMode(c.Decode); err != nil {
		return err
	}
	if cfg.TrimRule, err = csig.ParseTrimRule(c.TrimRule); err != nil {
		return err
	}
	if cfg.Locators.Kind, err = csig.ParseSchemeKind(c.Locators); err != nil {
		return err
	}
	for signal, table := range c.Quantisers {
		t, err := csig.ParseType(signal)
		if err != nil {
			return err
		}
		cfg.Quantisers[t].Name = table
	}
	domain, err := csig.NewDomain(cfg)
	if err != nil {
		return err
	}
	cfg = domain.Config()
	f.csig = &cfg
	if f.tagging.Signal, err = csig.ParseType(c.Signal); err != nil {
		return err
	}
	if err := f.parseInit(c.Init); err != nil {
		return err
	}
	f.switchCSIG = &dataplane.CSIG{Domain: cfg, Tau: f.path.NetworkRTT}
	if f.switchCSIG.Meter, err = meter.ParseMode(c.Meter); err != nil {
		return err
	}
	if f.switchCSIG.Depth, err = meter.ParseDepthMode(c.NQD); err != nil {
		return err
	}
	if f.switchCSIG.Delay, err = dataplane.ParseDelayMode(c.Delay); err != nil {
		return err
	}
	directory, err := domain.Locators().Assign(f.places())
	if err != nil {
		return at("csig.locators", err)
	}
	f.locators = directory.Locators
	f.capture.Domain, f.capture.Meaning = domain, capture.Meaning(f.graph, directory)
	return f.checkPortRules()
}

// checkPortRules refuses a rule of csig.ports that no port of the fabric matches.
func (f *fabric) checkPortRules() error {
	adjacency := f.graph.Adjacency()
	for i, rule := range f.experiment.CSIG.Ports {
		matched, most := false, 0
		var names []string
		for n := f.graph.Hosts(); n < len(f.graph.Nodes); n++ {
			name := f.graph.Nodes[n].Name
			names = append(names, name)
			if ok, err := path.Match(rule.Switch, name); err != nil {
				return at(fmt.Sprintf("csig.ports[%d].switch", i), fmt.Errorf("%q: %w", rule.Switch, err))
			} else if ok {
				matched, most = true, max(most, len(adjacency[n])-1)
			}
		}
		switch {
		case !matched:
			hint := ""
			if near := spelling.Nearest(rule.Switch, names); near != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", near)
			}
			return at(fmt.Sprintf("csig.ports[%d].switch", i), fmt.Errorf("no switch is called %q; they go from %s to %s%s", rule.Switch, names[0], names[len(names)-1], hint))
		case rule.Port > most:
			return at(fmt.Sprintf("csig.ports[%d].port", i), fmt.Errorf("%s has no port %d; ports go from 0 to %d", rule.Switch, rule.Port, most))
		}
	}
	return nil
}

// parseInit sets the init policy: every, none, 1/N or probe/INTERVAL.
func (f *fabric) parseInit(text string) (err error) {
	share, interval := "", ""
	switch {
	case text == "every" || text == "":
		share = "1"
	case text == "none":
		share = "0"
	case strings.HasPrefix(text, "1/"):
		share = strings.TrimPrefix(text, "1/")
	case strings.HasPrefix(text, "probe/"):
		interval = strings.TrimPrefix(text, "probe/")
	default:
		return fmt.Errorf("init %q is none of every, none, 1/N, probe/INTERVAL", text)
	}
	if interval != "" {
		f.tagging.Probe, err = units.ParseDuration(interval)
	} else {
		f.tagging.Every, err = strconv.Atoi(share)
	}
	if err != nil || f.tagging.Every < 0 || f.tagging.Probe < 0 {
		return fmt.Errorf("init %q is none of every, none, 1/N, probe/INTERVAL", text)
	}
	return nil
}

// places describes every switch port for the locators, in order of node and
// port.
func (f *fabric) places() []csig.Place {
	var places []csig.Place
	adjacency := f.graph.Adjacency()
	for n := f.graph.Hosts(); n < len(f.graph.Nodes); n++ {
		node := f.graph.Nodes[n]
		for i, a := range adjacency[n] {
			place := csig.Place{
				Switch: node.Index, Port: i + 1, Peer: a.Peer.Node, Tier: locatorTier(node.Tier),
				Dir: csig.Up, Rate: f.graph.Links[a.Link].Rate,
			}
			if f.graph.Nodes[a.Peer.Node].Tier < node.Tier {
				place.Dir = csig.Down
			}
			places = append(places, place)
		}
	}
	return places
}

func locatorTier(t topologies.Tier) csig.Tier {
	switch t {
	case topologies.TierToR:
		return csig.TierToR
	case topologies.TierAgg:
		return csig.TierAgg
	case topologies.TierCore:
		return csig.TierCore
	}
	return csig.TierOther
}

func (f *fabric) switchConfig(n int, seed uint64, p *Plan, adjacency []topologies.Adjacent, locators []uint16) (dataplane.Config, error) {
	e, node := f.experiment, f.graph.Nodes[n]
	cfg := dataplane.Config{
		Node:  n,
		Name:  node.Name,
		Delay: node.Delay,
		Forward: forward.Config{
			Group: f.routes[n].Group,
			Ports: f.routes[n].Ports,
			Seed:  wire.Mix(seed, uint64(n)),
		},
		Sizes:   p.Sizes,
		Buffer:  buffer.Limits{Data: f.queue, Control: e.Links.ControlQueue},
		AQM:     f.aqm,
		ECN:     f.thresholds,
		Trim:    e.Links.Trim,
		CSIG:    f.switchCSIG,
		Pairs:   p.Pairs,
		Seed:    seed,
		Records: p.Interval,
	}
	if cfg.Buffer.Control == 0 {
		cfg.Buffer.Control = 2 * f.queue
	}
	for i, a := range adjacency {
		port := dataplane.Port{
			Rate:    f.graph.Links[a.Link].Rate,
			MAC:     wire.MAC(n, i),
			PeerMAC: wire.MAC(a.Peer.Node, a.Peer.Port),
			LastHop: f.graph.Nodes[a.Peer.Node].Kind == topologies.Host,
		}
		if i < len(locators) {
			port.Locator = locators[i]
		}
		if err := applyPolicies(e.CSIG.Ports, node.Name, i, &port); err != nil {
			return cfg, at("csig.ports", err)
		}
		cfg.Ports = append(cfg.Ports, port)
	}
	return cfg, nil
}

// configureAQM settles the policy of every switch port, and refuses parameters
// that make no sense at one of the rates.
func (f *fabric) configureAQM() error {
	links := f.experiment.Links
	f.aqm, f.thresholds = links.AQM, aqm.Thresholds{Low: links.ECN.Low, High: links.ECN.High}
	if !links.ECN.Enabled {
		f.aqm = algorithm.Choice{Name: "none"}
		return nil
	}
	if f.thresholds.Low == 0 {
		f.thresholds.Low = f.share(2)
	}
	if f.thresholds.High == 0 {
		f.thresholds.High = f.share(8)
	}
	if f.thresholds.Low > f.thresholds.High {
		return at("links.ecn.low", fmt.Errorf("%v lies above links.ecn.high, %v", f.thresholds.Low, f.thresholds.High))
	}
	policy, ok := aqm.Table.Lookup(f.aqm.Name)
	if !ok {
		return at("links.aqm", fmt.Errorf("unknown AQM %q", f.aqm.Name))
	}
	tried := map[units.Rate]bool{}
	for _, l := range f.graph.Links {
		if tried[l.Rate] {
			continue
		}
		tried[l.Rate] = true
		port := aqm.Port{Rate: l.Rate, Queue: f.queue, ECN: f.thresholds, Random: rand.New(rand.NewPCG(0, 0))}
		if _, err := policy.New(port, f.aqm.Params); err != nil {
			return atParam("links.aqm", err)
		}
	}
	return nil
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

// setControlDelay settles the delay of dependencies that cross hosts. It is
// never less than the smallest link delay, so that clocks that keep in step
// look as far ahead with dependencies as without.
func (f *fabric) setControlDelay() error {
	least := f.graph.Links[0].Delay
	for _, l := range f.graph.Links {
		least = min(least, l.Delay)
	}
	f.controlDelay = least
	if d := f.experiment.Workload.ControlDelay; d != 0 {
		f.controlDelay = d
	}
	if f.controlDelay < least {
		return at("workload.control_delay", fmt.Errorf("%v is below the smallest link delay, %v", f.controlDelay, least))
	}
	return nil
}
