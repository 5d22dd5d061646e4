package collective

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Config describes a job of one collective that runs again and again.
type Config struct {
	Name string // of the collective; "" is its kind
	// Call is the collective. Group, Me, Split, From and Fences are set for each rank.
	Call Call
	// Groups are the groups of ranks that run the collective, all at the same time, each in the
	// order of its ring. No rank is in two. Without groups all ranks are one.
	Groups [][]int
	Ranks  int // of the job; 0: as many as the groups name
	// Iterations is how often the collective runs, at least once, after Warmup iterations. Those are
	// labelled as a collective of their own, warmup, and their steps have no marks.
	Iterations, Warmup int
	// Gap is what each rank computes before each iteration.
	Gap units.Duration
	// Uneven is what rank i of a group sends to rank j of it, as rows, of an AllToAll with sizes
	// of its own; nil: pieces of Bytes.
	Uneven [][]units.Size
}

// Source is a job of one collective that runs again and again.
type Source struct{ Config Config }

// New returns the job. Its error wraps graph.ErrInvalid.
func New(c Config) (graph.Source, error) {
	s := &Source{Config: c}
	refuse := func(format string, args ...any) (graph.Source, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{graph.ErrInvalid}, args...)...)
	}
	if c.Ranks == 0 {
		for _, g := range c.Groups {
			c.Ranks += len(g)
		}
		s.Config.Ranks = c.Ranks
	}
	if c.Ranks < 1 || c.Iterations < 1 || c.Warmup < 0 || c.Gap < 0 {
		return refuse("%d ranks, %d iterations after %d to warm up, gap %v: want a rank and an iteration at least, and nothing negative", c.Ranks, c.Iterations, c.Warmup, c.Gap)
	}
	if c.Groups == nil {
		all := make([]int, c.Ranks)
		for i := range all {
			all[i] = i
		}
		s.Config.Groups = [][]int{all}
	}
	if len(s.Config.Groups) == 0 {
		return refuse("no group runs the collective")
	}
	in := make([]bool, c.Ranks)
	for i, group := range s.Config.Groups {
		if len(group) != len(s.Config.Groups[0]) {
			return refuse("group %d has %d ranks, the first has %d", i, len(group), len(s.Config.Groups[0]))
		}
		if c.Uneven != nil && len(c.Uneven) != len(group) {
			return refuse("sizes of %d ranks for a group of %d", len(c.Uneven), len(group))
		}
		for _, rank := range group {
			if rank < 0 || rank >= c.Ranks || in[rank] {
				return refuse("group %d: rank %d is in another group, too, or not from 0 to %d", i, rank, c.Ranks-1)
			}
			in[rank] = true
		}
	}
	for _, row := range c.Uneven {
		if len(row) != len(c.Uneven) {
			return refuse("a row of %d sizes for %d ranks", len(row), len(c.Uneven))
		}
	}
	for me := range s.Config.Groups[0] {
		if c.Uneven == nil && me > 0 {
			break // the same for all
		}
		call := s.call(0, me)
		if err := call.Validate(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Ranks implements graph.Source.
func (s *Source) Ranks() int { return s.Config.Ranks }

// Steps implements graph.Source. An iteration is a step.
func (s *Source) Steps() int { return s.Config.Warmup + s.Config.Iterations }

// Labels implements graph.Source.
func (s *Source) Labels() *graph.Labels {
	c := &s.Config
	call := s.call(0, 0)
	what := graph.Collective{Name: c.Name, Kind: c.Call.Kind.String(), Algorithm: call.How(), Ranks: len(c.Groups[0]), Bytes: c.Call.Bytes}
	if what.Name == "" {
		what.Name = what.Kind
	}
	labels := &graph.Labels{Collectives: []graph.Collective{what}}
	if c.Warmup > 0 {
		what.Name = "warmup"
		labels.Collectives = append(labels.Collectives, what)
	}
	return labels
}

// Only implements graph.Source.
func (s *Source) Only([]int) graph.Source { return s }

// Program implements graph.Source.
func (s *Source) Program(rank int, _ uint64) graph.Program {
	for g, group := range s.Config.Groups {
		for me, member := range group {
			if member == rank {
				p := &program{source: s, group: g, me: me}
				return &graph.Pieces{Append: p.append}
			}
		}
	}
	return &graph.Pieces{Append: func(*graph.Builder) bool { return false }}
}

// call returns the call of a rank of a group.
func (s *Source) call(group, me int) Call {
	call := s.Config.Call
	call.Group, call.Me, call.Split, call.From = s.Config.Groups[group], me, nil, nil
	call.Fences = true
	if s.Config.Uneven != nil {
		call.Split, call.From = s.Config.Uneven[me], make([]units.Size, len(call.Group))
		for i := range call.From {
			call.From[i] = s.Config.Uneven[i][me]
		}
	}
	return call
}

// program is the iterations of a rank, of which one is expanded at a time.
type program struct {
	source    *Source
	group, me int
	step      int
}

// append appends the next iteration.
func (p *program) append(b *graph.Builder) bool {
	c := &p.source.Config
	var deps []uint32
	if p.step > 0 {
		deps = []uint32{b.Next() - 1} // the end of the iteration before
	}
	warm := p.step >= c.Warmup
	step := graph.Tag{Step: int32(p.step), Phase: graph.None, Collective: graph.None, Group: graph.None}
	if b.Tag = step; warm {
		deps = []uint32{b.Begin(deps...)}
	}
	if c.Gap > 0 {
		deps = []uint32{b.Compute(c.Gap, deps...)}
	}
	b.Tag.Group, b.Tag.Collective = int32(p.group), 0
	if !warm {
		b.Tag.Collective = 1
	}
	call := p.source.call(p.group, p.me)
	end, err := Append(b, &call, deps...)
	if err != nil {
		panic("collective: " + err.Error()) // New has validated the call
	}
	if b.Tag = step; warm {
		b.Add(graph.Op{Kind: graph.End, Fence: true}, end)
	}
	p.step++
	return p.step < p.source.Steps()
}
