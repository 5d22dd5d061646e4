package topologies

import (
	"cmp"

	"github.com/csiglab/csiglab/units"
)

// Paths answers questions about the minimal paths between hosts (see search),
// those that NextHops follows. Where there are several, it takes the one with
// the largest delay and, among those, the one that is found first. It keeps what it has
// computed, so it is for one goroutine.
type Paths struct {
	graph     *Graph
	adjacency [][]Adjacent
	attached  []int // host -> its switch
	distances *search

	prepared bool
	// routes are nil unless all minimal paths between two switches have the same delay
	// and none leads between pods: the first one then takes the lowest port everywhere.
	routes []Routes
	rows   map[int][]reach // without routes: switch -> the other switches
}

// maxReaches is how many reaches a Paths keeps, 16 bytes each: more than a fabric of
// 8192 hosts in 3 tiers has. Beyond, it forgets them all and computes again what it is
// asked.
const maxReaches = 1 << 21

// reach is a switch as seen from another.
type reach struct {
	delay units.Duration // of the links and of the switches after the first
	hops  int32          // links between them; -1: not reachable
	via   int32          // the last link
}

// Longest is the result of Paths.Longest.
type Longest struct {
	Src, Dst int // hosts, the first pair found
	Links    int
	Delay    units.Duration // one way: links and switches, without serialisation
	Most     int            // links of the minimal path with the most, of any two hosts
	// ByLinks has the largest delay of paths with so many links, by index; 0: no path.
	ByLinks []units.Duration
}

// NewPaths returns the Paths of a valid graph, which must not change.
func NewPaths(g *Graph) *Paths {
	p := &Paths{graph: g, adjacency: g.Adjacency(), rows: make(map[int][]reach)}
	p.distances = newSearch(g, p.adjacency, fromRoot)
	p.attached = make([]int, g.Hosts())
	for h := range p.attached {
		p.attached[h] = p.adjacency[h][0].Peer.Node
	}
	return p
}

// Between returns the number of links and the one-way delay (links and
// switches, without serialisation) of the path between two different hosts.
func (p *Paths) Between(src, dst int) (links int, delay units.Duration) {
	if p.prepare(); p.routes != nil {
		p.walk(src, dst, func(from int, a Adjacent) {
			links++
			delay += p.graph.Links[a.Link].Delay + p.graph.Nodes[from].Delay
		})
		return links, delay
	}
	from := p.attached[src]
	r := p.row(from)[p.attached[dst]-p.distances.hosts]
	return int(r.hops) + 2, p.hostDelay(src) + p.graph.Nodes[from].Delay + r.delay + p.hostDelay(dst)
}

// Links returns the ids of the path's links, from src to dst.
func (p *Paths) Links(src, dst int) []int { return p.AppendLinks(nil, src, dst) }

// AppendLinks appends what Links returns.
func (p *Paths) AppendLinks(ids []int, src, dst int) []int {
	if p.prepare(); p.routes != nil {
		p.walk(src, dst, func(_ int, a Adjacent) { ids = append(ids, a.Link) })
		return ids
	}
	from, at := p.attached[src], p.attached[dst]
	row, hosts := p.row(from), p.distances.hosts
	first := len(ids)
	ids = append(ids, make([]int, row[at-hosts].hops+2)...)
	ids[first], ids[len(ids)-1] = p.adjacency[src][0].Link, p.adjacency[dst][0].Link
	for i := len(ids) - 2; i > first; i-- {
		id := int(row[at-hosts].via)
		ids[i] = id
		l := p.graph.Links[id]
		at = l.A.Node + l.B.Node - at
	}
	return ids
}

// prepare computes routes.
func (p *Paths) prepare() {
	if p.prepared {
		return
	}
	p.prepared = true
	if p.distances.joinsPods() {
		return
	}
	if p.eachRack(func(int, uint64, int32, int, units.Duration) {}) {
		p.routes = NextHops(p.graph)
	}
}

// walk calls visit with the nodes of the path from src to dst, dst left out, and what
// the next port leads to.
func (p *Paths) walk(src, dst int, visit func(from int, a Adjacent)) {
	for at, port := src, 0; ; port = int(p.routes[at].To(dst)[0]) {
		a := p.adjacency[at][port]
		visit(at, a)
		if at = a.Peer.Node; at == dst {
			return
		}
	}
}

// eachRack finds the delays between switches with hosts, the racks, in the order of their
// hosts, and all switches. It calls visit with the number of a first rack, a set of racks
// from this one on, a switch, without the hosts, and the links and the delay from each of
// these racks to it. uniform is as that of sweep.delays.
func (p *Paths) eachRack(visit func(first int, racks uint64, sw int32, links int, delay units.Duration)) (uniform bool) {
	s, racks := newSweep(p.distances), p.racks()
	byNode := make([][]rootDelay, len(p.distances.to))
	uniform = true
	for first := 0; first < len(racks); first += sweepWidth {
		some := racks[first:min(first+sweepWidth, len(racks))]
		for i, r := range some {
			s.roots[i] = int32(r.sw - p.distances.hosts)
		}
		s.run(len(some))
		same := s.delays(p.graph, byNode, func(n int32, roots uint64, links int, delay units.Duration) {
			visit(first, roots, n, links, delay)
		})
		uniform = uniform && same
	}
	return uniform
}

// rack is a switch with hosts, and its two hosts with the largest delays; second may be -1.
type rack struct{ sw, first, second int }

// racks returns the racks in the order of their hosts.
func (p *Paths) racks() []rack {
	var racks []rack
	position := make(map[int]int)
	for h, sw := range p.attached {
		i, ok := position[sw]
		if !ok {
			position[sw] = len(racks)
			racks = append(racks, rack{sw, h, -1})
			continue
		}
		switch r := &racks[i]; {
		case p.hostDelay(h) > p.hostDelay(r.first):
			r.first, r.second = h, r.first
		case r.second < 0 || p.hostDelay(h) > p.hostDelay(r.second):
			r.second = h
		}
	}
	return racks
}

// Longest returns the path with the largest delay and, among those, the most
// links. Hosts of one switch differ by the delay of their own link alone, so the
// search is over pairs of switches. A graph with one host has no path: the
// result is zero.
func (p *Paths) Longest() Longest {
	racks := p.racks()
	position := make([]int32, len(p.distances.to)) // by switch: number of the rack, or -1
	for i := range position {
		position[i] = -1
	}
	var best Longest
	var byLinks []units.Duration
	oneWay := p.graph.OneWay()
	from, to := -1, -1 // racks of best
	consider := func(i, j, src, dst, links int, delay units.Duration) {
		better := cmp.Or(cmp.Compare(delay, best.Delay), cmp.Compare(links, best.Links), cmp.Compare(from, i), cmp.Compare(to, j))
		if better > 0 {
			best, from, to = Longest{Src: src, Dst: dst, Links: links, Delay: delay}, i, j
		}
	}
	for i, r := range racks {
		position[r.sw-p.distances.hosts] = int32(i)
		if r.second >= 0 {
			whole := p.hostDelay(r.first) + p.graph.Nodes[r.sw].Delay + p.hostDelay(r.second)
			byLinks = atLeast(byLinks, 2, whole)
			consider(i, i, r.first, r.second, 2, whole)
		}
	}
	p.eachRack(func(first int, set uint64, sw int32, links int, delay units.Duration) {
		j := int(position[sw])
		if j < 0 {
			return
		}
		dst := racks[j].first
		delay += p.hostDelay(dst)
		for ; set != 0; set &= set - 1 {
			i := first + trailing(set)
			switch { // of two ways, one is enough where both are alike
			case i >= j && !oneWay:
				return
			case i == j:
				continue
			}
			src := racks[i]
			whole := p.hostDelay(src.first) + p.graph.Nodes[src.sw].Delay + delay
			byLinks = atLeast(byLinks, links+2, whole)
			if whole >= best.Delay {
				consider(i, j, src.first, dst, links+2, whole)
			}
		}
	})
	best.ByLinks, best.Most = byLinks, max(0, len(byLinks)-1)
	return best
}

// atLeast raises an element of a list, which grows as needed, to a delay.
func atLeast(byLinks []units.Duration, links int, delay units.Duration) []units.Duration {
	for len(byLinks) <= links {
		byLinks = append(byLinks, 0)
	}
	byLinks[links] = max(byLinks[links], delay)
	return byLinks
}

func (p *Paths) hostDelay(h int) units.Duration {
	return p.graph.Links[p.adjacency[h][0].Link].Delay
}

func (p *Paths) row(from int) []reach {
	row, ok := p.rows[from]
	if !ok {
		if (len(p.rows)+1)*len(p.distances.to) > maxReaches {
			clear(p.rows)
		}
		row = p.search(nil, from)
		p.rows[from] = row
	}
	return row
}

// search returns every switch as seen from switch from, in row if that has room.
func (p *Paths) search(row []reach, from int) []reach {
	hosts := p.distances.hosts
	if row == nil {
		row = make([]reach, len(p.distances.to))
	}
	for i := range row {
		row[i] = reach{hops: -1}
	}
	row[from-hosts].hops = 0
	p.distances.from(from)
	for _, at := range p.distances.order { // what comes before a node on a path is final
		for _, link := range p.distances.links.of(at) {
			if !p.distances.follows(at, link) {
				continue
			}
			delay := row[at].delay + p.graph.Links[link.link].Delay + p.graph.Nodes[hosts+int(link.peer)].Delay
			if r := &row[link.peer]; r.hops < 0 || delay > r.delay {
				*r = reach{delay, row[at].hops + 1, link.link}
			}
		}
	}
	return row
}

// Spread returns the switch that is farthest from the first host by minimal paths, and
// the number of switches on the way there, it included. It takes one search.
func (p *Paths) Spread() (farthest, switches int) {
	for i, r := range p.search(nil, p.attached[0]) {
		if n := int(r.hops) + 1; n > switches {
			farthest, switches = p.distances.hosts+i, n
		}
	}
	return farthest, switches
}

// LongestPath returns the number of links and the one-way delay (links and
// switches, without serialisation) of the longest of the minimal paths between
// two hosts.
func LongestPath(g *Graph) (links int, delay units.Duration) {
	longest := NewPaths(g).Longest()
	return longest.Links, longest.Delay
}

// LongestRoundTrips returns the largest sum of the delay of a longest minimal path between
// two hosts and of one back, where there and back are one fabric with the delays of each
// direction, by the number of links there; 0: no path. It looks at each pair of racks; it
// is for fabrics with one-way links.
func LongestRoundTrips(there, back *Graph) (byLinks []units.Duration) {
	out, home := NewPaths(there), NewPaths(back)
	var ends []int
	for _, r := range out.racks() {
		ends = append(ends, r.first)
		if r.second >= 0 {
			ends = append(ends, r.second)
		}
	}
	for _, src := range ends {
		for _, dst := range ends {
			if src != dst {
				links, first := out.Between(src, dst)
				_, second := home.Between(dst, src)
				byLinks = atLeast(byLinks, links, first+second)
			}
		}
	}
	return byLinks
}

// LongestDetours returns the largest one-way delay, as LongestPath, of paths over a third
// group, by the number of links: minimal to its first router, or to any of its routers,
// and minimal from there. The graph is one that NewGroups takes.
func LongestDetours(g *Graph, byRouter bool) (byLinks []units.Duration) {
	p := NewPaths(g)
	hosts := g.Hosts()
	routers := len(p.distances.to)
	ends := make([]units.Duration, routers) // the largest delay of a router's hosts' links; 0 without
	for h, router := range p.attached {
		ends[router-hosts] = max(ends[router-hosts], p.hostDelay(h))
	}
	onward := make([][]units.Duration, routers) // from a router to the farthest host, by links
	var row []reach
	for i := range routers {
		row = p.search(row, hosts+i)
		for to, end := range ends {
			if end > 0 {
				onward[i] = atLeast(onward[i], int(row[to].hops)+1, row[to].delay+end)
			}
		}
	}
	for i := range routers {
		if ends[i] == 0 {
			continue
		}
		row = p.search(row, hosts+i)
		for to := range routers {
			if g.Nodes[hosts+to].Pod == g.Nodes[hosts+i].Pod || !byRouter && !p.entered(row, to) {
				continue
			}
			for links, delay := range onward[to] {
				if delay > 0 {
					byLinks = atLeast(byLinks, 1+int(row[to].hops)+links, ends[i]+g.Nodes[hosts+i].Delay+row[to].delay+delay)
				}
			}
		}
	}
	return byLinks
}

// entered reports whether the path of a row comes to a switch, without the hosts, from
// another pod.
func (p *Paths) entered(row []reach, to int) bool {
	l := p.graph.Links[row[to].via]
	return p.graph.betweenPods(l.A.Node, l.B.Node)
}
