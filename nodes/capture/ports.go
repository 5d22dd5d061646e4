package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/topologies"
)

// Port is a port whose packets are captured.
type Port struct {
	Node, Port  int
	Name        string // such as tor0:p3
	Description string
	Host        bool
}

// ErrLink reports the name of a link that a graph does not have.
var ErrLink = errors.New("no such link")

// Ports returns both ends of the named links (Graph.FindLinks), in the order of
// the names. A link that the graph does not have, or that is named twice, is an
// error; the first wraps ErrLink.
func Ports(g *topologies.Graph, links []string) ([]Port, error) {
	var ports []Port
	seen := map[int]bool{}
	for _, name := range links {
		ids := g.FindLinks(func(known string) bool { return known == name })
		switch {
		case len(ids) == 0:
			return nil, fmt.Errorf("capture %q: %w", name, ErrLink)
		case seen[ids[0]]:
			return nil, fmt.Errorf("capture %q: named twice", name)
		}
		seen[ids[0]] = true
		l, link := g.Links[ids[0]], g.LinkName(ids[0])
		ports = append(ports, end(g, link, l, l.A, l.B), end(g, link, l, l.B, l.A))
	}
	return ports, nil
}

func end(g *topologies.Graph, link string, l topologies.Link, at, peer topologies.End) Port {
	return Port{
		Node: at.Node, Port: at.Port,
		Name:        portName(g, at),
		Description: fmt.Sprintf("link %s to %s, %v, %v", link, portName(g, peer), l.Rate, l.Delay),
		Host:        g.Nodes[at.Node].Kind == topologies.Host,
	}
}

func portName(g *topologies.Graph, e topologies.End) string {
	return g.Nodes[e.Node].Name + ":" + g.Interface(e, func(port int) string { return fmt.Sprintf("p%d", port) })
}

// mostPlaces is how many ports of a shared locator are named.
const mostPlaces = 3

// Meaning returns what Config.Meaning asks for, for the locators of d that were
// assigned to ports of g: the names of the ports, their tier and direction. A
// Place's Switch must be the index of a node in its tier, its Port the number of
// a port from 1.
func Meaning(g *topologies.Graph, d *csig.Directory) func(locator uint16) string {
	type key struct {
		tier  string
		index int
	}
	nodes := map[key]int{}
	for i, n := range g.Nodes {
		nodes[key{n.Tier.String(), n.Index}] = i
	}
	name := func(p csig.Place) string {
		if n, ok := nodes[key{p.Tier.String(), p.Switch}]; ok {
			return portName(g, topologies.End{Node: n, Port: p.Port - 1})
		}
		return p.String()
	}
	return func(locator uint16) string {
		places := d.Ports(locator)
		switch len(places) {
		case 0:
			return fmt.Sprintf("locator %d, which no port has", locator)
		case 1:
			p := places[0]
			return fmt.Sprintf("%s (%v, %v, to %s)", name(p), p.Tier, p.Dir, g.Nodes[p.Peer].Name)
		}
		var names []string
		for _, p := range places[:min(len(places), mostPlaces)] {
			names = append(names, name(p))
		}
		if len(places) > mostPlaces {
			names = append(names, "…")
		}
		where := ""
		alike := func(p csig.Place) bool { return p.Tier == places[0].Tier && p.Dir == places[0].Dir }
		if !slices.ContainsFunc(places, func(p csig.Place) bool { return !alike(p) }) {
			where = fmt.Sprintf(" (%v, %v)", places[0].Tier, places[0].Dir)
		}
		return fmt.Sprintf("one of %d ports%s: %s", len(places), where, strings.Join(names, " "))
	}
}
