package wire

import (
	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/units"
)

// Queue is a FIFO of packets that counts their wire bytes. The zero value is
// empty.
type Queue struct {
	packets fifo.Queue[*Packet]
	bytes   units.Size
}

// Len returns the number of packets.
func (q *Queue) Len() int { return q.packets.Len() }

// Bytes returns the sum of the packets' wire sizes.
func (q *Queue) Bytes() units.Size { return q.bytes }

// Push puts p at the tail. Its Size must not change while it is queued.
func (q *Queue) Push(p *Packet) {
	if p.notes {
		p.Ahead = q.bytes
	}
	q.packets.Push(p)
	q.bytes += p.Size
}

// Head returns the packet at the head, which stays there. The queue is not empty.
func (q *Queue) Head() *Packet { return *q.packets.At(0) }

// At returns the packet behind i others, 0 <= i < Len.
func (q *Queue) At(i int) *Packet { return *q.packets.At(i) }

// Pop takes the packet at the head; nil when empty.
func (q *Queue) Pop() *Packet { return q.take(q.packets.Pop()) }

// PopTail takes the packet that was pushed last; nil when empty.
func (q *Queue) PopTail() *Packet { return q.take(q.packets.PopTail()) }

// Touch touches the first packets of the queue (Packet.Touch).
func (q *Queue) Touch() (sum int64) {
	for i := range min(q.packets.Len(), touched) {
		sum += int64((*q.packets.At(i)).Touch())
	}
	return sum
}

// touched is about how many packets a port sends while one travels a link.
const touched = 3

func (q *Queue) take(p *Packet, ok bool) *Packet {
	if ok {
		q.bytes -= p.Size
		if p.notes {
			p.Behind = q.bytes
		}
	}
	return p
}
