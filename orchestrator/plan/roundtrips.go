package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// idle is what the round trips of full packets and their ACKs over idle paths take.
type idle struct {
	rtt units.Duration // over the longest path: the network RTT
	// A path over n switches takes at most host + n*hop, and at least one path takes that. n
	// is what an ACK reports: at most wire.MostHops.
	host, hop units.Duration
	slowest   units.Rate // of the links
}

// newIdle returns the round trips of a fabric. The network RTT is the time of a full
// packet from a host to the farthest other one over idle links, and of its ACK back.
// Departs from the reference where links differ: that charges as many links as the path
// with the largest delay has, each at the rate of the hosts' links. newIdle returns an
// error for a path with more switches than packets may cross. Where data may take a
// detour, the packet goes there on the longest one, and its ACK back on the longest minimal
// path.
func newIdle(g *topologies.Graph, links experiment.Links, d detour) (idle, error) {
	// With longer paths than twice the most, searches from several racks at once take long.
	if farthest, switches := topologies.NewPaths(g).Spread(); switches > 2*wire.MaxHops {
		return idle{}, failure.At("topology", fmt.Errorf("the way from %s to %s has %d switches; packets cross at most %d, as the TTL of IP ends",
			g.Nodes[0].Name, g.Nodes[farthest].Name, switches, wire.MaxHops))
	}
	weighted := func(weigh func(l *topologies.Link), switches units.Duration) *topologies.Graph {
		w := &topologies.Graph{Nodes: slices.Clone(g.Nodes), Links: slices.Clone(g.Links)}
		for i := range w.Nodes {
			w.Nodes[i].Delay *= switches
		}
		for i := range w.Links {
			weigh(&w.Links[i])
		}
		return w
	}
	data := func(l *topologies.Link) units.Duration { return l.Rate.Serialisation(links.MTU + links.Overhead) }
	ack := func(l *topologies.Link) units.Duration { return l.Rate.Serialisation(links.Header + links.Overhead) }
	oneWay := func(serialisation func(*topologies.Link) units.Duration) func(*topologies.Link) {
		return func(l *topologies.Link) { l.Delay += serialisation(l) }
	}
	longest := topologies.NewPaths(weighted(func(l *topologies.Link) { l.Delay = 2*l.Delay + data(l) + ack(l) }, 2)).Longest()
	if switches := longest.Most - 1; switches > wire.MaxHops {
		return idle{}, failure.At("topology", fmt.Errorf("a path has %d switches; packets cross at most %d, as the TTL of IP ends", switches, wire.MaxHops))
	}
	byLinks := longest.ByLinks
	switch {
	case d.taken:
		there := topologies.LongestDetours(weighted(oneWay(data), 1), d.router)
		_, acks := topologies.LongestPath(weighted(oneWay(ack), 1))
		byLinks = slices.Grow(byLinks, len(there))[:max(len(byLinks), len(there))]
		for n, delay := range there {
			if delay > 0 {
				byLinks[n] = max(byLinks[n], delay+acks)
			}
		}
	case g.OneWay():
		byLinks = topologies.LongestRoundTrips(weighted(oneWay(data), 1), weighted(oneWay(ack), 1))
	}
	if len(byLinks) == 0 { // there is one host
		return idle{slowest: g.Links[0].Rate}, nil
	}
	i := idle{rtt: slices.Max(byLinks), slowest: g.Links[0].Rate}
	for l := range g.Links {
		i.slowest = min(i.slowest, g.Links[l].Rate)
	}
	reported := byLinks[1:] // by switches
	for n := wire.MostHops + 1; n < len(reported); n++ {
		reported[wire.MostHops] = max(reported[wire.MostHops], reported[n])
	}
	i.host, i.hop = lineAbove(reported[:min(len(reported), wire.MostHops+1)])
	return i, nil
}

// lineAbove returns the line host + n*hop that no element n of delays is above, of those
// whose greatest distance from an element is least. Elements of 0 do not count. Neither
// term is negative.
func lineAbove(delays []units.Duration) (host, hop units.Duration) {
	// fit returns the line of a slope that touches the highest element, and the distance
	// of the lowest one.
	fit := func(hop units.Duration) (host, distance units.Duration) {
		high, low := units.Duration(math.MinInt64), units.Duration(math.MaxInt64)
		for n, d := range delays {
			if d > 0 {
				above := d - units.Duration(n)*hop
				high, low = max(high, above), min(low, above)
			}
		}
		return high, high - low
	}
	host, least := fit(0)
	// The distance is convex in the slope and bends where two elements change places as
	// the highest or the lowest one, so the best slope is that of a pair.
	for n, d := range delays {
		for more := n + 1; more < len(delays); more++ {
			if d == 0 || delays[more] <= d {
				continue
			}
			slope := (delays[more] - d) / units.Duration(more-n)
			if at, distance := fit(slope); at >= 0 && distance < least {
				host, hop, least = at, slope, distance
			}
		}
	}
	return host, hop
}
