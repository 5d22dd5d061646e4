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
	// The links between switches: those of switch i, node hosts+i, are
	// edges[first[i]:first[i+1]], in the order of its ports.
	first []int32
	edges []edge

	to     []distance // by switch, without the hosts
	order  []int32    // the switches reached, nearest first
	queued []int32    // by switch: 1 + the pod crossings with which it was last queued

	entered, beyond, found []candidate // the queues of from, kept for the next root
}

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

func newSearch(g *Graph, adjacency [][]Adjacent) *search {
	hosts := g.Hosts()
	switches := len(g.Nodes) - hosts
	s := &search{
		hosts: hosts, first: make([]int32, switches+1), edges: make([]edge, 0, 2*(len(g.Links)-hosts)),
		to: make([]distance, switches), queued: make([]int32, switches), order: make([]int32, 0, switches),
	}
	for i := range switches {
		for port, a := range adjacency[hosts+i] {
			if a.Peer.Node < hosts {
				continue
			}
			e := edge{peer: int32(a.Peer.Node - hosts), link: int32(a.Link), port: int32(port), step: 1}
			if g.betweenPods(hosts+i, a.Peer.Node) {
				e.step += podCrossing
			}
			s.edges = append(s.edges, e)
		}
		s.first[i+1] = int32(len(s.edges))
	}
	return s
}

// remove takes out the links that are dead, by their id.
func (s *search) remove(dead []bool) {
	alive := s.edges[:0]
	for i := range s.to {
		links := s.links(int32(i))
		s.first[i] = int32(len(alive))
		for _, e := range links {
			if !dead[e.link] {
				alive = append(alive, e)
			}
		}
	}
	s.edges, s.first[len(s.to)] = alive, int32(len(alive))
}

// links returns the links of a switch to other switches.
func (s *search) links(i int32) []edge { return s.edges[s.first[i]:s.first[i+1]] }

// joinsPods reports whether a link joins two pods.
func (s *search) joinsPods() bool {
	return slices.ContainsFunc(s.edges, func(e edge) bool { return e.step != 1 })
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
			for _, link := range s.links(next.at) {
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
