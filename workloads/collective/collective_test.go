package collective

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// TestNames: every kind and algorithm has a name that is parsed to it.
func TestNames(t *testing.T) {
	for i, name := range Kind(0).Names() {
		if k, err := ParseKind(name); err != nil || k != Kind(i) || k.String() != name {
			t.Errorf("%q is %v, %v", name, k, err)
		}
	}
	for i, name := range Algorithm(0).Names() {
		if a, err := ParseAlgorithm(name); err != nil || a != Algorithm(i) || a.String() != name {
			t.Errorf("%q is %v, %v", name, a, err)
		}
	}
	if _, err := ParseKind("allreduce"); !contains(err, `collective "allreduce": want one of all_reduce, reduce_scatter`) {
		t.Error(err)
	}
	if _, err := ParseAlgorithm(""); !contains(err, `algorithm "": want one of auto, ring`) {
		t.Error(err)
	}
}

// TestBusFactor: the factors of nccl-tests (its page on performance). 1 GiB reduced by a ring of 8 at
// 50 Gb/s takes 0.30065 s, which is a bus bandwidth of 50 Gb/s.
func TestBusFactor(t *testing.T) {
	for kind, want := range map[Kind]float64{AllReduce: 1.75, ReduceScatter: 0.875, AllGather: 0.875, AllToAll: 0.875, Gather: 0.875, Scatter: 0.875, Broadcast: 1, Reduce: 1, SendRecv: 1, Barrier: 0} {
		if got := BusFactor(kind, 8); got != want {
			t.Errorf("factor of %v for 8 ranks: %v, want %v", kind, got, want)
		}
	}
	call := Call{Bytes: 1 << 30, Group: make([]int, 8)}
	seconds := float64(Sent(&call)) * 8 / 50e9
	if busbw := float64(1<<30) * 8 / seconds * BusFactor(AllReduce, 8); seconds < 0.300645 || seconds > 0.300655 || busbw < 49.9999e9 || busbw > 50.0001e9 {
		t.Errorf("%v s, bus bandwidth %v bit/s, want 0.30065 s and 50 Gb/s", seconds, busbw)
	}
}

// TestRing: the operations of a rank of a ring of 3, in loops of 3 chunks: in each step it sends
// what it received in the step before. Rank 1 begins with piece 0.
func TestRing(t *testing.T) {
	b := graph.Builder{Tag: graph.Tag{Step: 4, Phase: graph.None}}
	b.Reset(100)
	before := b.Compute(5)
	end, err := Append(&b, &Call{Group: []int{7, 8, 9}, Me: 1, Bytes: 40, Chunk: 10, Channel: 2}, before)
	if err != nil {
		t.Fatal(err)
	}
	type op struct {
		kind  graph.Kind
		peer  int32
		bytes units.Size
		deps  string
	}
	var got []op
	for _, o := range b.Ops {
		text := ""
		for _, d := range o.Deps {
			text += " " + string(rune('a'+d-100))
		}
		got = append(got, op{o.Kind, o.Peer, o.Bytes, text})
		if o.Tag != b.Tag || o.Kind == graph.Send && (o.Channel != 2 || o.Total != 54) {
			t.Errorf("%+v, want tag %+v, channel 2, total 54", o, b.Tag)
		}
	}
	want := []op{
		{graph.Compute, 0, 0, ""}, // a
		{graph.Begin, 0, 0, " a"}, // b
		{graph.Send, 9, 10, " b"}, // c
		{graph.Recv, 7, 10, " b"}, // d
		{graph.Send, 9, 10, " d"}, // e
		{graph.Recv, 7, 10, " d"}, // f: piece 1 of the sum
		{graph.Send, 9, 10, " f"}, // g
		{graph.Recv, 7, 10, " f"}, // h
		{graph.Send, 9, 10, " h"}, // i
		{graph.Recv, 7, 10, " h"}, // j
		{graph.Send, 9, 4, " j"},  // k: the second loop has 10 B in pieces of 4, 3 and 3
		{graph.Recv, 7, 3, " j"},  // l
		{graph.Send, 9, 3, " l"},  // m
		{graph.Recv, 7, 3, " l"},  // n
		{graph.Send, 9, 3, " n"},  // o
		{graph.Recv, 7, 4, " n"},  // p
		{graph.Send, 9, 4, " p"},  // q
		{graph.Recv, 7, 3, " p"},  // r
		{graph.End, 0, 0, " r q"},
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("operation %d: %+v, want %+v of\n%+v", i, got[min(i, len(got)-1)], want[i], got)
		}
	}
	if len(got) != len(want) || end != 118 {
		t.Errorf("%d operations, end %d, want %d and 118", len(got), end, len(want))
	}
}

// TestSource: iterations are steps, each behind a fence; those to warm up have a label of their own;
// groups run at the same time.
func TestSource(t *testing.T) {
	s, err := New(Config{Call: Call{Kind: AllGather, Bytes: 100}, Groups: [][]int{{0, 2}, {3, 1}}, Ranks: 5, Iterations: 2, Warmup: 1, Gap: 9})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	if l := s.Labels(); len(l.Collectives) != 2 || l.Collectives[0] != (graph.Collective{Name: "all_gather", Kind: "all_gather", Algorithm: "ring", Ranks: 2, Bytes: 100}) || l.Collectives[1].Name != "warmup" {
		t.Errorf("labels %+v", l)
	}
	var op graph.Op
	id, fences, gaps, marks := uint32(0), 0, 0, ""
	for p := s.Program(3, 1); p.Next(&op); id++ {
		step := op.Tag.Step
		wantCollective := int32(0)
		if step == 0 {
			wantCollective = 1
		}
		switch op.Kind {
		case graph.Compute:
			gaps++
			if op.Duration != 9 || step > 0 && (len(op.Deps) != 1 || op.Deps[0] != id-1) {
				t.Errorf("gap %+v of operation %d", op, id)
			}
			wantCollective = graph.None
		case graph.Begin, graph.End:
			if op.Tag.Collective == graph.None { // of the step
				marks += fmt.Sprint(step, op.Kind, " ")
				wantCollective = graph.None
			}
		case graph.Send:
			if op.Peer != 1 || op.Tag.Group != 1 {
				t.Errorf("%+v, want group 1, peer 1", op)
			}
		}
		if op.Tag.Collective != wantCollective {
			t.Errorf("step %d: collective %d, want %d", step, op.Tag.Collective, wantCollective)
		}
		if op.Fence != (op.Kind == graph.End) {
			t.Errorf("fence of %v", op.Kind)
		}
		if op.Fence {
			fences++
		}
	}
	if marks != "1 begin 1 end 2 begin 2 end " {
		t.Errorf("marks of steps: %s", marks)
	}
	if fences != 3+2 || gaps != 3 || s.Steps() != 3 {
		t.Errorf("%d fences, %d gaps, %d steps, want 3", fences, gaps, s.Steps())
	}
	if s.Program(4, 1).Next(&op) {
		t.Error("a rank without a group has operations")
	}
}

// TestWindow: a rank has at most 8 chunks on the way to a neighbour in trees and chains, as many as
// NCCL's connections have buffers (NCCL_STEPS): a send waits until the one 8 before is complete.
func TestWindow(t *testing.T) {
	for _, call := range []Call{{Algorithm: Tree}, {Kind: Broadcast}, {Kind: Reduce, Algorithm: Binomial}} {
		call.Bytes, call.Chunk = 40000, 1000
		s, sends := job(t, call, 8), 0
		for rank := range 8 {
			last := map[[2]int32][]uint32{} // sends by peer and stream
			var op graph.Op
			id := uint32(0)
			for p := s.Program(rank, 1); p.Next(&op); id++ {
				if op.Kind != graph.Send {
					continue
				}
				k := [2]int32{op.Peer, int32(op.Channel)}
				if n := len(last[k]); n >= 8 {
					if sends++; !slices.Contains(op.Deps, last[k][n-8]) {
						t.Errorf("%s by %s: rank %d: send %d to %d depends on %v, want %d too", call.Kind, call.algorithm(), rank, n, op.Peer, op.Deps, last[k][n-8])
					}
				}
				last[k] = append(last[k], id)
			}
		}
		if sends < 7*12 {
			t.Errorf("%s: %d sends behind the eighth", call.Kind, sends)
		}
	}
}

// TestFences: a ring of one channel has a fence every 32 steps, so that little of it is in memory; not
// two channels, nor a call that is not alone.
func TestFences(t *testing.T) {
	live := map[int]int{}
	for channels := 1; channels <= 2; channels++ {
		s := job(t, Call{Bytes: 1 << 20, Channels: channels}, 100)
		if err := graph.CheckFences(s, 1); err != nil {
			t.Error(err)
		}
		line, err := graph.Ideal(s, 1, graph.Link{Latency: units.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		live[channels] = line.Live / 100
	}
	if live[1] > 2*32+8 || live[2] < 2*2*2*99 {
		t.Errorf("%d operations of a rank are in memory with fences, %d with two channels; want about 64 and 792", live[1], live[2])
	}
	var b graph.Builder
	if _, err := Append(&b, &Call{Bytes: 1 << 20, Group: make([]int, 100)}); err != nil {
		t.Fatal(err)
	}
	for _, op := range b.Ops {
		if op.Fence {
			t.Fatalf("a fence in a call that is not alone: %+v", op)
		}
	}
}

// BenchmarkProgram expands the programs of a group.
func BenchmarkProgram(b *testing.B) {
	for name, c := range map[string]Config{
		"ring128":  {Call: Call{Bytes: 1 << 30, Chunk: 1 << 20}, Ranks: 128, Iterations: 1},
		"ring16":   {Call: Call{Bytes: 1 << 24, Chunk: 1 << 20}, Ranks: 16, Iterations: 10},
		"tree128":  {Call: Call{Algorithm: Tree, Bytes: 1 << 30, Chunk: 1 << 20}, Ranks: 128, Iterations: 1},
		"alltoall": {Call: Call{Kind: AllToAll, Bytes: 1 << 30}, Ranks: 128, Iterations: 1},
	} {
		s, err := New(c)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ops := 0
			for range b.N {
				var op graph.Op
				for rank := range s.Ranks() {
					for p := s.Program(rank, 1); p.Next(&op); {
						ops++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/operation")
		})
	}
}
