package experiment

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Graph is a fabric node by node and link by link, here or in a file of its own.
type Graph struct {
	File  string         `yaml:"file" is:"file or nothing" doc:"YAML file with the other keys"`
	Rate  units.Rate     `yaml:"rate" is:"rate or none" default:"none" doc:"of links without a rate of their own"`
	Delay units.Duration `yaml:"delay" is:"link delay or none" default:"none" doc:"of links without a delay of their own"`
	Nodes []GraphNode    `yaml:"nodes" doc:"hosts, which are numbered from 0 in their order, and switches"`
	Links []GraphLink    `yaml:"links" doc:"at least one of each node; a host has one"`
}

// GraphNode is a node of a Graph.
type GraphNode struct {
	Name  string         `yaml:"name,required" is:"node" doc:"up to 40 letters, digits and '. _ -'"`
	Kind  string         `yaml:"kind" is:"host|switch" default:"host" doc:"'host' or 'switch'"`
	Ports int            `yaml:"ports" is:"ports or any" default:"any" doc:"of a switch: with more links it is refused; any: as many as needed"`
	Delay units.Duration `yaml:"delay" is:"delay" default:"0s" doc:"of a switch"`
	Tier  string         `yaml:"tier" is:"by-links|tor|agg|core" default:"by-links" doc:"of a switch; 'by-links': tor with hosts, agg next to a tor, else core"`
}

// GraphLink is one link of a Graph, or several between the same nodes.
type GraphLink struct {
	A     string         `yaml:"a,required" doc:"name of a node"`
	B     string         `yaml:"b,required" doc:"name of another node"`
	Rate  units.Rate     `yaml:"rate" is:"rate or auto" default:"auto" doc:"auto: 'topology.graph.rate'"`
	Delay units.Duration `yaml:"delay" is:"link delay or auto" default:"auto" doc:"auto: 'topology.graph.delay'"`
	Count int            `yaml:"count" is:"ports" default:"1" doc:"parallel links; two entries for the same nodes are an error"`
}

var graphKinds = map[string]topologies.Kind{"host": topologies.Host, "switch": topologies.Switch}

// byLinks is the tier of a switch that follows from its links.
const byLinks = "by-links"

// graphTiers has the tiers of switches by name; TierHost is found from the links.
var graphTiers = map[string]topologies.Tier{
	byLinks: topologies.TierHost, topologies.TierToR.String(): topologies.TierToR,
	topologies.TierAgg.String(): topologies.TierAgg, topologies.TierCore.String(): topologies.TierCore,
}

// Check implements TopologyChecker: a file is read when the topology is built.
func (g Graph) Check(c *Check) int {
	if g.File != "" {
		if len(g.Nodes)+len(g.Links) > 0 {
			c.Fail("file", "excludes nodes and links, which are in the file")
		}
		return 0
	}
	custom := g.custom(func(key, msg, suggestion string) { c.decoder.failAt(below(c.path, key), msg, suggestion) })
	if custom == nil {
		return 0
	}
	return c.Fits("", custom.Size)
}

// Build implements TopologySpec.
func (g Graph) Build() (Built, error) {
	name := "graph"
	if g.File != "" {
		name = fileStem(g.File)
		var err error
		if g, err = g.read(); err != nil {
			return Built{}, inputError{err}
		}
	}
	var wrong error
	custom := g.custom(func(key, msg, suggestion string) {
		wrong = &PathError{below("topology.graph", key), errors.New(msg + spelling.Hint(suggestion))}
	})
	if custom == nil {
		return Built{}, wrong
	}
	custom.Name = name
	return buildGraph(custom.Build())
}

// Auto implements Deriver.
func (g Graph) Auto(key string) string {
	_, name, _ := cutLast(key, ".")
	return map[string]string{"rate": g.Rate.String(), "delay": g.Delay.String()}[name]
}

// custom returns the graph for the generator, or nil if something is wrong, which it
// reports.
func (g Graph) custom(fail func(key, msg, suggestion string)) *topologies.Custom {
	custom := &topologies.Custom{Nodes: make([]topologies.CustomNode, len(g.Nodes)), Links: make([]topologies.CustomLink, len(g.Links))}
	position, names := map[string]int{}, []string(nil)
	for i, n := range g.Nodes {
		custom.Nodes[i] = topologies.CustomNode{Name: n.Name, Kind: graphKinds[n.Kind], Tier: graphTiers[n.Tier], Delay: n.Delay, Ports: n.Ports}
		if _, taken := position[n.Name]; !taken {
			position[n.Name] = i
		}
		names = append(names, n.Name)
	}
	sound := true
	wrong := func(key, msg, suggestion string) {
		sound = false
		fail(key, msg, suggestion)
	}
	if len(g.Nodes) == 0 || len(g.Links) == 0 {
		wrong("", "want nodes and links, or a file that has them", "")
		return nil
	}
	type pair struct{ a, b int }
	first := map[pair]int{}
	for i, l := range g.Links {
		key := func(name string) string { return fmt.Sprintf("links[%d].%s", i, name) }
		one := topologies.CustomLink{Rate: l.Rate, Delay: l.Delay, Count: l.Count}
		known := true
		for _, end := range []struct {
			key, name string
			into      *int
		}{{"a", l.A, &one.A}, {"b", l.B, &one.B}} {
			at, ok := position[end.name]
			if !ok {
				wrong(key(end.key), fmt.Sprintf("no node is called %q", end.name), spelling.Nearest(end.name, names))
			}
			*end.into, known = at, known && ok
		}
		if one.Rate == 0 {
			if one.Rate = g.Rate; one.Rate == 0 {
				wrong(key("rate"), "the link has no rate; give it one, or all links one with topology.graph.rate", "")
			}
		}
		if one.Delay == 0 {
			if one.Delay = g.Delay; one.Delay == 0 {
				wrong(key("delay"), "the link has no delay; give it one, or all links one with topology.graph.delay", "")
			}
		}
		custom.Links[i] = one
		if p := (pair{min(one.A, one.B), max(one.A, one.B)}); known && p.a != p.b {
			if earlier, twice := first[p]; twice {
				wrong(fmt.Sprintf("links[%d]", i), fmt.Sprintf("links[%d] joins %s and %s already; parallel links are one entry with a count", earlier, l.A, l.B), "")
			} else {
				first[p] = i
			}
		}
	}
	if !sound {
		return nil
	}
	var at *topologies.CustomError
	if errors.As(custom.Check(), &at) {
		fail(customKey(at), at.Msg, "")
		return nil
	}
	return custom
}

// customKey returns the key below graph that an error is about.
func customKey(e *topologies.CustomError) string {
	switch {
	case e.Ports:
		return fmt.Sprintf("nodes[%d].ports", e.Node)
	case e.Node >= 0:
		return fmt.Sprintf("nodes[%d]", e.Node)
	case e.Link >= 0:
		return fmt.Sprintf("links[%d]", e.Link)
	}
	return "nodes"
}

// read returns the graph of a file. Its errors have their places in the file.
func (g Graph) read() (Graph, error) {
	t, err := readTree(g.File)
	if err != nil {
		return g, err
	}
	var of Graph
	d := &decoder{root: t, node: map[string]*tree{}}
	const path = "topology.graph"
	if t.kind != mapping {
		d.fail(t.at, "", fmt.Sprintf("want a mapping with nodes and links, got %v", t.kind), "")
		return g, d.errs
	}
	d.structure(t, reflect.ValueOf(&of).Elem(), path)
	if of.File != "" {
		d.failAt(path+".file", "the file of a graph cannot name another file", "")
	}
	d.node[path] = t
	if d.checking = true; len(d.errs) == 0 {
		of.custom(func(key, msg, suggestion string) { d.failAt(below(path, key), msg, suggestion) })
	}
	if len(d.errs) > 0 {
		return g, sortErrors(g.File, d.errs)
	}
	return of, nil
}

// readTree returns the YAML of an input file.
func readTree(name string) (*tree, error) {
	data, err := readInput(name, maxTopologyFile)
	if err != nil {
		return nil, err
	}
	t, errs := parseTree(data, origin{file: name}, false)
	if len(errs) > 0 {
		return nil, errs
	}
	return t, nil
}
