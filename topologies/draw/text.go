package draw

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/topologies"
)

// MermaidLinks is the most lines between nodes that Mermaid draws unless its
// setting maxEdges is raised.
const MermaidLinks = 500

var plainID = regexp.MustCompile(`^[a-z]+[0-9]+$`)

// Mermaid writes g as a Mermaid flowchart, pods as subgraphs. What the links of
// two tiers have in common is told in one legend; a link that differs has its
// own label. speak is as in SVG. It returns the number of lines between nodes, which
// MermaidLinks limits for most readers; the error is of w, or wraps ErrTooLarge.
func Mermaid(w io.Writer, g *topologies.Graph, speak []bool) (lines int, err error) {
	s, err := newSketch(g, speak)
	if err != nil {
		return 0, err
	}
	id := func(n int) string { return g.Nodes[n].Name }
	if slices.ContainsFunc(g.Nodes, func(n topologies.Node) bool { return !plainID.MatchString(n.Name) }) {
		id = func(n int) string { return fmt.Sprintf("n%d", n) }
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%%%% %s: %s\nflowchart TB\n", strings.Join(strings.Fields(g.Name), " "), s.summary())
	node := func(indent string, n int) {
		open, end := "[", "]"
		if g.Nodes[n].Kind == topologies.Host {
			open, end = "(", ")"
		}
		fmt.Fprintf(out, "%s%s%s\"%s\"%s\n", indent, id(n), open, g.Nodes[n].Name, end)
	}
	var texts []string
	for _, k := range s.kinds {
		texts = append(texts, k.name+": "+k.common)
	}
	fmt.Fprintf(out, "  legend>\"%s\"]\n", strings.Join(texts, "<br/>"))
	for n := range g.Nodes {
		if g.Nodes[n].Pod < 0 {
			node("  ", n)
		}
	}
	pods, _ := s.byPod()
	rows := s.tiers()
	fmt.Fprintf(out, "  legend ~~~ %s\n", id(rows[0][0])) // no line; keeps the legend out of the way
	for _, pod := range pods {
		indent := "  "
		if len(pods) > 1 {
			fmt.Fprintf(out, "  subgraph %s_%d [\"%s %d\"]\n", s.pods, pod, s.pods, pod)
			indent = "    "
		}
		for _, row := range rows {
			for _, n := range row {
				if g.Nodes[n].Pod == pod {
					node(indent, n)
				}
			}
		}
		if len(pods) > 1 {
			fmt.Fprintln(out, "  end")
		}
	}
	for _, e := range s.edges {
		label := ""
		if own := s.own(e); own != "" {
			label = fmt.Sprintf("|\"%s\"|", own)
		}
		top, bottom := e.high, e.low
		if g.Nodes[top].Tier == g.Nodes[bottom].Tier {
			top, bottom = bottom, top
		}
		fmt.Fprintf(out, "  %s ---%s %s\n", id(top), label, id(bottom))
	}
	for n := range g.Nodes {
		if s.silent(n) {
			fmt.Fprintf(out, "  style %s stroke-dasharray: 4 3\n", id(n))
		}
	}
	return len(s.edges), out.Flush()
}

// DOT writes g as an undirected Graphviz graph: a rank per tier, a cluster per
// pod, an edge per link with its rate as the label and its delay and ports as
// attributes. speak is as in SVG. The error is of w, or wraps ErrTooLarge.
func DOT(w io.Writer, g *topologies.Graph, speak []bool) error {
	s, err := newSketch(g, speak)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "// %s\ngraph %s {\n", s.summary(), quote(g.Name))
	fmt.Fprintln(out, "  graph [newrank=true, nodesep=0.15, ranksep=1.2, splines=line, fontname=\"Helvetica\", fontsize=11];")
	fmt.Fprintln(out, "  node [shape=box, fontname=\"Helvetica\", fontsize=11, height=0.3, width=0.5];")
	fmt.Fprintln(out, "  edge [fontname=\"Helvetica\", fontsize=8];")
	pods, members := s.byPod()
	for _, pod := range pods {
		fmt.Fprintf(out, "  subgraph %s {\n    label=%s;\n", quote(fmt.Sprintf("cluster_%d", pod)), quote(fmt.Sprintf("%s %d", s.pods, pod)))
		for _, n := range members[pod] {
			fmt.Fprintf(out, "    %s;\n", quote(g.Nodes[n].Name))
		}
		fmt.Fprintln(out, "  }")
	}
	for n := range g.Nodes {
		if s.silent(n) {
			fmt.Fprintf(out, "  %s [style=dashed];\n", quote(g.Nodes[n].Name))
		}
	}
	for _, row := range s.tiers() {
		fmt.Fprint(out, "  { rank=same;")
		for _, n := range row {
			fmt.Fprintf(out, " %s;", quote(g.Nodes[n].Name))
		}
		fmt.Fprintln(out, " }")
	}
	for _, l := range g.Links {
		top, bottom := l.A, l.B
		if g.Nodes[top.Node].Tier < g.Nodes[bottom.Node].Tier {
			top, bottom = bottom, top
		}
		level := ""
		if g.Nodes[top.Node].Tier == g.Nodes[bottom.Node].Tier {
			level = ", constraint=false"
		}
		fmt.Fprintf(out, "  %s -- %s [label=\"%v\", delay=\"%v\", tail_port=%d, head_port=%d%s];\n",
			quote(g.Nodes[top.Node].Name), quote(g.Nodes[bottom.Node].Name), l.Rate, l.Delay, top.Port, bottom.Port, level)
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// quote returns a Graphviz string.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(text) + `"`
}
