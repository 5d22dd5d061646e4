package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Ports of which more than fullShare of the time is spent sending are full; the
// report shows the maxPorts of them with the deepest queues.
const (
	fullShare = 0.9
	maxPorts  = 2
)

// bottlenecks returns the switch ports to show, the deepest mean queue (over
// the variants) first: those that are full in some variant, or the busiest ones
// when none is.
func (d *data) bottlenecks() []bottleneck {
	type id struct{ node, port int32 }
	ports := map[id]*bottleneck{}
	var order []id
	for _, v := range d.manifest.Variants {
		r := run{v.Name, d.seeds[v.Name]}
		from, to := d.measured(r)
		if !(to > from) {
			continue
		}
		for _, p := range d.manifest.PortsOf(v.Name) {
			if d.nodes[p.Node].Kind != runfolder.KindSwitch || p.RateBPS <= 0 {
				continue
			}
			k := id{p.Node, p.Port}
			if ports[k] == nil {
				ports[k] = &bottleneck{port: p, name: d.portName(p), use: map[string]portUse{}}
				order = append(order, k)
			}
			ports[k].use[v.Name] = portUse{}
		}
		for i := range d.portRows {
			w := &d.portRows[i]
			b := ports[id{w.Node, w.Port}]
			if w.Variant != v.Name || !d.shown(v.Name, w.Seed) || b == nil || w.StartUS < from || w.StartUS >= to {
				continue
			}
			u := b.use[v.Name]
			u.utilisation += float64(w.TxBytes) * 8e6 / float64(b.port.RateBPS) / (to - from)
			u.meanQueue += float64(w.QueueByteNS) / 1000 / (to - from)
			u.peakQueue = max(u.peakQueue, float64(w.QueueMax))
			b.use[v.Name] = u
		}
	}
	var full, all []bottleneck
	for _, k := range order {
		b := ports[k]
		for _, u := range b.use {
			b.full = b.full || u.utilisation > fullShare
		}
		if b.busiest().utilisation > 0 {
			all = append(all, *b)
		}
		if b.full {
			full = append(full, *b)
		}
	}
	sum := func(b bottleneck) (queue float64) {
		for _, u := range b.use {
			queue += u.meanQueue
		}
		return queue
	}
	if len(full) > 0 {
		slices.SortStableFunc(full, func(a, b bottleneck) int { return cmp.Compare(sum(b), sum(a)) })
		return full[:min(maxPorts, len(full))]
	}
	slices.SortStableFunc(all, func(a, b bottleneck) int {
		return cmp.Compare(b.busiest().utilisation, a.busiest().utilisation)
	})
	return all[:min(maxPorts, len(all))]
}

func (b *bottleneck) busiest() portUse {
	var best portUse
	for _, u := range b.use {
		if u.utilisation > best.utilisation {
			best = u
		}
	}
	return best
}

// portName names a port by the nodes of its link, and by its number when other
// links join the same two.
func (d *data) portName(p runfolder.Port) string {
	name := d.nodes[p.Node].Name + " → " + d.nodes[p.Peer].Name
	for _, o := range d.manifest.Ports {
		if o.Node == p.Node && o.Peer == p.Peer && o.Port != p.Port {
			return fmt.Sprintf("%s (port %d)", name, p.Port)
		}
	}
	return name
}

// findings says what limits the flows and who suffers.
func (d *data) findings(ports []bottleneck) []string {
	var s []string
	if len(ports) > 0 {
		s = append(s, d.limits(ports))
	}
	if len(ports) > 0 && ports[0].full {
		if text := d.crossings(ports); text != "" {
			s = append(s, text)
		}
	}
	if text := d.sharing(); text != "" {
		s = append(s, text)
	}
	return s
}

func (d *data) limits(ports []bottleneck) string {
	describe := func(b bottleneck) string {
		low, high := math.Inf(1), 0.0
		var queues []string
		for _, v := range d.manifest.Variants {
			if u, ok := b.use[v.Name]; ok {
				low, high = min(low, u.utilisation), max(high, u.utilisation)
				queues = append(queues, depth(u.meanQueue, 0)+" in "+v.Name)
			}
		}
		busy := percent(high)
		if percent(low) != busy {
			busy = percent(low) + " to " + busy
		}
		return fmt.Sprintf("%s (%s busy; mean queue %s)", b.name, busy, strings.Join(queues, ", "))
	}
	names := make([]string, len(ports))
	for i, b := range ports {
		names[i] = describe(b)
	}
	switch {
	case !ports[0].full:
		return fmt.Sprintf("No switch port is full while measured: the busiest, %s, is used to %s.", ports[0].name, percent(ports[0].busiest().utilisation))
	case len(ports) == 1:
		return "The bottleneck is " + names[0] + "."
	}
	return "The bottlenecks are " + strings.Join(names, " and ") + "."
}

// mixedSizes reports whether the flows' sizes differ so much that their rates
// over their own time do not compare: a short flow's is that of its start.
func (d *data) mixedSizes() bool {
	least, most := int64(math.MaxInt64), int64(0)
	for _, f := range d.flows {
		if !ofPrograms(f) {
			least, most = min(least, f.Size), max(most, f.Size)
		}
	}
	return most > 2*least
}

// sharing compares the slowest flow of the first variant with the others.
func (d *data) sharing() string {
	first := d.rates[d.manifest.Variants[0].Name]
	var flows []string
	for _, f := range d.flows {
		if _, ok := first[f.Name]; ok && !ofPrograms(f) {
			flows = append(flows, f.Name)
		}
	}
	if len(flows) < 2 || d.manifest.Measure.ToUS == 0 && d.mixedSizes() {
		return ""
	}
	slow := slices.MinFunc(flows, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	fast := slices.MaxFunc(flows, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	if first[fast] <= 0 {
		return ""
	}
	var parts []string
	for _, v := range d.manifest.Variants {
		rates, ok := d.rates[v.Name]
		if !ok {
			continue
		}
		others, n := 0.0, 0
		for _, name := range flows {
			if rate, ok := rates[name]; ok && name != slow {
				others, n = others+rate, n+1
			}
		}
		if n == 0 {
			continue
		}
		others /= float64(n)
		unit := scaleFor(max(rates[slow], others), scalesOfRates)
		text := fmt.Sprintf("%s against %s %s in %s", number(math.Round(rates[slow]*unit.factor*10)/10), number(math.Round(others*unit.factor*10)/10), unit.unit, v.Name)
		if rates[slow] > 0 {
			text += fmt.Sprintf(" (1\u00a0:\u00a0%s)", number(math.Round(others/rates[slow]*100)/100))
		}
		parts = append(parts, text)
	}
	who := fmt.Sprintf("Flow %s suffers: against the mean of the other %d it gets ", slow, len(flows)-1)
	switch {
	case first[slow] >= 0.9*first[fast]:
		who = fmt.Sprintf("The flows share evenly in %s; the slowest, %s, against the mean of the others gets ", d.manifest.Variants[0].Name, slow)
	case len(flows) == 2:
		who = fmt.Sprintf("Flow %s suffers: against the other it gets ", slow)
	}
	return who + strings.Join(parts, ", ") + "."
}

// maxCrossing bounds the flows whose paths are searched.
const maxCrossing = 64

// crossings says which flows must pass the ports: every shortest path of the
// flow does.
func (d *data) crossings(ports []bottleneck) string {
	if len(d.flows) > maxCrossing {
		return ""
	}
	g := newPaths(d.manifest.Ports)
	var all []string // flows that pass every port, of several
	some := make([][]string, len(ports))
	for _, f := range d.flows {
		var at []int
		for i, b := range ports {
			if g.must(f.Src, f.Dst, b.port) {
				at = append(at, i)
			}
		}
		if len(at) == len(ports) && len(ports) > 1 {
			all = append(all, f.Name)
			continue
		}
		for _, i := range at {
			some[i] = append(some[i], f.Name)
		}
	}
	var parts []string
	also := ""
	switch len(all) {
	case 0:
	case 1:
		parts, also = append(parts, "Flow "+all[0]+" crosses both"), "also "
	default:
		parts, also = append(parts, "Flows "+list(all)+" cross both"), "also "
	}
	var limits []string
	for i, b := range ports {
		if len(some[i]) > 0 {
			limits = append(limits, b.name+" "+also+"limits "+list(some[i]))
		}
	}
	if len(limits) > 0 {
		parts = append(parts, strings.Join(limits, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// list joins names, the first few of many.
func list(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return names[0]
}

// paths counts shortest paths over the links.
type paths struct {
	out, in map[int32][]int32 // a neighbour once for every link
}

func newPaths(ports []runfolder.Port) *paths {
	g := &paths{map[int32][]int32{}, map[int32][]int32{}}
	for _, p := range ports {
		g.out[p.Node] = append(g.out[p.Node], p.Peer)
		g.in[p.Peer] = append(g.in[p.Peer], p.Node)
	}
	return g
}

// must reports whether every shortest path from src to dst leaves through port.
func (g *paths) must(src, dst int32, port runfolder.Port) bool {
	from, ways := search(g.out, src)
	to, rest := search(g.in, dst)
	length, ok := from[dst]
	before, reached := from[port.Node]
	after, reaches := to[port.Peer]
	return ok && reached && reaches && before+1+after == length && ways[port.Node]*rest[port.Peer] == ways[dst]
}

// search returns every node's distance from start and its number of shortest
// paths.
func search(next map[int32][]int32, start int32) (map[int32]int, map[int32]float64) {
	distance, ways := map[int32]int{start: 0}, map[int32]float64{start: 1}
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, p := range next[n] {
			if _, ok := distance[p]; !ok {
				distance[p] = distance[n] + 1
				queue = append(queue, p)
			}
			if distance[p] == distance[n]+1 {
				ways[p] += ways[n]
			}
		}
	}
	return distance, ways
}
