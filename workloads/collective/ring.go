package collective

import "github.com/csiglab/csiglab/units"

// A ring of n ranks: in each of n-1 steps a rank sends a piece to the next rank and receives one
// from the rank before; what it receives in a step it sends in the following one. The order of the
// pieces is that of NCCL (src/device/all_reduce.h, runRing): rank i begins with piece i-1 and ends
// the reduce-scatter with piece i, with which it begins the all-gather. As there, a channel goes
// through its loops one after the other.

// ringReduceScatter appends the steps that leave piece l.me of the sum at the rank.
func (e *emitter) ringReduceScatter(l line, p pieces, after []uint32) []uint32 {
	return e.ring(l, p, -1, after)
}

// ringAllGather appends the steps that bring the pieces of the others.
func (e *emitter) ringAllGather(l line, p pieces, after []uint32) []uint32 {
	return e.ring(l, p, 0, after)
}

// ring appends n-1 steps of a ring. The rank's first piece is that of the rank first places on.
func (e *emitter) ring(l line, p pieces, first int, after []uint32) []uint32 {
	for step := range p.n - 1 {
		out, in := l.index(first-step), l.index(first-step-1)
		e.send(l.at(1), l.on, p.of(out), after...)
		after = e.recv(l.at(-1), l.on, p.of(in), after...)
		e.fence(step)
	}
	return after
}

// chain appends a broadcast or a reduction along the ring: from the root to the rank before it,
// or from the rank after the root to the root. Chunks follow each other (NCCL
// src/device/broadcast.h, reduce.h).
func (e *emitter) chain(l line, root int, bytes units.Size, after []uint32) []uint32 {
	place := mod(l.me-root, len(l.ranks)) // in the chain, from 0
	if e.call.Kind == Reduce {
		place = mod(place-1, len(l.ranks))
	}
	var from, to []int
	if place > 0 {
		from = []int{l.at(-1)}
	}
	if place < len(l.ranks)-1 {
		to = []int{l.at(1)}
	}
	f := flow{e: e, on: l.on, from: from, to: to}
	for chunk := range e.chunks(bytes) {
		f.pass(chunk, after)
	}
	return f.last()
}

// binomial appends a binomial tree from or to the root. A rank whose distance from the root has
// its lowest bit at k has children at distances of 2^(k-1) … 1 from it, and the root at all powers
// of two; they get the data in that order, the largest subtree first, one after the other: the next
// when the one before has acknowledged it.
func (e *emitter) binomial(l line, bytes units.Size, after []uint32) []uint32 {
	n := len(l.ranks)
	place := mod(l.me-e.call.Root, n)
	low := place & -place
	var parent, children []int
	if place > 0 {
		parent = []int{l.at(-low)}
	} else {
		for low = 1; low < n; low *= 2 {
		}
	}
	for bit := low / 2; bit > 0; bit /= 2 {
		if place+bit < n {
			children = append(children, l.at(bit))
		}
	}
	f := flow{e: e, on: l.on, from: parent, to: children, inTurn: true}
	if e.call.Kind == Reduce {
		f.from, f.to = children, parent
	}
	for chunk := range e.chunks(bytes) {
		f.pass(chunk, after)
	}
	return f.last()
}

// dissemination appends a barrier: in round k a rank sends a message of one byte to the rank 2^k
// places on, once it has received that of the round before (Hensgen, Finkel, Manber 1988).
func (e *emitter) dissemination(begin uint32) {
	l := line{ranks: e.call.Group, me: e.call.Me, on: e.call.Channel}
	after := []uint32{begin}
	for distance := 1; distance < len(l.ranks); distance *= 2 {
		e.send(l.at(distance), l.on, 1, after...)
		after = e.recv(l.at(-distance), l.on, 1, after...)
	}
	e.ends = append(e.ends, after...)
}
