package msccl

import (
	"math"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Source is a job of one algorithm that runs again and again. Its Of are the operations of one
// iteration, which is a step, with ids from 0.
type Source struct{ graph.Static }

// Only implements graph.Source.
func (s *Source) Only(ranks []int) graph.Source {
	return &Source{*s.Static.Only(ranks).(*graph.Static)}
}

// Program implements graph.Source.
func (s *Source) Program(rank int, _ uint64) graph.Program {
	iteration := 0
	return &graph.Pieces{Append: func(b *graph.Builder) bool {
		base := b.Next()
		var deps []uint32
		if base > 0 {
			deps = []uint32{base - 1} // the end of the iteration before
		}
		for _, op := range s.Of[rank] {
			for _, d := range op.Deps {
				deps = append(deps, base+d)
			}
			b.Tag = op.Tag
			b.Tag.Step = int32(iteration)
			b.Add(op, deps...)
			deps = deps[:0]
		}
		iteration++
		return iteration < s.Count
	}}
}

// source makes the programs.
func (r *reader) source() (*Source, error) {
	s := &Source{graph.Static{Count: max(1, r.o.Iterations), All: len(r.gpus), Of: make(map[int][]graph.Op, len(r.gpus))}}
	if s.Count > math.MaxInt32 {
		return nil, r.Errorf(r.algo, "%d iterations, want at most %d", s.Count, math.MaxInt32)
	}
	kind := kinds[r.coll]
	s.Names.Collectives = []graph.Collective{{Name: kind, Kind: kind, Algorithm: r.name, Ranks: len(r.gpus), Bytes: r.o.Bytes}}
	chunk := r.o.Bytes / units.Size(r.chunks)
	if int64(chunk) > maxBytes/max(1, r.work) {
		return nil, r.Errorf(r.algo, "a buffer of %v: the steps move more than %d bytes", r.o.Bytes, int64(maxBytes))
	}
	loops := int64(1)
	if r.o.Cut > 0 {
		loops = int64((chunk + r.o.Cut - 1) / r.o.Cut)
	}
	if loops > maxOps/(2*r.steps) {
		return nil, r.Errorf(r.algo, "%d loops, which move %v of each chunk of %v, are more than %d operations", loops, r.o.Cut, chunk, maxOps)
	}
	for rank := range r.gpus {
		s.Of[rank] = r.program(&r.gpus[rank], chunk)
	}
	return s, nil
}

// program returns the operations of a rank in one iteration. A step that sends is complete
// when it has begun, as the data is in a buffer of the connection then; the end waits for
// the acknowledgement.
func (r *reader) program(g *gpu, chunk units.Size) []graph.Op {
	none := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	b := graph.Builder{Tag: none}
	step := b.Begin()
	b.Tag.Collective, b.Tag.Group = 0, 0
	begin := b.Begin(step)
	at, sent, total := map[*block]uint32{}, map[*block]uint32{}, map[*block]units.Size{}
	for _, p := range g.order {
		if at[p.block] = begin; p.steps[p.step].send {
			total[p.block] += units.Size(p.steps[p.step].count) * chunk
		}
	}
	for left := chunk; left > 0; {
		size := left
		if r.o.Cut > 0 {
			size = min(left, r.o.Cut)
		}
		left -= size
		for _, p := range g.order {
			s := &p.steps[p.step]
			bytes, deps := units.Size(s.count)*size, []uint32{at[p.block]}
			if before, _ := r.wait(p.block, s); before != nil && before.done != deps[0] {
				deps = append(deps, before.done)
			}
			switch {
			case s.receive:
				deps = []uint32{b.Recv(int(p.recv), p.channel, bytes, deps...)}
			case len(deps) > 1:
				deps = []uint32{b.Barrier(deps...)}
			}
			if s.send {
				sent[p.block] = b.Add(graph.Op{Kind: graph.Send, Peer: p.send, Channel: p.channel, Bytes: bytes, Total: total[p.block]}, deps...)
			}
			s.done, at[p.block] = deps[0], deps[0]
		}
	}
	ends := []uint32{begin}
	for _, p := range g.order { // in order, and each block once
		if p.step == len(p.steps)-1 {
			ends = append(ends, at[p.block])
			if id, ok := sent[p.block]; ok {
				ends = append(ends, id)
			}
		}
	}
	end := b.End(ends...)
	b.Tag = none
	b.Add(graph.Op{Kind: graph.End, Fence: true}, end)
	return b.Ops
}
