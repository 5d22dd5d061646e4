package buffer

import (
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Classes are the data queues of an egress port with several data classes, and the order
// in which they are served. Whether a packet may enter is a matter of Limits, Memory and
// Ingress. Build it with NewClasses.
type Classes struct {
	queues    [class.Max]wire.Queue
	backlog   uint8 // bit i: class i has packets
	bytes     units.Size
	packets   int
	scheduler class.Scheduler
}

// NewClasses returns empty queues of the given classes. quantum is what a class of weight
// 1 may send in its turn.
func NewClasses(list []class.Class, quantum units.Size) Classes {
	return Classes{scheduler: class.NewScheduler(list, quantum)}
}

// Push puts p at the tail of the queue of its class.
func (q *Classes) Push(class int, p *wire.Packet) {
	q.queues[class].Push(p)
	q.backlog |= 1 << class
	q.bytes += p.Size
	q.packets++
}

// Pop takes the next packet to send and returns its class, which is none of closed; nil
// without one.
func (q *Classes) Pop(closed uint8) (p *wire.Packet, class int) {
	open := q.backlog &^ closed
	if open == 0 {
		return nil, -1
	}
	var heads headSizes
	for c := range heads {
		if open>>c&1 != 0 {
			heads[c] = q.queues[c].Head().Size
		}
	}
	if class = q.scheduler.Next(&heads); class < 0 {
		return nil, -1
	}
	return q.countRemoved(class, q.queues[class].Pop()), class
}

type headSizes = class.Heads

// PopTail takes back the packet of a class that was pushed last; nil without one.
func (q *Classes) PopTail(class int) *wire.Packet {
	return q.countRemoved(class, q.queues[class].PopTail())
}

func (q *Classes) countRemoved(class int, p *wire.Packet) *wire.Packet {
	if p == nil {
		return nil
	}
	q.bytes -= p.Size
	q.packets--
	if q.queues[class].Len() == 0 {
		q.backlog &^= 1 << class
	}
	return p
}

// Backlog returns the set of classes that have packets, bit i for class i.
func (q *Classes) Backlog() uint8 { return q.backlog }

// BytesOf returns the wire bytes in the queue of a class.
func (q *Classes) BytesOf(class int) units.Size { return q.queues[class].Bytes() }

// LenOf returns the packets in the queue of a class.
func (q *Classes) LenOf(class int) int { return q.queues[class].Len() }

// At returns the packet of a class behind i others.
func (q *Classes) At(class, i int) *wire.Packet { return q.queues[class].At(i) }

// Bytes returns the wire bytes in all queues.
func (q *Classes) Bytes() units.Size { return q.bytes }

// Len returns the packets in all queues.
func (q *Classes) Len() int { return q.packets }

// Touch reads ahead what is popped next (wire.Packet.Touch).
func (q *Classes) Touch() (sum int64) {
	for c := range q.queues {
		if q.backlog>>c&1 != 0 {
			sum += q.queues[c].Touch()
		}
	}
	return sum
}
