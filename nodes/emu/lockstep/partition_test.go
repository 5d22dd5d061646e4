package lockstep_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// parcel is an Exchange on its way to another part, with the frames for that part.
type parcel struct {
	lockstep.Exchange
	frames [][]event // by Sent; nil for links into other parts
}

// parts runs a toy in parts, each with its own Board, under a random schedule.
type parts struct {
	*toy
	t      testing.TB
	rng    *rand.Rand
	of     []int // by node
	boards []*lockstep.Board
	queues [][]event // by node
	wires  [][]event // by link: frames that the receiver can read
	outbox [][]event // by cut link: frames that were not exported
	read   []int64   // by link
	last   []units.Time
	past   [][]event // by node: its history
	done   int

	ready   []waiting
	called  []bool      // by part: the gateway
	streams [][]*parcel // by sender*parts+receiver
	weight  []int       // by stream: how readily it delivers

	exchanges, early, blocks, grants int
}

type waiting struct {
	node    int
	horizon units.Time // of a granted turn; 0: read only
	granted bool
}

// newParts cuts a toy at random.
func newParts(t testing.TB, rng *rand.Rand, y *toy, of []int, start [][]event) *parts {
	t.Helper()
	nodes, count := len(of), slices.Max(of)+1
	w := &parts{
		toy: y, t: t, rng: rng, of: of, queues: make([][]event, nodes), wires: make([][]event, len(y.links)), outbox: make([][]event, len(y.links)),
		read: make([]int64, len(y.links)), last: make([]units.Time, nodes), past: make([][]event, nodes),
		called: make([]bool, count), streams: make([][]*parcel, count*count), weight: make([]int, count*count),
	}
	for n := range start {
		w.queues[n] = slices.Clone(start[n])
	}
	for i := range w.weight {
		w.weight[i] = 1 + rng.IntN(8)*rng.IntN(8)
	}
	lane, lanes := make([]int, nodes), 1+rng.IntN(3)
	for n := range lane {
		lane[n] = rng.IntN(lanes)
	}
	width := 1 + rng.IntN(nodes)
	for p := range count {
		board, err := lockstep.New(make([]int64, lockstep.Words(nodes, len(y.links))), nodes, y.links, y.end)
		if err != nil {
			t.Fatal(err)
		}
		board.Reset()
		board.Limit(lane, width)
		if err := board.Partition(lockstep.Partition{Part: p, Of: of}, true); err != nil {
			t.Fatal(err)
		}
		w.boards = append(w.boards, board)
	}
	return w
}

func (w *parts) next(n int) units.Time {
	if len(w.queues[n]) == 0 {
		return units.Never
	}
	return w.queues[n][0].At
}

// follow takes in what a Board has answered to a node, -1 for the gateway.
func (w *parts) follow(part, n int, h units.Time, v lockstep.Verdict) {
	switch v {
	case lockstep.Go, lockstep.Read:
		w.ready = append(w.ready, waiting{n, h, true})
	case lockstep.Done:
		w.done++
	}
	for _, m := range w.boards[part].Woken() {
		switch {
		case m == len(w.of):
			w.called[part] = true
		case w.of[m] != part:
			w.t.Fatalf("part %d wakes node %d of part %d", part, m, w.of[m])
		default:
			w.ready = append(w.ready, waiting{node: m})
		}
	}
}

// run lets all parts act in random order until nobody can.
func (w *parts) run() {
	for _, n := range w.rng.Perm(len(w.of)) {
		h, v := w.boards[w.of[n]].Turn(n, lockstep.Report{Next: w.next(n)})
		w.follow(w.of[n], n, h, v)
	}
	for {
		type choice struct {
			act    func()
			weight int
		}
		var choices []choice
		sum := 0
		offer := func(weight int, act func()) {
			choices = append(choices, choice{act, weight})
			sum += weight
		}
		for i := range w.ready {
			offer(10, func() { w.act(i) })
		}
		for p, called := range w.called {
			if called {
				offer(8, func() { w.export(p, w.rng.IntN(10) == 0) })
			}
		}
		for s, stream := range w.streams {
			if len(stream) > 0 && w.deliverable(s) {
				offer(w.weight[s], func() { w.deliver(s) })
			}
		}
		if sum == 0 {
			return
		}
		pick := w.rng.IntN(sum)
		for _, c := range choices {
			if pick -= c.weight; pick < 0 {
				c.act()
				break
			}
		}
	}
}

// act lets a node that may go on do so.
func (w *parts) act(i int) {
	at := w.ready[i]
	w.ready = slices.Delete(w.ready, i, i+1)
	n, part := at.node, w.of[at.node]
	board := w.boards[part]
	if !at.granted {
		h, v := board.Ask(n)
		w.follow(part, n, h, v)
		return
	}
	for _, link := range board.In(n) {
		for w.read[link] < board.Count(link) {
			if len(w.wires[link]) == 0 {
				w.t.Fatalf("node %d has to read frame %d of link %d, which is not there", n, w.read[link]+1, link)
			}
			e := w.wires[link][0]
			w.wires[link] = w.wires[link][1:]
			w.read[link]++
			if e.At < w.last[n] {
				w.t.Fatalf("node %d has reached %v and reads a frame that arrived at %v", n, w.last[n], e.At)
			}
			w.queues[n] = insert(w.queues[n], e)
		}
	}
	report := lockstep.Report{}
	credit := make([]int64, len(w.links))
	for _, link := range w.out[n] {
		credit[link] = board.Credit(link)
	}
	for len(w.queues[n]) > 0 && w.queues[n][0].At < at.horizon && !report.Blocked {
		e := w.queues[n][0]
		w.queues[n] = w.queues[n][1:]
		w.last[n] = e.At
		w.past[n] = append(w.past[n], e)
		frames, local := w.effect(n, e)
		for _, f := range frames {
			to := &w.wires[f.link]
			if w.of[w.links[f.link].To] != part {
				to = &w.outbox[f.link]
			}
			*to = append(*to, f.event)
			report.Sent = append(report.Sent, lockstep.Sent{Link: f.link, Frames: 1, First: f.At})
			if credit[f.link]--; credit[f.link] <= 0 {
				report.Blocked, report.Full = true, f.link
				w.blocks++
			}
			// An event may send two frames, and may fill two links, of which the report has one.
			if unread, room := int64(len(w.wires[f.link])+len(w.outbox[f.link])), w.links[f.link].Capacity; unread > room+4 {
				w.t.Fatalf("%d frames are unread on link %d with room for %d", unread, f.link, room)
			}
		}
		for _, l := range local {
			w.queues[n] = insert(w.queues[n], l)
		}
	}
	report.Next, report.Last = w.next(n), w.last[n]
	h, v := board.Turn(n, report)
	w.grants++
	w.follow(part, n, h, v)
}

// export sends the state of a part to all others.
func (w *parts) export(p int, always bool) {
	w.called[p] = false
	x := new(lockstep.Exchange)
	if !w.boards[p].Export(x, always) {
		return
	}
	w.exchanges++
	var frames [][]event
	for _, s := range x.Sent {
		frames = append(frames, w.outbox[s.Link][:s.Frames:s.Frames])
		w.outbox[s.Link] = w.outbox[s.Link][s.Frames:]
	}
	for q := range w.boards {
		if q == p {
			continue
		}
		c := &parcel{Exchange: *x, frames: make([][]event, len(frames))}
		for i, s := range x.Sent {
			if w.of[w.links[s.Link].To] == q {
				c.frames[i] = frames[i]
			}
		}
		at := p*len(w.boards) + q
		w.streams[at] = append(w.streams[at], c)
	}
}

// deliverable reports whether the first parcel of a stream can be imported, unless it is
// tried now and then although it is too early.
func (w *parts) deliverable(s int) bool {
	c, to := w.streams[s][0], s%len(w.boards)
	for r, v := range c.Seen {
		// The versions that to has imported of r are those that r has exported less those on
		// the way.
		if r == to || r == c.Part {
			continue
		}
		if waits := w.streams[r*len(w.boards)+to]; len(waits) > 0 && waits[0].Version <= v {
			if w.rng.IntN(20) == 0 {
				w.early++
				if err := w.boards[to].Import(&c.Exchange); !errors.Is(err, lockstep.ErrEarly) {
					w.t.Fatalf("an exchange that depends on one that has not come: %v", err)
				}
			}
			return false
		}
	}
	return true
}

func (w *parts) deliver(s int) {
	c, to := w.streams[s][0], s%len(w.boards)
	w.streams[s] = w.streams[s][1:]
	for i, f := range c.frames {
		link := c.Sent[i].Link
		w.wires[link] = append(w.wires[link], f...)
	}
	if err := w.boards[to].Import(&c.Exchange); err != nil {
		w.t.Fatalf("part %d: from part %d: %v", to, c.Part, err)
	}
	w.follow(to, -1, 0, lockstep.Wait)
}

// randomCut puts each node into one of count parts, each of which has a node.
func randomCut(rng *rand.Rand, nodes, count int) []int {
	of := make([]int, nodes)
	for i, n := range rng.Perm(nodes) {
		if of[n] = i; i >= count {
			of[n] = rng.IntN(count)
		}
	}
	return of
}

// TestRandomParts runs random fabrics in 2, 3 and 5 parts, whose exchanges take any time and
// come in any order that the streams allow. Every node must see the history of a sequential
// run, no schedule may come to a halt, and all parts must agree on the end.
func TestRandomParts(t *testing.T) {
	for _, test := range []struct {
		name     string
		capacity int64 // 0: random
		endless  bool
	}{{name: "random"}, {name: "capacity 1", capacity: 1}, {name: "no end", endless: true}, {name: "no end, capacity 1", capacity: 1, endless: true}} {
		t.Run(test.name, func(t *testing.T) {
			early, blocks, exchanges, grants, cut := 0, 0, 0, 0, 0
			for seed := range uint64(500) {
				rng := rand.New(rand.NewPCG(seed, 2))
				y, nodes, start := randomToy(rng)
				count := min(nodes, []int{2, 3, 5}[seed%3])
				if test.endless {
					y.end = units.Never
				}
				for i := range y.links {
					if test.capacity > 0 {
						y.links[i].Capacity = test.capacity
					}
				}
				want := y.sequential(start)
				w := newParts(t, rng, y, randomCut(rng, nodes, count), start)
				fail := func(format string, args ...any) {
					t.Helper()
					t.Fatalf("seed %d, %d parts: "+format, append([]any{seed, count}, args...)...)
				}
				w.run()
				if w.done != nodes {
					fail("%d of %d nodes are done and nobody may advance", w.done, nodes)
				}
				if diff := cmp.Diff(w.past, want); diff != "" {
					fail("histories differ from the sequential run (-got +want):\n%s", diff)
				}
				least := slices.Min(next(w))
				for p, b := range w.boards {
					if got, want := b.Last(), slices.Max(w.last); got != want {
						fail("part %d: Last = %v, want %v", p, got, want)
					}
					end := y.end
					if least == units.Never && inFlight(w) == 0 {
						end = slices.Max(w.last)
					}
					if got := b.End(); got != end {
						fail("part %d: End = %v, want %v", p, got, end)
					}
				}
				for link, frames := range w.outbox {
					if len(frames) > 0 {
						fail("%d frames of link %d have not left their part", len(frames), link)
					}
				}
				early, blocks, exchanges, grants = early+w.early, blocks+w.blocks, exchanges+w.exchanges, grants+w.grants
				for _, l := range y.links {
					if w.of[l.From] != w.of[l.To] {
						cut++
					}
				}
			}
			t.Logf("%d exchanges for %d turns, %d came too early, %d turns ended for want of room, %d links cut", exchanges, grants, early, blocks, cut)
			if early < 100 || blocks < 100 || cut < 1000 {
				t.Errorf("%d exchanges came too early, %d turns ended for want of room, %d links were cut: want many of each", early, blocks, cut)
			}
		})
	}
}

func next(w *parts) []units.Time {
	at := make([]units.Time, len(w.of))
	for n := range at {
		at[n] = w.next(n)
	}
	return at
}

// inFlight returns how many frames were sent and not read.
func inFlight(w *parts) int {
	frames := 0
	for _, unread := range w.wires {
		frames += len(unread)
	}
	return frames
}
