package graph_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// build returns a source of one step whose ranks are written by the functions.
func build(ranks ...func(b *graph.Builder)) *graph.Static {
	s := &graph.Static{Count: 1, All: len(ranks), Of: map[int][]graph.Op{}}
	for i, write := range ranks {
		b := &graph.Builder{Tag: graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}}
		write(b)
		s.Of[i] = b.Ops
	}
	return s
}

// play returns the records of an ideal run, by rank and operation.
func play(t *testing.T, s graph.Source, l graph.Link) (map[[2]int]metrics.Operation, *graph.Timeline) {
	t.Helper()
	var records metrics.Batch
	l.Sink = &records
	timeline, err := graph.Ideal(s, 1, l)
	if err != nil {
		t.Fatal(err)
	}
	all := map[[2]int]metrics.Operation{}
	for _, o := range records.Operations {
		at := [2]int{int(o.Rank), int(o.Op)}
		if _, twice := all[at]; twice {
			t.Errorf("operation %v is complete twice", at)
		}
		all[at] = o
	}
	return all, timeline
}

// times are ready, start and end in us.
type times [3]units.Time

func timesOf(o metrics.Operation) times {
	us := units.Time(units.Microsecond)
	return times{o.Ready / us, o.Start / us, o.End / us}
}

const us = units.Microsecond

// gigabyte per second: 1 KB takes 1 us.
var gigabyte = graph.Link{Rate: 8 * units.Gbps, Latency: 5 * us}

// "Operations of one unit run one at a time, in the order in which they become ready, and of
// those that become ready together in program order" (graph.Compute).
func TestUnits(t *testing.T) {
	s := build(func(b *graph.Builder) {
		b.Add(graph.Op{Kind: graph.Compute, Duration: 4 * us, NotBefore: 1 * us})        // 0: ready second
		b.Compute(3 * us)                                                                // 1: first
		b.Add(graph.Op{Kind: graph.Compute, Duration: 1 * us, NotBefore: 1 * us})        // 2: ready with 0
		b.Add(graph.Op{Kind: graph.Compute, Duration: 2 * us, Unit: 7})                  // 3: another unit
		b.Add(graph.Op{Kind: graph.Compute, Duration: 2 * us, NotBefore: 2 * us}, 3)     // 4: both at 2 us
		b.Add(graph.Op{Kind: graph.Compute, Unit: 7, NotBefore: 9 * us, Duration: 0}, 3) // 5: no time
	})
	all, timeline := play(t, s, graph.Link{})
	got := map[int]times{}
	for at, o := range all {
		got[at[1]] = timesOf(o)
	}
	want := map[int]times{0: {1, 3, 7}, 1: {0, 0, 3}, 2: {1, 7, 8}, 3: {0, 0, 2}, 4: {2, 8, 10}, 5: {9, 9, 9}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("ready, start, end in us (-got +want):\n%s", diff)
	}
	if timeline.End != units.Time(10*us) || timeline.Operations != 6 {
		t.Errorf("got %+v", timeline)
	}
	// 5 waits for a time, 4 for an operation that is complete at the same time.
	if a, b := all[[2]int{0, 5}].After, all[[2]int{0, 4}].After; a != metrics.Absent || b != 3 {
		t.Errorf("operations 5 and 4 are after %d and %d, want none and 3", a, b)
	}
}

// "The k-th Recv of a pair of ranks and a channel gets the message of the k-th Send", "a
// message may arrive before" (graph.Recv), and messages of a stream are posted in program
// order.
func TestStreams(t *testing.T) {
	s := build(func(b *graph.Builder) {
		slow := b.Compute(10 * us)
		b.Send(1, 0, 2000, slow)
		b.Send(1, 0, 1000)    // ready at 0, behind the first on its stream
		b.Send(1, 1, 3000, 0) // another stream: behind both at the NIC
		b.Send(1, 2, 1000)    // at 0
	}, func(b *graph.Builder) {
		b.Recv(0, 2, 1000) // at 6
		wait := b.Compute(20 * us)
		b.Recv(0, 0, 2000, wait) // has come at 17
		b.Recv(0, 0, 1000)       // at 18: a later Recv may be complete before
		b.Recv(0, 1, 3000)       // 21
	})
	all, timeline := play(t, s, gigabyte)
	for at, want := range map[[2]int]times{
		{0, 1}: {10, 10, 17}, {0, 2}: {0, 17, 18}, {0, 3}: {10, 10, 21}, {0, 4}: {0, 0, 6},
		{1, 0}: {0, 0, 6}, {1, 2}: {20, 20, 20}, {1, 3}: {0, 0, 18}, {1, 4}: {0, 0, 21},
	} {
		if got := timesOf(all[at]); got != want {
			t.Errorf("rank %d operation %d: got %v, want %v", at[0], at[1], got, want)
		}
	}
	first, second := all[[2]int{1, 2}], all[[2]int{1, 3}]
	if first.Message != 0 || second.Message != 1 || first.Peer != 0 || first.Bytes != 2000 || first.Kind != metrics.OperationRecv || first.Flow != metrics.Absent {
		t.Errorf("got %+v and %+v", first, second)
	}
	if timeline.Messages != 4 || timeline.Bytes != 7000 || timeline.End != units.Time(21*us) {
		t.Errorf("got %+v", timeline)
	}
}

// A span goes from Begin to End, tags count from 1, and what comes after a barrier is after
// the operation that the barrier waited for last.
func TestSpans(t *testing.T) {
	s := build(func(b *graph.Builder) {
		b.Tag = graph.Tag{Step: 3, Phase: 1, Collective: 0, Group: 2}
		start := b.Compute(2 * us)
		begin := b.Begin(start)
		slow, fast := b.Compute(5*us, begin), b.Add(graph.Op{Kind: graph.Compute, Unit: 1, Duration: us}, begin)
		both := b.Barrier(slow, fast)
		b.End(both)
		b.Tag = graph.Tag{Step: 3, Phase: graph.None, Collective: graph.None, Group: graph.None}
		b.Compute(us, both)
		b.End(both) // never began
	})
	all, _ := play(t, s, graph.Link{})
	us := units.Time(units.Microsecond)
	want := metrics.Operation{
		Op: 5, Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: 4, Phase: 2, Collective: 1, Group: 2}, Peer: -1, Flow: -1,
		Ready: 2 * us, Start: 2 * us, End: 7 * us, After: 2,
	}
	if diff := cmp.Diff(all[[2]int{0, 5}], want); diff != "" {
		t.Errorf("span (-got +want):\n%s", diff)
	}
	if got := all[[2]int{0, 6}]; got.After != 2 || got.Tag != (metrics.Tag{Step: 4}) {
		t.Errorf("behind the barrier: %+v", got)
	}
	if len(all) != 5 {
		t.Errorf("%d records, want those of four computes and a span", len(all))
	}
}

// random returns programs that do not get stuck. Every operation behind a fence depends on it.
func random(seed uint64) *graph.Static {
	r := rand.New(rand.NewPCG(seed, 0))
	ranks := 1 + r.IntN(4)
	s := &graph.Static{Count: 1, All: ranks, Of: map[int][]graph.Op{}}
	builders := make([]graph.Builder, ranks)
	fences := make([]int, ranks)
	for i := range fences {
		builders[i].Tag, fences[i] = graph.Tag{Phase: graph.None, Collective: graph.None}, -1
	}
	add := func(rank int, op graph.Op) {
		b := &builders[rank]
		var deps []uint32
		if fences[rank] >= 0 {
			deps = append(deps, uint32(fences[rank]+r.IntN(len(b.Ops)-fences[rank])))
		}
		for range r.IntN(3) {
			if len(b.Ops) > 0 {
				deps = append(deps, uint32(r.IntN(len(b.Ops))))
			}
		}
		if r.IntN(6) == 0 {
			op.NotBefore = units.Duration(r.IntN(30)) * us
		}
		op.Fence = r.IntN(5) == 0
		id := b.Add(op, deps...)
		if op.Fence {
			fences[rank] = int(id)
		}
	}
	for range 10 + r.IntN(50) {
		rank := r.IntN(ranks)
		switch kind := r.IntN(8); {
		case kind < 4 && ranks > 1:
			peer := (rank + 1 + r.IntN(ranks-1)) % ranks
			bytes, channel := units.Size(1000*(1+r.IntN(4))), uint16(r.IntN(2))
			add(rank, graph.Op{Kind: graph.Send, Peer: int32(peer), Channel: channel, Bytes: bytes})
			add(peer, graph.Op{Kind: graph.Recv, Peer: int32(rank), Channel: channel, Bytes: bytes})
		case kind == 4:
			add(rank, graph.Op{Kind: graph.Barrier})
		default:
			add(rank, graph.Op{Kind: graph.Compute, Unit: uint8(r.IntN(2)), Duration: units.Duration(r.IntN(5)) * us})
		}
	}
	for i := range builders {
		s.Of[i] = builders[i].Ops
	}
	return s
}

// slowOp is an operation of the slow model.
type slowOp struct {
	graph.Op
	record          metrics.Operation
	ready, complete bool
	until           units.Time // of a compute that runs, and of a message
	order           int        // in which operations were complete
}

// slow plays programs by looking at all operations again after everything that happens.
func slow(s *graph.Static, l graph.Link) (records []metrics.Operation) {
	type key struct {
		from, to int
		channel  uint16
	}
	all := make([][]*slowOp, s.All)
	sends, recvs, posted := map[key][]*slowOp{}, map[key][]*slowOp{}, map[key]int{}
	nic := make([]units.Time, s.All)
	for rank := range all {
		for id, op := range s.Of[rank] {
			o := &slowOp{Op: op, until: units.Never, record: metrics.Operation{Rank: int32(rank), Op: uint32(id), Peer: -1, Flow: -1, After: -1, Tag: metrics.Tag{Step: 1}}}
			all[rank] = append(all[rank], o)
			switch op.Kind {
			case graph.Send:
				k := key{rank, int(op.Peer), op.Channel}
				o.record.Kind, o.record.Message = metrics.OperationSend, uint32(len(sends[k]))
				sends[k] = append(sends[k], o)
			case graph.Recv:
				k := key{int(op.Peer), rank, op.Channel}
				o.record.Kind, o.record.Message = metrics.OperationRecv, uint32(len(recvs[k]))
				recvs[k] = append(recvs[k], o)
			case graph.Compute:
				o.record.Kind = metrics.OperationCompute
			}
			if op.Kind <= graph.Recv {
				o.record.Peer, o.record.Channel, o.record.Bytes = op.Peer, op.Channel, int64(op.Bytes)
			}
		}
	}
	var now units.Time
	completed := 0
	act := func(rank int, o *slowOp) bool {
		complete := func() bool {
			o.complete, o.record.End, o.order = true, now, completed
			completed++
			if o.Kind <= graph.Compute {
				records = append(records, o.record)
			}
			return true
		}
		if o.complete {
			return false
		}
		if !o.ready {
			var last *slowOp
			for _, d := range o.Deps {
				dep := all[rank][d]
				if !dep.complete {
					return false
				}
				if last == nil || dep.order > last.order {
					last = dep
				}
			}
			if now < units.Time(o.NotBefore) {
				return false
			}
			o.ready, o.record.Ready, o.record.Start = true, now, now
			if last != nil && last.record.End >= units.Time(o.NotBefore) {
				o.record.After = int64(last.record.Op)
				if last.Kind == graph.Barrier {
					o.record.After = last.record.After
				}
			}
			return true
		}
		switch o.Kind {
		case graph.Send:
			k := key{rank, int(o.Peer), o.Channel}
			if o.until != units.Never {
				if now < o.until {
					return false
				}
				if m := int(o.record.Message); m > 0 {
					o.record.Start = max(o.record.Ready, sends[k][m-1].until)
				}
				return complete()
			}
			if posted[k] < int(o.record.Message) {
				return false
			}
			posted[k]++
			nic[rank] = max(nic[rank], now).Add(l.Rate.Serialisation(o.Bytes))
			o.until = nic[rank].Add(l.Latency)
			return true
		case graph.Recv:
			m := sends[key{int(o.Peer), rank, o.Channel}][o.record.Message]
			return m.until <= now && complete()
		case graph.Compute:
			if o.until != units.Never {
				return o.until <= now && complete()
			}
			for _, other := range all[rank] { // the unit is busy, or another is before it
				if other.Kind == graph.Compute && other.Unit == o.Unit && other.ready && !other.complete && other != o &&
					(other.until != units.Never || other.record.Ready < o.record.Ready || other.record.Ready == o.record.Ready && other.record.Op < o.record.Op) {
					return false
				}
			}
			o.until, o.record.Start = now.Add(o.Duration), now
			return true
		default:
			return complete()
		}
	}
	for {
	again:
		for rank := range all {
			for _, o := range all[rank] {
				if act(rank, o) {
					goto again
				}
			}
		}
		next := units.Never
		for _, ops := range all {
			for _, o := range ops {
				if o.until > now {
					next = min(next, o.until)
				}
				if at := units.Time(o.NotBefore); at > now {
					next = min(next, at)
				}
			}
		}
		if next == units.Never {
			return records
		}
		now = next
	}
}

func sorted(records []metrics.Operation) []metrics.Operation {
	slices.SortFunc(records, func(a, b metrics.Operation) int {
		if a.Rank != b.Rank {
			return int(a.Rank - b.Rank)
		}
		return int(a.Op) - int(b.Op)
	})
	return records
}

// The engine against a model that looks at all operations again and again.
func TestAgainstSlow(t *testing.T) {
	fences := 0
	for seed := range uint64(300) {
		s := random(seed)
		if err := errors.Join(graph.Check(s, 1), graph.CheckFences(s, 1)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var got metrics.Batch
		l := gigabyte
		l.Sink = &got
		timeline, err := graph.Ideal(s, 1, l)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(sorted(got.Operations), sorted(slow(s, l))); diff != "" {
			t.Fatalf("seed %d (-got +want):\n%s", seed, diff)
		}
		// "A player does not expand a program behind a fence before the fence is complete":
		// the same without fences, where all is expanded at the beginning.
		eager := &graph.Static{Count: 1, All: s.All, Of: map[int][]graph.Op{}}
		for rank, ops := range s.Of {
			eager.Of[rank] = slices.Clone(ops)
			for i := range ops {
				eager.Of[rank][i].Fence = false
			}
		}
		var all metrics.Batch
		l.Sink = &all
		whole, err := graph.Ideal(eager, 1, l)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(got.Operations), sorted(all.Operations)); diff != "" {
			t.Fatalf("seed %d: with fences and without (-got +want):\n%s", seed, diff)
		}
		if timeline.Live > whole.Live {
			t.Errorf("seed %d: %d operations in memory with fences, %d without", seed, timeline.Live, whole.Live)
		}
		if timeline.Live < whole.Live {
			fences++
		}
	}
	if fences < 100 {
		t.Errorf("fences kept operations out of memory in %d of 300 programs", fences)
	}
}

// Programs that get stuck, and what the error says of them.
func TestStuck(t *testing.T) {
	for _, test := range []struct {
		name   string
		source *graph.Static
		want   string
	}{
		{"each waits for the other", build(
			func(b *graph.Builder) { b.Send(1, 0, 1, b.Recv(1, 0, 1)) },
			func(b *graph.Builder) { b.Send(0, 0, 1, b.Recv(0, 0, 1)) },
		), "these operations wait for each other: rank 0 operation 0 (recv from 1) -> rank 1 operation 1 (send to 0) -> rank 1 operation 0 (recv from 0) -> rank 0 operation 1 (send to 1) -> rank 0 operation 0 (recv from 1)"},
		{"nothing is sent", build(
			func(b *graph.Builder) { b.Send(1, 3, 1) },
			func(b *graph.Builder) { b.Recv(0, 3, 1); b.Barrier(b.Recv(0, 3, 1)) },
		), "rank 1 operation 1 (recv from 0) waits for message 1 of rank 0 on channel 3, which sends 1"},
		{"program order of a stream", build(
			func(b *graph.Builder) { b.Send(1, 0, 1, b.Recv(1, 0, 1)); b.Send(1, 0, 2) },
			func(b *graph.Builder) { b.Recv(0, 0, 1); r := b.Recv(0, 0, 2); b.Send(0, 0, 1, r) },
		), "rank 0 operation 0 (recv from 1) -> rank 1 operation 2 (send to 0) -> rank 1 operation 1 (recv from 0) -> rank 0 operation 2 (send to 1) -> rank 0 operation 1 (send to 1) -> rank 0 operation 0 (recv from 1)"},
		{"behind a fence", build(
			func(b *graph.Builder) {
				b.Add(graph.Op{Kind: graph.Recv, Peer: 1, Bytes: 1, Fence: true})
				b.Send(1, 0, 1, 0)
			},
			func(b *graph.Builder) {
				b.Add(graph.Op{Kind: graph.Recv, Peer: 0, Bytes: 1, Fence: true})
				b.Send(0, 0, 1, 0)
			},
		), "rank 0 operation 0 (recv from 1) -> rank 1 operation 0 (recv from 0) -> rank 0 operation 0 (recv from 1)"},
		{"a later dependency", &graph.Static{Count: 1, All: 1, Of: map[int][]graph.Op{0: {{Deps: []uint32{0}, Kind: graph.Barrier}}}},
			"rank 0: operation 0 (barrier): it depends on operation 0, which is not before it"},
		{"no such rank", build(func(b *graph.Builder) { b.Send(1, 0, 1) }), "rank 0: operation 0 (send): peer 1, want another rank from 0 to 0"},
		{"no bytes", build(func(b *graph.Builder) { b.Recv(1, 0, 0) }, func(*graph.Builder) {}), "0 bytes, want 1 or more"},
		{"longer than time", build(func(b *graph.Builder) { b.Compute(1 << 62); b.Compute(1 << 62) }), "rank 0 operation 1 (compute) waits for its time"},
	} {
		_, err := graph.Ideal(test.source, 1, gigabyte)
		if !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant … %s", test.name, err, test.want)
		}
	}
}

// A program without end.
type endless struct{ *graph.Static }

func (endless) Program(int, uint64) graph.Program { return endless{} }
func (endless) Next(op *graph.Op) bool            { *op = graph.Op{Kind: graph.Barrier}; return true }

func TestIdealIsBounded(t *testing.T) {
	_, err := graph.Ideal(endless{&graph.Static{All: 1}}, 1, graph.Link{Most: 1000})
	if !errors.Is(err, graph.ErrInvalid) || !errors.Is(err, graph.ErrLimit) || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("got %v", err)
	}
}

// "Every operation behind this one in the program depends on it" (graph.Op.Fence).
func TestCheckFences(t *testing.T) {
	fence := graph.Op{Kind: graph.Barrier, Fence: true}
	good := build(func(b *graph.Builder) {
		b.Compute(1)
		b.Add(fence, 0)
		x := b.Compute(1, 1)
		y := b.Compute(1, 0, x)
		b.Add(fence, y)
		b.Compute(1, 4)
	})
	if err := graph.CheckFences(good, 1); err != nil {
		t.Error(err)
	}
	bad := build(func(*graph.Builder) {}, func(b *graph.Builder) {
		b.Compute(1)
		b.Add(fence, 0)
		b.Add(fence, 1)
		b.Compute(1, 1)
	})
	if err := graph.CheckFences(bad, 1); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "rank 1: operation 3 (compute) does not depend on the fence before it, operation 2") {
		t.Errorf("got %v", err)
	}
}

// ring is a ring of ranks that all compute, send to the next and receive from the one
// before, step after step. Its programs use no memory.
type ring struct{ ranks, steps, wide int }

func (r ring) Ranks() int              { return r.ranks }
func (r ring) Steps() int              { return r.steps }
func (r ring) Labels() *graph.Labels   { return &graph.Labels{} }
func (r ring) Only([]int) graph.Source { return r }
func (r ring) Program(rank int, _ uint64) graph.Program {
	return &ringProgram{ring: r, rank: rank}
}

type ringProgram struct {
	ring
	rank int
	id   uint32
}

func (p *ringProgram) Next(op *graph.Op) bool {
	each := uint32(3*p.wide + 1)
	step, at := p.id/each, p.id%each
	if int(step) == p.steps {
		return false
	}
	*op = graph.Op{Deps: op.Deps[:0], Tag: graph.Tag{Step: int32(step), Phase: graph.None, Collective: graph.None}}
	start := step*each - 1 // the fence before
	switch {
	case at == each-1:
		op.Kind, op.Fence = graph.Barrier, true
		for i := range uint32(p.wide) {
			op.Deps = append(op.Deps, p.id-1-3*i, p.id-2-3*i)
		}
	case at%3 == 0:
		op.Kind, op.Duration, op.Unit = graph.Compute, us, uint8(at%4)
	case at%3 == 1:
		op.Kind, op.Peer, op.Bytes = graph.Send, int32((p.rank+1)%p.ranks), 1000
		op.Deps = append(op.Deps, p.id-1)
	default:
		op.Kind, op.Peer, op.Bytes = graph.Recv, int32((p.rank+p.ranks-1)%p.ranks), 1000
	}
	if len(op.Deps) == 0 && step > 0 {
		op.Deps = append(op.Deps, start)
	}
	p.id++
	return true
}

// No allocation per operation once warm.
func TestAllocations(t *testing.T) {
	allocations := func(steps int) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := graph.Ideal(ring{4, steps, 5}, 1, gigabyte); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(10), allocations(1000); many > few {
		t.Errorf("%v objects in 10 steps, %v in 1000", few, many)
	}
}

// BenchmarkIdeal is 1024 ranks with 10^4 operations each in memory.
func BenchmarkIdeal(b *testing.B) {
	for _, s := range []ring{{1024, 1, 3333}, {1024, 1000, 3}} {
		b.Run(fmt.Sprintf("%dx%d", s.steps, s.wide), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				timeline, err := graph.Ideal(s, 1, gigabyte)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(timeline.Operations), "ns/operation")
				b.ReportMetric(float64(timeline.Live), "live")
			}
		})
	}
}
