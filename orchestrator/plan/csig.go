package plan

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
)

// signals is what hosts and switches do with CSIG tags.
type signals struct {
	tags     *tags      // nil without CSIG
	ports    []portTags // as fabric.ports
	policies []policy
	speakers []bool              // by node, see Speakers; nil: all switches speak
	tunnels  *experiment.Tunnels // nil without
}

// tags is the CSIG domain of a fabric.
type tags struct {
	domain   csig.Config
	tagging  transport.Tagging // of the hosts
	switches dataplane.CSIG
	first    *labels
	second   *labels         // nil: the fabric has tags of one format
	lastHops csig.LocatorSet // locators that stand for ports to hosts alone
}

// labels is the locators of a format.
type labels struct {
	format   csig.Format
	locators []uint16 // as fabric.ports
	table    *LocatorTable
}

// A locator has the same number in records as senders know it by.
var _ = [1]struct{}{}[metrics.SecondFormat-csig.SecondLabels]

// newSignals refuses settings of CSIG that make no sense in a fabric.
func newSignals(e *experiment.Experiment, f *fabric) (s signals, err error) {
	c := e.CSIG
	s.tunnels = e.Tunnels
	if s.tags, err = newTags(c, f); err != nil {
		return s, failure.At("csig", err) // where no narrower place is known
	}
	if s.ports, err = applyPortRules(c, f); err != nil {
		return s, failure.At("csig.ports", err)
	}
	if s.speakers, err = Speakers(&c.Speakers, f.graph); err != nil {
		return s, failure.At("csig.speakers", err)
	}
	for i := range s.ports {
		switch p := &f.ports[i]; {
		case !s.speaks(p.Node):
			s.ports[i] = silence
		case c.Speakers.Negotiated && !p.toHost && !s.speaks(p.peer.Node):
			s.ports[i] = fence
		}
	}
	s.policies, err = newPolicies(c.Policies)
	return s, err
}

// domain returns the CSIG domain, nil without CSIG.
func (s *signals) domain() *csig.Config {
	if s.tags == nil {
		return nil
	}
	return &s.tags.domain
}

// meaning returns what the tags mean.
func (s *signals) meaning(g *topologies.Graph) (t Tags) {
	if s.tags == nil {
		return t
	}
	t.CSIG, t.Locators = &s.tags.domain, s.tags.first.table
	t.Silent, _ = s.silentNames(g)
	if s.tags.second != nil {
		t.Second = s.tags.second.table
	}
	return t
}

// newTags returns the domain of a fabric; nil where the format is none.
func newTags(c experiment.CSIG, f *fabric) (*tags, error) {
	if c.Format == csig.FormatNone {
		return nil, nil
	}
	cfg := csig.Config{Format: c.Format, TPIDCompact: c.TPIDCompact, TPIDWide: c.TPIDWide, Interval: c.Interval, Dialect: c.Dialect, Decode: c.Decode, TrimRule: c.TrimRule}
	for _, l := range f.graph.Links {
		cfg.MaxRate = max(cfg.MaxRate, l.Rate)
	}
	var err error
	if cfg.Locators, err = locatorConfig(f, locatorsKey(false), c.Locators); err != nil {
		return nil, err
	}
	for _, t := range c.OverrideD {
		cfg.OverrideD[t] = true
	}
	if err := setQuantisers(&cfg.Quantisers, c.Quantisers); err != nil {
		return nil, err
	}
	if c.Second != nil {
		cfg.Second = new(csig.SecondFormat)
		if cfg.Second.Locators, err = locatorConfig(f, locatorsKey(true), c.Second.Locators); err != nil {
			return nil, err
		}
		if err := setQuantisers(&cfg.Second.Quantisers, c.Second.Quantisers); err != nil {
			return nil, err
		}
	}
	domain, err := csig.NewDomain(cfg)
	if err != nil {
		return nil, err
	}
	t := &tags{domain: domain.Config()}
	if t.tagging.Sampling, t.tagging.Probe, err = c.Tagging(); err != nil {
		return nil, err
	}
	t.tagging.Signal, t.tagging.MaxAge = c.Signal, c.MaxAge
	t.switches = dataplane.CSIG{
		Domain: t.domain, Tau: f.idle.rtt, CountTrimmed: c.CountTrimmed,
		Meter: c.Meter, Phase: c.Phase, Depth: c.NQD, Available: c.ABW, Delay: c.Delay,
	}
	if t.first, err = newLabels(f, domain, false); err != nil {
		return nil, err
	}
	addLastHops(&t.lastHops, f, t.first.locators, 0)
	if second := domain.Second(); second != nil {
		if t.second, err = newLabels(f, second, true); err != nil {
			return nil, err
		}
		addLastHops(&t.lastHops, f, t.second.locators, csig.SecondLabels)
	}
	return t, checkPortRules(f, c.Ports)
}

// setQuantisers sets quantisers by the names of their signals.
func setQuantisers(to *[csig.Types]csig.Quantiser, given map[string]string) error {
	for signal, table := range given {
		t, err := csig.ParseType(signal)
		if err != nil {
			return err
		}
		to[t].Name = table
	}
	return nil
}

// places describes every switch port for the locators, as fabric.ports.
func places(w *wiring) []csig.Place {
	places := make([]csig.Place, len(w.ports))
	for i, p := range w.ports {
		node := w.graph.Nodes[p.Node]
		places[i] = csig.Place{
			Switch: node.Index, Port: p.Port + 1, Peer: p.peer.Node, Tier: locatorTier(node.Tier),
			Dir: direction(w.graph, p.Node, p.peer.Node), Rate: p.link.Rate,
		}
	}
	return places
}

// addLastHops adds the locators that stand for ports to hosts and for no other ports: they
// say that a signal is of the last hop. label is what csig.Domain.Label adds to those of
// their format.
func addLastHops(s *csig.LocatorSet, f *fabric, locators []uint16, label uint32) {
	for i, locator := range locators {
		if f.ports[i].toHost {
			s.Add(label | uint32(locator))
		}
	}
	for i, locator := range locators {
		if !f.ports[i].toHost {
			s.Remove(label | uint32(locator))
		}
	}
}

// direction returns where the port of a node leads that has the given peer: down to a
// lower tier, up otherwise.
func direction(g *topologies.Graph, node, peer int) csig.Direction {
	if g.Nodes[peer].Tier < g.Nodes[node].Tier {
		return csig.Down
	}
	return csig.Up
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
