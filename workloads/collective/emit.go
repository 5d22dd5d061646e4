package collective

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// window is how many messages a rank has on the way to one peer in pipelined trees and chains:
// NCCL's connections have as many steps of buffer (NCCL_STEPS).
const window = 8

// fenceEvery is how many steps of a ring there are from fence to fence.
const fenceEvery = 32

// emitter appends the operations of one call.
type emitter struct {
	b       *graph.Builder
	call    *Call
	streams []stream // that the rank sends on
	find    map[[2]int32]int
	last    int      // stream of the last send, or -1
	ends    []uint32 // that the end of the collective waits for, beside the last send of each stream
	ids     []uint32 // memory of the slices that recv returns
	handover
}

// stream is what a rank sends to a peer on one stream number.
type stream struct {
	peer  int32
	on    uint16
	total units.Size
	send  uint32 // the last one
}

// line is a group of ranks as one of them sees it, with the streams that it uses.
type line struct {
	ranks []int
	me    int
	on    uint16
}

// at returns the rank k places after the own one.
func (l line) at(k int) int { return l.ranks[l.index(k)] }

// index returns the index of the rank k places after the own one.
func (l line) index(k int) int { return mod(l.me+k, len(l.ranks)) }

func mod(i, n int) int { return (i%n + n) % n }

// pieces is an array that is divided as evenly as bytes allow: the first of the pieces have one
// byte more than the others if the division has a remainder.
type pieces struct {
	bytes units.Size
	n     int
}

// of returns the size of piece i, which may be 0.
func (p pieces) of(i int) units.Size { return p.span(i, i+1) }

// span returns the size of the pieces from i to before j.
func (p pieces) span(i, j int) units.Size {
	each, more := p.bytes/units.Size(p.n), int(p.bytes%units.Size(p.n))
	return each*units.Size(j-i) + units.Size(min(j, more)-min(i, more))
}

// send appends the sends of bytes to a rank, in messages of at most a chunk; without bytes it
// appends nothing.
func (e *emitter) send(to int, on uint16, bytes units.Size, deps ...uint32) {
	for bytes > 0 {
		size := e.message(bytes)
		s := e.stream(to, on)
		op := graph.Op{Kind: graph.Send, Peer: int32(to), Channel: on, Bytes: e.wire(size), Total: units.Size(s)}
		e.streams[s].send = e.b.Add(op, deps...)
		e.streams[s].total += op.Bytes
		bytes -= size
	}
}

// recv appends the receives of bytes from a rank, and returns what depends on them has to
// depend on: the last one or, without bytes, deps.
func (e *emitter) recv(from int, on uint16, bytes units.Size, deps ...uint32) []uint32 {
	for bytes > 0 {
		size := e.message(bytes)
		op := graph.Op{Kind: graph.Recv, Peer: int32(from), Channel: on, Bytes: e.wire(size), Duration: e.takes(from)}
		e.ids = append(e.ids, e.b.Add(op, deps...))
		deps = e.ids[len(e.ids)-1 : len(e.ids) : len(e.ids)]
		bytes -= size
	}
	return deps
}

// takes returns how long a message from a rank takes after it has arrived.
func (e *emitter) takes(from int) units.Duration {
	if p := e.call.Servers.Places; p != nil && p[from].Server == p[e.call.Group[e.call.Me]].Server {
		return e.inside
	}
	return e.across
}

func (e *emitter) message(bytes units.Size) units.Size {
	if e.call.Chunk > 0 {
		return min(bytes, e.call.Chunk)
	}
	return bytes
}

// sent returns the last send on a stream, which has some.
func (e *emitter) sent(to int, on uint16) uint32 { return e.streams[e.stream(to, on)].send }

func (e *emitter) stream(to int, on uint16) int {
	if e.last >= 0 && e.streams[e.last].peer == int32(to) && e.streams[e.last].on == on {
		return e.last
	}
	key := [2]int32{int32(to), int32(on)}
	i, ok := e.find[key]
	if !ok {
		if e.find == nil {
			e.find = map[[2]int32]int{}
		}
		i = len(e.streams)
		e.streams, e.find[key] = append(e.streams, stream{peer: int32(to), on: on}), i
	}
	e.last = i
	return i
}

// join returns one operation to depend on instead of several.
func (e *emitter) join(deps []uint32) []uint32 {
	if len(deps) > 1 {
		return []uint32{e.b.Barrier(deps...)}
	}
	return deps
}

// fence makes the last operation, a receive on which everything behind it in this channel depends,
// a fence every so often, if nothing goes on beside.
func (e *emitter) fence(step int) {
	last := &e.b.Ops[len(e.b.Ops)-1]
	if e.call.Fences && e.call.Channels <= 1 && e.call.algorithm() == Ring && step%fenceEvery == fenceEvery-1 && last.Kind == graph.Recv {
		last.Fence = true
	}
}

// expand appends everything between the marks.
func (e *emitter) expand(begin uint32) {
	c := e.call
	switch n := len(c.Group); {
	case n == 1:
	case c.Kind == Barrier:
		e.dissemination(begin)
	case c.Kind == AllToAll && c.algorithm() == Direct:
		e.allToAll(begin)
	case c.Kind == AllToAll:
		e.allToAllHierarchical(begin)
	default:
		channels := pieces{c.Bytes, max(1, c.Channels)}
		for i := range channels.n {
			if bytes := channels.of(i); bytes > 0 {
				e.ends = append(e.ends, e.channel(i, bytes, begin)...)
			}
		}
	}
}

// channel appends the share of one channel and returns what the end waits for.
func (e *emitter) channel(i int, bytes units.Size, begin uint32) []uint32 {
	c := e.call
	l := line{ranks: c.Group, me: c.Me, on: c.Channel + uint16(i*c.Streams()/max(1, c.Channels))}
	root, after := c.Root, []uint32{begin}
	if a := c.algorithm(); a == Ring || a == Tree {
		l, root = l.ofChannel(i, c.Servers.Places, root)
	}
	n := len(l.ranks)
	switch c.algorithm() {
	case Ring:
		switch c.Kind {
		case Broadcast, Reduce:
			return e.chain(l, root, bytes, after)
		}
		for loop := range e.loops(bytes, n) {
			p := pieces{loop, n}
			if c.Kind != AllGather {
				after = e.ringReduceScatter(l, p, after)
			}
			if c.Kind != ReduceScatter {
				after = e.ringAllGather(l, p, after)
			}
		}
	case HalvingDoubling:
		p := pieces{bytes, n}
		if c.Kind != AllGather {
			after = e.halving(l, p, after)
		}
		if c.Kind != ReduceScatter {
			after = e.doubling(l, p, after)
		}
	case Direct:
		return e.direct(l, bytes, after)
	case Tree:
		return e.trees(l, bytes, after)
	case Hierarchical:
		return e.hierarchical(l, bytes, after)
	case Binomial:
		return e.binomial(l, bytes, after)
	}
	return after
}

// loops yields the bytes of each loop of a ring or hierarchy: n chunks, and what is left.
func (e *emitter) loops(bytes units.Size, n int) func(func(units.Size) bool) {
	return func(yield func(units.Size) bool) {
		for bytes > 0 {
			loop := bytes
			if c := e.call.Chunk; c > 0 && c < (bytes+units.Size(n)-1)/units.Size(n) {
				loop = c * units.Size(n)
			}
			if bytes -= loop; !yield(loop) {
				return
			}
		}
	}
}
