package msccl

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/lines"
)

// stream names the messages of a connection.
type stream struct {
	from, to int32
	channel  uint16
}

// connection is what joins two blocks: the one that sends and the one that receives.
type connection struct {
	ends    [2]end
	ready   [][]*value // messages that are sent and not yet received
	got     int        // messages received
	waiting bool       // the receiver waits for a message
}

// end is a block with its steps that use the connection, in order.
type end struct {
	*block
	steps []int
}

// The ends of a connection.
const (
	sender = iota
	receiver
)

// value is what a chunk holds: the sum of the chunks with one index, of a set of ranks. It is
// never changed. nil is nothing that is known.
type value struct {
	index int32
	ranks []uint64 // a bit for each rank; nil: a sum that mixes indices, or counts a rank twice
}

// connect finds the two ends of each message.
func (r *reader) connect() error {
	connections := map[stream]*connection{}
	for _, b := range r.blocks {
		for i := range b.steps {
			for side, uses := range [2]bool{b.steps[i].send, b.steps[i].receive} {
				if !uses {
					continue
				}
				k := stream{b.gpu, b.send, b.channel}
				if side == receiver {
					k = stream{b.recv, b.gpu, b.channel}
				}
				if connections[k] == nil {
					connections[k] = &connection{}
				}
				b.ends[side] = connections[k]
				e := &b.ends[side].ends[side]
				if e.block != nil && e.block != b {
					return r.Errorf(b.steps[i].at, "gpu %d, tb %d: tb %d in line %d has the same peer on channel %d", b.gpu, b.id, e.id, e.at.Line, b.channel)
				}
				e.block, e.steps = b, append(e.steps, i)
			}
		}
	}
	for _, b := range r.blocks { // in the order of the file
		for side, c := range b.ends {
			if c == nil {
				continue
			}
			own, other := c.ends[side].steps, c.ends[1-side].steps
			if n := len(other); n < len(own) {
				what := [2]string{"sends to gpu %d on channel %d what is not received", "receives from gpu %d on channel %d what is not sent"}[side]
				return r.Errorf(b.steps[own[n]].at, "gpu %d "+what, b.gpu, [2]int32{b.send, b.recv}[side], b.channel)
			}
			for k := range own {
				if got, sent := &b.steps[own[k]], &c.ends[1-side].block.steps[other[k]]; side == receiver && got.count != sent.count {
					return r.Errorf(got.at, "gpu %d receives %d chunks of the %d that gpu %d sends in line %d", b.gpu, got.count, sent.count, b.recv, sent.at.Line)
				}
			}
		}
	}
	return nil
}

// wait returns the step of another block that a step waits for, or nil. The flag of a block
// is raised by steps with hasdep alone: a step waits for the first of them from deps on.
func (r *reader) wait(b *block, s *step) (*step, error) {
	if s.depBlock < 0 {
		return nil, nil
	}
	other := r.gpus[b.gpu].blocks[s.depBlock]
	if other == nil || int(max(0, s.depStep)) >= len(other.steps) {
		return nil, r.Errorf(s.at, "gpu %d has no step %d of tb %d, which the step depends on", b.gpu, s.depStep, s.depBlock)
	}
	for i := int(max(0, s.depStep)); i < len(other.steps); i++ {
		if other.steps[i].hasDep {
			return &other.steps[i], nil
		}
	}
	return nil, r.Errorf(s.at, "the step waits for ever: from step %d on no step of tb %d has hasdep 1", s.depStep, s.depBlock)
}

// follow runs all steps without time. It finds an order for the steps of each GPU and what
// its chunks hold in the end.
func (r *reader) follow() error {
	if err := r.connect(); err != nil {
		return err
	}
	queue := slices.Clone(r.blocks)
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		for ; b.next < len(b.steps); b.next++ {
			s := &b.steps[b.next]
			before, err := r.wait(b, s)
			if err != nil {
				return err
			}
			if before != nil && !before.over {
				before.waited = append(before.waited, b)
				break
			}
			if s.receive && len(b.ends[receiver].ready) == 0 {
				b.ends[receiver].waiting = true
				break
			}
			r.run(b, s)
			s.over = true
			r.gpus[b.gpu].order = append(r.gpus[b.gpu].order, place{b, b.next})
			if c := b.ends[sender]; s.send && c.waiting {
				c.waiting = false
				queue = append(queue, c.ends[receiver].block)
			}
			queue = append(queue, s.waited...)
			s.waited = nil
		}
	}
	for _, b := range r.blocks {
		if b.next < len(b.steps) {
			s := &b.steps[b.next]
			before, _ := r.wait(b, s) // without error, as it has been asked before
			if before == nil || before.over {
				c := b.ends[receiver]
				before = &c.ends[sender].block.steps[c.ends[sender].steps[c.got]]
			}
			return r.Errorf(s.at, "gpu %d, tb %d: step %d can never begin: it waits in a circle, for the step in line %d", b.gpu, b.id, b.next, before.at.Line)
		}
	}
	return nil
}

// run does what a step does.
func (r *reader) run(b *block, s *step) {
	if s.action == (action{}) {
		return
	}
	var data []*value
	if s.receive {
		c := b.ends[receiver]
		data, c.ready = c.ready[0], c.ready[1:]
		c.got++
	} else {
		data = make([]*value, s.count)
		for i := range data {
			data[i] = r.load(s.src, i)
		}
	}
	if s.reduce {
		with, sums := s.src, make([]*value, len(data))
		if s.local {
			with = s.dst
		}
		for i := range data {
			sums[i] = sum(data[i], r.load(with, i))
		}
		data = sums
	}
	if s.store {
		for i, v := range data {
			r.memory[r.same(s.dst, i)] = v
		}
	}
	if s.send {
		c := b.ends[sender]
		c.ready = append(c.ready, data)
	}
}

func sum(a, b *value) *value {
	if a == nil || b == nil {
		return nil
	}
	v := &value{index: a.index}
	if a.index != b.index || a.ranks == nil || b.ranks == nil {
		return v
	}
	v.ranks = make([]uint64, len(a.ranks))
	for i := range v.ranks {
		if a.ranks[i]&b.ranks[i] != 0 {
			return &value{index: a.index}
		}
		v.ranks[i] = a.ranks[i] | b.ranks[i]
	}
	return v
}

// part returns how many chunks of the buffer are those of one rank.
func (r *reader) part() int32 { return int32(r.chunks) / int32(len(r.gpus)) }

// same returns chunk i from a slot on. In place, input and output are one buffer, of which
// the input of an all-gather and the output of a reduce-scatter are the rank's part.
func (r *reader) same(s slot, i int) slot {
	s.off += int32(i)
	switch {
	case !r.inPlace || s.buffer == 's':
	case s.buffer == 'i' && r.coll == "allgather":
		s = slot{s.gpu, 'o', s.off + s.gpu*r.part()}
	case s.buffer == 'o' && r.coll == "reduce_scatter":
		s = slot{s.gpu, 'i', s.off + s.gpu*r.part()}
	case r.coll == "allgather":
		s.buffer = 'o'
	default:
		s.buffer = 'i'
	}
	return s
}

// load returns what chunk i from a slot on holds.
func (r *reader) load(s slot, i int) *value {
	at := r.same(s, i)
	v, ok := r.memory[at]
	if ok {
		return v
	}
	input := at.buffer == 'i'
	if r.coll == "allgather" && r.inPlace {
		at.off -= at.gpu * r.part()
		input = at.buffer == 'o' && at.off >= 0 && at.off < r.part()
	}
	if input {
		v = &value{index: at.off, ranks: r.set(at.gpu)}
	}
	return v
}

// set returns a set of ranks: one, or all with -1.
func (r *reader) set(rank int32) []uint64 {
	s := make([]uint64, (len(r.gpus)+63)/64)
	for i := range r.gpus {
		if rank < 0 || int(rank) == i {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// judge reports the first rank that has not what the collective promises.
func (r *reader) judge() error {
	n, part := int32(len(r.gpus)), r.part()
	if r.coll != "allreduce" && r.chunks%int64(n) != 0 && (r.coll == "allgather" || r.coll == "reduce_scatter" || r.coll == "alltoall") {
		return r.Errorf(r.algo, "nchunksperloop %d does not divide among %d ranks, which coll %s wants", r.chunks, n, r.coll)
	}
	for rank := range n {
		count := int32(r.chunks)
		if r.coll == "reduce_scatter" {
			count = part
		}
		for i := range count {
			var want value
			switch r.coll {
			case "allreduce":
				want = value{i, r.set(-1)}
			case "reduce_scatter":
				want = value{rank*part + i, r.set(-1)}
			case "allgather":
				want = value{i % part, r.set(i / part)}
			case "alltoall":
				want = value{rank*part + i%part, r.set(i / part)}
			default:
				return nil
			}
			got := r.load(slot{rank, 'o', i}, 0)
			if got == nil || got.index != want.index || !slices.Equal(got.ranks, want.ranks) {
				return r.wrong(r.gpus[rank].at, rank, i, got, &want)
			}
		}
	}
	return nil
}

// wrong says what is wrong with a chunk of the output of a rank.
func (r *reader) wrong(at lines.Pos, rank, chunk int32, got, want *value) error {
	how := fmt.Sprintf("has something else in chunk %d of its output", chunk)
	switch {
	case got == nil:
		how = fmt.Sprintf("lacks chunk %d of its output", chunk)
	case got.ranks == nil:
		how = fmt.Sprintf("adds chunk %d of a rank twice, or to another chunk", chunk)
	case got.index == want.index:
		for i := range r.gpus {
			if bit := uint64(1) << (i % 64); want.ranks[i/64]&bit != 0 && got.ranks[i/64]&bit == 0 {
				how = fmt.Sprintf("lacks rank %d's share of chunk %d", i, chunk)
				break
			}
		}
	}
	return r.Errorf(at, "the algorithm does not do an %s: rank %d %s", r.coll, rank, how)
}
