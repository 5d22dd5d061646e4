package transport

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// A connection is a flow of many messages, which follow each other. Its PSNs go on from
// message to message, and so does the state of its congestion control and its balancer.
// Every message begins with a packet of its own. Its last packet, which may be short, has
// the flag EndOfMessage; that is all that the receiver knows of messages. While every
// message is acknowledged the connection is idle: it has no timer, sends no probes and
// wants no samples.

// Message is a message to send on a connection.
type Message struct {
	Size units.Size  // payload bytes, positive
	Tag  metrics.Tag // of the records about its packets
	// Total is the payload bytes of all messages in a row that have this tag; 0: this message
	// is the only one.
	Total units.Size
}

// psnRange is the most PSNs from the first one that is missing to the last one sent, as the
// maximum PSN range of UET bounds it. It bounds what a receiver remembers of a connection.
const psnRange = 1 << 20

// posted is a message that is not wholly acknowledged.
type posted struct {
	Message
	end uint32 // PSN behind its last packet
}

// connection is what a sender of messages has beside that of every flow.
type connection struct {
	open   fifo.Queue[posted] // oldest first
	unsent int                // messages at the end of open whose last packet has not been sent
	sent   int                // messages wholly acknowledged
	tag    metrics.Tag        // of the last of these
	label  metrics.Tag        // of the records to come
	// It is that of the PSNs from labelled to labelEnd, which is not among them.
	labelled, labelEnd uint32
	phase              phase
}

// phase is a communication phase of a connection: the messages of one tag, up to the Total
// of the first.
type phase struct {
	begun bool
	tag   metrics.Tag
	left  units.Size // payload bytes that are not in messages wholly acknowledged
	total units.Size // wire bytes
}

// Post queues a message of a connection at the end. A connection that has given up ignores
// it.
func (s *Sender) Post(now units.Time, m Message) {
	n := Packets(m.Size, s.common.MTU, s.common.Sizes.Header)
	switch {
	case s.totals.GaveUp:
		return
	case m.Size <= 0:
		panic(fmt.Sprintf("transport: a message of %d bytes", int64(m.Size)))
	case int64(s.packets)+n > math.MaxUint32:
		panic("transport: a connection of more packets than there are PSNs")
	}
	c, idle := s.connection, s.Done()
	s.packets += uint32(n)
	s.size += m.Size
	c.open.Push(posted{m, s.packets})
	c.unsent++
	if c.unsent == 1 {
		s.setMessageEnd()
	}
	if idle {
		s.leaveIdle(now)
	}
	if c.open.Len() == 1 {
		s.turnPhase(now)
	}
}

// setMessageEnd sets where the message ends that the next new packet is of.
func (s *Sender) setMessageEnd() {
	c := s.connection
	m := c.open.At(c.open.Len() - c.unsent)
	s.last, s.lastShort = m.end-1, s.common.lacks(m.Size)
}

// nextMessage is called when the last packet of a message is sent.
func (s *Sender) nextMessage() {
	c := s.connection
	if c.unsent--; c.unsent > 0 {
		s.setMessageEnd()
	}
}

// leaveIdle is called when a connection gets a message that was idle. As a flow that starts, it
// has speculative credit.
func (s *Sender) leaveIdle(now units.Time) {
	if s.totals.Start == units.Never {
		s.totals.Start = now
	}
	s.totals.Done = units.Never
	s.ready, s.starting = true, true
	free := &s.common.rings
	if n := len(*free); n > 0 {
		s.ring, (*free)[n-1] = (*free)[n-1], nil
		*free = (*free)[:n-1]
	} else {
		s.ring = make([]slot, 1<<bits.Len32(min(s.packets-s.cum, startRing)-1))
	}
	if s.credit != nil {
		*s.credit = credit{left: s.common.Credit.Max, granted: s.credit.granted, speculating: true, requested: s.credit.requested, retry: units.Never}
	}
}

// keptRing is the most packets of a ring that is kept for others.
const keptRing = 1024

// becomeIdle is called when a connection becomes idle.
func (s *Sender) becomeIdle() {
	if len(s.ring) <= keptRing {
		s.common.rings = append(s.common.rings, s.ring)
	}
	s.ring = nil
	for s.rtx.Len() > 0 {
		s.rtx.Pop()
	}
	if s.sleek != nil {
		s.sleek.probe++ // an answer on its way says nothing of what is sent next
	}
}

// Sent returns how many messages of a connection are wholly acknowledged, and all before
// them; 0 of other flows.
func (s *Sender) Sent() int {
	if s.connection == nil {
		return 0
	}
	return s.connection.sent
}

// closeMessages follows an ACK: it takes the messages that are wholly acknowledged now from those
// that are open.
func (s *Sender) closeMessages(now units.Time) {
	c := s.connection
	for c.open.Len() > 0 && c.open.At(0).end <= s.cum {
		m, _ := c.open.Pop()
		c.sent++
		c.tag = m.Tag
		c.phase.left -= m.Size
		if c.phase.left <= 0 || c.open.Len() > 0 {
			s.turnPhase(now)
		}
	}
}

// turnPhase ends the phase if all its bytes are acknowledged, or if the oldest message that
// is open has another tag, and begins that of this message.
func (s *Sender) turnPhase(now units.Time) {
	c := s.connection
	var next *posted
	if c.open.Len() > 0 {
		next = c.open.At(0)
	}
	if c.phase.begun {
		if c.phase.left > 0 && (next == nil || next.Tag == c.phase.tag) {
			return
		}
		c.phase.begun = false
		s.onPhase(now, false)
	}
	if next == nil {
		return
	}
	bytes := max(next.Total, next.Size)
	packets := Packets(next.Size, s.common.MTU, s.common.Sizes.Header)
	messages := (bytes + next.Size - 1) / next.Size // as if all were as long as the first
	c.phase = phase{true, next.Tag, bytes, bytes + units.Size(packets)*messages*s.common.Sizes.Header}
	s.onPhase(now, true)
}

// setLabel gives the records to come the tag of the message that the packet psn is of.
func (s *Sender) setLabel(psn uint32) {
	c := s.connection
	if psn-c.labelled < c.labelEnd-c.labelled {
		return
	}
	c.label = s.tagOf(psn)
	c.labelled, c.labelEnd = psn, psn
	if i := s.messageOf(psn); i >= 0 {
		c.labelEnd = c.open.At(i).end
	}
	s.ccLog.SetTag(c.label)
	if s.signalling != nil {
		s.signalling.records.SetTag(c.label)
	}
}

// label returns the tag of the records to come, that of flows that are no connections.
func (s *Sender) label() metrics.Tag {
	if s.connection == nil {
		return metrics.Tag{}
	}
	return s.connection.label
}

// tagOf returns the tag of the message that the packet psn is of, or of the one that was
// acknowledged last, if that packet is.
func (s *Sender) tagOf(psn uint32) metrics.Tag {
	if s.connection == nil {
		return metrics.Tag{}
	}
	if i := s.messageOf(psn); i >= 0 {
		return s.connection.open.At(i).Tag
	}
	return s.connection.tag
}

// messageOf returns the place in open of the message that the packet psn is of, -1 if all of
// it is acknowledged.
func (s *Sender) messageOf(psn uint32) int {
	c := s.connection
	if psn < s.cum || c.open.Len() == 0 {
		return -1
	}
	low, high := 0, c.open.Len()-1 // of the messages that end behind psn, the first is in there
	for low < high {
		if middle := (low + high) / 2; c.open.At(middle).end <= psn {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// arrivals is what a receiver of messages has beside that of every flow.
type arrivals struct {
	ends    bitmap // beyond cum: the last packets of messages
	pending int    // number of bits set
	count   int    // messages wholly received
	open    bool   // the last packet below cum is not the last one of a message
}

// Messages returns how many messages of a connection have wholly arrived, and all before
// them; 0 of other flows.
func (r *Receiver) Messages() int {
	if r.messages == nil {
		return 0
	}
	return r.messages.count
}

// arrive takes a data packet of a connection that is new and has been accepted, and reports
// whether messages are complete now. from was cum before.
func (r *Receiver) arrive(psn, from uint32, end bool) bool {
	m := r.messages
	if psn != from {
		if end {
			m.ends.reserve(from, psn)
			m.ends.flip(psn)
			m.pending++
		}
		return false
	}
	before := m.count
	if m.open = !end; end {
		m.count++
	}
	for psn++; psn < r.cum; psn++ {
		m.open = true
		if m.pending == 0 {
			break
		}
		if m.ends.has(from, psn) {
			m.ends.flip(psn)
			m.pending--
			m.count++
			m.open = false
		}
	}
	r.packets = int64(r.cum) + psnRange
	return m.count > before
}

// keptBitmap is the most words that a connection keeps while it is idle.
const keptBitmap = 64

// becomeIdle follows the arrival of a data packet of a connection. When every message is complete
// it is idle, and keeps no more memory than others need.
func (r *Receiver) becomeIdle(now units.Time) {
	if r.messages.open || r.outOfOrder > 0 {
		r.totals.Done = units.Never
		return
	}
	r.totals.Done = now
	if len(r.beyond) > keptBitmap {
		r.beyond, r.messages.ends = nil, nil
	}
}
