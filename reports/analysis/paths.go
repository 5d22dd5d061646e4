package analysis

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// paths counts shortest paths over the links. Nodes are their numbers.
type paths struct {
	out, in [][]int32 // by node: a neighbour once for every link
}

func newPaths(ports []runfolder.Port) *paths {
	nodes := int32(0)
	for _, p := range ports {
		nodes = max(nodes, p.Node+1, p.Peer+1)
	}
	g := &paths{make([][]int32, nodes), make([][]int32, nodes)}
	for _, p := range ports {
		g.out[p.Node] = append(g.out[p.Node], p.Peer)
		g.in[p.Peer] = append(g.in[p.Peer], p.Node)
	}
	return g
}

// unreached is the distance of a node to which no path leads.
const unreached = -1

// must reports whether every shortest path from src to dst leaves node on one
// link to peer.
func (g *paths) must(src, dst, node, peer int32) bool {
	from, to := g.search(g.out, src), g.search(g.in, dst)
	return g.onAll(&from, &to, dst, node, peer)
}

// onAll reports whether all shortest paths to dst take one link from node to peer, from
// the searches from their beginning and, backwards, from dst.
func (g *paths) onAll(from, to *reach, dst, node, peer int32) bool {
	return from.has(dst) && from.has(node) && to.has(peer) &&
		from.distance[node]+1+to.distance[peer] == from.distance[dst] && from.ways[node]*to.ways[peer] == from.ways[dst]
}

// count returns the number of shortest paths from src to dst.
func (g *paths) count(src, dst int32) float64 {
	from := g.search(g.out, src)
	if !from.has(dst) {
		return 0
	}
	return from.ways[dst]
}

// common returns the hops, from node to node, that all shortest paths from src to dst
// have, in their order.
func (g *paths) common(src, dst int32) [][2]int32 {
	from, to := g.search(g.out, src), g.search(g.in, dst)
	var hops [][2]int32
	for node := range int32(len(g.out)) {
		if !from.has(node) {
			continue
		}
		for _, peer := range g.out[node] {
			if g.onAll(&from, &to, dst, node, peer) {
				hops = append(hops, [2]int32{node, peer})
			}
		}
	}
	slices.SortFunc(hops, func(a, b [2]int32) int { return cmp.Compare(from.distance[a[0]], from.distance[b[0]]) })
	return hops
}

// reach is every node's distance from a start, or unreached, and its number of shortest
// paths.
type reach struct {
	distance []int32
	ways     []float64
}

func (r *reach) has(node int32) bool {
	return node >= 0 && int(node) < len(r.distance) && r.distance[node] != unreached
}

func (g *paths) search(next [][]int32, start int32) reach {
	r := reach{make([]int32, len(next)), make([]float64, len(next))}
	for i := range r.distance {
		r.distance[i] = unreached
	}
	if int(start) >= len(next) {
		return r
	}
	r.distance[start], r.ways[start] = 0, 1
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, p := range next[n] {
			if r.distance[p] == unreached {
				r.distance[p] = r.distance[n] + 1
				queue = append(queue, p)
			}
			if r.distance[p] == r.distance[n]+1 {
				r.ways[p] += r.ways[n]
			}
		}
	}
	return r
}
