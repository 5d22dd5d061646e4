package emu

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// event is a port that becomes free or a packet that arrives. Those of one
// instant are ordered by order, class first, then by the link's sequence.
// Timeouts come last and are not queued.
type event struct {
	at       units.Time
	order    uint64
	sequence int64
	port     int32
	packet   *wire.Packet // nil: the port becomes free
}

// receiveClass is set in the order of arrivals; below it are the tie key, from
// bit 30, and the port.
const receiveClass uint64 = 1 << 62

func (a *event) before(b *event) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.order != b.order:
		return a.order < b.order
	}
	return a.sequence < b.sequence
}

// queue is a binary heap of events.
type queue []event

// next returns when the first event is due, units.Never without one.
func (q queue) next() units.Time {
	if len(q) == 0 {
		return units.Never
	}
	return q[0].at
}

func (q *queue) push(e event) {
	h := append(*q, e)
	*q = h
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// pop takes the first event; the queue must not be empty.
func (q *queue) pop() event {
	h := *q
	first, e := h[0], h[len(h)-1]
	h[len(h)-1].packet = nil
	h = h[:len(h)-1]
	*q = h
	for i := 0; len(h) > 0; {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if child >= len(h) || !h[child].before(&e) {
			h[i] = e
			break
		}
		h[i] = h[child]
		i = child
	}
	return first
}
