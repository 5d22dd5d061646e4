package packets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/topologies"
)

// joint is a link and the names of the nodes that it joins.
type joint struct {
	name  string
	nodes [2]string
}

// joints returns the links of a graph.
func joints(g *topologies.Graph) []joint {
	list := make([]joint, len(g.Links))
	for i, name := range g.LinkNames() {
		l := g.Links[i]
		list[i] = joint{name, [2]string{g.Nodes[l.A.Node].Name, g.Nodes[l.B.Node].Name}}
	}
	return list
}

// linkName returns the name of the link that a text stands for, or the text if it stands for none.
func linkName(g *topologies.Graph, text string) string {
	if ids := g.FindLinks(func(name string) bool { return name == text }); len(ids) > 0 {
		return g.LinkName(ids[0])
	}
	return text
}

// chooseLink returns the name of the link to capture: the one that is named, or the only
// one of the node at end. A node that is no end of the link is an error. Whether there is
// a link of the name is left to others.
func chooseLink(link, end string, links []joint) (string, error) {
	if link != "" {
		i := slices.IndexFunc(links, func(l joint) bool { return l.name == link })
		if i < 0 || end == "" || slices.Contains(links[i].nodes[:], end) {
			return link, nil
		}
		return "", fmt.Errorf("capture %s: %q is no end of it; it joins %s and %s", link, end, links[i].nodes[0], links[i].nodes[1])
	}
	var of, nodes []string
	for _, l := range links {
		nodes = append(nodes, l.nodes[:]...)
		if slices.Contains(l.nodes[:], end) {
			of = append(of, l.name)
		}
	}
	switch len(of) {
	case 0:
		return "", fmt.Errorf("capture: there is no node %q%s", end, spelling.Hint(spelling.Nearest(end, nodes)))
	case 1:
		return of[0], nil
	}
	return "", fmt.Errorf("capture: %s has %d links; name one of them with --link: %s", end, len(of), strings.Join(of, ", "))
}

// onlyEnd returns the ports of a node; all ports for "".
func onlyEnd(ports []capture.Port, g *topologies.Graph, end string) []capture.Port {
	if end == "" {
		return ports
	}
	return slices.DeleteFunc(slices.Clone(ports), func(p capture.Port) bool { return g.Nodes[p.Node].Name != end })
}
