package fabric

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Fabric is the fabric of the first variant as a drawing shows it: boxes in rows, or
// on a ring, and the lines between them. Where there are more nodes than a reader can
// tell apart, a box stands for several.
type Fabric struct {
	Variant  string `json:"variant"` // whose load is shown
	Hosts    int    `json:"hosts"`
	Switches int    `json:"switches"`
	Links    int    `json:"links"`
	Ring     bool   `json:"ring"` // the switches have no tiers: their boxes stand on a ring
	Boxes    []Box  `json:"boxes"`
	Lines    []Line `json:"lines"`
	Paths    []Path `json:"paths"` // of at most reading.MaxGroups flows
	Marks    []Mark `json:"marks"` // the ports of reading.Facts.Limits
}

// Box is a node, or several.
type Box struct {
	Name     string `json:"name"`           // of the node, or of the first and the last switch, or host
	Row      int    `json:"row"`            // 0 is the lowest
	Pod      int    `json:"pod"`            // boxes of a pod stand together; -1: of none
	Pods     []int  `json:"pods,omitempty"` // of a box that stands for the nodes of whole pods: their numbers
	Hosts    int    `json:"hosts"`
	Switches int    `json:"switches"`
	Folded   bool   `json:"folded"`            // the box stands for several nodes
	Foreign  bool   `json:"foreign,omitempty"` // all of them are none of csiglab's
}

// Line is the links between two boxes. A is in the lower row.
type Line struct {
	A     int     `json:"a"`
	B     int     `json:"b"`
	Links int     `json:"links"`
	Up    float64 `json:"up"`   // utilisation from A to B, of the busiest link
	Down  float64 `json:"down"` // from B to A
	// Slowed says that a fault lowered the rate of a link in the run that charts show.
	Slowed bool `json:"slowed,omitempty"`
}

// Load returns the greater utilisation of the two directions.
func (l *Line) Load() float64 { return max(l.Up, l.Down) }

// Path is the way of a flow: the steps from box to box that all its shortest
// paths have in common.
type Path struct {
	Flow  string   `json:"flow"`
	Steps [][2]int `json:"steps"` // boxes, from the source to the destination
	Whole bool     `json:"whole"` // the flow has one shortest path
}

// Mark is where a port of reading.Facts.Limits is in the drawing.
type Mark struct {
	Port int `json:"port"` // index
	From int `json:"from"` // box
	To   int `json:"to"`   // box; From again when the port is within a box
}

// Most boxes of a row that a reader can tell apart.
const (
	maxHostBoxes   = 20
	maxSwitchBoxes = 24
	maxPodBoxes    = 10
)

// newFabric returns the fabric of a variant, with the use of all ports and marks at some. It
// is nil when the manifest has no link.
func newFabric(m *runfolder.Manifest, v string, all, marked []reading.Port, flows []runfolder.Flow) (*Fabric, lineOf) {
	n := newNetwork(m.NodesOf(v), m.PortsOf(v))
	if len(n.ports) == 0 {
		return nil, nil
	}
	f := &Fabric{Variant: v, Links: len(n.ports) / 2, Ring: n.flat(), Boxes: []Box{}, Lines: []Line{}, Paths: []Path{}, Marks: []Mark{}}
	for _, node := range n.nodes {
		if node.Kind == runfolder.KindHost {
			f.Hosts++
		} else {
			f.Switches++
		}
	}
	load := map[reading.PortID]float64{}
	for i := range all {
		if use, ok := all[i].In(v); ok {
			load[all[i].PortID] = use.Utilisation
		}
	}
	box := f.place(n)
	lines := f.join(n, box, load)
	f.route(n, box, flows)
	for i := range marked {
		p := &marked[i]
		from, known := box[p.Node]
		to, reaches := box[p.Peer]
		if known && reaches {
			f.Marks = append(f.Marks, Mark{i, from, to})
		}
	}
	return f, lines
}

// mark marks the lines of links that a fault slowed in a run.
func (f *Fabric) mark(m *runfolder.Manifest, run reading.RunID, lines lineOf) {
	slowed := reading.Slowed(m, run)
	for _, p := range m.PortsOf(run.Variant) {
		if i, drawn := lines[[2]int32{p.Node, p.Peer}]; drawn && slowed[p.Name] {
			f.Lines[i].Slowed = true
		}
	}
}

// lineOf is the index of the line that a link is part of, by its nodes.
type lineOf map[[2]int32]int

// network is the graph of a manifest with what its links say of its shape.
type network struct {
	nodes []runfolder.Node
	ports []runfolder.Port
	index map[int32]int     // of a node's number
	next  map[int32][]int32 // neighbours, each once, in the order of ports
	tier  map[int32]int     // links to the nearest host
	top   int               // the greatest of them
	pod   map[int32]int     // the part of the fabric below its highest tier; absent there
}

func newNetwork(nodes []runfolder.Node, ports []runfolder.Port) *network {
	n := &network{nodes: nodes, ports: ports, index: map[int32]int{}, next: map[int32][]int32{}, tier: map[int32]int{}, pod: map[int32]int{}}
	var queue []int32
	for i, node := range nodes {
		n.index[node.Node] = i
		if node.Kind == runfolder.KindHost {
			n.tier[node.Node] = 0
			queue = append(queue, node.Node)
		}
	}
	for _, p := range ports {
		if !slices.Contains(n.next[p.Node], p.Peer) {
			n.next[p.Node] = append(n.next[p.Node], p.Peer)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, peer := range n.next[queue[0]] {
			if _, ok := n.tier[peer]; !ok {
				n.tier[peer] = n.tier[queue[0]] + 1
				queue = append(queue, peer)
			}
		}
	}
	for _, tier := range n.tier {
		n.top = max(n.top, tier)
	}
	top := n.top
	if top < 2 {
		return n
	}
	pods := 0
	for _, node := range nodes {
		if _, done := n.pod[node.Node]; done || n.tier[node.Node] != 1 {
			continue
		}
		n.pod[node.Node] = pods
		for queue := []int32{node.Node}; len(queue) > 0; queue = queue[1:] {
			for _, peer := range n.next[queue[0]] {
				if _, done := n.pod[peer]; !done && n.tier[peer] < top {
					n.pod[peer] = pods
					queue = append(queue, peer)
				}
			}
		}
		pods++
	}
	return n
}

// flat reports whether the switches have no tiers and more links between each other
// than a row can show: as in a Dragonfly.
func (n *network) flat() bool {
	between, switches := 0, 0
	for _, node := range n.nodes {
		if n.tier[node.Node] == 1 {
			switches++
			for _, peer := range n.next[node.Node] {
				if n.tier[peer] == 1 {
					between++
				}
			}
		}
	}
	return n.top == 1 && between/2 > switches
}

// ordered returns the nodes of a tier, by pod and, of hosts, by their switch.
func (n *network) ordered(tier int) []runfolder.Node {
	var nodes []runfolder.Node
	for _, node := range n.nodes {
		if n.tier[node.Node] == tier {
			nodes = append(nodes, node)
		}
	}
	slices.SortStableFunc(nodes, func(a, b runfolder.Node) int {
		order := cmp.Compare(n.podOf(a.Node), n.podOf(b.Node))
		if tier == 0 {
			order = cmp.Or(order, cmp.Compare(n.above(a.Node), n.above(b.Node)))
		}
		return order
	})
	return nodes
}

// above returns the index of a host's first switch.
func (n *network) above(host int32) int {
	for _, peer := range n.next[host] {
		return n.index[peer]
	}
	return -1
}

func (n *network) podOf(node int32) int {
	if pod, ok := n.pod[node]; ok {
		return pod
	}
	return -1
}

// place makes the boxes and returns that of each node.
func (f *Fabric) place(n *network) map[int32]int {
	box := map[int32]int{}
	add := func(nodes []runfolder.Node, row, pod int) {
		for _, node := range nodes {
			box[node.Node] = len(f.Boxes)
		}
		f.Boxes = append(f.Boxes, newBox(nodes, row, pod))
	}
	single := func(runfolder.Node, runfolder.Node) bool { return false }
	hosts, leaves, first := n.ordered(0), n.ordered(1), 1
	switch {
	case f.Ring:
		groups := partition(leaves, single)
		if len(leaves) > maxSwitchBoxes {
			groups = n.cliques(leaves)
		}
		for _, group := range chunks(groups, maxSwitchBoxes) {
			add(append(group, n.hostsOf(group)...), 0, -1)
		}
		return box
	case len(leaves) > maxSwitchBoxes:
		below := n.below()
		for i, chunk := range chunks(partition(below, func(a, b runfolder.Node) bool { return n.part(a.Node) == n.part(b.Node) }), maxPodBoxes) {
			add(chunk, 0, i)
			f.Boxes[i].Pods = n.podsOf(chunk)
		}
		first = max(1, n.top)
	default:
		together := single
		if len(hosts) > maxHostBoxes {
			together = func(a, b runfolder.Node) bool { return n.above(a.Node) == n.above(b.Node) }
		}
		for _, group := range partition(hosts, together) {
			add(group, 0, n.podOf(group[0].Node))
		}
	}
	row := 0
	for tier := first; tier <= n.top; tier++ {
		nodes := slices.DeleteFunc(n.ordered(tier), func(node runfolder.Node) bool { _, done := box[node.Node]; return done })
		if len(nodes) == 0 {
			continue
		}
		row++
		if len(nodes) > maxSwitchBoxes {
			add(nodes, row, -1)
			continue
		}
		for _, node := range nodes {
			add([]runfolder.Node{node}, row, n.podOf(node.Node))
		}
	}
	return box
}

// newBox returns the box of nodes of a row.
func newBox(nodes []runfolder.Node, row, pod int) Box {
	b := Box{Row: row, Pod: pod, Folded: len(nodes) > 1, Foreign: true}
	named := nodes
	for _, node := range nodes {
		b.Foreign = b.Foreign && node.Foreign
		if node.Kind == runfolder.KindHost {
			b.Hosts++
		} else {
			b.Switches++
		}
	}
	if b.Hosts > 0 && b.Switches > 0 {
		named = slices.DeleteFunc(slices.Clone(nodes), func(n runfolder.Node) bool { return n.Kind == runfolder.KindHost })
	}
	b.Name = named[0].Name
	if len(named) > 1 {
		b.Name += "–" + named[len(named)-1].Name
	}
	return b
}

// part returns the pod of a node below the highest tier, or its leaf where there are
// no pods.
func (n *network) part(node int32) int {
	if pod, ok := n.pod[node]; ok {
		return pod
	}
	if n.tier[node] == 0 {
		return n.above(node)
	}
	return n.index[node]
}

// podsOf returns the pods of nodes, each once. It is nil where there are none.
func (n *network) podsOf(nodes []runfolder.Node) []int {
	var pods []int
	for _, node := range nodes {
		if pod, ok := n.pod[node.Node]; ok && !slices.Contains(pods, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// below returns the nodes below the highest tier of switches, or all where there is
// one tier, by part; in a part the switches come first.
func (n *network) below() []runfolder.Node {
	var nodes []runfolder.Node
	for _, node := range n.nodes {
		if n.tier[node.Node] < max(2, n.top) {
			nodes = append(nodes, node)
		}
	}
	slices.SortStableFunc(nodes, func(a, b runfolder.Node) int {
		return cmp.Or(cmp.Compare(n.part(a.Node), n.part(b.Node)), cmp.Compare(n.tier[b.Node], n.tier[a.Node]))
	})
	return nodes
}

// cliques cuts the switches of a flat fabric into groups that follow each other and
// whose switches are all joined.
func (n *network) cliques(switches []runfolder.Node) [][]runfolder.Node {
	var groups [][]runfolder.Node
	for _, s := range switches {
		last := len(groups) - 1
		if last < 0 || slices.ContainsFunc(groups[last], func(o runfolder.Node) bool { return !slices.Contains(n.next[o.Node], s.Node) }) {
			groups = append(groups, nil)
			last++
		}
		groups[last] = append(groups[last], s)
	}
	return groups
}

// hostsOf returns the hosts whose first switch is one of these.
func (n *network) hostsOf(switches []runfolder.Node) []runfolder.Node {
	var hosts []runfolder.Node
	for _, s := range switches {
		for _, peer := range n.next[s.Node] {
			if n.tier[peer] == 0 && n.above(peer) == n.index[s.Node] {
				hosts = append(hosts, n.nodes[n.index[peer]])
			}
		}
	}
	return hosts
}

// partition cuts nodes where two that follow each other do not belong together.
func partition(nodes []runfolder.Node, together func(a, b runfolder.Node) bool) [][]runfolder.Node {
	var groups [][]runfolder.Node
	for i, node := range nodes {
		if i == 0 || !together(nodes[i-1], node) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], node)
	}
	return groups
}

// chunks joins groups that follow each other until there are at most as many.
func chunks(groups [][]runfolder.Node, most int) [][]runfolder.Node {
	size := (len(groups) + most - 1) / most
	var all [][]runfolder.Node
	for i, group := range groups {
		if i%max(1, size) == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], group...)
	}
	return all
}

// join makes the lines between boxes.
func (f *Fabric) join(n *network, box map[int32]int, load map[reading.PortID]float64) lineOf {
	index, lines := map[[2]int]int{}, lineOf{}
	for _, p := range n.ports {
		a, known := box[p.Node]
		b, reaches := box[p.Peer]
		if !known || !reaches || a == b {
			continue
		}
		low, high := a, b
		if f.Boxes[a].Row > f.Boxes[b].Row || f.Boxes[a].Row == f.Boxes[b].Row && a > b {
			low, high = b, a
		}
		i, ok := index[[2]int{low, high}]
		if !ok {
			i = len(f.Lines)
			index[[2]int{low, high}] = i
			f.Lines = append(f.Lines, Line{A: low, B: high})
		}
		lines[[2]int32{p.Node, p.Peer}] = i
		l := &f.Lines[i]
		if a == low {
			l.Links++
			l.Up = max(l.Up, load[reading.PortID{Node: p.Node, Port: p.Port}])
		} else {
			l.Down = max(l.Down, load[reading.PortID{Node: p.Node, Port: p.Port}])
		}
	}
	return lines
}

// route finds the ways of flows, when there are few.
func (f *Fabric) route(n *network, box map[int32]int, flows []runfolder.Flow) {
	if len(flows) > reading.MaxGroups {
		return
	}
	g := reading.NewPaths(n.ports)
	for _, flow := range flows {
		path := Path{Flow: flow.Name, Steps: [][2]int{}, Whole: g.Count(flow.Src, flow.Dst) == 1}
		for _, hop := range g.Common(flow.Src, flow.Dst) {
			from, known := box[hop[0]]
			to, reaches := box[hop[1]]
			if known && reaches && from != to {
				path.Steps = append(path.Steps, [2]int{from, to})
			}
		}
		f.Paths = append(f.Paths, path)
	}
}
