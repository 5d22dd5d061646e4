package graph

import (
	"slices"

	"github.com/csiglab/csiglab/units"
)

// slot returns a free slot of ops.
func (e *Engine) slot() int32 {
	if e.free == nothing {
		e.ops = append(room(e.ops), live{})
		return int32(len(e.ops) - 1)
	}
	slot := e.free
	e.free = e.ops[slot].next
	return slot
}

// room returns a list with room for another one. It grows by half, which copies half as much as
// append does, which lets a long list grow by a quarter.
func room[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(64, len(list)/2))
	}
	return list
}

// edge makes an operation wait for another.
func (e *Engine) edge(from, to int32) {
	i := e.freeOut
	if i == nothing {
		e.edges = append(room(e.edges), edge{})
		i = int32(len(e.edges) - 1)
	} else {
		e.freeOut = e.edges[i].next
	}
	e.edges[i] = edge{to, e.ops[from].out}
	e.ops[from].out = i
}

// window finds the slots of a rank's live operations by their ids: a ring from the first
// live one to the last that was expanded. Ids outside are those of complete operations.
type window struct {
	ring  []int32 // slots by id, or nothing; length 0 or a power of two
	first uint32  // id
	next  uint32  // the next to add
}

// add adds the operation with the id next.
func (w *window) add(id uint32, slot int32) {
	if w.first == w.next {
		w.first, w.next = id, id
	}
	if int(w.next-w.first) == len(w.ring) {
		w.grow()
	}
	w.ring[int(id)&(len(w.ring)-1)] = slot
	w.next = id + 1
}

// find returns the slot of an operation, nothing if it is complete.
func (w *window) find(id uint32) int32 {
	if id < w.first || id >= w.next {
		return nothing
	}
	return w.ring[int(id)&(len(w.ring)-1)]
}

// remove forgets an operation that is there.
func (w *window) remove(id uint32) {
	mask := len(w.ring) - 1
	w.ring[int(id)&mask] = nothing
	for w.first < w.next && w.ring[int(w.first)&mask] == nothing {
		w.first++
	}
}

func (w *window) grow() {
	ring := make([]int32, max(16, 2*len(w.ring)))
	for id := w.first; id != w.next; id++ {
		ring[int(id)&(len(ring)-1)] = w.ring[int(id)&(len(w.ring)-1)]
	}
	w.ring = ring
}

// due is an operation that goes on at a time.
type due struct {
	at   units.Time
	rank int32 // index in Engine.ranks
	id   uint32
	slot int32
}

func (d *due) before(o *due) bool {
	if d.at != o.at {
		return d.at < o.at
	}
	if d.rank != o.rank {
		return d.rank < o.rank
	}
	return d.id < o.id
}

// dueHeap is a binary heap by (time, rank, id). Package container/heap would make a new
// object of each element.
type dueHeap []due

func (h *dueHeap) push(d due) {
	*h = append(*h, d)
	q := *h
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(&q[parent]) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = d
}

// pop takes the first element; the heap must not be empty.
func (h *dueHeap) pop() due {
	q := *h
	first, last := q[0], len(q)-1
	d := q[last]
	q = q[:last]
	*h = q
	for i := 0; last > 0; {
		child := 2*i + 1
		if child >= last {
			q[i] = d
			break
		}
		if child+1 < last && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&d) {
			q[i] = d
			break
		}
		q[i] = q[child]
		i = child
	}
	return first
}
