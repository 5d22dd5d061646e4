package sim

import "github.com/csiglab/csiglab/nodes/clock"

// event is something that is due at a node. Events of one node at one instant
// are ordered by order: class first, then tie key, then port.
type event struct {
	at    clock.Time
	order uint64
	node  int32
	port  int32
}

// Classes of event, in canonical order.
const (
	classFree uint64 = iota << 62
	classReceive
	classTimeout
)

func (a event) before(b event) bool {
	return a.at < b.at || a.at == b.at && a.order < b.order
}

// eventHeap is a 4-ary heap: shallower than a binary one, and the children share
// a cache line or two.
type eventHeap []event

func (h *eventHeap) push(e event) {
	*h = append(*h, e)
	q := *h
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(q[parent]) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = e
}

// pop takes the first event; the heap must not be empty.
func (h *eventHeap) pop() event {
	q := *h
	first := q[0]
	n := len(q) - 1
	last := q[n]
	q = q[:n]
	*h = q
	if n > 0 {
		q.siftDown(last)
	}
	return first
}

// siftDown puts e, which takes the place of the root, where it belongs.
func (q eventHeap) siftDown(e event) {
	i, n := 0, len(q)
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if q[c].before(q[least]) {
				least = c
			}
		}
		if !q[least].before(e) {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = e
}
