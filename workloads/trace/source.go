// Package trace turns what readers of execution traces find, the nodes of each rank with
// their dependencies, into a graph.Source: it orders the nodes, matches sends with receives
// and the ranks' parts of collectives with each other, and expands collectives while the
// source is played. It reads no file and knows no format.
package trace

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Kind is what a node of a trace does.
type Kind uint8

// Kinds of node.
const (
	// Join does nothing; what depends on it depends on what it depends on.
	Join Kind = iota
	Compute
	Send
	Recv
	Collective
)

// Node is a node of a rank's trace. Its id is its position in the order in which the rank's
// program begins them.
type Node struct {
	Kind     Kind
	Unit     uint8  // of Compute
	Channel  uint16 // of Send and Recv
	Fence    bool   // see graph.Op
	Last     bool   // no node depends on it
	Peer     int32  // rank; of Send and Recv
	Call     int32  // of Collective: index in Source.Calls
	Bytes    units.Size
	Duration units.Duration // of Compute
	Deps     []uint32       // ids of nodes before this one
}

// Call is a collective that a group of ranks runs.
type Call struct {
	Label, Instance int32 // Collective and Group of its tag
	// Group is the index in Source.Groups.
	Group int32
	// Call is the collective without what differs from rank to rank: its group, the index of
	// the rank in it, and Split and From.
	Call collective.Call
	// Uneven is what the rank at index i of the group sends to the one at index j, by rows, of
	// an all-to-all with sizes of its own; nil: pieces of Call.Bytes.
	Uneven [][]units.Size
}

// Source is the trace of a job, or a part of it. Collectives are expanded while it is played. It
// implements graph.Source.
type Source struct {
	Names   graph.Labels
	All     int      // ranks
	Repeat  int      // steps: how often the trace is played
	Nodes   [][]Node // by rank
	Calls   []Call
	Groups  [][]int            // ranks
	Servers collective.Servers // of the ranks
}

// Ranks implements graph.Source.
func (s *Source) Ranks() int { return s.All }

// Steps implements graph.Source. The trace is played once in each step.
func (s *Source) Steps() int { return s.Repeat }

// Labels implements graph.Source.
func (s *Source) Labels() *graph.Labels { return &s.Names }

// Program implements graph.Source.
func (s *Source) Program(rank int, _ uint64) graph.Program {
	p := &program{source: s, rank: rank}
	if rank < len(s.Nodes) {
		p.nodes = s.Nodes[rank]
	}
	p.ends = make([]uint32, len(p.nodes))
	return &graph.Pieces{Append: p.expand}
}

// Only implements graph.Source.
func (s *Source) Only(ranks []int) graph.Source {
	part := *s
	part.Nodes = make([][]Node, len(s.Nodes))
	for _, r := range ranks {
		part.Nodes[r] = s.Nodes[r]
	}
	return &part
}

// call returns a collective as a rank sees it.
func (s *Source) call(c *Call, rank int) collective.Call {
	call := c.Call
	call.Group = s.Groups[c.Group]
	call.Me, call.Servers = -1, s.Servers
	for i, r := range call.Group {
		if r == rank {
			call.Me = i
		}
	}
	if c.Uneven != nil && call.Me >= 0 {
		call.Split, call.From = c.Uneven[call.Me], make([]units.Size, len(call.Group))
		for i := range call.From {
			call.From[i] = c.Uneven[i][call.Me]
		}
	}
	return call
}

// program is the nodes of a rank, of which one is expanded at a time.
type program struct {
	source *Source
	rank   int
	nodes  []Node
	ends   []uint32 // the last operation of each node of this step
	step   int
	node   int  // to be expanded next
	begun  bool // the step
	first  uint32
	deps   []uint32
}

// expand appends the operations of what comes next: the mark of a step's beginning, a node, or
// the mark of the step's end.
func (p *program) expand(b *graph.Builder) bool {
	id := b.Next()
	b.Tag = graph.Tag{Step: int32(p.step), Phase: graph.None, Collective: graph.None, Group: graph.None}
	switch {
	case !p.begun:
		p.begun, p.first = true, id
		if p.deps = p.deps[:0]; p.step > 0 {
			p.deps = append(p.deps, id-1) // the end of the step before
		}
		b.Begin(p.deps...)
	case p.node < len(p.nodes):
		n := &p.nodes[p.node]
		p.ends[p.node] = p.append(b, n, p.after(n))
		p.node++
		b.Ops[len(b.Ops)-1].Fence = n.Fence
		return true
	default:
		p.deps = append(p.deps[:0], p.first)
		for i := range p.nodes {
			if p.nodes[i].Last {
				p.deps = append(p.deps, p.ends[i])
			}
		}
		b.End(p.deps...)
		p.step, p.node, p.begun = p.step+1, 0, false
	}
	b.Ops[len(b.Ops)-1].Fence = true
	return p.step < p.source.Repeat
}

// after returns what the first operation of a node depends on.
func (p *program) after(n *Node) []uint32 {
	p.deps = p.deps[:0]
	for _, d := range n.Deps {
		p.deps = append(p.deps, p.ends[d])
	}
	if len(p.deps) == 0 {
		p.deps = append(p.deps, p.first)
	}
	return p.deps
}

// append appends the operations of a node and returns the last one.
func (p *program) append(b *graph.Builder, n *Node, after []uint32) uint32 {
	switch n.Kind {
	case Compute:
		return b.Add(graph.Op{Kind: graph.Compute, Unit: n.Unit, Duration: n.Duration}, after...)
	case Send:
		return b.Send(int(n.Peer), n.Channel, n.Bytes, after...)
	case Recv:
		return b.Recv(int(n.Peer), n.Channel, n.Bytes, after...)
	case Collective:
		c := &p.source.Calls[n.Call]
		b.Tag.Collective, b.Tag.Group = c.Label, c.Instance
		call := p.source.call(c, p.rank)
		end, err := collective.Append(b, &call, after...)
		if err != nil {
			panic("trace: " + err.Error()) // Source has validated the call
		}
		return end
	}
	return b.Barrier(after...)
}
