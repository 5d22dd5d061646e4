package topologies

import "slices"

// search finds minimal paths from one switch to the others, over switches
// alone. A path is minimal if no other has fewer links between pods or, with as
// many of those, fewer links. In a tree no link joins two pods, so that these
// are the paths with the fewest links; in a Dragonfly they are local, global,
// local, each at most once in this order (Kim et al., ISCA 2008), where two
// global links through a third group may be fewer or as many.
type search struct {
	hosts int // nodes before the first switch
	// links are those that a search goes along; back are the same links as seen from where
	// it arrives. They differ only where links are one-way.
	links, back *edges

	to     []distance // by switch, without the hosts
	order  []int32    // the switches reached, nearest first
	queued []int32    // by switch: 1 + the pod crossings with which it was last queued

	entered, beyond, found []candidate // the queues of from, kept for the next root
}

// edges are links between switches: those of switch i, node hosts+i, are
// list[first[i]:first[i+1]], in the order of its ports.
type edges struct {
	first []int32
	list  []edge
}

// of returns the links of a switch.
func (e *edges) of(i int32) []edge { return e.list[e.first[i]:e.first[i+1]] }

// edge is a link from one switch to another, as seen from the first.
type edge struct {
	peer int32 // the other switch, without the hosts
	link int32
	port int32 // at the first
	step distance
}

// distance is the length of a path: podCrossing for each link between pods, 1
// for each link.
type distance int32

const (
	podCrossing distance = 1 << 16 // more than the links of any path
	unreached   distance = -1
)

// orientation is the direction of the paths that a search finds.
type orientation bool

const (
	fromRoot orientation = false
	toRoot   orientation = true
)

func newSearch(g *Graph, adjacency [][]Adjacent, o orientation) *search {
	hosts := g.Hosts()
	switches := len(g.Nodes) - hosts
	s := &search{hosts: hosts, to: make([]distance, switches), queued: make([]int32, switches), order: make([]int32, 0, switches)}
	s.links = newEdges(g, adjacency, func(at int, l *Link) bool { return !l.OneWay || (l.A.Node == at) == (o == fromRoot) })
	s.back = s.links
	if g.OneWay() {
		s.back = newEdges(g, adjacency, func(at int, l *Link) bool { return !l.OneWay || (l.A.Node == at) == (o == toRoot) })
	}
	return s
}

// newEdges returns the links between switches that may be used at a switch.
func newEdges(g *Graph, adjacency [][]Adjacent, may func(at int, l *Link) bool) *edges {
	hosts := g.Hosts()
	switches := len(g.Nodes) - hosts
	e := &edges{first: make([]int32, switches+1), list: make([]edge, 0, 2*(len(g.Links)-hosts))}
	for i := range switches {
		for port, a := range adjacency[hosts+i] {
			if a.Peer.Node < hosts || !may(hosts+i, &g.Links[a.Link]) {
				continue
			}
			one := edge{peer: int32(a.Peer.Node - hosts), link: int32(a.Link), port: int32(port), step: 1}
			if g.betweenPods(hosts+i, a.Peer.Node) {
				one.step += podCrossing
			}
			e.list = append(e.list, one)
		}
		e.first[i+1] = int32(len(e.list))
	}
	return e
}

// OneWay reports whether routes use some link in one direction alone.
func (g *Graph) OneWay() bool {
	return slices.ContainsFunc(g.Links, func(l Link) bool { return l.OneWay })
}

// remove takes out the links that are dead, by their id.
func (s *search) remove(dead []bool) {
	s.links.remove(dead)
	if s.back != s.links {
		s.back.remove(dead)
	}
}

func (e *edges) remove(dead []bool) {
	alive := e.list[:0]
	for i := range len(e.first) - 1 {
		links := e.of(int32(i))
		e.first[i] = int32(len(alive))
		for _, one := range links {
			if !dead[one.link] {
				alive = append(alive, one)
			}
		}
	}
	e.list, e.first[len(e.first)-1] = alive, int32(len(alive))
}

// joinsPods reports whether a link joins two pods.
func (s *search) joinsPods() bool {
	return slices.ContainsFunc(s.links.list, func(e edge) bool { return e.step != 1 })
}

// candidate is a switch and the length of a path to it.
type candidate struct {
	at     int32
	length distance
}

// from computes to and order anew, from the switch that is node root. Within a number
// of crossings the search is by breadth: the switches entered from another pod are in
// the order of their lengths, as are those found from these, so that the nearer head
// of the two queues is the next.
func (s *search) from(root int) {
	for i := range s.to {
		s.to[i], s.queued[i] = unreached, 0
	}
	s.order = s.order[:0]
	s.entered = append(s.entered[:0], candidate{int32(root - s.hosts), 0})
	for crossings := int32(1); len(s.entered) > 0; crossings++ {
		s.beyond, s.found = s.beyond[:0], s.found[:0]
		for e, f := 0, 0; e < len(s.entered) || f < len(s.found); {
			var next candidate
			if f == len(s.found) || e < len(s.entered) && s.entered[e].length <= s.found[f].length {
				next = s.entered[e]
				e++
			} else {
				next = s.found[f]
				f++
			}
			if s.to[next.at] != unreached {
				continue
			}
			s.to[next.at] = next.length
			s.order = append(s.order, next.at)
			for _, link := range s.links.of(next.at) {
				switch {
				case s.to[link.peer] != unreached:
				case link.step > 1:
					s.beyond = append(s.beyond, candidate{link.peer, next.length + link.step})
				case s.queued[link.peer] != crossings:
					s.queued[link.peer] = crossings
					s.found = append(s.found, candidate{link.peer, next.length + link.step})
				}
			}
		}
		s.entered, s.beyond = s.beyond, s.entered
	}
}

// follows reports whether the far end of a link of switch i comes right after i on a
// minimal path from the root.
func (s *search) follows(i int32, link edge) bool { return s.to[link.peer] == s.to[i]+link.step }

// betweenPods reports whether a link between a and b joins two pods: the global
// links of a Dragonfly. A core is in no pod.
func (g *Graph) betweenPods(a, b int) bool {
	p, q := g.Nodes[a].Pod, g.Nodes[b].Pod
	return p >= 0 && q >= 0 && p != q
}
