// Package draw draws a fabric: as SVG for a browser, as Mermaid for a document,
// as Graphviz text for other tools. It describes what a Graph holds and decides
// nothing about it; fabrics of thousands of nodes are refused, as nobody could
// read them.
package draw

import (
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// maxNodes is the most that is drawn.
const maxNodes = 2048

// ErrTooLarge is wrapped by the errors about fabrics of more than maxNodes
// nodes.
var ErrTooLarge = errors.New("too large to draw")

func check(g *topologies.Graph) error {
	if len(g.Nodes) > maxNodes {
		return fmt.Errorf("topology %s: %w: %d nodes, the most is %d", g.Name, ErrTooLarge, len(g.Nodes), maxNodes)
	}
	return nil
}

// edge is the links between two nodes that have the same rate and delay: a line
// of the drawing.
type edge struct {
	low, high int // nodes; low is in the lower tier, or comes first
	kind      int // position in sketch.kinds
	links     int
	rate      units.Rate
	delay     units.Duration
}

// label is what an edge is, such as "100Gbps, 1us" or "2 x 100Gbps, 1us".
func (e edge) label() string {
	text := fmt.Sprintf("%v, %v", e.rate, e.delay)
	if e.links > 1 {
		text = fmt.Sprintf("%d x %s", e.links, text)
	}
	return text
}

// kind is a set of edges between the same tiers. The label that most have is
// told once; the others have their own.
type kind struct {
	name      string // host-tor, tor-agg, agg-core; local and global in a Dragonfly
	low, high topologies.Tier
	common    string
}

// sketch is what every format draws.
type sketch struct {
	graph *topologies.Graph
	speak []bool // by node: the switch speaks CSIG; nil: nothing is said of that
	edges []edge // in the order of their first links
	kinds []kind // in the order of their first edges
	pods  string // what a pod is called
}

func newSketch(g *topologies.Graph, speak []bool) (*sketch, error) {
	if err := check(g); err != nil {
		return nil, err
	}
	s := &sketch{graph: g, speak: speak, pods: "pod"}
	position := make(map[edge]int)
	kinds := make(map[string]int)
	for _, l := range g.Links {
		low, high := l.A.Node, l.B.Node
		if g.Nodes[low].Tier > g.Nodes[high].Tier || g.Nodes[low].Tier == g.Nodes[high].Tier && low > high {
			low, high = high, low
		}
		k := kindOf(g.Nodes[low], g.Nodes[high])
		id, ok := kinds[k.name]
		if !ok {
			id = len(s.kinds)
			kinds[k.name] = id
			s.kinds = append(s.kinds, k)
		}
		if k.name == global {
			s.pods = "group"
		}
		e := edge{low: low, high: high, kind: id, rate: l.Rate, delay: l.Delay}
		at, ok := position[e]
		if !ok {
			at = len(s.edges)
			position[e] = at
			s.edges = append(s.edges, e)
		}
		s.edges[at].links++
	}
	for i := range s.kinds {
		s.kinds[i].common = s.mostFrequent(i)
	}
	return s, nil
}

// global is the kind of a link between two pods, of which a tree has none.
const global = "global"

func kindOf(low, high topologies.Node) kind {
	k := kind{name: fmt.Sprintf("%v-%v", low.Tier, high.Tier), low: low.Tier, high: high.Tier}
	switch {
	case low.Tier != high.Tier:
	case low.Pod >= 0 && high.Pod >= 0 && low.Pod != high.Pod:
		k.name = global
	default:
		k.name = "local"
	}
	return k
}

// mostFrequent returns the label that most edges of a kind have, the first of
// several.
func (s *sketch) mostFrequent(kind int) string {
	count := make(map[string]int)
	for _, e := range s.edges {
		if e.kind == kind {
			count[e.label()]++
		}
	}
	best := ""
	for _, e := range s.edges {
		if e.kind == kind && count[e.label()] > count[best] {
			best = e.label()
		}
	}
	return best
}

// own returns the label of an edge that differs from its kind's, or "".
func (s *sketch) own(e edge) string {
	if label := e.label(); label != s.kinds[e.kind].common {
		return label
	}
	return ""
}

// tiers returns the tiers from the top down, each with the nodes that are in
// pods apart from those that are not.
func (s *sketch) tiers() [][]int {
	var rows [][]int
	for tier := int(topTier(s.graph)); tier >= 0; tier-- {
		var outside, inside []int
		for i, n := range s.graph.Nodes {
			switch {
			case int(n.Tier) != tier:
			case n.Pod < 0:
				outside = append(outside, i)
			default:
				inside = append(inside, i)
			}
		}
		for _, row := range [][]int{outside, inside} {
			if len(row) > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func topTier(g *topologies.Graph) (top topologies.Tier) {
	for _, n := range g.Nodes {
		top = max(top, n.Tier)
	}
	return top
}

// byPod returns the nodes of each pod, in the order of the pods' numbers; those
// outside of pods are left out.
func (s *sketch) byPod() (pods []int, nodes map[int][]int) {
	nodes = make(map[int][]int)
	most := -1
	for i, n := range s.graph.Nodes {
		if n.Pod >= 0 {
			nodes[n.Pod] = append(nodes[n.Pod], i)
			most = max(most, n.Pod)
		}
	}
	for pod := range most + 1 {
		if len(nodes[pod]) > 0 {
			pods = append(pods, pod)
		}
	}
	return pods, nodes
}

// summary is a line about the fabric.
func (s *sketch) summary() string {
	hosts := s.graph.Hosts()
	text := fmt.Sprintf("%d hosts, %d switches, %d links", hosts, len(s.graph.Nodes)-hosts, len(s.graph.Links))
	if s.speak != nil {
		speaking := 0
		for n := range s.graph.Nodes {
			if s.speak[n] {
				speaking++
			}
		}
		text += fmt.Sprintf("; %d of the switches speak CSIG, the dashed ones do not", speaking)
	}
	return text
}

// silent reports whether a node is a switch that does not speak CSIG.
func (s *sketch) silent(n int) bool {
	return s.speak != nil && s.graph.Nodes[n].Kind == topologies.Switch && !s.speak[n]
}
