package topologies

// search finds minimal paths from one switch to the others, over switches
// alone. A path is minimal if no other has fewer links between pods or, with as
// many of those, fewer links. In a tree no link joins two pods, so that these
// are the paths with the fewest links; in a Dragonfly they are local, global,
// local, each at most once in this order (Kim et al., ISCA 2008), where two
// global links through a third group may be fewer or as many.
type search struct {
	graph     *Graph
	adjacency [][]Adjacent
	to        []distance // by node
	order     []int      // the switches reached, nearest first
	queued    []int32    // by node: 1 + the pod crossings with which it was last queued
}

// distance is the length of a path: podCrossing for each link between pods, 1
// for each link.
type distance int32

const (
	podCrossing distance = 1 << 16 // more than the links of any path
	unreached   distance = -1
)

func newSearch(g *Graph, adjacency [][]Adjacent) *search {
	return &search{
		graph: g, adjacency: adjacency,
		to: make([]distance, len(g.Nodes)), queued: make([]int32, len(g.Nodes)),
	}
}

// candidate is a switch and the length of a path to it.
type candidate struct {
	node   int
	length distance
}

// from computes to and order anew. Within a number of crossings the search is by
// breadth: the switches entered from another pod are in the order of their
// lengths, as are those found from these, so that the nearer head of the two
// queues is the next.
func (s *search) from(root int) {
	for i := range s.to {
		s.to[i], s.queued[i] = unreached, 0
	}
	s.order = s.order[:0]
	entered := []candidate{{root, 0}}
	for crossings := int32(1); len(entered) > 0; crossings++ {
		var beyond, found []candidate
		for len(entered)+len(found) > 0 {
			var at candidate
			if len(found) == 0 || len(entered) > 0 && entered[0].length <= found[0].length {
				at, entered = entered[0], entered[1:]
			} else {
				at, found = found[0], found[1:]
			}
			if s.to[at.node] != unreached {
				continue
			}
			s.to[at.node] = at.length
			s.order = append(s.order, at.node)
			for _, a := range s.adjacency[at.node] {
				next := candidate{a.Peer.Node, at.length + s.step(at.node, a.Peer.Node)}
				switch {
				case s.graph.Nodes[next.node].Kind == Host || s.to[next.node] != unreached:
				case s.graph.betweenPods(at.node, next.node):
					beyond = append(beyond, next)
				case s.queued[next.node] != crossings:
					s.queued[next.node] = crossings
					found = append(found, next)
				}
			}
		}
		entered = beyond
	}
}

// precedes reports whether a is the node before b on a minimal path from the root
// to b, if they are neighbours.
func (s *search) precedes(a, b int) bool {
	return s.to[a] != unreached && s.to[b] == s.to[a]+s.step(a, b)
}

// step is the length of a link between a and b.
func (s *search) step(a, b int) distance {
	if s.graph.betweenPods(a, b) {
		return 1 + podCrossing
	}
	return 1
}

// betweenPods reports whether a link between a and b joins two pods: the global
// links of a Dragonfly. A core is in no pod.
func (g *Graph) betweenPods(a, b int) bool {
	p, q := g.Nodes[a].Pod, g.Nodes[b].Pod
	return p >= 0 && q >= 0 && p != q
}
