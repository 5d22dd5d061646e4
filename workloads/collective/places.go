package collective

import "github.com/csiglab/csiglab/units"

// Servers are what the ranks of a job run on. The zero value has a server for each rank.
type Servers struct {
	// Places are where ranks are, by rank: the channels of Ring and Tree take turns at the NICs of a
	// server. nil: each rank has a server for itself.
	Places   []Place
	Protocol Protocol
	// Inside is how a rank sends to others of its server, Across how a NIC sends to other servers, on
	// the shortest way. Fastest alone asks for them.
	Inside, Across Link
	// Switched says that switches inside the servers reduce and copy, as NVLink SHARP does. Hierarchical
	// reduces and gathers inside a server in one step then. A rank sends as many bytes as in a ring,
	// which is what its link takes in one of both directions while one stage runs at a time.
	Switched bool
}

// Link is how fast messages are.
type Link struct {
	Rate    units.Rate // 0: messages take no time to send
	Latency units.Duration
}

// Place is where a rank is: its server, and which NIC of the server it sends and receives by.
//
// Ranks of one server that follow each other in a group are a run. Channel c of a ring or a tree
// enters each run at the first rank of the c-th NIC in it (modulo the number of NICs there), goes
// through the run from there on, and leaves it from the rank before. So c channels use c NICs of a
// server in each direction. NCCL's search for rings does the same on servers with a NIC for each GPU
// (src/graph/search.cc); there the last GPU sends by the NIC of the first one, which is PXN of a
// job here. With one NIC in each run all channels have the group's order.
type Place struct{ Server, NIC int }

// runs calls visit with each run of some ranks, from its first to before its last index.
func runs(ranks []int, places []Place, visit func(from, to int)) {
	for from := 0; from < len(ranks); {
		to := from + 1
		for places != nil && to < len(ranks) && places[ranks[to]].Server == places[ranks[from]].Server {
			to++
		}
		visit(from, to)
		from = to
	}
}

// entry returns the index at which channel c enters the run that begins at from.
func entry(ranks []int, places []Place, from, to, c int) int {
	var seen []int // first index of each NIC
	for i := from; i < to; i++ {
		fresh := true
		for _, at := range seen {
			fresh = fresh && places[ranks[at]].NIC != places[ranks[i]].NIC
		}
		if fresh {
			seen = append(seen, i)
		}
	}
	return seen[c%len(seen)]
}

// ofChannel returns the line in the order of channel c, and where root, an index, is in it.
func (l line) ofChannel(c int, places []Place, root int) (line, int) {
	if c == 0 || places == nil {
		return l, root
	}
	other := line{ranks: make([]int, 0, len(l.ranks)), on: l.on}
	first, me := l.ranks[root], l.ranks[l.me]
	runs(l.ranks, places, func(from, to int) {
		at := from
		if to-from > 1 {
			at = entry(l.ranks, places, from, to, c)
		}
		other.ranks = append(append(other.ranks, l.ranks[at:to]...), l.ranks[from:at]...)
	})
	for i, rank := range other.ranks {
		if rank == me {
			other.me = i
		}
		if rank == first {
			root = i
		}
	}
	return other, root
}

// servers returns the first rank of each run of the line, the heads, the index there of the own
// run's, and the ranks of the own run before and behind the own rank: at most one each.
func (l line) servers(places []Place) (heads []int, mine int, before, behind []int) {
	runs(l.ranks, places, func(from, to int) {
		heads = append(heads, l.ranks[from])
		if l.me < from || l.me >= to {
			return
		}
		mine = len(heads) - 1
		if l.me > from {
			before = l.ranks[l.me-1 : l.me : l.me]
		}
		if l.me+1 < to {
			behind = l.ranks[l.me+1 : l.me+2 : l.me+2]
		}
	})
	return heads, mine, before, behind
}
