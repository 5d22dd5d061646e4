package wire

import "github.com/csiglab/csiglab/nodes/units"

// Queue is a FIFO of packets that counts their wire bytes. It grows by doubling
// and never shrinks, so that it stops allocating. The zero value is empty.
type Queue struct {
	ring  []*Packet // length 0 or a power of two
	head  int
	size  int
	bytes units.ByteSize
}

// Len returns the number of packets.
func (q *Queue) Len() int { return q.size }

// Bytes returns the sum of the packets' wire sizes.
func (q *Queue) Bytes() units.ByteSize { return q.bytes }

// Push puts p at the tail. Its Size must not change while it is queued.
func (q *Queue) Push(p *Packet) {
	if q.size == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.size)&(len(q.ring)-1)] = p
	q.size++
	q.bytes += p.Size
}

// Pop takes the packet at the head; nil when empty.
func (q *Queue) Pop() *Packet {
	if q.size == 0 {
		return nil
	}
	p := q.ring[q.head]
	q.ring[q.head] = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.size--
	q.bytes -= p.Size
	return p
}

// PopTail takes the packet that was pushed last; nil when empty.
func (q *Queue) PopTail() *Packet {
	if q.size == 0 {
		return nil
	}
	q.size--
	at := (q.head + q.size) & (len(q.ring) - 1)
	p := q.ring[at]
	q.ring[at] = nil
	q.bytes -= p.Size
	return p
}

func (q *Queue) grow() {
	ring := make([]*Packet, max(16, 2*len(q.ring)))
	for i := range q.size {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}
