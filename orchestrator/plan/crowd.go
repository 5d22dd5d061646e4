package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/experiment/validity"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// crowd is what flows that cross several bottlenecks meet there.
type crowd struct {
	first string     // name of the first such flow
	rate  units.Rate // of the bottleneck with the most flows
	flows float64    // on a link of it; a flow with several paths counts in parts
	bdp   float64    // of the path, in full packets
}

// Bounds of crowd.
const (
	mostCrowd  = 2048  // flows; the rule says nothing of larger experiments
	fullLink   = 0.999 // of its rate: what is asked of a bottleneck at least
	leastFlows = 1.99  // that share a bottleneck
	relaxing   = 6     // rounds in which bottlenecks limit what reaches those behind them
)

// crossing is a part of a flow at a port between switches.
type crossing struct {
	port  int // in crowding.ports
	share float64
}

// crowding is the long flows of a plan that begin together, and the ports between switches
// that they cross.
type crowding struct {
	names    []string
	demand   []float64      // of each flow: its part of its host's NIC, in bits/s
	hops     [][][]crossing // of each flow, level by level
	ports    map[topologies.End]int
	rates    []units.Rate
	feeders  []map[int]units.Rate // of each port: the links on which flows come to it
	load     []float64            // bits/s
	flows    []float64
	relative []float64 // what a port lets through of what is asked of it
}

// crowd finds the flows that cross several bottlenecks. ok is false if there are none, or if
// that cannot be said: only long transfers that begin together count.
func (c *signalling) crowd() (found crowd, ok bool) {
	path := c.plan.Path
	g := crowding{ports: map[topologies.End]int{}}
	var sources []int
	perHost := map[int]float64{}
	for i, t := range c.run.workload.Transfers {
		if i >= c.plan.Transfers || t.After != workloads.None || t.Messages > 0 || t.Start > path.NetworkRTT || t.Size < path.LinkRate.Volume(path.NetworkRTT) {
			continue
		}
		if len(sources) == mostCrowd {
			return crowd{}, false
		}
		g.names = append(g.names, c.plan.Flows[i].Name)
		g.hops = append(g.hops, c.crossings(&g, t.Src, t.Dst))
		sources = append(sources, t.Src)
		perHost[t.Src]++
	}
	for _, src := range sources {
		g.demand = append(g.demand, float64(c.run.fabric.rate(src))/perHost[src])
	}
	g.settle()
	for f, levels := range g.hops {
		crossed, most := 0, -1
		for _, level := range levels {
			full := -1
			for _, at := range level {
				if g.full(at.port) && (full < 0 || g.flows[at.port] > g.flows[full]) {
					full = at.port
				}
			}
			if full < 0 {
				continue
			}
			if crossed++; most < 0 || g.flows[full] > g.flows[most] {
				most = full
			}
		}
		if crossed > 1 && g.flows[most] > found.flows {
			if found.first == "" {
				found.first = g.names[f]
			}
			found.rate, found.flows = g.rates[most], g.flows[most]
			found.bdp = float64(found.rate.Volume(path.NetworkRTT)) / float64(path.MTU)
		}
	}
	return found, found.first != ""
}

// crossings returns the ports between switches that a flow crosses. Of several next hops
// each gets an equal part.
func (c *signalling) crossings(g *crowding, src, dst int) (levels [][]crossing) {
	first := c.run.fabric.up(src)
	at, links := map[int]float64{first.Peer.Node: 1}, map[int][]int{first.Peer.Node: {first.Link}}
	for range c.run.fabric.adjacency { // no path is longer
		next, nextLinks, level := map[int]float64{}, map[int][]int{}, []crossing(nil)
		for _, node := range slices.Sorted(maps.Keys(at)) {
			if node < c.plan.Hosts() {
				continue
			}
			to := c.run.fabric.routes[node].To(dst)
			for _, port := range to {
				share := at[node] / float64(len(to))
				a := c.run.fabric.adjacency[node][port]
				if next[a.Peer.Node] += share; a.Peer.Node < c.plan.Hosts() {
					continue
				}
				end := topologies.End{Node: node, Port: int(port)}
				k, known := g.ports[end]
				if !known {
					k = len(g.rates)
					g.ports[end], g.rates, g.feeders = k, append(g.rates, c.plan.Graph.Links[a.Link].Rate), append(g.feeders, map[int]units.Rate{})
				}
				for _, link := range links[node] {
					g.feeders[k][link] = c.plan.Graph.Links[link].Rate
				}
				nextLinks[a.Peer.Node] = append(nextLinks[a.Peer.Node], a.Link)
				level = append(level, crossing{k, share})
			}
		}
		if len(level) == 0 {
			break
		}
		levels, at, links = append(levels, level), next, nextLinks
	}
	return levels
}

// settle computes what the flows ask of each port. A flow brings to a port what the ports
// before it let through.
func (g *crowding) settle() {
	g.relative = make([]float64, len(g.rates))
	for k := range g.relative {
		g.relative[k] = 1
	}
	for range relaxing {
		g.load, g.flows = make([]float64, len(g.rates)), make([]float64, len(g.rates))
		for f, levels := range g.hops {
			rate := g.demand[f]
			for _, level := range levels {
				through := 0.0
				for _, at := range level {
					g.load[at.port] += rate * at.share
					g.flows[at.port] += at.share
					through += at.share * g.relative[at.port]
				}
				rate *= min(1, through)
			}
		}
		for k, load := range g.load {
			g.relative[k] = min(1, float64(g.rates[k])/max(load, 1))
		}
	}
}

// full reports whether a port is a bottleneck: it is asked for its rate, and a queue can build
// up, because more can come than leaves.
func (g *crowding) full(port int) bool {
	var comes units.Rate
	for _, rate := range g.feeders[port] { // order: a sum
		comes += rate
	}
	return comes > g.rates[port] && g.load[port] >= fullLink*float64(g.rates[port]) && g.flows[port] >= leastFlows
}

// crowdedBottlenecks finds flows over several bottlenecks that CSIG max(Delay) has
// lengthened where their experiment lies on the map of docs/explanation/validity.md. It says nothing
// outside the map, which is of NSCC as it is, with trimming and packets of 4150 B.
func crowdedBottlenecks(c *signalling) []string {
	const measured = 4150 * units.Byte
	if !c.transfers[csig.Delay] || len(c.customers) == 0 || c.customers[0].name != "nscc" || len(c.thresholds) == 0 || !c.plan.Path.Trim || c.plan.Path.MTU != measured || c.run.fabric.groups != nil {
		return nil
	}
	law, _ := congestion.Table.Lookup("nscc")
	for _, p := range law.Params {
		if given, ok := c.run.experiment.Hosts.CC.Params[p.Name]; ok && p.Name != "csig" && given != p.Default {
			return nil // another control law than that of the map
		}
	}
	found, ok := c.crowd()
	if !ok {
		return nil
	}
	place, ok := validity.At(found.rate, found.bdp, found.flows)
	if !ok || !place.Harm {
		return nil
	}
	return []string{fmt.Sprintf("hosts.cc.csig: flows over several bottlenecks, such as %s, have %.1f packets of bandwidth-delay product each there (%.0f packets, %.1f flows per link): "+
		"where that was measured, CSIG max(Delay) %v; see docs/explanation/validity.md", found.first, found.bdp/found.flows, found.bdp, found.flows, place)}
}
