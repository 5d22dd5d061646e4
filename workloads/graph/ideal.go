package graph

import (
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Link is the network of Ideal: each rank has a NIC, which sends one message after the
// other in the order in which they are posted, and nothing else is ever in a message's way.
type Link struct {
	Rate    units.Rate     // of a NIC; 0: messages take no time to send
	Latency units.Duration // from the end of a message at its sender to the receiver; acknowledgements take none
	// Between returns the way of a message of a stream, in place of Rate and Latency. nil: they
	// are those of all messages.
	Between func(s Stream, bytes units.Size) Way

	Sink metrics.Sink // takes the operations of all ranks; may be nil
	Most int          // operations of all ranks together, of more Ideal returns an error; 0: mostIdeal
}

// Way is what a message of one rank to another crosses.
type Way struct {
	NIC     int            // that sends it, from 0; several ranks may share one
	Rate    units.Rate     // of the NIC; 0: messages take no time to send
	Latency units.Duration // as Link.Latency
}

// mostIdeal is how many operations Ideal plays unless it is told otherwise: about ten
// seconds.
const mostIdeal = 20_000_000

// Timeline is what Ideal found.
type Timeline struct {
	End        units.Time // when the last operation was complete
	Operations int        // of all ranks
	Messages   int
	Bytes      units.Size // of the messages
	Live       int        // the most operations that were in memory at a time
}

// Ideal plays all ranks of a source over links without congestion, from time 0. It returns
// an error that wraps ErrInvalid if an operation makes no sense (see Check), if there are
// too many operations, or if the programs get stuck: the error then says which operation
// waits for which. With an error that wraps ErrLimit it returns the Timeline up to there.
func Ideal(s Source, seed uint64, l Link) (*Timeline, error) {
	ranks := make([]int, s.Ranks())
	for i := range ranks {
		ranks[i] = i
	}
	most := l.Most
	if most == 0 {
		most = mostIdeal
	}
	e := NewEngine(Config{Source: s, Ranks: ranks, Seed: seed, Sink: l.Sink, Most: most})
	n := network{link: l, free: make([]units.Time, len(ranks))}
	if l.Rate > 0 && l.Between == nil {
		n.nics = make([]units.Serialiser, len(ranks))
		for i := range n.nics {
			n.nics[i] = units.NewSerialiser(l.Rate)
		}
	}
	t := &Timeline{}
	for !e.Done() && e.Err() == nil {
		now := min(e.Next(), n.next())
		if now == units.Never {
			break
		}
		t.End = now
		n.arrive(now, e)
		if e.Next() <= now {
			e.Advance(now)
		}
		for _, p := range e.Posts() {
			n.send(now, e, &p)
			t.Messages++
			t.Bytes += p.Bytes
		}
		t.Live = max(t.Live, e.Live())
	}
	t.Operations = e.Expanded()
	switch {
	case errors.Is(e.Err(), ErrLimit):
		return t, e.Err()
	case e.Err() != nil:
		return nil, e.Err()
	case !e.Done():
		return nil, fmt.Errorf("%w: %s", ErrInvalid, e.Stuck())
	}
	return t, nil
}

// network is the messages on their way.
type network struct {
	link  Link
	nics  []units.Serialiser // by rank; nil: of no rate
	free  []units.Time       // by rank: when the NIC has sent what it has
	queue dueHeap            // of streams, by arrival; rank and id are those of the order of posting
	posts uint64
}

func (n *network) next() units.Time {
	if len(n.queue) == 0 {
		return units.Never
	}
	return n.queue[0].at
}

// arrive takes the messages that have arrived to the engine.
func (n *network) arrive(now units.Time, e *Engine) {
	for n.next() <= now {
		stream := int(n.queue.pop().slot)
		e.Sent(now, stream, 1)
		e.Received(now, stream, 1)
	}
}

func (n *network) send(now units.Time, e *Engine, p *Post) {
	at, latency := now, n.link.Latency
	switch stream := e.StreamOf(p.Stream); {
	case n.link.Between != nil:
		way := n.link.Between(stream, p.Bytes)
		for way.NIC >= len(n.free) {
			n.free = append(n.free, 0)
		}
		if latency = way.Latency; way.Rate > 0 {
			at = max(now, n.free[way.NIC]).Add(way.Rate.Serialisation(p.Bytes))
		}
		n.free[way.NIC] = at
	case n.nics != nil:
		from := stream.From
		at = n.nics[from].Departure(max(now, n.free[from]), p.Bytes)
		n.free[from] = at
	}
	n.queue.push(due{at: at.Add(latency), rank: int32(n.posts >> 32), id: uint32(n.posts), slot: int32(p.Stream)})
	n.posts++
}
