package lockstep

import "container/heap"

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
	var queue frontier
	for from := range nodes {
		expand := func(node int, at int64) {
			for _, l := range out[node] {
				d := at + int64(l.Lookahead)
				if cell := &dist[l.To*nodes+from]; d < *cell {
					*cell = d
					heap.Push(&queue, reached{node: l.To, at: d})
				}
			}
		}
		expand(from, 0)
		for len(queue) > 0 {
			r := heap.Pop(&queue).(reached)
			if r.at == dist[r.node*nodes+from] && r.node != from {
				expand(r.node, r.at)
			}
		}
	}
}

type reached struct {
	node int
	at   int64
}

type frontier []reached

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(i, j int) bool { return f[i].at < f[j].at }
func (f frontier) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)        { *f = append(*f, x.(reached)) }
func (f *frontier) Pop() any {
	old := *f
	r := old[len(old)-1]
	*f = old[:len(old)-1]
	return r
}
