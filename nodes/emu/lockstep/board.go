package lockstep

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Channel is one direction of a link.
type Channel struct {
	From, To  int            // nodes
	Lookahead units.Duration // positive
	Capacity  int64          // frames that may be on it unread, positive
}

// Report is what a node did in its turn.
type Report struct {
	Next units.Time // the earliest event that it holds; units.Never without one
	Last units.Time // the latest event that it has processed since the start
	Sent []Sent     // frames already on the wire; the Board keeps no reference
	// Blocked says that the turn ended early because link Full has no capacity left.
	Blocked bool
	Full    int
}

// Sent counts the frames of one turn on one link.
type Sent struct {
	Link   int
	Frames int64
	First  units.Time // earliest arrival among them
}

// Verdict is what a node may do after its turn.
type Verdict uint8

// Verdicts.
const (
	Wait Verdict = iota // sleep until woken, then Ask
	Go                  // read, and process every event before the horizon
	Read                // read, and report again
	Done                // the run is over
)

// Turn reports whether the verdict is a turn: Go or Read.
func (v Verdict) Turn() bool { return v == Go || v == Read }

// States of a node on the Board.
const (
	asleep int64 = iota
	woken        // named by Woken, has not asked yet
	running
	absent // before its first Turn
	remote // of another part; never changes
)

// Board is the shared state. Everything but wake, the lanes and the tables lives in words.
type Board struct {
	words []int64

	nodes int
	end   units.Time
	links []Channel
	in    [][]int
	wake  []int
	lanes [][]int // nodes of each lane
	width int     // nodes of a lane that may run at once
	part  *part   // nil: all nodes are of this Board
	// expected is how many nodes and other parts must be present before the first turn.
	expected int64

	// Views into words.
	head    []int64
	bound   []int64 // LB
	pending []int64 // earliest arrival counted since the node's last grant
	horizon []int64 // H at the last look
	blocker []int64 // the node of H's smallest term
	state   []int64
	blocked []int64 // the full link that the node waits for, plus 1; 0: none
	asked   []int64 // 1: a sender waits for the node to read
	sent    []int64 // per link, cumulative
	seen    []int64 // sent, when the receiver was last told to read
	read    []int64 // what the receiver is known to have read
	view    []int64 // of this part's exits: what the others may reckon with at least
	first   []int64 // per cut link out of the part: earliest arrival since the last Export
	told    []int64 // per cut link into the part: read, as the others know it
	dist    []int64 // [to*nodes+from]
}

// Words of head.
const (
	headDone = iota
	headGrants
	headLast
	headPresent // nodes that are not absent
	headHeard   // other parts that have told their first version
	headVersion // of the part's state that was told last
	headUnsent  // frames on cut links that have not been told
	headUrgent  // 1: a sender waits for room on a cut link until the next Export
	headFresh   // 1: frames have come from other parts since the last Export
	headCalled  // 1: the gateway was named by Woken and has not called Export yet
	headEnded   // 1: the others know that no event of the part is before the end
	headOthers  // the earliest event of all other parts, as they told it
	headLatest  // the latest event that another part has processed, as they told it
	headWords
)

// unreachable is a distance that no horizon reaches; twice it does not
// overflow.
const unreachable = int64(1) << 62

// Words returns how many words a Board needs.
func Words(nodes, links int) int { return headWords + 8*nodes + 5*links + nodes*nodes }

// New returns the Board of a fabric over words, which all nodes share. Every
// caller gives the same nodes, links and end. Exactly one of them calls Reset
// before the first turn.
func New(words []int64, nodes int, links []Channel, end units.Time) (*Board, error) {
	if len(words) != Words(nodes, len(links)) {
		return nil, fmt.Errorf("lockstep: %d words, want %d", len(words), Words(nodes, len(links)))
	}
	b := &Board{words: words, nodes: nodes, end: end, links: slices.Clone(links), expected: int64(nodes), in: make([][]int, nodes), wake: make([]int, 0, nodes+1)}
	for id, l := range links {
		if l.Lookahead <= 0 {
			return nil, fmt.Errorf("lockstep: link %d from node %d to %d: lookahead %v is not positive", id, l.From, l.To, l.Lookahead)
		}
		if l.Capacity <= 0 {
			return nil, fmt.Errorf("lockstep: link %d from node %d to %d: a capacity of %d frames is not positive", id, l.From, l.To, l.Capacity)
		}
		b.in[l.To] = append(b.in[l.To], id)
	}
	take := func(n int) (view []int64) {
		view, words = words[:n:n], words[n:]
		return view
	}
	b.head = take(headWords)
	b.bound, b.pending, b.horizon, b.blocker, b.state = take(nodes), take(nodes), take(nodes), take(nodes), take(nodes)
	b.blocked, b.asked, b.view = take(nodes), take(nodes), take(nodes)
	b.sent, b.seen, b.read = take(len(links)), take(len(links)), take(len(links))
	b.first, b.told = take(len(links)), take(len(links))
	b.dist = take(nodes * nodes)
	b.Limit(make([]int, nodes), nodes)
	return b, nil
}

// Reset writes the state before the first turn. No node may advance until every
// node has reported once, so that no frame is sent to one that does not listen
// yet.
func (b *Board) Reset() {
	clear(b.words)
	for n := range b.nodes {
		b.pending[n] = int64(units.Never)
		b.state[n] = absent
	}
	for l := range b.first {
		b.first[l] = int64(units.Never)
	}
	distances(b.dist, b.nodes, b.links)
}

// Limit divides the nodes into lanes, and lets at most width nodes of each lane run at
// once. lane holds the lane of each node, counted from 0. All callers set the same
// limit, before the first turn.
func (b *Board) Limit(lane []int, width int) {
	b.width = width
	b.lanes = make([][]int, slices.Max(lane)+1)
	for n, l := range lane {
		b.lanes[l] = append(b.lanes[l], n)
	}
}

// Count returns how many frames were sent on link since the start. After a Go or
// a Read, a node must have read that many from each of its links before it does
// anything else.
func (b *Board) Count(link int) int64 { return b.sent[link] }

// Credit returns how many more frames may be sent on link.
func (b *Board) Credit(link int) int64 {
	return b.links[link].Capacity - (b.sent[link] - b.read[link])
}

// Grants returns how many turns were granted since the start, to nodes of this part.
func (b *Board) Grants() int64 { return b.head[headGrants] }

// Last returns the latest event that any node has processed.
func (b *Board) Last() units.Time { return units.Time(max(b.head[headLast], b.head[headLatest])) }

// End returns when a run that is Done ended: its end if somebody still holds an
// event, the last event otherwise.
func (b *Board) End() units.Time {
	if b.Earliest() == units.Never {
		return b.Last()
	}
	return b.end
}

// Earliest returns the smallest bound: all nodes have passed every earlier
// instant. Nodes of other parts may be further by now.
func (b *Board) Earliest() units.Time {
	least := int64(units.Never)
	if b.part != nil && b.part.parts > 1 {
		least = b.head[headOthers]
	}
	for _, t := range b.bound {
		least = min(least, t)
	}
	return units.Time(least)
}

// Stuck returns the nodes that the others wait for: those that were woken or
// granted and have not reported back, or have not reported at all. All are of this part;
// when there are none before the run is over, this part waits for another one.
func (b *Board) Stuck() []int {
	var stuck []int
	for n, s := range b.state {
		if s != asleep && s != remote {
			stuck = append(stuck, n)
		}
	}
	return stuck
}

// Woken returns the nodes that may go on after the last Turn or Import; the caller wakes
// them. The number after the last node's is the gateway of the part, which calls Export.
// Valid until the next call.
func (b *Board) Woken() []int { return b.wake }

// Turn ends a turn of node n, whose frames are on the wire, and begins the next
// one if its horizon allows. The horizon is exclusive and not beyond the end; with
// Read it is 0.
func (b *Board) Turn(n int, r Report) (units.Time, Verdict) {
	horizon, verdict := b.turn(n, r)
	if b.part != nil {
		b.summon(!verdict.Turn() && len(b.wake) == 0)
	}
	return horizon, verdict
}

func (b *Board) turn(n int, r Report) (units.Time, Verdict) {
	b.wake = b.wake[:0]
	b.head[headLast] = max(b.head[headLast], int64(r.Last))
	for _, l := range b.in[n] {
		b.read[l] = b.seen[l]
	}
	for _, s := range r.Sent {
		m := b.links[s.Link].To
		b.sent[s.Link] += s.Frames
		b.pending[m] = min(b.pending[m], int64(s.First))
		b.bound[m] = min(b.bound[m], int64(s.First))
	}
	b.bound[n] = min(int64(r.Next), b.pending[n])
	if r.Blocked {
		b.blocked[n] = int64(r.Full) + 1
		b.asked[b.links[r.Full].To] = 1
	}
	if b.part != nil {
		b.crossed(n, &r)
	}
	begins := false
	if b.state[n] == absent {
		b.head[headPresent]++
		begins = b.present()
	}
	b.state[n] = asleep
	if !b.present() {
		return 0, Wait
	}
	for m, s := range b.state {
		if s == asleep && (begins || m == n || int(b.blocker[m]) == n) {
			b.measure(m)
		}
	}
	if b.bound[n] >= int64(b.end) && b.over() {
		b.state[n] = woken
		b.callAll()
		return b.end, Done
	}
	for lane := range b.lanes {
		b.dispatch(lane)
	}
	if b.state[n] == asleep {
		return 0, Wait
	}
	b.wake = slices.DeleteFunc(b.wake, func(m int) bool { return m == n })
	return b.begin(n)
}

// present reports whether every node has reported once, and every other part.
func (b *Board) present() bool { return b.head[headPresent]+b.head[headHeard] >= b.expected }

// Ask is what a node does first when it was woken. It wakes nobody.
func (b *Board) Ask(n int) (units.Time, Verdict) {
	b.wake = b.wake[:0]
	return b.look(n)
}

func (b *Board) look(n int) (units.Time, Verdict) {
	if b.head[headDone] != 0 {
		return b.end, Done
	}
	if !b.present() {
		b.state[n] = asleep
		return 0, Wait
	}
	b.measure(n)
	return b.begin(n)
}

// begin begins the turn of a node that is ready.
func (b *Board) begin(n int) (units.Time, Verdict) {
	switch {
	case b.mayGo(n):
		b.blocked[n] = 0
		b.head[headGrants]++
		b.start(n)
		return units.Time(b.horizon[n]), Go
	case b.asked[n] != 0:
		b.start(n)
		return 0, Read
	}
	b.state[n] = asleep
	return 0, Wait
}

// over reports whether every bound has reached the end.
func (b *Board) over() bool {
	if b.head[headDone] == 0 && b.Earliest() >= b.end {
		b.head[headDone] = 1
	}
	return b.head[headDone] != 0
}

// dispatch calls nodes that are ready: of a lane with room those that can advance
// farthest.
func (b *Board) dispatch(lane int) {
	if b.width >= len(b.lanes[lane]) { // there is room for all
		for _, m := range b.lanes[lane] {
			if b.ready(m) {
				b.call(m)
			}
		}
		return
	}
	for {
		best, farthest, room := -1, int64(-1), b.width
		for _, m := range b.lanes[lane] {
			if s := b.state[m]; s == woken || s == running {
				if room--; room == 0 {
					return
				}
				continue
			}
			if way := max(0, b.horizon[m]-b.bound[m]); way > farthest && b.ready(m) {
				best, farthest = m, way
			}
		}
		if best < 0 {
			return
		}
		b.call(best)
	}
}

// callAll wakes all nodes that sleep, and the gateway.
func (b *Board) callAll() {
	if b.part != nil {
		b.head[headCalled] = 1
		b.wake = append(b.wake, b.nodes)
	}
	for m, s := range b.state {
		if s == asleep {
			b.call(m)
		}
	}
}

// call wakes a node.
func (b *Board) call(m int) {
	b.state[m] = woken
	b.wake = append(b.wake, m)
}

// ready reports whether a node that sleeps may take a turn.
func (b *Board) ready(m int) bool {
	return b.state[m] == asleep && (b.asked[m] != 0 || b.mayGo(m))
}

// mayGo reports whether n has an event before its horizon and no full link before
// it.
func (b *Board) mayGo(n int) bool {
	return b.bound[n] < b.horizon[n] && (b.blocked[n] == 0 || b.Credit(int(b.blocked[n]-1)) > 0)
}

// start begins a turn of n, which reads all frames that are counted now.
func (b *Board) start(n int) {
	b.state[n] = running
	b.pending[n] = int64(units.Never)
	b.asked[n] = 0
	for _, l := range b.in[n] {
		b.seen[l] = b.sent[l]
	}
}

// measure computes the horizon of m and its blocker.
func (b *Board) measure(m int) {
	horizon, blocker := uint64(b.end), m
	bound := b.bound
	row := b.dist[m*b.nodes:][:len(bound)]
	for k, t := range bound {
		// A sum that overflows is greater than any time and stands for never.
		if h := uint64(t) + uint64(row[k]); h < horizon {
			horizon, blocker = h, k
		}
	}
	b.horizon[m], b.blocker[m] = int64(horizon), int64(blocker)
}
