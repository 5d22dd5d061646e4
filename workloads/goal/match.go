package goal

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/workloads/graph"
)

// source turns the operations of the file into programs.
//
// GOAL matches a receive with a send by their ranks and tag. A Source has streams instead:
// the k-th receive of a stream gets the message of the k-th send. So messages are matched
// first. Then all operations of all ranks are put into one order in which everything stands
// behind what it waits for; each rank keeps its part of it. At last the messages between
// two ranks are shared out among as few streams as their order allows.
func (r *reader) source() (graph.Source, error) {
	if err := r.match(); err != nil {
		return nil, err
	}
	order, err := r.order()
	if err != nil {
		return nil, err
	}
	s := &graph.Static{Count: 1, Of: make(map[int][]graph.Op), All: r.ranks}
	position := make([]uint32, len(r.ops)) // in the program of the rank
	for _, id := range order {
		rank := int(r.ops[id].rank)
		position[id] = uint32(len(s.Of[rank]))
		s.Of[rank] = append(s.Of[rank], graph.Op{})
	}
	if err := r.streams(order, position); err != nil {
		return nil, err
	}
	r.dependencies(position)
	for _, id := range order {
		o := &r.ops[id]
		s.Of[int(o.rank)][position[id]] = o.Op
	}
	return s, nil
}

// queue is sends in the order of the file, of which some may be taken.
type queue struct {
	sends []uint32
	next  int
}

// stream names the messages that a receive may ask for; wild stands for any.
type stream struct{ from, to, tag uint32 }

// match finds the send of each receive. Receives that say what they want come first, then
// those from any rank or of any tag.
func (r *reader) match() error {
	queues := map[stream]*queue{}
	asked := map[stream]bool{} // what wild receives ask for
	for i := range r.ops {
		if o := &r.ops[i]; o.Kind == graph.Recv && (o.peer == wild || o.tag == wild) {
			asked[stream{o.peer, uint32(o.rank), o.tag}] = true
		}
	}
	add := func(k stream, id uint32) {
		q := queues[k]
		if q == nil {
			q = &queue{}
			queues[k] = q
		}
		q.sends = append(q.sends, id)
	}
	for i := range r.ops {
		o := &r.ops[i]
		if o.Kind != graph.Send {
			continue
		}
		from, to := uint32(o.rank), o.peer
		add(stream{from, to, o.tag}, uint32(i))
		for _, k := range [3]stream{{wild, to, o.tag}, {from, to, wild}, {wild, to, wild}} {
			if asked[k] {
				add(k, uint32(i))
			}
		}
	}
	for _, any := range [2]bool{false, true} {
		for i := range r.ops {
			o := &r.ops[i]
			if o.Kind != graph.Recv || any != (o.peer == wild || o.tag == wild) {
				continue
			}
			q := queues[stream{o.peer, uint32(o.rank), o.tag}]
			for q != nil && q.next < len(q.sends) && r.ops[q.sends[q.next]].other != none {
				q.next++
			}
			if q == nil || q.next == len(q.sends) {
				return r.Errorf(o.at, "rank %d receives %s, which is not sent", o.rank, message(o))
			}
			send := q.sends[q.next]
			o.other, r.ops[send].other = send, uint32(i)
		}
	}
	for i := range r.ops {
		if o := &r.ops[i]; o.Kind == graph.Send {
			if o.other == none {
				return r.Errorf(o.at, "rank %d sends %s, which is not received", o.rank, message(o))
			}
			r.settle(o, &r.ops[o.other])
		}
	}
	return nil
}

// message names the message of an operation that has no other end.
func message(o *op) string {
	peer, tag := fmt.Sprint(" ", o.peer), fmt.Sprint(" of tag ", o.tag)
	if o.peer == wild {
		peer = " any rank"
	} else {
		peer = " rank" + peer
	}
	if o.tag == wild {
		tag = " of any tag"
	}
	if o.Kind == graph.Send {
		return "a message to" + peer + tag
	}
	return "a message from" + peer + tag
}

// settle makes the two ends of a message agree.
func (r *reader) settle(send, recv *op) {
	if send.Bytes != recv.Bytes {
		r.loss.Add("receives of another size than their sends", r.Place(recv.at))
	}
	if send.Bytes == 0 {
		r.loss.Add("messages of no bytes, sent as one byte", r.Place(send.at))
		send.Bytes = 1
	}
	recv.Bytes, recv.peer = send.Bytes, uint32(send.rank)
	send.Peer, recv.Peer = recv.rank, send.rank
	if send.rank == recv.rank {
		r.loss.Add("messages of a rank to itself, which take no time", r.Place(send.at))
		r.edges = append(r.edges, edge{recv.other, send.other})
		send.Op = graph.Op{Kind: graph.Barrier, Tag: send.Tag}
		recv.Op = graph.Op{Kind: graph.Barrier, Tag: recv.Tag}
		send.other, recv.other = none, none
	}
}

// order returns the operations of all ranks in an order in which everything stands behind
// what it depends on and a receive behind its send: first all that waits for nothing, then
// what waits for these alone, and so on, in the order of the file each.
func (r *reader) order() ([]uint32, error) {
	n := len(r.ops)
	waits, from := make([]uint32, n), make([]uint32, n+1)
	each := func(do func(before, behind uint32)) {
		for _, e := range r.edges {
			do(e.before, e.behind)
		}
		for i := range r.ops {
			if o := &r.ops[i]; o.Kind == graph.Send {
				do(uint32(i), o.other)
			}
		}
	}
	each(func(before, behind uint32) {
		waits[behind]++
		from[before+1]++
	})
	for i := range n {
		from[i+1] += from[i]
	}
	next, fill := make([]uint32, from[n]), slices.Clone(from[:n])
	each(func(before, behind uint32) {
		next[fill[before]] = behind
		fill[before]++
	})
	order := make([]uint32, 0, n)
	for i := range n {
		if waits[i] == 0 {
			order = append(order, uint32(i))
		}
	}
	for done := 0; done < len(order); {
		level := len(order)
		for ; done < level; done++ {
			id := order[done]
			for _, behind := range next[from[id]:from[id+1]] {
				if waits[behind]--; waits[behind] == 0 {
					order = append(order, behind)
				}
			}
		}
		slices.Sort(order[level:])
	}
	if len(order) == n {
		return order, nil
	}
	// Whoever waits for ever waits for one that does; going back ends in a circle.
	behindOf := make([]uint32, n)
	each(func(before, behind uint32) {
		if waits[before] > 0 {
			behindOf[behind] = before
		}
	})
	id := uint32(slices.IndexFunc(waits, func(w uint32) bool { return w > 0 }))
	for range n {
		id = behindOf[id]
	}
	smallest := id
	for at := behindOf[id]; at != id; at = behindOf[at] {
		smallest = min(smallest, at)
	}
	o, before := &r.ops[smallest], &r.ops[behindOf[smallest]]
	return nil, r.Errorf(o.at, "rank %d: the operation can never begin: it waits in a circle, for the operation of rank %d in line %d", o.rank, before.rank, before.at.Line)
}

// streams gives each message a channel such that the sends of a channel are received in
// their order.
func (r *reader) streams(order, position []uint32) error {
	type pair struct{ from, to int32 }
	last := map[pair][]uint32{} // by channel, the position of the last receive
	for _, id := range order {
		o := &r.ops[id]
		if o.Kind != graph.Send {
			continue
		}
		k, recv := pair{o.rank, o.Peer}, position[o.other]
		// The last receives fall from channel to channel.
		channel, _ := slices.BinarySearchFunc(last[k], recv, func(last, recv uint32) int {
			if last > recv {
				return -1
			}
			return 1
		})
		if channel > math.MaxUint16 {
			return r.Errorf(o.at, "rank %d receives more than %d messages of rank %d in the reverse of the order in which they are sent", o.Peer, math.MaxUint16+1, o.rank)
		}
		if channel == len(last[k]) {
			last[k] = append(last[k], recv)
		}
		last[k][channel] = recv
		o.Channel, r.ops[o.other].Channel = uint16(channel), uint16(channel)
	}
	return nil
}

// dependencies gives each operation its dependencies, in ascending order.
func (r *reader) dependencies(position []uint32) {
	count := make([]uint32, len(r.ops)+1)
	for _, e := range r.edges {
		count[e.behind+1]++
	}
	for i := range r.ops {
		count[i+1] += count[i]
	}
	deps, fill := make([]uint32, len(r.edges)), slices.Clone(count)
	for _, e := range r.edges {
		deps[fill[e.behind]] = position[e.before]
		fill[e.behind]++
	}
	for i := range r.ops {
		own := deps[count[i]:count[i+1]:count[i+1]]
		slices.Sort(own)
		r.ops[i].Deps = slices.Compact(own)
	}
}
