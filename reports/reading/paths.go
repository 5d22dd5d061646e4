package reading

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Paths counts shortest paths over the links. Nodes are their numbers.
type Paths struct {
	Out, In [][]int32 // by node: a neighbour once for every link
}

// NewPaths returns the graph of the links that ports have.
func NewPaths(ports []runfolder.Port) *Paths {
	nodes := int32(0)
	for _, p := range ports {
		nodes = max(nodes, p.Node+1, p.Peer+1)
	}
	g := &Paths{make([][]int32, nodes), make([][]int32, nodes)}
	for _, p := range ports {
		g.Out[p.Node] = append(g.Out[p.Node], p.Peer)
		g.In[p.Peer] = append(g.In[p.Peer], p.Node)
	}
	return g
}

// unreached is the distance of a node to which no path leads.
const unreached = -1

// Must reports whether every shortest path from src to dst leaves node on one
// link to peer.
func (g *Paths) Must(src, dst, node, peer int32) bool {
	from, to := g.Search(g.Out, src), g.Search(g.In, dst)
	return g.OnAll(&from, &to, dst, node, peer)
}

// OnAll reports whether all shortest paths to dst take one link from node to peer, from
// the searches from their beginning and, backwards, from dst.
func (g *Paths) OnAll(from, to *Reach, dst, node, peer int32) bool {
	return from.Has(dst) && from.Has(node) && to.Has(peer) &&
		from.Distance[node]+1+to.Distance[peer] == from.Distance[dst] && from.Ways[node]*to.Ways[peer] == from.Ways[dst]
}

// Count returns the number of shortest paths from src to dst.
func (g *Paths) Count(src, dst int32) float64 {
	from := g.Search(g.Out, src)
	if !from.Has(dst) {
		return 0
	}
	return from.Ways[dst]
}

// Common returns the hops, from node to node, that all shortest paths from src to dst
// have, in their order.
func (g *Paths) Common(src, dst int32) [][2]int32 {
	from, to := g.Search(g.Out, src), g.Search(g.In, dst)
	var hops [][2]int32
	for node := range int32(len(g.Out)) {
		if !from.Has(node) {
			continue
		}
		for _, peer := range g.Out[node] {
			if g.OnAll(&from, &to, dst, node, peer) {
				hops = append(hops, [2]int32{node, peer})
			}
		}
	}
	slices.SortFunc(hops, func(a, b [2]int32) int { return cmp.Compare(from.Distance[a[0]], from.Distance[b[0]]) })
	return hops
}

// Reach is every node's distance from a start, or unreached, and its number of shortest
// paths.
type Reach struct {
	Distance []int32
	Ways     []float64
}

// Has reports whether a path leads to a node.
func (r *Reach) Has(node int32) bool {
	return node >= 0 && int(node) < len(r.Distance) && r.Distance[node] != unreached
}

// Search returns how far all nodes are from a start, along the neighbours of nodes: Out, or In
// for the way backwards.
func (g *Paths) Search(next [][]int32, start int32) Reach {
	r := Reach{make([]int32, len(next)), make([]float64, len(next))}
	for i := range r.Distance {
		r.Distance[i] = unreached
	}
	if int(start) >= len(next) {
		return r
	}
	r.Distance[start], r.Ways[start] = 0, 1
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, p := range next[n] {
			if r.Distance[p] == unreached {
				r.Distance[p] = r.Distance[n] + 1
				queue = append(queue, p)
			}
			if r.Distance[p] == r.Distance[n]+1 {
				r.Ways[p] += r.Ways[n]
			}
		}
	}
	return r
}
