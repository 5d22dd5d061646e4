package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/heap"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
)

// Entry is a node of a rank's trace as a reader finds it.
type Entry struct {
	ID   uint64
	Name string
	// Pos is the place of the node in its file, of which only the reader knows the meaning.
	Pos      int64
	Kind     Kind
	Unit     uint8 // of Compute: which of the rank's processors
	Deps     []uint64
	Duration units.Duration // of Compute
	Peer     int            // rank; of Send and Recv
	Tag      int64          // of Send and Recv: messages of one tag match in their order
	Bytes    units.Size     // of Send and Recv
	Call     *Part          // of Collective
}

// Part is a rank's part of a collective.
type Part struct {
	Kind  collective.Kind
	Group int        // from Assembler.Group
	Bytes units.Size // see collective.Call
	Root  int        // index in the group
	// Split is what the rank sends to each rank of the group, by index, in an all-to-all with
	// sizes of its own; From what it expects of each, or nil.
	Split, From []units.Size
}

// meeting is a node that needs other ranks, in a rank's order.
type meeting struct {
	entry Entry // without dependencies
	node  int32
}

// MaxBytes and MaxDuration bound a message and the compute of a node: 64 TiB and about a day.
const (
	MaxBytes    units.Size     = 1 << 46
	MaxDuration units.Duration = 86_400 * units.Second
)

const shown = 5 // nodes of a cycle that an error names

// Rank gives the assembler the trace of a rank. It does not keep entries. The error says
// which nodes depend on each other in a circle, or which ids are there twice.
func (a *Assembler) Rank(rank int, entries []Entry) error {
	if rank < 0 || rank >= maxRanks {
		return fmt.Errorf("rank %d, want 0 to %d", rank, maxRanks-1)
	}
	for len(a.ranks) <= rank {
		a.ranks = append(a.ranks, rankTrace{})
	}
	t := &a.ranks[rank]
	if t.given {
		return fmt.Errorf("there are two traces of rank %d", rank)
	}
	t.given = true
	if a.nodes += len(entries); a.nodes > a.o.Limits.Nodes {
		return fmt.Errorf("%s: the traces have %s", a.o.At(rank, entries[len(entries)-1].Pos), a.o.Limits.TooManyNodes())
	}
	s := sorter{a: a, rank: rank, entries: entries}
	for i := range entries {
		if err := s.check(&entries[i]); err != nil {
			return err
		}
	}
	if err := s.resolve(); err != nil {
		return err
	}
	order, err := s.order()
	if err != nil {
		return err
	}
	s.write(t, order)
	return nil
}

// rankTrace is what an Assembler has of a rank.
type rankTrace struct {
	given    bool
	nodes    []Node
	meetings []meeting
}

// sorter brings the nodes of a rank into an order.
type sorter struct {
	a       *Assembler
	rank    int
	entries []Entry
	// What entry i depends on is deps[first[i]:first[i+1]].
	deps  []int32
	first []int32
}

// after returns what an entry depends on.
func (s *sorter) after(i int32) []int32 { return s.deps[s.first[i]:s.first[i+1]] }

func (s *sorter) errorf(e *Entry, format string, args ...any) error {
	return fmt.Errorf("%s: node %s: "+format, append([]any{s.a.o.At(s.rank, e.Pos), title(e)}, args...)...)
}

// check reports what an entry cannot be.
func (s *sorter) check(e *Entry) error {
	switch {
	case e.Kind == Compute && (e.Duration < 0 || e.Duration > MaxDuration):
		return s.errorf(e, "it takes %d ps, want 0 to %d", int64(e.Duration), int64(MaxDuration))
	case (e.Kind == Send || e.Kind == Recv) && (e.Bytes < 1 || e.Bytes > MaxBytes):
		return s.errorf(e, "a message of %d B, want 1 to %d", int64(e.Bytes), int64(MaxBytes))
	case e.Kind == Collective && (e.Call.Group < 0 || e.Call.Group >= len(s.a.groups)):
		return s.errorf(e, "there is no group %d", e.Call.Group)
	case e.Kind == Collective:
		for _, sizes := range [][]units.Size{e.Call.Split, e.Call.From} {
			for _, size := range sizes {
				if size < 0 || size > MaxBytes {
					return s.errorf(e, "a message of %d B, want 0 to %d", int64(size), int64(MaxBytes))
				}
			}
		}
	}
	return nil
}

// title returns the id of a node and its name, cut to what an error can show.
func title(e *Entry) string {
	const most = 60
	name := strings.ToValidUTF8(e.Name, "?")
	if name == "" {
		return fmt.Sprint(e.ID)
	}
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%d %q", e.ID, name)
}

// resolve finds the nodes that the dependencies mean. Those on nodes that are not in the trace
// are lost.
func (s *sorter) resolve() error {
	byID := make(map[uint64]int32, len(s.entries))
	for i := range s.entries {
		e := &s.entries[i]
		if first, ok := byID[e.ID]; ok {
			return s.errorf(e, "there is another node %d, at %s", e.ID, s.a.o.At(s.rank, s.entries[first].Pos))
		}
		byID[e.ID] = int32(i)
	}
	total := 0
	for i := range s.entries {
		if total += len(s.entries[i].Deps); s.a.deps+total > s.a.o.Limits.Deps {
			return s.errorf(&s.entries[i], "the traces have more than %d dependencies%s", s.a.o.Limits.Deps, s.a.o.Limits.Hint)
		}
	}
	s.a.deps += total
	all := make([]int32, 0, total)
	s.first = make([]int32, len(s.entries)+1)
	for i := range s.entries {
		e := &s.entries[i]
		from := len(all)
		for _, id := range e.Deps {
			d, ok := byID[id]
			if !ok {
				s.a.Loss.Add("dependencies on nodes that the trace does not have", s.a.o.At(s.rank, e.Pos))
				continue
			}
			if int(d) == i {
				return s.errorf(e, "it depends on itself")
			}
			all = append(all, d)
		}
		slices.Sort(all[from:])
		all = all[:from+len(slices.Compact(all[from:]))]
		s.first[i+1] = int32(len(all))
	}
	s.deps = all
	return nil
}

// order returns the entries in topological order, and of those that could be next the one
// with the smallest id.
func (s *sorter) order() ([]int32, error) {
	waits := make([]int32, len(s.entries)) // for how many
	first := make([]int32, len(s.entries)+1)
	for i := range waits {
		waits[i] = int32(len(s.after(int32(i))))
	}
	for _, d := range s.deps {
		first[d+1]++
	}
	for i := range s.entries {
		first[i+1] += first[i]
	}
	behind := make([]int32, first[len(s.entries)]) // by entry: what depends on it
	fill := slices.Clone(first[:len(s.entries)])
	for i := range waits {
		for _, d := range s.after(int32(i)) {
			behind[fill[d]] = int32(i)
			fill[d]++
		}
	}
	var ready []int32
	before := func(i, j int32) bool { return s.entries[i].ID < s.entries[j].ID }
	for i := range waits {
		if waits[i] == 0 {
			ready = heap.Push(ready, int32(i), before)
		}
	}
	order := make([]int32, 0, len(s.entries))
	for len(ready) > 0 {
		var i int32
		i, ready = heap.Pop(ready, before)
		order = append(order, i)
		for _, b := range behind[first[i]:first[i+1]] {
			if waits[b]--; waits[b] == 0 {
				ready = heap.Push(ready, b, before)
			}
		}
	}
	if len(order) < len(s.entries) {
		return nil, s.circle(waits)
	}
	return order, nil
}

// circle names nodes that depend on each other. waits is above 0 for those that cannot begin.
func (s *sorter) circle(waits []int32) error {
	at := int32(slices.IndexFunc(waits, func(n int32) bool { return n > 0 }))
	seen := map[int32]int{}
	var path []int32
	for {
		if from, ok := seen[at]; ok {
			path = path[from:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		for _, d := range s.after(at) {
			if waits[d] > 0 {
				at = d
				break
			}
		}
	}
	var names []string
	for i, n := range path {
		if i == shown && len(path) > shown+1 {
			names = append(names, fmt.Sprintf("%d more", len(path)-shown))
			break
		}
		names = append(names, title(&s.entries[n]))
	}
	e := &s.entries[path[0]]
	return s.errorf(e, "nodes depend on each other in a circle: %s depends on %s", names[0], strings.Join(append(names[1:], names[0]), ", which depends on "))
}

// none stands for a node that is left out and depends on nothing.
const none = -1

// write makes the nodes of a rank. It leaves out those that do nothing and join nothing.
func (s *sorter) write(t *rankTrace, order []int32) {
	is := make([]int32, len(s.entries)) // what stands for the entry: a node, or none
	meetings := 0
	for i := range s.entries {
		if s.entries[i].Kind >= Send {
			meetings++
		}
	}
	t.nodes = make([]Node, 0, len(order))
	t.meetings = make([]meeting, 0, meetings)
	deps := make([]uint32, 0, len(s.deps)+meetings) // never grows: nodes have parts of it
	last := map[int]int32{}                         // by group: the node of its last collective
	for _, i := range order {
		e := &s.entries[i]
		from := len(deps)
		for _, d := range s.after(i) {
			if n := is[d]; n != none {
				deps = append(deps, uint32(n))
			}
		}
		if e.Kind == Collective {
			// The collectives of a group follow each other, as those of a communicator of NCCL.
			if before, ok := last[e.Call.Group]; ok {
				deps = append(deps, uint32(before))
			}
		}
		slices.Sort(deps[from:])
		deps = deps[:from+len(slices.Compact(deps[from:]))]
		own := deps[from:len(deps):len(deps)]
		nothing := e.Kind == Join || e.Kind == Compute && e.Duration == 0
		if nothing && len(own) < 2 {
			if is[i] = none; len(own) == 1 {
				is[i] = int32(own[0])
			}
			deps = deps[:from]
			continue
		}
		n := Node{Kind: e.Kind, Unit: e.Unit, Peer: int32(e.Peer), Bytes: e.Bytes, Duration: e.Duration, Deps: own}
		if nothing {
			n.Kind = Join
		}
		is[i] = int32(len(t.nodes))
		if e.Kind >= Send {
			if e.Kind == Collective {
				last[e.Call.Group] = is[i]
			}
			t.meetings = append(t.meetings, meeting{*e, is[i]})
			t.meetings[len(t.meetings)-1].entry.Deps = nil
		}
		t.nodes = append(t.nodes, n)
	}
	mark(t.nodes)
}

// mark finds the nodes on which all behind them depend, and those on which none depends.
func mark(nodes []Node) {
	// A node is a fence if each node behind it depends on it or on one between the two. So
	// the latest dependency of each node behind it must not be before it.
	least := uint32(len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		nodes[i].Last = true
		nodes[i].Fence = least >= uint32(i)
		if d := nodes[i].Deps; len(d) > 0 {
			least = min(least, d[len(d)-1])
		} else {
			least = 0
			if i > 0 {
				// It depends on nothing: no node before it is a fence.
				for j := range nodes[:i] {
					nodes[j].Fence, nodes[j].Last = false, true
				}
				break
			}
		}
	}
	for i := range nodes {
		for _, d := range nodes[i].Deps {
			nodes[d].Last = false
		}
	}
}
