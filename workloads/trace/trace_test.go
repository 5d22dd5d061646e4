package trace

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// at names places as rank:position.
func at(rank int, pos int64) string { return fmt.Sprintf("f.%d:%d", rank, pos) }

// assemble makes a source of ranks of entries.
func assemble(o Options, ranks ...[]Entry) (*Source, *graph.Loss, error) {
	o.At = at
	a := NewAssembler(o)
	for r, entries := range ranks {
		if err := a.Rank(r, entries); err != nil {
			return nil, &a.Loss, err
		}
	}
	s, err := a.Finish()
	return s, &a.Loss, err
}

// ids returns the ids of the entries behind nodes, which have their id as duration.
func ids(nodes []Node) (ids []int) {
	for i := range nodes {
		ids = append(ids, int(nodes[i].Duration))
	}
	return ids
}

func compute(id uint64, deps ...uint64) Entry {
	return Entry{ID: id, Pos: int64(id), Kind: Compute, Duration: units.Duration(id), Deps: deps}
}

// TestOrder: dependencies may point forward in the file, and of what could be next the
// smallest id is.
func TestOrder(t *testing.T) {
	s, loss, err := assemble(Options{}, []Entry{compute(9), compute(3, 7), compute(7), compute(5, 3, 9), compute(1, 5, 77)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ids(s.Nodes[0]), []int{7, 3, 9, 5, 1}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	if got, want := loss.String(), "1 dependencies on nodes that the trace does not have, the first at f.0:1"; got != want {
		t.Errorf("loss %q, want %q", got, want)
	}
}

// TestJoinsAreLeftOut: nodes without work hand their dependencies on.
func TestJoinsAreLeftOut(t *testing.T) {
	join := func(id uint64, deps ...uint64) Entry { return Entry{ID: id, Deps: deps} }
	s, _, err := assemble(Options{}, []Entry{join(100), compute(1, 100), join(101, 1), compute(2, 100), join(102, 101, 2), compute(3, 102)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Node{
		{Kind: Compute, Duration: 1},
		{Kind: Compute, Duration: 2, Fence: true},
		{Kind: Join, Deps: []uint32{0, 1}, Fence: true},
		{Kind: Compute, Duration: 3, Deps: []uint32{2}, Fence: true, Last: true},
	}
	equal := cmp.Comparer(func(x, y []uint32) bool { return slices.Equal(x, y) })
	if diff := cmp.Diff(want, s.Nodes[0], equal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFences compares the marks with what depends on what, found the slow way, in random
// programs.
func TestFences(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 1))
	fences := 0
	for round := range 300 {
		n := 1 + random.IntN(9)
		entries := make([]Entry, n)
		for i := range entries {
			entries[i] = compute(uint64(i + 1))
			for d := range i {
				if random.IntN(5) < 1+round%4 {
					entries[i].Deps = append(entries[i].Deps, uint64(d+1))
				}
			}
		}
		s, _, err := assemble(Options{Steps: 2}, entries)
		if err != nil {
			t.Fatal(err)
		}
		nodes := s.Nodes[0]
		reach := make([][]bool, n)
		for i := range nodes {
			reach[i] = make([]bool, n)
			for _, d := range nodes[i].Deps {
				reach[i][d] = true
				for j := range n {
					reach[i][j] = reach[i][j] || reach[d][j]
				}
			}
		}
		for i := range nodes {
			fence, last := true, true
			for j := i + 1; j < n; j++ {
				fence = fence && reach[j][i]
				last = last && !slices.Contains(nodes[j].Deps, uint32(i))
			}
			if nodes[i].Fence != fence || nodes[i].Last != last {
				t.Fatalf("seed %d, round %d: node %d of %v: fence %v, last %v, want %v, %v", seed, round, i, nodes, nodes[i].Fence, nodes[i].Last, fence, last)
			}
			if fence && i < n-1 {
				fences++
			}
		}
		if err := graph.Check(s, 0); err != nil {
			t.Fatal(err)
		}
	}
	if fences == 0 {
		t.Error("no program had a fence")
	}
}

func part(kind collective.Kind, group int, bytes units.Size) *Part {
	return &Part{Kind: kind, Group: group, Bytes: bytes}
}

func coll(id uint64, p *Part, deps ...uint64) Entry {
	return Entry{ID: id, Name: fmt.Sprintf("c%d", id), Pos: int64(id), Kind: Collective, Call: p, Deps: deps}
}

func send(id uint64, to int, tag int64, bytes units.Size, deps ...uint64) Entry {
	return Entry{ID: id, Pos: int64(id), Kind: Send, Peer: to, Tag: tag, Bytes: bytes, Deps: deps}
}

func recv(id uint64, from int, tag int64, bytes units.Size, deps ...uint64) Entry {
	return Entry{ID: id, Pos: int64(id), Kind: Recv, Peer: from, Tag: tag, Bytes: bytes, Deps: deps}
}

func TestRefused(t *testing.T) {
	ring := part(collective.AllReduce, All, 100)
	for _, c := range []struct {
		name  string
		ranks [][]Entry
		want  string
	}{
		{"circle", [][]Entry{{compute(1, 3), compute(2, 1), compute(3, 2), compute(4)}}, `f.0:1: node 1: nodes depend on each other in a circle: 1 depends on 3, which depends on 2, which depends on 1`},
		{"itself", [][]Entry{{compute(1, 1)}}, "f.0:1: node 1: it depends on itself"},
		{"twice", [][]Entry{{compute(1), compute(1)}}, "f.0:1: node 1: there is another node 1, at f.0:1"},
		{"no rank", nil, "there is no trace of any rank"},
		{"negative duration", [][]Entry{{{ID: 4, Pos: 8, Kind: Compute, Duration: -1}}}, "f.0:8: node 4: it takes -1 ps"},
		{"no bytes", [][]Entry{{send(1, 1, 0, 0)}, {}}, "f.0:1: node 1: a message of 0 B, want 1 to"},
		{"too many bytes", [][]Entry{{send(1, 1, 0, MaxBytes+1)}, {}}, "f.0:1: node 1: a message of"},
		{"peer", [][]Entry{{send(1, 7, 0, 1)}, {}}, "f.0:1: node 1: rank 0 meets rank 7, want another one from 0 to 1"},
		{"to itself", [][]Entry{{send(1, 0, 0, 1)}, {}}, "f.0:1: node 1: rank 0 meets rank 0"},
		{"send without receive", [][]Entry{{send(1, 1, 5, 8), send(2, 1, 5, 8)}, {recv(1, 0, 5, 8)}}, "f.0:2: node 2: rank 1 receives no such message: 8 B from rank 0 to rank 1 with tag 5; the trace has 2 sends and 1 receives"},
		{"receive without send", [][]Entry{{}, {recv(3, 0, 5, 8)}}, "f.1:3: node 3: rank 0 sends no such message"},
		{"another size", [][]Entry{{send(1, 1, 5, 8)}, {recv(3, 0, 5, 9)}}, "f.0:1: node 1: rank 1 receives no such message"},
		{"collective missing", [][]Entry{{coll(1, ring), coll(2, ring)}, {coll(1, ring)}}, `rank 1 has no counterpart of node 2 "c2", all_reduce of 100 B in group "all ranks", which rank 0 has at f.0:2: it has 1 collectives in the group, others have 2`},
		{"another collective", [][]Entry{{coll(1, ring)}, {coll(6, part(collective.AllGather, All, 100))}}, `f.1:6: node 6 "c6": rank 1 runs all_gather of 100 B as number 0 in group "all ranks", where rank 0 runs all_reduce of 100 B (node 1 "c1" at f.0:1)`},
		{"another buffer", [][]Entry{{coll(1, ring)}, {coll(6, part(collective.AllReduce, All, 101))}}, `f.1:6: node 6 "c6": rank 1 runs all_reduce of 101 B`},
		{"no such group", [][]Entry{{coll(1, part(collective.AllReduce, 3, 100))}}, "f.0:1: node 1 \"c1\": there is no group 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := assemble(Options{}, c.ranks...)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if _, _, err := assemble(Options{Limits: Limits{Nodes: 2}}, []Entry{compute(1), compute(2)}, []Entry{compute(1)}); err == nil || !strings.Contains(err.Error(), "f.1:1: the traces have more than 2 nodes") {
		t.Errorf("more nodes than allowed: %v", err)
	}
	if _, _, err := assemble(Options{Choices: collective.Choices{Algorithms: collective.Everywhere(collective.HalvingDoubling)}}, []Entry{coll(1, ring)}, []Entry{coll(1, ring)}, []Entry{coll(1, ring)}); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), `f.0:1: node 1 "c1"`) {
		t.Errorf("halving-doubling of three ranks: %v", err)
	}
}

// TestGroups: groups with a rank in common have different channels, others the same ones; alike
// collectives of several groups are one with several instances.
func TestGroups(t *testing.T) {
	a := NewAssembler(Options{At: at})
	group := func(ranks ...int) int {
		g, err := a.Group(fmt.Sprint(ranks), ranks)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	rows := []int{group(0, 1), group(2, 3)}
	columns := []int{group(0, 2), group(1, 3)}
	for r := range 4 {
		err := a.Rank(r, []Entry{
			coll(1, part(collective.AllReduce, rows[r/2], 64)), coll(2, part(collective.AllReduce, columns[r%2], 64), 1),
			coll(3, part(collective.AllReduce, rows[r/2], 64), 2), send(5, (r+1)%4, 1, 7), recv(6, (r+3)%4, 1, 7),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Error(err)
	}
	type tag struct{ label, instance int32 }
	var got []tag
	var channels []uint16
	for r := range 4 {
		for _, n := range s.Nodes[r] {
			if n.Kind == Collective {
				got = append(got, tag{s.Calls[n.Call].Label, s.Calls[n.Call].Instance})
				channels = append(channels, s.Calls[n.Call].Call.Channel)
			} else if n.Channel < 2 {
				t.Errorf("rank %d: a message on channel %d, which a collective of the rank has", r, n.Channel)
			}
		}
	}
	want := []tag{{0, 0}, {0, 2}, {1, 0}, {0, 0}, {0, 3}, {1, 0}, {0, 1}, {0, 2}, {1, 1}, {0, 1}, {0, 3}, {1, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("labels and instances %v, want %v", got, want)
	}
	if want := []uint16{0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0}; !slices.Equal(channels, want) {
		t.Errorf("channels %v, want %v", channels, want)
	}
	names := []graph.Collective{
		{Name: "all_reduce 0", Kind: "all_reduce", Algorithm: "ring", Ranks: 2, Bytes: 64},
		{Name: "all_reduce 1", Kind: "all_reduce", Algorithm: "ring", Ranks: 2, Bytes: 64},
	}
	if diff := cmp.Diff(names, s.Labels().Collectives); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestOneAfterTheOther: collectives of one group follow each other, even without a dependency.
func TestOneAfterTheOther(t *testing.T) {
	two := []Entry{coll(1, part(collective.AllReduce, All, 64)), coll(2, part(collective.AllReduce, All, 64))}
	s, _, err := assemble(Options{}, two, two)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Nodes[1][1].Deps; !slices.Equal(got, []uint32{0}) {
		t.Errorf("the second depends on %v, want the first", got)
	}
}

// TestMatchBySize: messages of one tag whose sizes come in another order match by size.
func TestMatchBySize(t *testing.T) {
	s, _, err := assemble(Options{},
		[]Entry{send(1, 1, 0, 10), send(2, 1, 0, 20, 1), send(3, 1, 0, 10, 2), send(4, 1, 1, 5)},
		[]Entry{recv(1, 0, 0, 20), recv(2, 0, 0, 10, 1), recv(3, 0, 0, 10, 2), recv(4, 0, 1, 5)})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Error(err)
	}
}

func TestUneven(t *testing.T) {
	split := func(sizes ...units.Size) *Part { return &Part{Kind: collective.AllToAll, Split: sizes} }
	expects := split(4, 5, 6)
	expects.From = []units.Size{1, 5, 9}
	s, loss, err := assemble(Options{}, []Entry{coll(1, split(1, 2, 3))}, []Entry{coll(1, expects)}, []Entry{coll(1, split(0, 8, 0))})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Error(err)
	}
	sent := map[[2]int32]units.Size{}
	for r := range 3 {
		each(s, r, func(op *graph.Op) {
			if op.Kind == graph.Send {
				sent[[2]int32{int32(r), op.Peer}] += op.Bytes
			}
		})
	}
	want := map[[2]int32]units.Size{{0, 1}: 2, {0, 2}: 3, {1, 0}: 4, {1, 2}: 6, {2, 1}: 8}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("bytes (-want +got):\n%s", diff)
	}
	if got := loss.Items(); len(got) != 1 || got[0].Count != 2 { // 1 instead of 2, 9 instead of 8
		t.Errorf("loss %v", got)
	}
}

// each calls do for each operation of a rank.
func each(s graph.Source, rank int, do func(op *graph.Op)) {
	var op graph.Op
	for p := s.Program(rank, 0); p.Next(&op); {
		do(&op)
	}
}

// TestReplicate: the trace of one rank stands for others, each in groups of its own.
func TestReplicate(t *testing.T) {
	a := NewAssembler(Options{Ranks: 8, Replicate: true, At: at})
	near, err := a.Group("near", []int{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	far, err := a.Group("far", []int{0, 2, 4, 6})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Rank(2, []Entry{compute(5), coll(6, part(collective.AllReduce, near, 64), 5), coll(7, part(collective.AllReduce, far, 64), 6), coll(8, part(collective.AllReduce, All, 64), 7)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Error(err)
	}
	var got [][]int
	for _, n := range s.Nodes[5][1:] {
		got = append(got, s.Groups[s.Calls[n.Call].Group])
	}
	if want := [][]int{{4, 5}, {1, 3, 5, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}; !cmp.Equal(got, want) {
		t.Errorf("groups of rank 5: %v, want %v", got, want)
	}
	if got := a.Loss.Items(); len(got) != 1 || got[0].Count != 7 {
		t.Errorf("loss %v, want 7 ranks", got)
	}

	for _, c := range []struct {
		group []int
		entry func(g int) Entry
		want  string
	}{
		{[]int{1, 2}, func(g int) Entry { return coll(1, part(collective.AllReduce, g, 64)) }, "does not divide 8 ranks evenly"},
		{[]int{2, 4, 7}, func(g int) Entry { return coll(1, part(collective.AllReduce, g, 64)) }, "does not divide 8 ranks evenly"},
		{[]int{2, 3}, func(int) Entry { return send(1, 3, 0, 1) }, "cannot stand for other ranks"},
	} {
		a := NewAssembler(Options{Ranks: 8, Replicate: true, At: at})
		g, err := a.Group("g", c.group)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Rank(2, []Entry{c.entry(g)}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Finish(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("group %v: got %v, want %s", c.group, err, c.want)
		}
	}
	if _, _, err := assemble(Options{Ranks: 3}, []Entry{compute(1)}); err == nil || !strings.Contains(err.Error(), "no trace of rank 1") {
		t.Errorf("a missing rank: %v", err)
	}
}

// TestSteps plays a trace twice: the second time begins when the rank's first has ended.
func TestSteps(t *testing.T) {
	s, _, err := assemble(Options{Steps: 2}, []Entry{compute(1), compute(2), coll(3, part(collective.AllReduce, All, 10), 1)}, []Entry{coll(1, part(collective.AllReduce, All, 10))})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Fatal(err)
	}
	var steps []string
	each(s, 0, func(op *graph.Op) {
		text := fmt.Sprintf("%s %d", op.Kind, op.Tag.Step)
		if op.Tag.Collective != graph.None {
			text += " c"
		}
		steps = append(steps, fmt.Sprint(text, " ", op.Deps))
	})
	want := []string{
		"begin 0 []", "compute 0 [0]", "compute 0 [0]", "begin 0 c [1]", "send 0 c [3]", "recv 0 c [3]", "send 0 c [5]", "recv 0 c [5]", "end 0 c [7 6]", "end 0 [0 2 8]",
		"begin 1 [9]", "compute 1 [10]", "compute 1 [10]", "begin 1 c [11]", "send 1 c [13]", "recv 1 c [13]", "send 1 c [15]", "recv 1 c [15]", "end 1 c [17 16]", "end 1 [10 12 18]",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnly: a part of the source goes to the process of a node, with the same programs.
func TestOnly(t *testing.T) {
	s, _, err := assemble(Options{}, []Entry{compute(1), coll(3, part(collective.AllReduce, All, 10), 1)}, []Entry{coll(1, part(collective.AllReduce, All, 10))})
	if err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(s.Only([]int{0})); err != nil {
		t.Fatal(err)
	}
	var part Source
	if err := gob.NewDecoder(&wire).Decode(&part); err != nil {
		t.Fatal(err)
	}
	text := func(s graph.Source, rank int) (ops string) {
		each(s, rank, func(op *graph.Op) { ops += fmt.Sprintf("%+v\n", *op) })
		return ops
	}
	if got, want := text(&part, 0), text(s, 0); got != want || got == "" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(part.Nodes[1]) > 0 {
		t.Error("the part has nodes of a rank that was left out")
	}
}
