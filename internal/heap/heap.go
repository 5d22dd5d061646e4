// Package heap is a binary heap of values. Unlike container/heap it makes no object of an
// element.
package heap

// Push adds an element to a heap whose first element is before all others, and returns the heap.
func Push[T any](h []T, e T, before func(a, b T) bool) []T {
	h = append(h, e)
	i := len(h) - 1
	for i > 0 && before(e, h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
	return h
}

// Pop takes the first element of a heap, which must not be empty, and returns it and the heap.
func Pop[T any](h []T, before func(a, b T) bool) (first T, rest []T) {
	first, last := h[0], h[len(h)-1]
	rest = h[:len(h)-1]
	for i, child := 0, 1; len(rest) > 0; i, child = child, 2*child+1 {
		if child+1 < len(rest) && before(rest[child+1], rest[child]) {
			child++
		}
		if child >= len(rest) || !before(rest[child], last) {
			rest[i] = last
			break
		}
		rest[i] = rest[child]
	}
	return first, rest
}
