package plan

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// tags is the CSIG domain of a fabric.
type tags struct {
	domain   csig.Config
	tagging  transport.Tagging // of the hosts
	switches dataplane.CSIG
	locators []uint16        // of switch ports, in order of node and port
	lastHops csig.LocatorSet // locators that stand for ports to hosts alone
	table    *LocatorTable
	second   *secondTags // nil: the fabric has tags of one format
}

// secondTags is what the tags of a fabric's second format have of their own.
type secondTags struct {
	format   csig.Format
	locators []uint16
	table    *LocatorTable
}

// A locator has the same number in records as senders know it by.
var _ = [1]struct{}{}[metrics.SecondFormat-csig.SecondLabels]

// newTags returns the domain of a fabric; nil where the format is none.
func newTags(g *topologies.Graph, c experiment.CSIG, rtt units.Duration) (*tags, error) {
	format, err := csig.ParseFormat(c.Format)
	if err != nil || format == csig.FormatNone {
		return nil, err
	}
	cfg := csig.Config{Format: format, TPIDCompact: c.TPIDCompact, TPIDWide: c.TPIDWide, Interval: c.Interval, Dialect: c.Dialect, Decode: c.Decode, TrimRule: c.TrimRule}
	for _, l := range g.Links {
		cfg.MaxRate = max(cfg.MaxRate, l.Rate)
	}
	if cfg.Locators, err = locatorConfig(g, "csig.locators", c.Locators); err != nil {
		return nil, err
	}
	for _, signal := range c.OverrideD {
		t, err := csig.ParseType(signal)
		if err != nil {
			return nil, err
		}
		cfg.OverrideD[t] = true
	}
	if err := setQuantisers(&cfg.Quantisers, c.Quantisers); err != nil {
		return nil, err
	}
	if c.Second != nil {
		cfg.Second = new(csig.SecondFormat)
		if cfg.Second.Locators, err = locatorConfig(g, "csig.second.locators", c.Second.Locators); err != nil {
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
	if t.tagging.Signal, err = csig.ParseType(c.Signal); err != nil {
		return nil, err
	}
	t.tagging.MaxAge = c.MaxAge
	t.switches = dataplane.CSIG{
		Domain: t.domain, Tau: rtt, CountTrimmed: c.CountTrimmed,
		Meter: c.Meter, Phase: c.Phase, Depth: c.NQD, Available: c.ABW, Delay: c.Delay,
	}
	directory, err := domain.Locators().Assign(places(g))
	if err != nil {
		return nil, failure.At("csig.locators", err)
	}
	t.locators = directory.Locators
	addLastHops(&t.lastHops, g, t.locators, 0)
	t.table = newLocatorTable(g, domain, t.locators, false)
	if second := domain.Second(); second != nil {
		if directory, err = second.Locators().Assign(places(g)); err != nil {
			return nil, failure.At("csig.second.locators", err)
		}
		t.second = &secondTags{second.Format(), directory.Locators, newLocatorTable(g, second, directory.Locators, true)}
		addLastHops(&t.lastHops, g, directory.Locators, csig.SecondLabels)
	}
	return t, checkPortRules(g, c.Ports)
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

// places describes every switch port for the locators, in order of node and
// port.
func places(g *topologies.Graph) []csig.Place {
	var places []csig.Place
	adjacency := g.Adjacency()
	for n := g.Hosts(); n < len(g.Nodes); n++ {
		node := g.Nodes[n]
		for i, a := range adjacency[n] {
			place := csig.Place{
				Switch: node.Index, Port: i + 1, Peer: a.Peer.Node, Tier: locatorTier(node.Tier),
				Dir: direction(g, n, a.Peer.Node), Rate: g.Links[a.Link].Rate,
			}
			places = append(places, place)
		}
	}
	return places
}

// addLastHops adds the locators that stand for ports to hosts and for no other ports: they
// say that a signal is of the last hop. locators are those of the switch ports, in order of
// node and port; label is what csig.Domain.Label adds to those of their format.
func addLastHops(s *csig.LocatorSet, g *topologies.Graph, locators []uint16, label uint32) {
	ports := places(g)
	for i, locator := range locators {
		if ports[i].Peer < g.Hosts() {
			s.Add(label | uint32(locator))
		}
	}
	for i, locator := range locators {
		if ports[i].Peer >= g.Hosts() {
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
