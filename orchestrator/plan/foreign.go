package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
)

// Foreign is a node that is none of csiglab's, or a switch in the kernel. It has a place in the
// graph, and what Plan.Nodes has there is what a node of csiglab would be, which routes lead
// through.
type Foreign struct {
	Node     int
	Item     int    // of experiment.Experiment.Nodes
	Forwards string // see experiment.ForeignNode
	Stripped bool   // frames have no CSIG tags when they are sent to it
	Image    string // of its container; "" without
	Command  []string
	Startup  [][]string
	// Kernel says that it is a switch of csiglab whose datapath is in the kernel: it has no
	// driver, as foreign nodes have none.
	Kernel bool
	// Hosts are the ways to each host, by host: ports of a switch that forwards. The first is that
	// of a bridge.
	Hosts [][]int
}

// Routes reports whether the node forwards by IP addresses.
func (f *Foreign) Routes() bool { return f.Forwards == experiment.ForwardsRouter }

// ForeignNode returns a node of the graph that is none of csiglab's, nil for those that are.
func (n *Network) ForeignNode(node int) *Foreign {
	i, found := slices.BinarySearchFunc(n.Foreign, node, func(f Foreign, node int) int { return cmp.Compare(f.Node, node) })
	if !found {
		return nil
	}
	return &n.Foreign[i]
}

// InKernel reports whether the switches are in the kernel.
func (n *Network) InKernel() bool {
	return slices.ContainsFunc(n.Foreign, func(f Foreign) bool { return f.Kernel })
}

// newForeign returns the foreign nodes of a fabric, ascending.
func newForeign(e *experiment.Experiment, f *fabric) (list []Foreign, err error) {
	at := map[int]int{} // node -> its place in e.Nodes
	for i := range e.Nodes {
		n := &e.Nodes[i]
		found := false
		for id := range f.graph.Nodes {
			node := &f.graph.Nodes[id]
			if matches, err := path.Match(n.Name, node.Name); err != nil {
				return nil, failure.At(fmt.Sprintf("nodes[%d].name", i), err)
			} else if !matches {
				continue
			}
			found = true
			if before, twice := at[id]; twice {
				return nil, failure.At(fmt.Sprintf("nodes[%d].name", i), fmt.Errorf("%s is nodes[%d] already", node.Name, before))
			}
			at[id] = i
			one, err := newForeignNode(n, f, id)
			if err != nil {
				return nil, failure.At(fmt.Sprintf("nodes[%d]", i), fmt.Errorf("%s: %w", node.Name, err))
			}
			one.Item = i
			list = append(list, one)
		}
		if !found {
			return nil, failure.At(fmt.Sprintf("nodes[%d].name", i), fmt.Errorf("no node is called %q; they are called like %s", n.Name, f.graph.Nodes[len(f.graph.Nodes)-1].Name))
		}
	}
	if e.Wall.Datapath == experiment.DatapathEBPF {
		for id := f.graph.Hosts(); id < len(f.graph.Nodes); id++ {
			list = append(list, Foreign{Node: id, Kernel: true})
		}
	}
	slices.SortFunc(list, func(a, b Foreign) int { return cmp.Compare(a.Node, b.Node) })
	return list, checkForeign(e, f, list)
}

// checkForeign refuses foreign nodes whose neighbours or traffic they cannot have.
func checkForeign(e *experiment.Experiment, f *fabric, list []Foreign) error {
	known := map[int]*Foreign{}
	for i := range list {
		known[list[i].Node] = &list[i]
	}
	for i := range list {
		one := &list[i]
		name := f.graph.Nodes[one.Node].Name
		for _, a := range f.adjacency[one.Node] {
			peer := known[a.Peer.Node]
			if one.Routes() && peer != nil && !peer.Routes() && a.Peer.Node >= f.graph.Hosts() {
				return failure.At("nodes", fmt.Errorf("%s is a router and %s, a neighbour, is foreign and none: nobody between them would address frames to the router", name, f.graph.Nodes[a.Peer.Node].Name))
			}
		}
		for k := range e.Generators {
			if e.Generators[k].Host == one.Node {
				return failure.At(fmt.Sprintf("generators[%d].host", k), fmt.Errorf("%s is a foreign node", name))
			}
		}
		if a := e.Applications; a != nil && a.Image != "" && slices.Contains(a.Hosts, one.Node) {
			return failure.At("applications.hosts", fmt.Errorf("%s is a foreign node, whose programs are those of its own image; leave it out, or leave applications.image out", name))
		}
	}
	return nil
}

func newForeignNode(n *experiment.ForeignNode, f *fabric, id int) (one Foreign, err error) {
	host := f.graph.Nodes[id].Kind == topologies.Host
	one = Foreign{Node: id, Forwards: n.Forwards, Image: n.Image, Stripped: n.Tags == experiment.TagsStripped}
	if n.Tags == "" {
		one.Stripped = host || n.Forwards == experiment.ForwardsRouter
	}
	if n.Command != "" {
		if one.Command, err = experiment.SplitCommand(n.Command); err != nil {
			return one, err
		}
	}
	for _, line := range n.Startup {
		args, err := experiment.SplitCommand(line)
		if err != nil {
			return one, err
		}
		one.Startup = append(one.Startup, args)
	}
	switch {
	case n.Forwards == experiment.ForwardsNothing:
		return one, nil
	case host:
		return one, fmt.Errorf("a host forwards nothing, and cannot be a %s", n.Forwards)
	}
	one.Hosts = make([][]int, f.graph.Hosts())
	for h := range one.Hosts {
		for _, port := range f.routes[id].To(h) {
			one.Hosts[h] = append(one.Hosts[h], int(port))
		}
		// A bridge has one way to a host, which differs from host to host.
		if k := len(one.Hosts[h]); k > 1 && !one.Routes() {
			one.Hosts[h] = one.Hosts[h][h%k:][:1]
		}
	}
	return one, nil
}

// isForeign reports whether a node is none of csiglab's.
func (f *fabric) isForeign(node int) bool {
	return slices.ContainsFunc(f.foreign, func(n Foreign) bool { return n.Node == node })
}

// strips reports whether tags end before a node: it is foreign, and frames have none when they are
// sent to it.
func (f *fabric) strips(node int) bool {
	return slices.ContainsFunc(f.foreign, func(n Foreign) bool { return n.Node == node && n.Stripped })
}

// foreignNotes says of the foreign nodes what signals do not have.
func foreignNotes(r *run, p *Plan) (notes []string) {
	var kept, stripped, last []string
	for i := range p.Foreign {
		f := &p.Foreign[i]
		name := p.Graph.Nodes[f.Node].Name
		switch {
		case r.signals.tags == nil || f.Kernel:
		case !f.Stripped:
			kept = append(kept, name)
		case f.Node < p.Hosts():
			last = append(last, name)
		default:
			stripped = append(stripped, name)
		}
	}
	if len(kept) > 0 {
		notes = append(notes, fmt.Sprintf("nodes: %s, foreign, get frames with their tags; what they do with these is seen behind them, and a queue in them may be in no sample", strings.Join(kept, ", ")))
	}
	if len(stripped) > 0 {
		notes = append(notes, fmt.Sprintf("nodes: tags end before %s, foreign: samples are of the ports up to there; init of csig.ports puts tags on again behind them", strings.Join(stripped, ", ")))
	}
	if len(last) > 0 {
		notes = append(notes, fmt.Sprintf("nodes: tags end at the ports before the foreign hosts %s, which put none on", strings.Join(last, ", ")))
	}
	return notes
}
