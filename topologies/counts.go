package topologies

import (
	"fmt"
	"strings"
)

// Counts are the numbers of nodes and links of a fabric.
type Counts struct {
	Hosts int        `json:"hosts"`
	Pods  int        `json:"pods"` // 1 for a leaf-spine fabric, groups of a Dragonfly
	ToRs  int        `json:"tors"`
	Aggs  int        `json:"aggs"`
	Cores int        `json:"cores"`
	Links LinkCounts `json:"links"`
}

// LinkCounts are numbers of links, each with both its directions, by what they
// join.
type LinkCounts struct {
	Host    int `json:"host"` // host to switch
	TorAgg  int `json:"tor_agg"`
	AggCore int `json:"agg_core"`
	TorTor  int `json:"tor_tor,omitempty"` // Dragonfly's local and global links
	Other   int `json:"other,omitempty"`
}

// Counts counts g's nodes and links.
func (g *Graph) Counts() Counts {
	var c Counts
	pods := make(map[int]bool)
	for _, n := range g.Nodes {
		if n.Pod >= 0 {
			pods[n.Pod] = true
		}
		switch n.Tier {
		case TierHost:
			c.Hosts++
		case TierToR:
			c.ToRs++
		case TierAgg:
			c.Aggs++
		case TierCore:
			c.Cores++
		}
	}
	c.Pods = len(pods)
	for _, l := range g.Links {
		low, high := g.Nodes[l.A.Node].Tier, g.Nodes[l.B.Node].Tier
		if low > high {
			low, high = high, low
		}
		switch {
		case low == TierHost:
			c.Links.Host++
		case low == TierToR && high == TierAgg:
			c.Links.TorAgg++
		case low == TierAgg && high == TierCore:
			c.Links.AggCore++
		case low == TierToR && high == TierToR:
			c.Links.TorTor++
		default:
			c.Links.Other++
		}
	}
	return c
}

// LinkNames returns LinkName of every link, in their order, in one pass.
func (g *Graph) LinkNames() []string {
	type pair struct{ a, b int }
	parallel := make(map[pair]int, len(g.Links))
	for _, l := range g.Links {
		parallel[pair{l.A.Node, l.B.Node}]++
	}
	names := make([]string, len(g.Links))
	for id, l := range g.Links {
		a, b := g.Nodes[l.A.Node].Name, g.Nodes[l.B.Node].Name
		if parallel[pair{l.A.Node, l.B.Node}] > 1 {
			a = fmt.Sprintf("%s:%d", a, l.A.Port)
		}
		names[id] = a + "-" + b
	}
	return names
}

// FindLinks returns the ids of the links whose name matches. If there is none, it returns those
// of which another name does: with the ends in the other order, such as agg0-tor0 or
// agg0-tor0:2, or one end alone, node:interface, by the interface's name in the graph or pN.
func (g *Graph) FindLinks(match func(name string) bool) (ids []int) {
	names := g.LinkNames()
	for id, name := range names {
		if match(name) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return ids
	}
	for id, l := range g.Links {
		far := g.Nodes[l.B.Node].Name
		if match(far + "-" + strings.TrimSuffix(names[id], "-"+far)) {
			ids = append(ids, id)
			continue
		}
		for _, e := range []End{l.A, l.B} {
			own := fmt.Sprintf("p%d", e.Port)
			node := g.Nodes[e.Node].Name + ":"
			if match(node+own) || match(node+g.Interface(e, func(int) string { return own })) {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}
