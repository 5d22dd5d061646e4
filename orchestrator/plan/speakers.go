package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
)

// Speakers returns which switches speak CSIG, by node; nil if all do. The draw depends on the
// nodes' numbers and the seed alone, so that a greater share adds switches. The error wraps
// failure.ErrConfiguration: a pattern or a tier that no switch fits.
func Speakers(c *experiment.Speakers, g *topologies.Graph) ([]bool, error) {
	if !c.Some() {
		return nil, nil
	}
	switches := g.Nodes[g.Hosts():]
	for i, pattern := range c.Switches {
		at := fmt.Sprintf("csig.speakers.switches[%d]", i)
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, failure.At(at, fmt.Errorf("%q: %w", pattern, err))
		}
		if !slices.ContainsFunc(switches, func(n topologies.Node) bool { return matchesName(pattern, &n) }) {
			return nil, failure.At(at, unknownSwitch(pattern, nodeNames(switches)))
		}
	}
	for i, tier := range c.Tiers {
		if !slices.ContainsFunc(switches, func(n topologies.Node) bool { return n.Tier.String() == tier }) {
			return nil, failure.At(fmt.Sprintf("csig.speakers.tiers[%d]", i), fmt.Errorf("the fabric has no switch of tier %s", tier))
		}
	}
	var chosen []int
	for n := g.Hosts(); n < len(g.Nodes); n++ {
		node := &g.Nodes[n]
		if (len(c.Tiers) == 0 || slices.Contains(c.Tiers, node.Tier.String())) &&
			(len(c.Switches) == 0 || slices.ContainsFunc(c.Switches, func(pattern string) bool { return matchesName(pattern, node) })) {
			chosen = append(chosen, n)
		}
	}
	rank := func(n int) uint64 { return wire.Mix(c.Seed, uint64(n)) }
	slices.SortFunc(chosen, func(a, b int) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	speaks := make([]bool, len(g.Nodes))
	for _, n := range chosen[:int(c.Share*float64(len(chosen))+0.5)] {
		speaks[n] = true
	}
	return speaks, nil
}

// matchesName reports whether a pattern that path.Match can read matches a node's name.
func matchesName(pattern string, n *topologies.Node) bool {
	matches, _ := path.Match(pattern, n.Name)
	return matches
}

// speaks reports whether a switch speaks CSIG.
func (s *signals) speaks(node int) bool { return s.speakers == nil || s.speakers[node] }

// silence is what a port of a switch without CSIG does to tags.
var silence = allTags(dataplane.Pass, false)

// fence is what a port does to tags whose peer is a switch that has not agreed on them.
var fence = allTags(dataplane.Strip, true)

// silentNames returns the names of the switches that do not speak, and how many switches there are.
func (s *signals) silentNames(g *topologies.Graph) (names []string, all int) {
	for n := g.Hosts(); n < len(g.Nodes); n++ {
		if !s.speaks(n) {
			names = append(names, g.Nodes[n].Name)
		}
	}
	return names, len(g.Nodes) - g.Hosts()
}

// silentSwitches finds what the signals do not say where some switches do not speak CSIG. Its
// remarks are about the switches; silentHops and hiddenLastHop are about ports of those that speak.
func silentSwitches(c *signalling) (notes []string) {
	silent, all := c.run.signals.silentNames(c.plan.Graph)
	if len(silent) == 0 || c.transfers == [csig.Types]bool{} && c.programs == [csig.Types]bool{} {
		return nil
	}
	if len(silent) == all {
		return []string{"csig.speakers: no switch speaks CSIG: tags come back as they were sent, and bring no sample"}
	}
	speak := fmt.Sprintf("csig.speakers: %d of %d switches speak CSIG", all-len(silent), all)
	if c.run.experiment.CSIG.Speakers.Negotiated {
		return []string{fmt.Sprintf("%s, and tags end before the others, and begin at none of them: a flow has samples if all switches on its way speak", speak)}
	}
	inner, last := portSet{}, portSet{}
	var crossed []map[topologies.End]bool
	for t := range csig.Types {
		crossed = append(crossed, c.crossed(csig.Type(t), false), c.crossed(csig.Type(t), true))
	}
	for _, p := range c.run.fabric.ports {
		if c.run.signals.speaks(p.Node) || !slices.ContainsFunc(crossed, func(of map[topologies.End]bool) bool { return of[p.End] }) {
			continue
		}
		set := &inner
		if p.toHost {
			set = &last
		}
		set.names = append(set.names, c.run.fabric.portName(p.End))
	}
	if len(inner.names) > 0 {
		notes = append(notes, fmt.Sprintf("%s; no sample covers the queues at %s: a sample is of the worst hop that speaks, and its locator need not be that of the bottleneck", speak, inner.ports()))
	}
	if len(last.names) > 0 {
		notes = append(notes, fmt.Sprintf("%s; no sample covers the last hop at %s: an incast there is in none of them", speak, last.ports()))
	}
	if blind, tagged := c.blindFlows(); blind > 0 {
		notes = append(notes, fmt.Sprintf("%s; tags of %d of %d flows cross none of them, and bring no sample", speak, blind, tagged))
	}
	if hosts := &c.run.experiment.Hosts; hosts.TrimPlace == transport.ByLocator && c.plan.Transfers > 0 {
		notes = append(notes, "hosts.trim_place: switches that do not speak CSIG leave the tag of a packet that they trim as it is, so that its locator is of another port than the one that trimmed; use dscp")
	}
	for i := range c.run.experiment.CSIG.Ports {
		rule := &c.run.experiment.CSIG.Ports[i]
		if !slices.ContainsFunc(c.run.fabric.ports, func(p switchPort) bool {
			ok, _ := selects(rule, &c.plan.Graph.Nodes[p.Node], &p)
			return ok && c.run.signals.speaks(p.Node)
		}) {
			notes = append(notes, fmt.Sprintf("csig.ports: rule %d, of %s, does nothing: no switch that it selects speaks CSIG", i, rule))
		}
	}
	return notes
}

// blindFlows returns how many flows with tags have no switch that speaks on any of their paths,
// and how many have tags.
func (c *signalling) blindFlows() (blind, tagged int) {
	f := &c.run.fabric
	known := map[[2]int]bool{} // by first switch and destination
	for i := range c.flows {
		if c.flows[i].fabric == 0 {
			continue
		}
		tagged++
		dst := int(c.plan.Flows[i].Dst)
		from := f.up(int(c.plan.Flows[i].Src)).Peer.Node
		seen, ok := known[[2]int{from, dst}]
		if !ok {
			seen = c.meetsSpeaker(from, dst)
			known[[2]int{from, dst}] = seen
		}
		if !seen {
			blind++
		}
	}
	return blind, tagged
}

// meetsSpeaker reports whether a switch that speaks is on a path from a switch to a host.
func (c *signalling) meetsSpeaker(from, dst int) bool {
	seen := map[int]bool{}
	for next := []int{from}; len(next) > 0; next = next[1:] {
		node := next[0]
		if node < c.plan.Hosts() || seen[node] {
			continue
		}
		if c.run.signals.speaks(node) {
			return true
		}
		seen[node] = true
		for _, port := range c.run.fabric.routes[node].To(dst) {
			next = append(next, c.run.fabric.adjacency[node][port].Peer.Node)
		}
	}
	return false
}
