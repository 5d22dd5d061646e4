// Package fifo is a queue in a ring.
package fifo

// Queue is a first-in first-out queue that grows by doubling and never shrinks,
// so that it stops allocating. The zero value is empty.
type Queue[T any] struct {
	ring []T // length 0 or a power of two
	head int
	size int
}

// Len returns the number of elements.
func (q *Queue[T]) Len() int { return q.size }

// Push puts v at the tail.
func (q *Queue[T]) Push(v T) {
	if q.size == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.size)&(len(q.ring)-1)] = v
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
func (q *Queue[T]) At(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// Pop takes the head; ok is false when the queue is empty.
func (q *Queue[T]) Pop() (v T, ok bool) {
	if q.size == 0 {
		return v, false
	}
	var zero T
	v, q.ring[q.head] = q.ring[q.head], zero
	q.head = (q.head + 1) & (len(q.ring) - 1)
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
	at := (q.head + q.size) & (len(q.ring) - 1)
	v, q.ring[at] = q.ring[at], zero
	return v, true
}

func (q *Queue[T]) grow() {
	ring := make([]T, max(16, 2*len(q.ring)))
	for i := range q.size {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}
