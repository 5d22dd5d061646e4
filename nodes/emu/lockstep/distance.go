package lockstep

import "github.com/csiglab/csiglab/internal/heap"

// distances writes dist[to*nodes+from], the smallest sum of lookaheads over
// paths of at least one link, by Dijkstra's algorithm from every node.
func distances(dist []int64, nodes int, links []Channel) {
	out := make([][]Channel, nodes)
	for _, l := range links {
		out[l.From] = append(out[l.From], l)
	}
	for i := range dist {
		dist[i] = unreachable
	}
	var queue []reached
	for from := range nodes {
		expand := func(node int, at int64) {
			for _, l := range out[node] {
				d := at + int64(l.Lookahead)
				if cell := &dist[l.To*nodes+from]; d < *cell {
					*cell = d
					queue = heap.Push(queue, reached{node: l.To, at: d}, nearer)
				}
			}
		}
		expand(from, 0)
		for len(queue) > 0 {
			var r reached
			r, queue = heap.Pop(queue, nearer)
			if r.at == dist[r.node*nodes+from] && r.node != from {
				expand(r.node, r.at)
			}
		}
	}
}

// reached is a node at a distance.
type reached struct {
	node int
	at   int64
}

// nearer is the order of the nodes that Dijkstra's algorithm goes on from.
func nearer(a, b reached) bool { return a.at < b.at }
