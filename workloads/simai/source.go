// Package simai reads the workloads of SimAI and of AICB, which makes them: the text files
// that ASTRA-sim introduced (Read), one line per layer, and AICB's own CSV files (ReadCSV),
// one line per communication. Both say what every rank of a training job computes and which
// collectives it runs, without the messages. These come from package collective, over the
// groups of ranks that Layout describes.
//
// Sources: astra-sim-alibabacloud/astra-sim/workload/Workload.cc of aliyun/SimAI for the
// text and the order in which layers are played; workload_generator of aliyun/aicb. Pipeline
// stages send 2 vpp ga messages of pp_comm bytes, as SimAI's analytical model counts them.
package simai

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Action is what an Item does.
type Action uint8

// Actions. All but those with Async in the item begin when the one in front of them is
// complete, and what follows waits for them.
const (
	Compute    Action = iota // for Duration
	Collective               // Labels.Collectives[Index], over Group
	Wait                     // for the item that is Slot, of this pass or of the last one; none if it has not been
	Send                     // Bytes to the stage Peer stages on
	Recv                     // Bytes from the stage Peer stages on
	Begin                    // mark of the beginning of a phase
	End                      // mark of its end
)

// Item is one thing that the ranks of a section do in each pass.
type Item struct {
	Do       Action
	Kind     collective.Kind
	Group    GroupKind
	Async    bool           // what follows does not wait for a Collective, Send or Compute
	Unit     uint8          // of Compute
	Phase    int32          // index in Labels.Phases, or graph.None
	Index    int32          // of Collective, in Labels.Collectives
	Slot     int32          // from 1: what Wait calls an Async item; 0: nothing waits for it
	After    int32          // slot that an Async item depends on beside the one in front of it; 0: none
	Duration units.Duration // of Compute
	Bytes    units.Size     // of Collective, Send and Recv
	Root     int32          // of Collective, index in the group
	Peer     int32          // of Send and Recv
	Line     int32          // of the file
}

// Source is a workload: Passes times what Items say. It implements graph.Source. Programs
// are expanded item by item.
type Source struct {
	Names  graph.Labels
	Layout Layout
	Passes int
	Stages [][]Item // by pipeline stage; a single one is that of all
	collective.Choices
}

// Ranks implements graph.Source.
func (s *Source) Ranks() int { return s.Layout.Ranks() }

// Steps implements graph.Source. A pass is a step.
func (s *Source) Steps() int { return s.Passes }

// Labels implements graph.Source.
func (s *Source) Labels() *graph.Labels { return &s.Names }

// Only implements graph.Source.
func (s *Source) Only([]int) graph.Source { return s }

// Program implements graph.Source.
func (s *Source) Program(rank int, _ uint64) graph.Program {
	p := &program{source: s, rank: rank, items: s.items(rank), chain: none}
	for i := range p.items {
		item := &p.items[i]
		if n := max(item.Slot, item.After); int(n) >= len(p.slots) {
			p.slots = append(p.slots, make([]uint32, int(n)+1-len(p.slots))...)
		}
	}
	for i := range p.slots {
		p.slots[i] = none
	}
	return &graph.Pieces{Append: p.expand}
}

func (s *Source) items(rank int) []Item {
	if len(s.Stages) == 1 {
		return s.Stages[0]
	}
	return s.Stages[s.Layout.stage(rank)]
}

// call returns a collective of a rank without its group.
func (s *Source) call(item *Item) collective.Call {
	c := s.Call(item.Kind, item.Bytes, int(item.Root))
	c.Channel = item.Group.channel()
	return c
}

const none = ^uint32(0)

// program is the passes of a rank.
type program struct {
	source *Source
	rank   int
	items  []Item
	pass   int
	item   int // the next

	chain  uint32   // what the next item waits for, or none
	slots  []uint32 // the operation that is a slot, or none
	loose  []uint32 // asynchronous operations of the pass
	begun  bool
	groups [World + 1]group
}

// group is a group of the program's rank.
type group struct {
	known      bool
	ranks      []int
	me, number int
}

// expand appends the operations of the next item, which may be none.
func (p *program) expand(b *graph.Builder) bool {
	b.Tag = graph.Tag{Step: int32(p.pass), Phase: graph.None, Collective: graph.None, Group: graph.None}
	if !p.begun {
		p.begun, p.loose = true, p.loose[:0]
		p.follow(b, b.Begin(p.deps(0)...))
		return true
	}
	if p.item == len(p.items) {
		// What is still under way belongs to the step, but the next need not wait for it.
		b.End(append(p.deps(0), p.loose...)...)
		p.pass, p.item, p.begun = p.pass+1, 0, false
		return p.pass < p.source.Passes
	}
	item := &p.items[p.item]
	p.item++
	b.Tag.Phase = item.Phase
	deps := p.deps(item.After)
	switch item.Do {
	case Compute:
		id := b.Add(graph.Op{Kind: graph.Compute, Unit: item.Unit, Duration: item.Duration}, deps...)
		p.done(b, item, id)
	case Collective:
		p.collective(b, item, deps)
	case Wait:
		if p.slots[item.Slot] != none {
			p.follow(b, b.Barrier(append(deps, p.slots[item.Slot])...))
		}
	case Send, Recv:
		l := p.source.Layout
		peer := p.rank + int(item.Peer)*l.TP*l.DP
		if peer < 0 || peer >= l.Ranks() {
			return true // the first stage has none in front of it, the last none behind
		}
		op := graph.Op{Kind: graph.Send, Peer: int32(peer), Channel: PP.channel(), Bytes: item.Bytes}
		if item.Do == Recv {
			op.Kind = graph.Recv
		}
		p.done(b, item, b.Add(op, deps...))
	case Begin:
		p.follow(b, b.Begin(deps...))
	case End:
		p.follow(b, b.End(deps...))
	}
	return true
}

// deps returns what an item waits for.
func (p *program) deps(after int32) []uint32 {
	var deps []uint32
	if p.chain != none {
		deps = append(deps, p.chain)
	}
	if after != 0 && p.slots[after] != none && p.slots[after] != p.chain {
		deps = append(deps, p.slots[after])
	}
	return deps
}

// done says that an item ends with an operation.
func (p *program) done(b *graph.Builder, item *Item, id uint32) {
	if item.Slot != 0 {
		p.slots[item.Slot] = id
	}
	if item.Async {
		p.loose = append(p.loose, id)
		return
	}
	p.follow(b, id)
}

// follow makes everything behind wait for an operation, the last so far.
func (p *program) follow(b *graph.Builder, id uint32) {
	p.chain = id
	b.Ops[len(b.Ops)-1].Fence = true
}

// collective appends a collective.
func (p *program) collective(b *graph.Builder, item *Item, deps []uint32) {
	g := &p.groups[item.Group]
	if !g.known {
		g.known = true
		g.ranks, g.me, g.number = p.source.Layout.Group(item.Group, p.rank)
	}
	if g.ranks == nil {
		return // an inner stage has no part in what the embeddings do
	}
	b.Tag.Collective, b.Tag.Group = item.Index, int32(g.number)
	call := p.source.call(item)
	call.Group, call.Me = g.ranks, g.me
	end, err := collective.Append(b, &call, deps...)
	if err != nil {
		panic("simai: " + err.Error()) // the reader has validated the call
	}
	p.done(b, item, end)
}
