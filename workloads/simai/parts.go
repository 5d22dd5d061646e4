package simai

import (
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// repeated is an item without its place in the pass, which a stage has so many times.
type repeated struct {
	Item
	id    int32
	times int
}

// Parts implements graph.Parted.
func (s *Source) Parts() func(rank int, do func(p *graph.Part)) {
	ids := map[Item]int32{}
	stages := make([][]repeated, len(s.Stages))
	for i, items := range s.Stages {
		at := map[Item]int{}
		for _, item := range items {
			if item.Do == Begin || item.Do == End || item.Do == Wait {
				continue
			}
			key := item
			key.Phase, key.Slot, key.After, key.Line = 0, 0, 0, 0
			if _, ok := ids[key]; !ok {
				ids[key] = int32(len(ids))
			}
			j, ok := at[key]
			if !ok {
				j = len(stages[i])
				at[key] = j
				stages[i] = append(stages[i], repeated{Item: key, id: ids[key]})
			}
			stages[i][j].times += s.Passes
		}
	}
	return func(rank int, do func(p *graph.Part)) {
		stage := stages[0]
		if len(stages) > 1 {
			stage = stages[s.Layout.stage(rank)]
		}
		for i := range stage {
			if p, ok := s.part(&stage[i], rank); ok {
				do(&p)
			}
		}
	}
}

// part returns a part of a rank, and false if the rank has none in the item.
func (s *Source) part(r *repeated, rank int) (graph.Part, bool) {
	l := s.Layout
	p := graph.Part{Key: graph.PartKey{What: r.id}, Times: r.times, Blocks: !r.Async}
	switch item := &r.Item; item.Do {
	case Compute:
		p.Append = func(b *graph.Builder) {
			b.Add(graph.Op{Kind: graph.Compute, Unit: item.Unit, Duration: item.Duration})
		}
	case Send, Recv:
		peer := rank + int(item.Peer)*l.TP*l.DP
		if peer < 0 || peer >= l.Ranks() {
			return p, false
		}
		p.Dimension, p.Ranks = PP.String(), l.PP
		p.Append = func(b *graph.Builder) {
			op := graph.Op{Kind: graph.Send, Peer: int32(peer), Channel: PP.channel(), Bytes: item.Bytes}
			if item.Do == Recv {
				op.Kind = graph.Recv
			}
			b.Add(op)
		}
	case Collective:
		place := l.place(item.Group, rank)
		if place < 0 {
			return p, false
		}
		p.Key.Place, p.Dimension = int32(place), item.Group.String()
		p.Ranks, _ = l.span(item.Group)
		p.Append = func(b *graph.Builder) {
			b.Tag.Collective = item.Index
			call := s.call(item)
			call.Group, call.Me, _ = l.Group(item.Group, rank)
			if _, err := collective.Append(b, &call); err != nil {
				panic("simai: " + err.Error()) // the reader has validated the call
			}
		}
	}
	return p, true
}
