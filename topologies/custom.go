package topologies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// Custom describes a fabric node by node and link by link, in any order.
type Custom struct {
	Name  string
	Nodes []CustomNode
	Links []CustomLink
}

// CustomNode is a host or a switch.
type CustomNode struct {
	Name string // see CheckName
	Kind Kind
	// Tier is that of a switch. TierHost: it follows from the links: switches with hosts
	// are ToRs, those next to a ToR are Aggs, the rest are cores.
	Tier  Tier
	Delay units.Duration // of a switch
	Ports int            // that a switch has; 0: as many as needed
}

// CustomLink joins two nodes, named by their positions in Custom.Nodes.
type CustomLink struct {
	A, B  int
	Rate  units.Rate
	Delay units.Duration
	Count int // parallel links; 0: 1
}

// CustomError says which node or link of a Custom is wrong. It wraps ErrInvalid.
type CustomError struct {
	Node, Link int // position in Custom; -1: not about one
	Ports      bool
	Msg        string
}

// Error returns what is wrong.
func (e *CustomError) Error() string { return e.Msg }

// Unwrap makes a CustomError an ErrInvalid.
func (e *CustomError) Unwrap() error { return ErrInvalid }

func (c *Custom) atNode(i int, format string, args ...any) *CustomError {
	return &CustomError{Node: i, Link: -1, Msg: fmt.Sprintf(format, args...)}
}

func (c *Custom) atLink(i int, format string, args ...any) *CustomError {
	return &CustomError{Node: -1, Link: i, Msg: fmt.Sprintf(format, args...)}
}

// Check returns the first *CustomError, or nil if Build will succeed. Positions in links
// must be those of nodes.
func (c *Custom) Check() error {
	_, err := c.check()
	return err
}

// Size returns the size of the fabric that Build will make. The error is that of Check.
func (c *Custom) Size() (Size, error) {
	if _, err := c.check(); err != nil {
		return Size{}, err
	}
	s := Size{}
	racks := map[int]bool{}
	for _, n := range c.Nodes {
		if n.Kind == Host {
			s.Hosts++
		}
	}
	s.Switches = len(c.Nodes) - s.Hosts
	for _, l := range c.Links {
		switch {
		case c.Nodes[l.A].Kind == Host:
			racks[l.B] = true
		case c.Nodes[l.B].Kind == Host:
			racks[l.A] = true
		default:
			s.SwitchLinks += int64(max(1, l.Count))
			continue
		}
		s.HostLinks++
	}
	s.Racks = len(racks)
	return s, nil
}

// neighbours is the nodes that links of a node lead to.
type neighbours [][]int32

// check returns the neighbours of each node.
func (c *Custom) check() (neighbours, error) {
	if err := c.checkNodes(); err != nil {
		return nil, err
	}
	next, ports := make(neighbours, len(c.Nodes)), make([]int, len(c.Nodes))
	total := 0
	for i, l := range c.Links {
		a, b := &c.Nodes[l.A], &c.Nodes[l.B]
		count := max(1, l.Count)
		switch {
		case l.A == l.B:
			return nil, c.atLink(i, "joins %s to itself", a.Name)
		case a.Kind == Host && b.Kind == Host:
			return nil, c.atLink(i, "joins the hosts %s and %s; a host's link leads to a switch", a.Name, b.Name)
		case l.Rate <= 0 || l.Rate > MaxRate:
			return nil, c.atLink(i, "rate %v, want more than 0 and at most %v", l.Rate, MaxRate)
		case l.Delay <= 0 || l.Delay > MaxDelay:
			return nil, c.atLink(i, "delay %v, want more than 0 and at most %v", l.Delay, MaxDelay)
		case count > MaxRadix:
			return nil, c.atLink(i, "%d parallel links, the limit is %d", count, MaxRadix)
		}
		for _, end := range []int{l.A, l.B} {
			n := &c.Nodes[end]
			ports[end] += count
			switch limit := n.Ports; {
			case n.Kind == Host && ports[end] > 1:
				return nil, c.atLink(i, "the second link of host %s; a host has one link, so that a server with several NICs is a host for each", n.Name)
			case limit > 0 && ports[end] > limit:
				return nil, c.tooFewPorts(end)
			case ports[end] > MaxRadix:
				return nil, c.atLink(i, "switch %s has more than %d links", n.Name, MaxRadix)
			}
		}
		next[l.A], next[l.B] = append(next[l.A], int32(l.B)), append(next[l.B], int32(l.A))
		if total += count; total > maxFabricLinks {
			return nil, c.atLink(i, "with those before, there are more than %d links", maxFabricLinks)
		}
	}
	for i, n := range c.Nodes {
		if len(next[i]) == 0 {
			return nil, c.atNode(i, "%s %s has no link", [...]string{Host: "host", Switch: "switch"}[n.Kind], n.Name)
		}
	}
	return next, c.connected(next)
}

// tooFewPorts returns the error about a switch with more links than ports.
func (c *Custom) tooFewPorts(node int) *CustomError {
	needed := 0
	for _, l := range c.Links {
		if l.A == node || l.B == node {
			needed += max(1, l.Count)
		}
	}
	e := c.atNode(node, "switch %s has %d ports and %d links", c.Nodes[node].Name, c.Nodes[node].Ports, needed)
	e.Ports = true
	return e
}

func (c *Custom) checkNodes() error {
	hosts, first := 0, map[string]int{}
	for i, n := range c.Nodes {
		if err := CheckName(n.Name); err != nil {
			return c.atNode(i, "%v", err)
		}
		if _, taken := first[n.Name]; taken {
			return c.atNode(i, "the name %s is taken by an earlier node", n.Name)
		}
		first[n.Name] = i
		switch {
		case n.Kind == Host && (n.Ports > 0 || n.Delay > 0 || n.Tier != TierHost):
			return c.atNode(i, "%s is a host; ports, delay and tier are those of switches", n.Name)
		case n.Delay < 0 || n.Delay > MaxDelay:
			return c.atNode(i, "delay %v, want 0 to %v", n.Delay, MaxDelay)
		case n.Kind == Host:
			hosts++
		}
	}
	switch {
	case hosts == 0:
		return c.atNode(-1, "no node is a host")
	case hosts == len(c.Nodes):
		return c.atNode(-1, "no node is a switch")
	case hosts > MaxHosts:
		return c.atNode(-1, "%d hosts, the limit is %d", hosts, MaxHosts)
	}
	return nil
}

// mostNamed is how many nodes a message about unreachable nodes names.
const mostNamed = 5

func (c *Custom) connected(next neighbours) error {
	seen := make([]bool, len(c.Nodes))
	seen[0] = true
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	first := slices.Index(seen, false)
	if first < 0 {
		return nil
	}
	var names []string
	apart := 0
	for i, ok := range seen {
		if !ok {
			if apart++; apart <= mostNamed {
				names = append(names, c.Nodes[i].Name)
			}
		}
	}
	list := strings.Join(names, ", ")
	if apart > mostNamed {
		list += fmt.Sprintf(" and %d more", apart-mostNamed)
	}
	return c.atNode(first, "the fabric is not connected: no way leads from %s to %s", c.Nodes[0].Name, list)
}

// Build returns the graph: first the hosts, then the switches, each in the order of
// Custom.Nodes. A node's ports are in the order of Custom.Links; parallel links are
// neighbours. The error is that of Check.
func (c *Custom) Build() (*Graph, error) {
	next, err := c.check()
	if err != nil {
		return nil, err
	}
	hosts := 0
	for _, n := range c.Nodes {
		if n.Kind == Host {
			hosts++
		}
	}
	b := newBuilder(c.Name, hosts, len(c.Nodes)-hosts)
	ids, tiers := make([]int, len(c.Nodes)), c.tiers(next)
	host := 0
	for i, n := range c.Nodes {
		if n.Kind == Host {
			b.graph.Nodes[host].Name, ids[i] = n.Name, host
			host++
		}
	}
	for i, n := range c.Nodes {
		if n.Kind == Switch {
			ids[i] = b.addSwitch(n.Name, tiers[i], NoPod, n.Delay)
		}
	}
	for _, l := range c.Links {
		low, high := l.A, l.B
		if tiers[low] > tiers[high] {
			low, high = high, low
		}
		for range max(1, l.Count) {
			b.connect(ids[low], ids[high], l.Rate, l.Delay)
		}
	}
	return b.graph, nil
}

// tiers returns the tier of each node.
func (c *Custom) tiers(next neighbours) []Tier {
	tiers := make([]Tier, len(c.Nodes))
	var queue []int32
	settle := func(i int, t Tier) {
		if tiers[i] == TierHost && c.Nodes[i].Kind == Switch {
			tiers[i] = t
			queue = append(queue, int32(i))
		}
	}
	for i, n := range c.Nodes {
		if n.Kind == Host {
			settle(int(next[i][0]), TierToR)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			settle(int(n), min(tiers[queue[0]]+1, TierCore))
		}
	}
	for i, n := range c.Nodes {
		if n.Tier != TierHost {
			tiers[i] = n.Tier
		}
	}
	return tiers
}
