// Package netbench reads the topology files (.topology) of the NetBench simulator: a
// graph whose nodes are numbered, with sets of servers, switches and ToRs, and one
// direction of a link per line. Rates and delays are not in the file. Source: the files
// in example/topologies of ndal-eth/netbench.
package netbench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Options are what a file does not say.
type Options struct {
	Rate, HostRate   units.Rate     // of links; of those of hosts, 0: Rate
	Delay, HostDelay units.Duration // likewise
	SwitchDelay      units.Duration
	// Servers are the hosts of a node that is a server and a ToR in one, or a server with
	// several links: such a node is a switch here. NetBench calls this number
	// scenario_topology_extend_servers_per_tl_node. 0: 1.
	Servers int
	Ports   int // of a switch; 0: as many as needed
}

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// Keys of a file's head.
const (
	keyNodes    = "|V|"
	keyEdges    = "|E|"
	keyToRs     = "ToRs"
	keyServers  = "Servers"
	keySwitches = "Switches"
)

var keys = []string{keyNodes, keyEdges, keyToRs, keyServers, keySwitches}

// Limits of a file.
const (
	maxNodes = 1 << 17
	maxHosts = 1 << 18 // of nodes that are servers and switches
	maxEdges = 1 << 20 // each direction counts
)

type pair struct{ a, b int }

// reader is the state of one Read.
type reader struct {
	*lines.Reader
	options Options
	head    map[string]lines.Word // key -> value
	nodes   int
	sets    map[string][]bool // of ToRs, servers and switches, by node
	edges   map[pair]int      // how often each directed edge is given
	order   []pair
	places  map[pair]lines.Pos // of its first line
}

// Read reads a file. name stands for it in errors, which are *Error; its last element
// without ".topology" becomes the fabric's name. Hosts are those nodes that are servers
// alone, then the hosts of nodes that are servers and switches, each in the order of the
// nodes: the nodes are called n0, n1 and so on, the hosts of node 3 n3.h0, n3.h1.
func Read(name string, r io.Reader, o Options) (*topologies.Custom, error) {
	rd := &reader{
		Reader: lines.NewReader(name, r), options: o, head: map[string]lines.Word{},
		edges: map[pair]int{}, places: map[pair]lines.Pos{},
	}
	if err := rd.Each(rd.line); err != nil {
		return nil, err
	}
	if err := rd.finish(); err != nil {
		return nil, err
	}
	c, err := rd.build()
	if err != nil {
		return nil, err
	}
	c.Name = strings.TrimSuffix(path.Base(name), ".topology")
	return c, nil
}

// line takes a line of the head, or one of the edges behind it.
func (r *reader) line(words []lines.Word) error {
	if strings.Contains(words[0].Text, "=") {
		return r.property(words)
	}
	return r.edge(words)
}

// property takes a line key=value of the head.
func (r *reader) property(words []lines.Word) error {
	text := ""
	for _, w := range words { // a set may be written with blanks
		text += w.Text
	}
	key, value, _ := strings.Cut(text, "=")
	switch earlier, twice := r.head[key]; {
	case !slices.Contains(keys, key):
		return r.Unknown("key", lines.Word{Pos: words[0].Pos, Text: key}, keys...)
	case twice:
		return r.Errorf(words[0].Pos, "%s was set in line %d", key, earlier.Line)
	case len(r.order) > 0:
		return r.Errorf(words[0].Pos, "%s belongs before the first edge", key)
	case value == "":
		return r.Errorf(words[0].End(), "%s has no value", key)
	}
	at := words[0].Pos
	at.Column += len(key) + 1
	r.head[key] = lines.Word{Pos: at, Text: value}
	return nil
}

// edge takes a line with the two ends of an edge in one direction.
func (r *reader) edge(words []lines.Word) error {
	if r.sets == nil {
		if err := r.begin(words[0].Pos); err != nil {
			return err
		}
	}
	if len(words) != 2 {
		return r.Errorf(words[0].Pos, "want the two nodes of an edge, or key=value; the line has %d words", len(words))
	}
	var ends [2]int64
	for i, w := range words {
		n, err := r.Int("the node", w, 0, int64(r.nodes)-1)
		if err != nil {
			return err
		}
		ends[i] = n
	}
	e := pair{int(ends[0]), int(ends[1])}
	if e.a == e.b {
		return r.Errorf(words[0].Pos, "joins node %d to itself", e.a)
	}
	if _, ok := r.places[e]; !ok {
		r.places[e] = words[0].Pos
		r.order = append(r.order, e)
	}
	if r.edges[e]++; len(r.order) > maxEdges {
		return r.Errorf(words[0].Pos, "more than %d edges", maxEdges)
	}
	return nil
}

// begin reads the values of the head, before anything is made for each node.
func (r *reader) begin(at lines.Pos) error {
	value, ok := r.head[keyNodes]
	if !ok {
		return r.Errorf(at, "%s is missing", keyNodes)
	}
	n, err := r.Int(keyNodes, value, 1, maxNodes)
	if err != nil {
		return err
	}
	r.nodes = int(n)
	r.sets = map[string][]bool{}
	for _, key := range []string{keyToRs, keyServers, keySwitches} {
		r.sets[key] = make([]bool, r.nodes)
		if value, ok := r.head[key]; ok {
			if err := r.set(key, value); err != nil {
				return err
			}
		}
	}
	if _, ok := r.head[keyServers]; !ok {
		return r.Errorf(at, "%s is missing", keyServers)
	}
	for n := range r.nodes {
		if !r.sets[keyServers][n] && !r.sets[keySwitches][n] && !r.sets[keyToRs][n] {
			return r.Errorf(r.head[keyServers].Pos, "node %d is in none of the sets %s, %s and %s", n, keyServers, keySwitches, keyToRs)
		}
	}
	return nil
}

// set reads set(1,2,5) or incl_range(0,7).
func (r *reader) set(key string, value lines.Word) error {
	form, rest, ok := strings.Cut(value.Text, "(")
	inside, end, closed := strings.Cut(rest, ")")
	if !ok || !closed || end != "" || form != "set" && form != "incl_range" {
		return r.Errorf(value.Pos, "%s is %q, want set(0,1,2) or incl_range(0,7)", key, value.Text)
	}
	if inside == "" {
		return nil
	}
	at := value.Pos
	at.Column += len(form) + 1
	var list []int
	for text := range strings.SplitSeq(inside, ",") {
		n, err := r.Int("the node", lines.Word{Pos: at, Text: text}, 0, int64(r.nodes)-1)
		if err != nil {
			return err
		}
		list, at.Column = append(list, int(n)), at.Column+len(text)+1
	}
	if form == "incl_range" {
		if len(list) != 2 || list[0] > list[1] {
			return r.Errorf(value.Pos, "%s is %q, want the first and the last node", key, value.Text)
		}
		for n := list[0] + 1; n < list[1]; n++ {
			list = append(list, n)
		}
	}
	for _, n := range list {
		r.sets[key][n] = true
	}
	return nil
}

// finish checks that each edge is there in both directions, and their number.
func (r *reader) finish() error {
	if r.sets == nil {
		if err := r.begin(r.Last()); err != nil {
			return err
		}
		return r.Errorf(r.Last(), "there are no edges")
	}
	total := 0
	for _, e := range r.order {
		back := pair{e.b, e.a}
		switch there, here := r.edges[back], r.edges[e]; {
		case there == 0:
			return r.Errorf(r.places[e], "edge %d %d has no line for the other direction, %d %d", e.a, e.b, e.b, e.a)
		case there < here:
			return r.Errorf(r.places[e], "edge %d %d is given %d times and the other direction %d times", e.a, e.b, here, there)
		}
		total += r.edges[e]
	}
	if value, ok := r.head[keyEdges]; ok {
		n, err := r.Int(keyEdges, value, 0, 2*maxEdges)
		if err != nil {
			return err
		}
		if int(n) != total {
			return r.Errorf(value.Pos, "%s is %d, and there are %d edges; each direction counts", keyEdges, n, total)
		}
	}
	return nil
}

// build returns the fabric.
func (r *reader) build() (*topologies.Custom, error) {
	o := r.options
	o.HostRate, o.HostDelay, o.Servers = cmp.Or(o.HostRate, o.Rate), cmp.Or(o.HostDelay, o.Delay), max(1, o.Servers)
	degree := make([]int, r.nodes)
	for e, count := range r.edges {
		degree[e.a] += count // the sum does not depend on the order
	}
	c := &topologies.Custom{}
	extended := []int{} // servers that are switches here
	for n := range r.nodes {
		node := topologies.CustomNode{Name: fmt.Sprintf("n%d", n)}
		server := r.sets[keyServers][n]
		if both := r.sets[keyToRs][n] || r.sets[keySwitches][n]; !server || both || degree[n] > 1 {
			node.Kind, node.Delay, node.Ports = topologies.Switch, o.SwitchDelay, o.Ports
			if server {
				extended = append(extended, n)
			}
		}
		c.Nodes = append(c.Nodes, node)
	}
	if hosts := len(extended) * o.Servers; hosts > maxHosts {
		return nil, r.Errorf(r.head[keyServers].Pos, "%d servers for each of %d nodes are too many hosts; the limit is %d", o.Servers, len(extended), maxHosts)
	}
	var places []lines.Pos
	for _, e := range r.order {
		if e.a > e.b {
			continue // the other direction is there
		}
		link := topologies.CustomLink{A: e.a, B: e.b, Rate: o.Rate, Delay: o.Delay, Count: r.edges[e]}
		if c.Nodes[e.a].Kind == topologies.Host || c.Nodes[e.b].Kind == topologies.Host {
			link.Rate, link.Delay = o.HostRate, o.HostDelay
		}
		c.Links, places = append(c.Links, link), append(places, r.places[e])
	}
	for _, n := range extended {
		for s := range o.Servers {
			c.Links = append(c.Links, topologies.CustomLink{A: len(c.Nodes), B: n, Rate: o.HostRate, Delay: o.HostDelay})
			c.Nodes, places = append(c.Nodes, topologies.CustomNode{Name: fmt.Sprintf("n%d.h%d", n, s)}), append(places, r.head[keyServers].Pos)
		}
	}
	var e *topologies.CustomError
	if errors.As(c.Check(), &e) {
		at := r.head[keyServers].Pos
		if e.Link >= 0 {
			at = places[e.Link]
		} else if e.Node >= 0 && !r.sets[keyServers][min(e.Node, r.nodes-1)] {
			if value, ok := r.head[keySwitches]; ok {
				at = value.Pos
			}
		}
		wrong := r.Errorf(at, "%s", e.Msg)
		wrong.Cause = e
		return nil, wrong
	}
	return c, nil
}
