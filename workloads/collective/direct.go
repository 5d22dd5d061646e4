package collective

import "github.com/csiglab/csiglab/units"

// What goes to several peers goes to the next rank first, then to the one after it: in the k-th
// place to rank i+k, so that no two ranks of the group send to the same rank in the same place.

// direct appends collectives in which ranks send to each other at once.
func (e *emitter) direct(l line, bytes units.Size, after []uint32) []uint32 {
	n, root := len(l.ranks), e.call.Root
	p := pieces{bytes, n}
	var got []uint32
	switch e.call.Kind {
	case AllReduce:
		return e.directAllGather(l, p, e.join(e.directReduceScatter(l, p, after)))
	case ReduceScatter:
		return e.directReduceScatter(l, p, after)
	case AllGather:
		return e.directAllGather(l, p, after)
	case Gather:
		if l.me != root {
			e.send(l.ranks[root], l.on, p.of(l.me), after...)
			break
		}
		for k := 1; k < n; k++ {
			got = append(got, e.recv(l.at(k), l.on, p.of(l.index(k)), after...)...)
		}
	case Scatter:
		if l.me != root {
			return e.recv(l.ranks[root], l.on, p.of(l.me), after...)
		}
		for k := 1; k < n; k++ {
			e.send(l.at(k), l.on, p.of(l.index(k)), after...)
		}
	case SendRecv:
		e.send(l.at(1), l.on, bytes, after...)
		got = e.recv(l.at(-1), l.on, bytes, after...)
	}
	return got
}

// directReduceScatter appends the step that leaves piece l.me of the sum at the rank.
func (e *emitter) directReduceScatter(l line, p pieces, after []uint32) (got []uint32) {
	for k := 1; k < p.n; k++ {
		e.send(l.at(k), l.on, p.of(l.index(k)), after...)
	}
	for k := 1; k < p.n; k++ {
		got = append(got, e.recv(l.at(-k), l.on, p.of(l.me), after...)...)
	}
	return got
}

// directAllGather appends the step that brings the pieces of the others.
func (e *emitter) directAllGather(l line, p pieces, after []uint32) (got []uint32) {
	for k := 1; k < p.n; k++ {
		e.send(l.at(k), l.on, p.of(l.me), after...)
	}
	for k := 1; k < p.n; k++ {
		got = append(got, e.recv(l.at(-k), l.on, p.of(l.index(-k)), after...)...)
	}
	return got
}

// allToAll appends an all-to-all peer by peer: in the k-th round a rank sends to the rank k places
// on and receives from the rank k places before. Rounds c, c+channels, c+2 channels … follow each
// other; the next begins when the message of one has been received, and that sent acknowledged.
func (e *emitter) allToAll(begin uint32) {
	c := e.call
	l := line{ranks: c.Group, me: c.Me, on: c.Channel}
	p := pieces{c.Bytes, len(l.ranks)}
	out, in := func(k int) units.Size { return p.of(l.index(k)) }, func(int) units.Size { return p.of(l.me) }
	if c.Split != nil {
		out, in = func(k int) units.Size { return c.Split[l.index(k)] }, func(k int) units.Size { return c.From[l.index(-k)] }
	}
	e.ends = append(e.ends, e.exchange(l, out, in, []uint32{begin})...)
}

// exchange appends the rounds of an all-to-all with so many bytes to the rank k places on and from
// the rank k places before.
func (e *emitter) exchange(l line, out, in func(k int) units.Size, after []uint32) []uint32 {
	lanes := make([][]uint32, min(max(1, e.call.Channels), len(l.ranks)-1))
	for k := 1; k < len(l.ranks); k++ {
		lane := (k - 1) % len(lanes)
		wait := lanes[lane]
		if wait == nil {
			wait = after
		}
		e.send(l.at(k), l.on, out(k), wait...)
		next := e.recv(l.at(-k), l.on, in(k), wait...)
		if out(k) > 0 {
			if in(k) == 0 {
				next = nil
			}
			next = append(next[:len(next):len(next)], e.sent(l.at(k), l.on))
		}
		lanes[lane] = next
	}
	var ends []uint32
	for _, lane := range lanes {
		ends = append(ends, lane...)
	}
	return ends
}
