package sim

import (
	"math/bits"

	"github.com/csiglab/csiglab/units"
)

// event is something that is due at a time. Events of one instant are ordered by order.
type event struct {
	at    units.Time
	order uint64
}

// before is 1 if a comes before b, else 0. It compares (at, order) as one number
// of 128 bits, without a branch: which event is earlier cannot be predicted. at
// is never negative.
func (a *event) before(b *event) int {
	_, borrow := bits.Sub64(a.order, b.order, 0)
	_, borrow = bits.Sub64(uint64(a.at), uint64(b.at), borrow)
	return int(borrow)
}

// eventHeap is a 4-ary heap: shallower than a binary one, and four events share a
// cache line. Taking the first event leaves a hole at the root, because
// most events cause another, which then sinks from there: one pass instead of
// the two of a removal and an insertion. The zero value is empty.
type eventHeap struct {
	events []event
	hole   bool // events[0] has been taken
}

// first returns when the first event is due; units.Never without one.
func (h *eventHeap) first() units.Time {
	if h.hole {
		h.fill()
	}
	if len(h.events) == 0 {
		return units.Never
	}
	return h.events[0].at
}

// take removes the first event. It may be called after first has answered
// otherwise than units.Never.
func (h *eventHeap) take() event {
	h.hole = true
	return h.events[0]
}

func (h *eventHeap) push(e event) {
	if h.hole {
		h.hole = false
		h.sink(e)
		return
	}
	h.events = append(h.events, e)
	q := h.events
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if e.before(&q[parent]) == 0 {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = e
}

// fill closes the hole with the last event.
func (h *eventHeap) fill() {
	h.hole = false
	last := len(h.events) - 1
	e := h.events[last]
	h.events = h.events[:last]
	if last > 0 {
		h.sink(e)
	}
}

// sink puts e, which takes the place of the root, where it belongs.
func (h *eventHeap) sink(e event) {
	q := h.events
	i := 0
	for {
		child := 4*i + 1
		if child >= len(q) {
			break
		}
		least := leastOf(q[child:min(child+4, len(q))])
		if q[child+least].before(&e) == 0 {
			break
		}
		q[i] = q[child+least]
		i = child + least
	}
	q[i] = e
}

// leastOf returns the position of the earliest of one to four events.
func leastOf(q []event) int {
	if len(q) == 4 {
		a := q[1].before(&q[0])
		b := 2 + q[3].before(&q[2])
		return a + (b-a)*q[b].before(&q[a])
	}
	least := 0
	for i := 1; i < len(q); i++ {
		least += (i - least) * q[i].before(&q[least])
	}
	return least
}

// frees is when the ports of a node become free: events in order, whose order is the port.
// Most packets are as long as others, or much shorter, so that nearly every event belongs
// behind all others or before them. The zero value is empty.
type frees struct {
	events []event // from head on
	head   int
}

// first returns when the first port becomes free; units.Never if none is busy.
func (f *frees) first() units.Time {
	if f.head == len(f.events) {
		return units.Never
	}
	return f.events[f.head].at
}

// take removes the first port. It may be called after first has answered otherwise than
// units.Never.
func (f *frees) take() int {
	f.head++
	return int(f.events[f.head-1].order)
}

// push adds a port, which becomes free at a time.
func (f *frees) push(at units.Time, port int) {
	e := event{at, uint64(port)}
	if f.head == len(f.events) {
		f.events, f.head = f.events[:0], 0
	} else if f.head > 0 && e.before(&f.events[f.head]) == 1 {
		f.head--
		f.events[f.head] = e
		return
	}
	if f.head >= (cap(f.events)+1)/2 && len(f.events) == cap(f.events) {
		f.events, f.head = f.events[:copy(f.events, f.events[f.head:])], 0
	}
	f.events = append(f.events, e)
	q := f.events
	i := len(q) - 1
	for ; i > f.head && e.before(&q[i-1]) == 1; i-- {
		q[i] = q[i-1]
	}
	q[i] = e
}
