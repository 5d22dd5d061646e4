package topologies

import "github.com/csiglab/csiglab/units"

// Paths answers questions about the minimal paths between hosts (see search),
// those that NextHops follows. Where there are several, it takes the one with
// the largest delay. It keeps what it has computed, so it is for one goroutine.
type Paths struct {
	graph     *Graph
	adjacency [][]Adjacent
	attached  []int // host -> its switch
	distances *search
	rows      map[int][]reach // switch -> the other switches
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
}

// NewPaths returns the Paths of a valid graph, which must not change.
func NewPaths(g *Graph) *Paths {
	p := &Paths{graph: g, adjacency: g.Adjacency(), rows: make(map[int][]reach)}
	p.distances = newSearch(g, p.adjacency)
	p.attached = make([]int, g.Hosts())
	for h := range p.attached {
		p.attached[h] = p.adjacency[h][0].Peer.Node
	}
	return p
}

// Between returns the number of links and the one-way delay (links and
// switches, without serialisation) of the path between two different hosts.
func (p *Paths) Between(src, dst int) (links int, delay units.Duration) {
	from := p.attached[src]
	r := p.row(from)[p.attached[dst]-p.distances.hosts]
	return int(r.hops) + 2, p.hostDelay(src) + p.graph.Nodes[from].Delay + r.delay + p.hostDelay(dst)
}

// Links returns the ids of the path's links, from src to dst.
func (p *Paths) Links(src, dst int) []int {
	from, at := p.attached[src], p.attached[dst]
	row, hosts := p.row(from), p.distances.hosts
	ids := make([]int, row[at-hosts].hops+2)
	ids[0], ids[len(ids)-1] = p.adjacency[src][0].Link, p.adjacency[dst][0].Link
	for i := len(ids) - 2; i > 0; i-- {
		id := int(row[at-hosts].via)
		ids[i] = id
		l := p.graph.Links[id]
		at = l.A.Node + l.B.Node - at
	}
	return ids
}

// Longest returns the path with the largest delay and, among those, the most
// links. Hosts of one switch differ by the delay of their own link alone, so the
// search is over pairs of switches. A graph with one host has no path: the
// result is zero.
func (p *Paths) Longest() Longest {
	type rack struct{ sw, first, second int } // its two hosts farthest away; second may be -1
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
	var best Longest
	consider := func(src, dst, links int, delay units.Duration) {
		if delay > best.Delay || delay == best.Delay && links > best.Links {
			best = Longest{src, dst, links, delay}
		}
	}
	var row []reach
	for i, from := range racks {
		own := p.hostDelay(from.first) + p.graph.Nodes[from.sw].Delay
		if from.second >= 0 {
			consider(from.first, from.second, 2, own+p.hostDelay(from.second))
		}
		row = p.search(row, from.sw)
		for _, to := range racks[i+1:] {
			r := row[to.sw-p.distances.hosts]
			consider(from.first, to.first, int(r.hops)+2, own+r.delay+p.hostDelay(to.first))
		}
	}
	return best
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
		for _, link := range p.distances.links(at) {
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

// LongestPath returns the number of links and the one-way delay (links and
// switches, without serialisation) of the longest of the minimal paths between
// two hosts.
func LongestPath(g *Graph) (links int, delay units.Duration) {
	longest := NewPaths(g).Longest()
	return longest.Links, longest.Delay
}
