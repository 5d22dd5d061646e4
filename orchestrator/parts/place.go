package parts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// sets are disjoint sets of nodes: by node another one of its set, or itself.
type sets []int32

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// find returns the node that stands for the set of a node: the least of them.
func (s sets) find(node int) int {
	for int(s[node]) != node {
		s[node] = s[s[node]]
		node = int(s[node])
	}
	return node
}

// join makes one set of two, and reports whether they were two.
func (s sets) join(a, b int) bool {
	a, b = s.find(a), s.find(b)
	if a == b {
		return false
	}
	s[max(a, b)] = int32(min(a, b))
	return true
}

// number returns for each node the number of its set, in the order of the least nodes, and
// how many there are.
func (s sets) number() (of []int, count int) {
	of = make([]int, len(s))
	for i := range s {
		if root := s.find(i); root == i {
			of[i] = count
			count++
		} else {
			of[i] = of[root] // root < i
		}
	}
	return of, count
}

// pieces returns the nodes that stay together so that the smallest delay of a cut link is as
// large as it can be with so many parts: those that shorter links join.
func (f *fabric) pieces(parts int) (sets, error) {
	links := make([]int, len(f.links))
	for id := range links {
		links[id] = id
	}
	delay := func(id int) units.Duration { return f.links[id].Delay }
	slices.SortStableFunc(links, func(a, b int) int { return cmp.Compare(delay(a), delay(b)) })
	s, count := newSets(len(f.loads)), len(f.loads)
	joined := func(s sets, links []int) int {
		done := 0
		for _, id := range links {
			if l := &f.links[id]; s.join(l.A.Node, l.B.Node) {
				done++
			}
		}
		return done
	}
	for len(links) > 0 {
		shortest := delay(links[0])
		end := slices.IndexFunc(links, func(id int) bool { return delay(id) > shortest })
		if end < 0 {
			end = len(links)
		}
		next := slices.Clone(s)
		left := count - joined(next, links[:end])
		if shortest <= 0 && left < parts {
			return nil, fmt.Errorf("link %s and %d others have no delay, and so no lookahead: without cutting one of them there are %d parts at most", f.links[links[0]].Name, end-1, left)
		}
		if left < parts {
			break
		}
		s, count, links = next, left, links[end:]
	}
	return s, nil
}

// racks joins hosts to their switches.
func (f *fabric) racks(s sets) sets {
	s = slices.Clone(s)
	hosts := f.graph.Hosts()
	for i := range f.graph.Links {
		l := &f.graph.Links[i]
		if (l.A.Node < hosts) != (l.B.Node < hosts) {
			s.join(l.A.Node, l.B.Node)
		}
	}
	return s
}

// pods joins the nodes of pods: of a fat tree's pods, of a Dragonfly's groups.
func (f *fabric) pods(s sets) sets {
	s = slices.Clone(s)
	first := map[int]int{}
	for i, n := range f.graph.Nodes {
		if n.Pod == topologies.NoPod {
			continue
		}
		if other, ok := first[n.Pod]; ok {
			s.join(other, i)
		} else {
			first[n.Pod] = i
		}
	}
	return s
}

// Shares of a part's load by which a part may have more: where that lets fewer frames cross,
// and where it keeps pods whole.
const (
	tolerance    = 0.05
	podTolerance = 0.15
)

// place returns the part of each node. It divides pods, or racks where pods cannot be
// divided evenly, or pieces where there are fewer racks than parts.
func (f *fabric) place(pieces sets, parts int) []int {
	racks := f.racks(pieces)
	var best []int
	heaviest := 0.0
	for level, s := range []sets{f.pods(racks), racks, pieces} {
		of, count := s.number()
		if count < parts {
			continue
		}
		if level == 2 && best != nil {
			break // hosts stay with their switches
		}
		g := f.contract(of, count)
		divided := g.divide(parts)
		most := slices.Max(g.sums(divided, parts))
		if best == nil || most < (1-tolerance)*heaviest {
			best, heaviest = make([]int, len(of)), most
			for node, piece := range of {
				best[node] = divided[piece]
			}
		}
		if heaviest <= (1+podTolerance)/float64(parts) {
			break
		}
	}
	return renumber(best, parts)
}

// renumber numbers parts in the order of their first nodes.
func renumber(of []int, parts int) []int {
	number, next := make([]int, parts), 0
	for i := range number {
		number[i] = -1
	}
	out := make([]int, len(of))
	for node, part := range of {
		if number[part] < 0 {
			number[part] = next
			next++
		}
		out[node] = number[part]
	}
	return out
}

// unusedLink is the weight of a link that carries no frame, as a share of the mean: of cuts
// with the same frames the one with fewer links is better.
const unusedLink = 1e-3

// contract returns the graph of so many pieces, of for each node its piece.
func (f *fabric) contract(of []int, count int) *graph {
	g := &graph{loads: make([]float64, count), adjacent: make([][]edge, count), hosts: make([]bool, count)}
	hosts := f.graph.Hosts()
	for node, piece := range of {
		g.loads[piece] += f.loads[node]
		g.hosts[piece] = g.hosts[piece] || node < hosts
	}
	mean := 0.0
	for _, n := range f.frames {
		mean += n / float64(len(f.frames))
	}
	least := unusedLink * mean
	if mean == 0 {
		least = 1
	}
	add := func(from, to int, weight float64) {
		g.adjacent[from] = append(g.adjacent[from], edge{int32(to), weight})
	}
	for id, l := range f.links {
		if a, b := of[l.A.Node], of[l.B.Node]; a != b {
			add(a, b, f.frames[id]+least)
			add(b, a, f.frames[id]+least)
		}
	}
	for piece, edges := range g.adjacent {
		g.adjacent[piece] = merged(edges)
	}
	return g
}

// merged returns one edge for all to the same piece, in the order of pieces.
func merged(edges []edge) []edge {
	slices.SortStableFunc(edges, func(a, b edge) int { return int(a.to) - int(b.to) })
	out := edges[:0]
	for _, e := range edges {
		if n := len(out); n > 0 && out[n-1].to == e.to {
			out[n-1].weight += e.weight
		} else {
			out = append(out, e)
		}
	}
	return out
}
