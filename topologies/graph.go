// Package topologies describes a fabric as a graph of hosts, switches and
// links. It is pure description: no packet and no system call is made here.
// Generators and importers build a Graph; drivers and backends realise it.
package topologies

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/csiglab/csiglab/units"
)

// Kind is the kind of a node: host or switch.
type Kind uint8

// Kinds of node.
const (
	Host Kind = iota
	Switch
)

// Tier is a switch's level in a tree, counted from the hosts. The zero value is
// TierHost.
type Tier uint8

// Tiers of a tree; a leaf-spine fabric has ToR (leaf) and Agg (spine).
const (
	TierHost Tier = iota
	TierToR
	TierAgg
	TierCore
)

// String returns host, tor, agg or core.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("tier%d", int(t))
}

var tierNames = [...]string{"host", "tor", "agg", "core"}

// Node is a host or a switch. Its id is its position in Graph.Nodes.
type Node struct {
	Name  string // unique, see CheckName, such as h0, tor3, agg1, core0, s0.r3
	Kind  Kind
	Tier  Tier
	Pod   int            // -1 outside a pod
	Index int            // position among the nodes of its tier
	Delay units.Duration // time from the last bit in to the egress queue; 0 for hosts
}

// End is one end of a link: a node and one of its ports. Ports of a node count
// from 0 without gaps.
type End struct {
	Node, Port int
}

// Link joins two ends with the same rate and propagation delay in each
// direction. Its id is its position in Graph.Links.
type Link struct {
	A, B  End // A is the end nearer to the hosts
	Rate  units.Rate
	Delay units.Duration
	// OneWay says that routes use the link from A to B alone. It carries nothing from B
	// to A but what belongs to the link itself, such as pause frames.
	OneWay bool
}

// Graph is a fabric. Hosts come first in Nodes, so that host i is node i.
type Graph struct {
	Name  string
	Nodes []Node
	Links []Link
	// NICs is how many hosts in a row are the NICs of one server; 0: each host is a server
	// with one NIC.
	NICs int
	// Interfaces are the names of the ports' interfaces as a file has them, by node and port;
	// nil, for a node or for all: the runtime chooses them. See Interface.
	Interfaces [][]string
}

// Interface returns the name of a port's interface: the file's, or else that of runtime. A port
// behind the last one, which a host may have for programs, has that of runtime; a node of which
// the file calls another port so has all names of runtime.
func (g *Graph) Interface(e End, runtime func(port int) string) string {
	if e.Node < len(g.Interfaces) && e.Port < len(g.Interfaces[e.Node]) {
		if names := g.Interfaces[e.Node]; !slices.Contains(names, runtime(len(names))) {
			return names[e.Port]
		}
	}
	return runtime(e.Port)
}

// Server returns the number of the server that a host is a NIC of.
func (g *Graph) Server(host int) int { return host / max(1, g.NICs) }

// Hosts returns the number of hosts, which come first.
func (g *Graph) Hosts() int {
	return sort.Search(len(g.Nodes), func(i int) bool { return g.Nodes[i].Kind != Host })
}

// Connect adds a link between the next free ports of a and b and returns its
// id.
func (g *Graph) Connect(a, b int, rate units.Rate, delay units.Duration) int {
	g.Links = append(g.Links, Link{
		A: End{a, g.Ports(a)}, B: End{b, g.Ports(b)}, Rate: rate, Delay: delay,
	})
	return len(g.Links) - 1
}

// Ports returns the number of ports of node n. It walks all links; callers with
// many questions use Adjacency.
func (g *Graph) Ports(n int) int {
	count := 0
	for _, l := range g.Links {
		if l.A.Node == n {
			count++
		}
		if l.B.Node == n {
			count++
		}
	}
	return count
}

// Adjacent is what a port leads to.
type Adjacent struct {
	Link int
	Peer End
}

// Adjacency returns, per node and port, the link and the peer's end.
func (g *Graph) Adjacency() [][]Adjacent {
	adjacency := make([][]Adjacent, len(g.Nodes))
	put := func(from, to End, link int) {
		ports := adjacency[from.Node]
		for len(ports) <= from.Port {
			ports = append(ports, Adjacent{Link: -1})
		}
		ports[from.Port] = Adjacent{Link: link, Peer: to}
		adjacency[from.Node] = ports
	}
	for id, l := range g.Links {
		put(l.A, l.B, id)
		put(l.B, l.A, id)
	}
	return adjacency
}

// LinkName returns the name of a link: its two nodes, the end nearer to the
// hosts first, and, where the pair has several links, the port of the first.
// Example: "tor0-agg0", "tor0:2-agg0".
func (g *Graph) LinkName(id int) string {
	l := g.Links[id]
	for other, o := range g.Links {
		if other != id && o.A.Node == l.A.Node && o.B.Node == l.B.Node {
			return fmt.Sprintf("%s:%d-%s", g.Nodes[l.A.Node].Name, l.A.Port, g.Nodes[l.B.Node].Name)
		}
	}
	return g.Nodes[l.A.Node].Name + "-" + g.Nodes[l.B.Node].Name
}

// ErrInvalid is wrapped by every error of Validate.
var ErrInvalid = errors.New("invalid topology")

// Validate checks that names are unique, hosts come first with one link each,
// ports have no gaps, rates and delays are positive and every host reaches every
// other.
func (g *Graph) Validate() error {
	hosts := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Kind != Host })
	if hosts < 0 {
		hosts = len(g.Nodes)
	}
	if hosts == 0 {
		return fmt.Errorf("%w: no hosts", ErrInvalid)
	}
	names := make(map[string]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("%w: node %d: name %q is empty or taken", ErrInvalid, i, n.Name)
		}
		names[n.Name] = true
		if n.Kind == Host && i >= hosts {
			return fmt.Errorf("%w: host %s comes after a switch", ErrInvalid, n.Name)
		}
	}
	for id, l := range g.Links {
		for _, e := range []End{l.A, l.B} {
			if e.Node < 0 || e.Node >= len(g.Nodes) {
				return fmt.Errorf("%w: link %d names node %d of %d", ErrInvalid, id, e.Node, len(g.Nodes))
			}
		}
		if l.A.Node == l.B.Node {
			return fmt.Errorf("%w: link %s joins a node to itself", ErrInvalid, g.LinkName(id))
		}
		if l.Rate <= 0 {
			return fmt.Errorf("%w: link %s: rate %v is not positive", ErrInvalid, g.LinkName(id), l.Rate)
		}
		if l.Delay <= 0 {
			return fmt.Errorf("%w: link %s: delay %v is not positive; a link without delay has no lookahead", ErrInvalid, g.LinkName(id), l.Delay)
		}
	}
	adjacency := g.Adjacency()
	for i, ports := range adjacency {
		if g.Nodes[i].Kind == Host && len(ports) != 1 {
			return fmt.Errorf("%w: host %s has %d links, want 1", ErrInvalid, g.Nodes[i].Name, len(ports))
		}
		for p, a := range ports {
			if a.Link < 0 {
				return fmt.Errorf("%w: node %s: port %d has no link", ErrInvalid, g.Nodes[i].Name, p)
			}
		}
	}
	return g.connected(adjacency)
}

// connected checks that the first node reaches every other, and is reached by it.
func (g *Graph) connected(adjacency [][]Adjacent) error {
	if i := g.apart(adjacency, fromRoot); i >= 0 {
		return fmt.Errorf("%w: node %s is not reachable from %s", ErrInvalid, g.Nodes[i].Name, g.Nodes[0].Name)
	}
	if i := g.apart(adjacency, toRoot); g.OneWay() && i >= 0 {
		return fmt.Errorf("%w: node %s is not reachable from %s", ErrInvalid, g.Nodes[0].Name, g.Nodes[i].Name)
	}
	return nil
}

// apart returns the first node that the first one does not reach, or that does not reach
// it; -1 if there is none.
func (g *Graph) apart(adjacency [][]Adjacent, o orientation) int {
	seen := make([]bool, len(g.Nodes))
	seen[0] = true
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, a := range adjacency[queue[0]] {
			l := &g.Links[a.Link]
			if next := a.Peer.Node; !seen[next] && (!l.OneWay || (l.A.Node == queue[0]) == (o == fromRoot)) {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return slices.Index(seen, false)
}

// maxName is the most bytes of a node's name.
const maxName = 40

// CheckName returns an error if a text cannot be the name of a node: up to 40 letters and
// digits of ASCII and the signs . _ and -, which neither begin nor end it.
func CheckName(name string) error {
	inside := func(c byte) bool { return c == '.' || c == '_' || c == '-' }
	ok := name != "" && len(name) <= maxName && !inside(name[0]) && !inside(name[len(name)-1])
	for i := range len(name) {
		c := name[i]
		ok = ok && (inside(c) || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
	}
	if !ok {
		return fmt.Errorf("%q is no name of a node; want up to %d letters, digits and . _ -, with a letter or digit at both ends", name, maxName)
	}
	return nil
}
