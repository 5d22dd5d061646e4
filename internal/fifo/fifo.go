// Package fifo is a queue in a ring.
package fifo

// Queue is a first-in first-out queue that grows by doubling and never shrinks,
// so that it stops allocating. The zero value is empty.
type Queue[T any] struct {
	ring       []T // length 0 or a power of two
	head, size uint32
}

// Len returns the number of elements.
func (q *Queue[T]) Len() int { return int(q.size) }

// Push puts v at the tail.
func (q *Queue[T]) Push(v T) {
	if int(q.size) == len(q.ring) {
		q.grow()
	}
	q.ring[q.place(q.size)] = v
	q.size++
}

// Peek returns the head without taking it; ok is false when the queue is empty.
func (q *Queue[T]) Peek() (v T, ok bool) {
	if q.size == 0 {
		return v, false
	}
	return q.ring[q.head], true
}

// At returns the element behind i others, 0 <= i < Len.
func (q *Queue[T]) At(i int) *T { return &q.ring[q.place(uint32(i))] }

// place returns where in the ring the element behind i others is.
func (q *Queue[T]) place(i uint32) uint32 { return (q.head + i) & uint32(len(q.ring)-1) }

// Pop takes the head; ok is false when the queue is empty.
func (q *Queue[T]) Pop() (v T, ok bool) {
	if q.size == 0 {
		return v, false
	}
	var zero T
	v, q.ring[q.head] = q.ring[q.head], zero
	q.head = q.place(1)
	q.size--
	return v, true
}

// PopTail takes the element that was pushed last; ok is false when the queue is
// empty.
func (q *Queue[T]) PopTail() (v T, ok bool) {
	if q.size == 0 {
		return v, false
	}
	var zero T
	q.size--
	at := q.place(q.size)
	v, q.ring[at] = q.ring[at], zero
	return v, true
}

func (q *Queue[T]) grow() {
	ring := make([]T, max(4, 2*len(q.ring)))
	for i := range q.size {
		ring[i] = q.ring[q.place(i)]
	}
	q.ring, q.head = ring, 0
}
