package lockstep

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/heap"
	"github.com/csiglab/csiglab/units"
)

// Partition says which nodes of a fabric this Board's part has, where the fabric is cut into
// parts that run on several machines. Each part has a Board of its own, of all nodes; the
// bounds of the others' nodes come from their parts (Exchange). It is plain data.
type Partition struct {
	Part int   // this part
	Of   []int // by node: its part; each part from 0 has a node
}

// part is what a Board knows beyond its words where its nodes are those of one part.
type part struct {
	self   int
	parts  int
	of     []int     // by node
	exits  [][]int   // by part: the nodes with links into other parts, ascending
	in     [][]int   // by part: the links into it from other parts, ascending
	out    []int     // the links out of this part, ascending
	inside [][]int64 // by exit: by node of its part, dist inside of the part; nil for other nodes
	front  []int64   // by node of this part: dist inside to the nearest exit
	slack  int64     // the shortest lookahead of a link into or out of this part
	*gateway
}

// gateway is what only the gateway's Board knows.
type gateway struct {
	exported []int64     // by link: sent, as the others know it
	bounds   []int64     // by exit of another part: E(x), as it was told last
	earliest []int64     // by part, as it was told last
	known    []int64     // by part: its version
	seen     [][]int64   // by part: Seen, as it was told last
	transit  [][]transit // by part: frames to it that its state does not include
	floor    []int64     // scratch, by node
	version  int64       // of this part
}

// transit is the frames that one version of a part has sent to a node.
type transit struct {
	from    int // part
	version int64
	to      int // node
	first   int64
}

// Partition tells the Board that it has the nodes of one part. As with Limit, all callers
// set the same partition, before the first turn. One of them, the gateway, which calls Export
// and Import, does so after Reset and before any node reports.
//
// A node's process that opens a shared Board calls it like this, before Limit or after it:
//
//	if spec.Partition != nil {
//		if err := board.Partition(*spec.Partition, false); err != nil {
//			return 0, err
//		}
//	}
func (b *Board) Partition(p Partition, isGateway bool) error {
	if len(p.Of) != b.nodes {
		return fmt.Errorf("lockstep: the partition has %d nodes, want %d", len(p.Of), b.nodes)
	}
	parts := slices.Max(p.Of) + 1
	size := make([]int, parts)
	for n, q := range p.Of {
		if q < 0 {
			return fmt.Errorf("lockstep: node %d is in part %d", n, q)
		}
		size[q]++
	}
	if empty := slices.Index(size, 0); empty >= 0 {
		return fmt.Errorf("lockstep: part %d of %d has no node", empty, parts)
	}
	if p.Part < 0 || p.Part >= parts {
		return fmt.Errorf("lockstep: there is no part %d among %d", p.Part, parts)
	}
	t := &part{
		self: p.Part, parts: parts, of: slices.Clone(p.Of), exits: make([][]int, parts), in: make([][]int, parts),
		inside: make([][]int64, b.nodes), front: make([]int64, b.nodes), slack: int64(units.Never),
	}
	for id, l := range b.links {
		from, to := t.of[l.From], t.of[l.To]
		if from == to {
			continue
		}
		t.exits[from] = append(t.exits[from], l.From)
		t.in[to] = append(t.in[to], id)
		if from == t.self {
			t.out = append(t.out, id)
		}
		if from == t.self || to == t.self {
			t.slack = min(t.slack, int64(l.Lookahead))
		}
	}
	for n := range t.front {
		t.front[n] = int64(units.Never)
	}
	for q := range t.exits {
		slices.Sort(t.exits[q])
		t.exits[q] = slices.Compact(t.exits[q])
		if q != t.self && !isGateway {
			continue
		}
		for _, x := range t.exits[q] {
			t.inside[x] = b.inward(t, x)
			for n, d := range t.inside[x] {
				if q == t.self {
					t.front[n] = min(t.front[n], d)
				}
			}
		}
	}
	b.part, b.expected = t, int64(size[t.self]+parts-1)
	if !isGateway {
		return nil
	}
	t.gateway = &gateway{
		exported: make([]int64, len(b.links)), bounds: make([]int64, b.nodes), earliest: make([]int64, parts), known: make([]int64, parts),
		seen: make([][]int64, parts), transit: make([][]transit, parts), floor: make([]int64, b.nodes),
	}
	for q := range t.seen {
		t.seen[q] = make([]int64, parts)
	}
	for n, q := range t.of {
		if q != t.self {
			b.state[n] = remote
		}
	}
	for q := range parts {
		if q != t.self {
			b.reckon(q)
		}
	}
	return nil
}

// inward returns dist inside of x's part from each of its nodes to x, 0 for x, and never
// for nodes without a path.
func (b *Board) inward(t *part, x int) []int64 {
	dist := make([]int64, b.nodes)
	for n := range dist {
		dist[n] = int64(units.Never)
	}
	dist[x] = 0
	queue := []reached{{node: x}}
	for len(queue) > 0 {
		var r reached
		r, queue = heap.Pop(queue, nearer)
		if r.at != dist[r.node] {
			continue
		}
		for _, id := range b.in[r.node] {
			from, d := b.links[id].From, r.at+int64(b.links[id].Lookahead)
			if t.of[from] == t.of[x] && d < dist[from] {
				dist[from] = d
				queue = heap.Push(queue, reached{node: from, at: d}, nearer)
			}
		}
	}
	return dist
}

// later returns at + d, and never for a sum beyond it.
func later(at, d int64) int64 { return int64(min(uint64(at)+uint64(d), uint64(units.Never))) }

// exit returns E(x) of an exit of this part.
func (b *Board) exit(x int) int64 {
	least := int64(units.Never)
	for k, d := range b.part.inside[x] {
		if b.part.of[k] == b.part.self {
			least = min(least, later(b.bound[k], d))
		}
	}
	return least
}

// own returns the smallest bound of the part's nodes.
func (b *Board) own() int64 {
	least := int64(units.Never)
	for k, q := range b.part.of {
		if q == b.part.self {
			least = min(least, b.bound[k])
		}
	}
	return least
}

// crossed records what the turn of a node means to other parts.
func (b *Board) crossed(n int, r *Report) {
	t := b.part
	for _, s := range r.Sent {
		if t.of[b.links[s.Link].To] != t.self {
			b.first[s.Link] = min(b.first[s.Link], int64(s.First))
			b.head[headUnsent] += s.Frames
		}
	}
	if r.Blocked && t.of[b.links[r.Full].To] != t.self {
		b.head[headUrgent] = 1
	}
	for _, l := range b.in[n] {
		if t.of[b.links[l].From] != t.self {
			b.relieve(l)
		}
	}
}

// relieve has the others told at once how far a link into the part was read, if its sender
// has no room.
func (b *Board) relieve(l int) {
	if b.full(l) && b.read[l] > b.told[l] {
		b.head[headUrgent] = 1
	}
}

// full reports whether the sender of a link into the part has no room, as far as it knows.
func (b *Board) full(l int) bool { return b.sent[l]-b.told[l] >= b.links[l].Capacity }

// reported reports whether all nodes of the part have reported once.
func (b *Board) reported() bool { return b.head[headPresent] == b.expected-int64(b.part.parts-1) }

// summon calls the gateway when there is something to tell. idle says that the last call
// has started no node.
func (b *Board) summon(idle bool) {
	if b.head[headCalled] == 0 && b.worth(idle) {
		b.head[headCalled] = 1
		b.wake = append(b.wake, b.nodes)
	}
}

// worth reports whether the others may need an Exchange. When no node of the part may run,
// anything that they could wait for is worth one. While some run, only what moves the
// horizons of others by a lookahead is, so that one Exchange has the progress of many turns.
// For three-flow in two parts that is a tenth less Exchanges than with half of a lookahead, and
// no more turns. Without this rule they are a fifth less again, but then no two parts run at
// the same time.
func (b *Board) worth(idle bool) bool {
	if b.head[headVersion] == 0 {
		return b.reported()
	}
	if b.head[headUrgent] != 0 {
		return true
	}
	t := b.part
	if b.head[headDone] != 0 || idle && !slices.Contains(b.state, woken) && !slices.Contains(b.state, running) {
		if b.head[headUnsent] > 0 {
			return true
		}
		if b.own() >= int64(b.end) {
			return b.head[headEnded] == 0 || b.head[headFresh] != 0
		}
		for _, x := range t.exits[t.self] {
			if b.exit(x) > b.view[x] {
				return true
			}
		}
		return false
	}
	front, view := int64(units.Never), int64(units.Never)
	for k, d := range t.front {
		if t.of[k] == t.self {
			front = min(front, later(b.bound[k], d))
		}
	}
	for _, x := range t.exits[t.self] {
		view = min(view, b.view[x])
	}
	return front > later(view, t.slack)
}
