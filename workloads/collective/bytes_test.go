package collective

import (
	"errors"
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// job returns a job that runs the call once in one group of n ranks, and its operations by rank.
func job(t testing.TB, call Call, n int) graph.Source {
	t.Helper()
	s, err := New(Config{Call: call, Ranks: n, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sent returns what a rank of a source sends, and the largest of its messages.
func sent(s graph.Source, rank int) (sum, largest units.Size) {
	var op graph.Op
	for p := s.Program(rank, 1); p.Next(&op); {
		if op.Kind == graph.Send {
			sum, largest = sum+op.Bytes, max(largest, op.Bytes)
		}
	}
	return sum, largest
}

// TestBytes compares what each rank sends with the published formulas, written here once more
// (docs/reference/references.md#collectives; S bytes of buffer, N ranks).
func TestBytes(t *testing.T) {
	type rule func(S units.Size, N, rank int) units.Size
	all := func(S units.Size, N, _ int) units.Size { return S }
	share := func(k units.Size) rule { // k (N-1)/N S
		return func(S units.Size, N, _ int) units.Size { return k * S / units.Size(N) * units.Size(N-1) }
	}
	butFor := func(out int) rule { // S, and nothing from one rank
		return func(S units.Size, N, rank int) units.Size {
			if rank == (out+N)%N {
				return 0
			}
			return S
		}
	}
	cases := []struct {
		kind      Kind
		algorithm Algorithm
		want      rule
	}{
		{AllReduce, Ring, share(2)},
		{AllReduce, HalvingDoubling, share(2)},
		{AllReduce, Direct, share(2)},
		{ReduceScatter, Ring, share(1)},
		{ReduceScatter, HalvingDoubling, share(1)},
		{ReduceScatter, Direct, share(1)},
		{AllGather, Ring, share(1)},
		{AllGather, HalvingDoubling, share(1)},
		{AllGather, Direct, share(1)},
		{AllToAll, Direct, share(1)},
		{Broadcast, Ring, butFor(-1)}, // the last of the chain that begins at rank 0
		{Reduce, Ring, butFor(0)},
		{Reduce, Binomial, butFor(0)},
		{SendRecv, Direct, all},
		{Gather, Direct, func(S units.Size, N, rank int) units.Size {
			if rank == 0 {
				return 0
			}
			return S / units.Size(N)
		}},
		{Scatter, Direct, func(S units.Size, N, rank int) units.Size {
			if rank == 0 {
				return S / units.Size(N) * units.Size(N-1)
			}
			return 0
		}},
		{Barrier, Dissemination, func(_ units.Size, N, _ int) units.Size {
			rounds := units.Size(0)
			for reach := 1; reach < N; reach *= 2 {
				rounds++
			}
			return rounds
		}},
	}
	const S = 3 << 16 // what 2, 3, 4, 8, 16 and 64 divide
	for _, c := range cases {
		for _, n := range []int{2, 3, 4, 8, 16, 64} {
			if c.algorithm == HalvingDoubling && n == 3 {
				continue
			}
			s := job(t, Call{Kind: c.kind, Algorithm: c.algorithm, Bytes: S}, n)
			if err := graph.Check(s, 1); err != nil {
				t.Errorf("%s %s of %d: %v", c.kind, c.algorithm, n, err)
			}
			for rank := range n {
				if got, _ := sent(s, rank); got != c.want(S, n, rank) {
					t.Errorf("%s %s of %d: rank %d sends %d B, want %d", c.kind, c.algorithm, n, rank, got, c.want(S, n, rank))
				}
			}
		}
	}
}

// TestVectors: 1 GiB in 2, 4, 8, 16, 64 and 256 ranks is 1, 1.5, 1.75, 1.875, 1.96875 and 1.9921875 GiB
// sent per rank; 8 x 4 ranks in a hierarchy send 1792 MiB within the server and 192 MiB across
// (docs/reference/references.md#collectives).
func TestVectors(t *testing.T) {
	const GiB, MiB = 1 << 30, 1 << 20
	for n, want := range map[int]float64{2: 1, 4: 1.5, 8: 1.75, 16: 1.875, 64: 1.96875, 256: 1.9921875} {
		if got, _ := sent(job(t, Call{Bytes: GiB, Chunk: 16 * MiB}, n), n-1); float64(got) != want*GiB {
			t.Errorf("a ring of %d sends %d B per rank, want %v GiB", n, got, want)
		}
	}
	s := job(t, Call{Algorithm: Hierarchical, Bytes: GiB, Local: 8}, 32)
	for rank := range 32 {
		var within, across units.Size
		var op graph.Op
		for p := s.Program(rank, 1); p.Next(&op); {
			switch {
			case op.Kind == graph.Send && int(op.Peer)/8 == rank/8:
				within += op.Bytes
			case op.Kind == graph.Send:
				across += op.Bytes
			}
		}
		if within != 1792*MiB || across != 192*MiB {
			t.Errorf("rank %d of 8x4 sends %d MiB within and %d MiB across, want 1792 and 192", rank, within/MiB, across/MiB)
		}
	}
}

// TestTreeBytes: in a double binary tree no rank sends more than 2 S, all together send 2 (N-1) S, and
// no rank has children in both trees but, of an odd number, rank 0 (NCCL src/graph/trees.cc).
func TestTreeBytes(t *testing.T) {
	const S = 3 << 16
	for _, n := range []int{2, 3, 4, 5, 8, 16, 64, 100} {
		s := job(t, Call{Algorithm: Tree, Bytes: S, Chunk: 5000}, n)
		if err := graph.Check(s, 1); err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
		all := units.Size(0)
		for rank := range n {
			got, _ := sent(s, rank)
			all += got
			if got > 2*S {
				t.Errorf("rank %d of %d sends %d B, want at most %d", rank, n, got, 2*S)
			}
			if at := inTrees(rank, n); (n%2 == 0 || rank > 0) && n > 2 && len(at[0].children) > 0 && len(at[1].children) > 0 {
				t.Errorf("rank %d of %d has children in both trees: %v", rank, n, at)
			}
		}
		if want := units.Size(2*(n-1)) * S; all != want {
			t.Errorf("%d ranks send %d B, want %d", n, all, want)
		}
	}
	// The tree of 14 as NCCL's source draws it.
	want := map[int][]int{0: {8}, 8: {4, 12}, 4: {2, 6}, 12: {10, 13}, 2: {1, 3}, 6: {5, 7}, 10: {9, 11}}
	for i := range 14 {
		if got := inTree(i, 14); fmt.Sprint(got.children) != fmt.Sprint(want[i]) {
			t.Errorf("children of %d: %v, want %v", i, got.children, want[i])
		}
	}
}

// TestRemainders: pieces differ by one byte if the number of ranks does not divide the buffer, as do
// channels. Ranks send what Sent says, and every piece arrives: a rank receives as much as the
// formula says of the pieces that it does not have.
func TestRemainders(t *testing.T) {
	for kind := range Kind(len(has)) {
		for _, algorithm := range has[kind] {
			for _, n := range []int{1, 2, 3, 6, 8, 16} {
				for _, bytes := range []units.Size{1, 5, 4001} {
					for _, channels := range []int{0, 3} {
						for _, chunk := range []units.Size{0, 97, 1 << 40} {
							call := Call{Kind: kind, Algorithm: algorithm, Bytes: bytes, Channel: 7, Channels: channels, Chunk: chunk, Root: n / 2, Local: max(1, n/2)}
							if algorithm == HalvingDoubling && n&(n-1) != 0 || chunk == 97 && bytes < 1000 {
								continue
							}
							remainder(t, call, n)
						}
					}
				}
			}
		}
	}
}

func remainder(t *testing.T, call Call, n int) {
	t.Helper()
	s := job(t, call, n)
	name := fmt.Sprintf("%s %s of %d, %d B, %d channels, chunk %d", call.Kind, call.Algorithm, n, call.Bytes, call.Channels, call.Chunk)
	if err := errors.Join(graph.Check(s, 1), graph.CheckFences(s, 1)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for rank := range n {
		c := call
		c.Group, c.Me = s.(*Source).Config.Groups[0], rank
		got, largest := sent(s, rank)
		if want := Sent(&c); got != want {
			t.Fatalf("%s: rank %d sends %d B, Sent says %d", name, rank, got, want)
		}
		if call.Chunk > 0 && largest > call.Chunk {
			t.Fatalf("%s: a message of %d B", name, largest)
		}
		var op graph.Op
		totals, streams := map[[2]int]units.Size{}, map[uint16]bool{}
		for p := s.Program(rank, 1); p.Next(&op); {
			if op.Kind == graph.Send {
				totals[[2]int{int(op.Peer), int(op.Channel)}] += op.Bytes
			}
		}
		for p := s.Program(rank, 1); p.Next(&op); {
			if op.Kind == graph.Send {
				streams[op.Channel] = true
				if want := totals[[2]int{int(op.Peer), int(op.Channel)}]; op.Total != want {
					t.Fatalf("%s: rank %d: total %d B on the stream to %d, want %d", name, rank, op.Total, op.Peer, want)
				}
				if op.Channel < 7 || int(op.Channel) >= 7+c.Streams() {
					t.Fatalf("%s: stream %d, want %d from 7 on", name, op.Channel, c.Streams())
				}
			}
		}
	}
}

// TestUneven: of an uneven all-to-all rank i sends row i, and nothing where it is 0.
func TestUneven(t *testing.T) {
	sizes := [][]units.Size{{9, 1000, 0}, {5, 9, 0}, {70, 8, 9}}
	s, err := New(Config{Call: Call{Kind: AllToAll}, Uneven: sizes, Groups: [][]int{{2, 0, 1}}, Iterations: 2, Warmup: 1, Gap: units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	for i, rank := range []int{2, 0, 1} {
		got, _ := sent(s, rank)
		row, want := sizes[i], units.Size(0)
		for j, bytes := range row {
			if j != i {
				want += 3 * bytes
			}
		}
		if got != want {
			t.Errorf("rank %d sends %d B in three iterations, want %d", rank, got, want)
		}
	}
}

// TestRefused: calls that cannot be expanded are refused, in words that say why.
func TestRefused(t *testing.T) {
	good := Call{Bytes: 1000, Group: []int{0, 1, 2, 3, 4, 5}}
	cases := map[string]func(c *Call){
		"the number of ranks is not a power of two":       func(c *Call) { c.Algorithm = HalvingDoubling },
		"there is no such algorithm of it":                func(c *Call) { c.Kind, c.Algorithm = AllToAll, Ring },
		"inner groups of 4 ranks do not divide the group": func(c *Call) { c.Algorithm, c.Local = Hierarchical, 4 },
		"0 bytes, want 1 or more":                         func(c *Call) { c.Bytes = 0 },
		"root 6, want an index of the group, 0 to 5":      func(c *Call) { c.Kind, c.Root = Broadcast, 6 },
		"own index -1":                                  func(c *Call) { c.Me = -1 },
		"messages of a rank":                            func(c *Call) { c.Bytes, c.Chunk = 1<<62, 1 },
		"want at most 65536 streams":                    func(c *Call) { c.Channel, c.Channels = 65535, 2 },
		"rank 4 has none of the 4 places":               func(c *Call) { c.Servers.Places = make([]Place, 4) },
		"uneven sizes are those of a direct all_to_all": func(c *Call) { c.Split, c.From = make([]units.Size, 6), make([]units.Size, 6) },
		"a size to or from index 3 is negative":         func(c *Call) { c.Kind, c.Split, c.From = AllToAll, make([]units.Size, 6), []units.Size{3: -1, 5: 0} },
		"chunk of -1 bytes":                             func(c *Call) { c.Chunk = -1 },
		"the group is empty":                            func(c *Call) { c.Group = nil },
		"unknown kind":                                  func(c *Call) { c.Kind = 99 },
	}
	for want, change := range cases {
		c := good
		change(&c)
		var b graph.Builder
		_, err := Append(&b, &c)
		if !errors.Is(err, graph.ErrInvalid) || !contains(err, want) || len(b.Ops) > 0 {
			t.Errorf("%v after %d operations, want an invalid graph: %s", err, len(b.Ops), want)
		}
	}
	for want, c := range map[string]Config{
		"0 ranks":                              {Call: good, Iterations: 1},
		"0 iterations":                         {Call: good, Ranks: 2},
		"rank 1 is in another group":           {Call: good, Groups: [][]int{{0, 1}, {1, 2}}, Iterations: 1},
		"group 1 has 1 ranks, the first has 2": {Call: good, Groups: [][]int{{0, 1}, {2}}, Iterations: 1},
		"a row of 1 sizes for 2 ranks":         {Call: Call{Kind: AllToAll}, Ranks: 2, Iterations: 1, Uneven: [][]units.Size{{1, 2}, {3}}},
		"not a power of two":                   {Call: Call{Algorithm: HalvingDoubling, Bytes: 1}, Ranks: 3, Iterations: 1},
	} {
		if _, err := New(c); !errors.Is(err, graph.ErrInvalid) || !contains(err, want) {
			t.Errorf("%v, want an invalid graph: %s", err, want)
		}
	}
}
