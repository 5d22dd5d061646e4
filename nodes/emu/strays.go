package emu

// Strays counts frames that a port received and that no node of the run has sent, by
// the first reason that shows it. The node has dropped them.
type Strays struct {
	Unmarked  int64 `json:"unmarked,omitempty"`  // without a trailer, also short ones
	Elsewhere int64 `json:"elsewhere,omitempty"` // of another run, or another direction of a link
	Damaged   int64 `json:"damaged,omitempty"`   // of no form that this node can read
	Repeated  int64 `json:"repeated,omitempty"`  // with a sequence number that an earlier frame had
	Past      int64 `json:"past,omitempty"`      // with an arrival time too long ago
	Future    int64 `json:"future,omitempty"`    // with an arrival time or sequence number too far ahead
	Excess    int64 `json:"excess,omitempty"`    // beyond the number that may wait (Port.Room)
}

// Sum returns how many strays there are.
func (s Strays) Sum() int64 {
	return s.Unmarked + s.Elsewhere + s.Damaged + s.Repeated + s.Past + s.Future + s.Excess
}

// PortCount is how many frames of a link a port has sent and received.
type PortCount struct {
	Node, Port int
	Sent       int64 // those among them that an injection has lost
	Received   int64 // that have this port's mark, are whole, and are no strays
	Strays     Strays
	Foreign    *Exchange // of a port that leads to a foreign node; nil elsewhere
}

// PortCounts returns the counts of the ports that lead to links, in their order.
func (n *Node) PortCounts() []PortCount {
	var counts []PortCount
	for i := range n.ports {
		p := &n.ports[i]
		if p.Application {
			continue
		}
		c := PortCount{Node: n.cfg.Node, Port: i, Sent: p.sent, Received: p.received, Strays: p.strays}
		if p.Foreign {
			c.Foreign = &p.exchange
		}
		counts = append(counts, c)
	}
	return counts
}

// implausible returns the count of the reason why a frame in real time can be of no
// node, nil if it may be of one.
//
// A sender starts to transmit a frame when its time has come, and the frame arrives
// when its last bit has crossed the link. The tolerance is for threads that were late.
func (n *Node) implausible(p *portState, t Trailer) *int64 {
	switch {
	case t.Arrival > n.present.Add(p.Delay+p.Longest+n.tolerance) || t.Sequence > p.read+mostAhead || t.Sequence < 1:
		return &p.strays.Future
	case t.Arrival.Add(n.tolerance) < n.present:
		return &p.strays.Past
	case p.seen.has(t.Sequence):
		return &p.strays.Repeated
	case p.waiting >= p.Room:
		return &p.strays.Excess
	}
	return nil
}

// mostAhead is how far a sequence number may be ahead of all before: as many frames in
// a row may be lost on a link.
const mostAhead = 1 << 20

// count records that a frame of a link has been read in real time, where earlier
// frames may be lost or come later.
func (p *portState) count(sequence int64) {
	p.seen.add(sequence)
	if sequence < p.read {
		p.missed--
		return
	}
	p.missed += sequence - p.read - 1
	p.read = sequence
}

// window is the last sequence numbers of a link that have been read, each at its
// remainder. A number that is far ahead of the others hides none of them, so that a
// forged one does not stop the link.
type window [windowLen]int64

// windowLen is how many frames later a repeated one is found. One that is repeated after
// more has an arrival time in the past, or is one frame more than were sent.
const windowLen = 512

// has reports whether a number, of at least 1, has been read.
func (w *window) has(sequence int64) bool { return w[sequence%windowLen] == sequence }

// add records that a number has been read.
func (w *window) add(sequence int64) { w[sequence%windowLen] = sequence }

// Drain reads, at the end of a run in lockstep, what is left at the ports, so that
// every frame has been counted. A *LinkError names a link with a frame too many.
func (n *Node) Drain() error { return n.drain(drainBatches) }

// drainBatches bounds what Drain reads where frames come without end.
const drainBatches = 1024
