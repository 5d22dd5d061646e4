package lockstep_test

import (
	"errors"
	"fmt"
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

// pair returns the Boards of two nodes with a link each way, one part each, after their
// first exchanges, and what part 0 tells next: it has taken a turn and sent a frame.
func pair(t *testing.T) (a, b *lockstep.Board, x lockstep.Exchange) {
	t.Helper()
	links := []lockstep.Channel{
		{From: 0, To: 1, Lookahead: units.Microsecond, Capacity: 4}, {From: 1, To: 0, Lookahead: units.Microsecond, Capacity: 4},
		{From: 2, To: 0, Lookahead: units.Microsecond, Capacity: 4}, {From: 0, To: 2, Lookahead: units.Microsecond, Capacity: 4},
	}
	boards := make([]*lockstep.Board, 3)
	told := make([]lockstep.Exchange, 3)
	for p := range boards {
		board, err := lockstep.New(make([]int64, lockstep.Words(3, len(links))), 3, links, units.Never)
		if err != nil {
			t.Fatal(err)
		}
		board.Reset()
		if err := board.Partition(lockstep.Partition{Part: p, Of: []int{0, 1, 2}}, true); err != nil {
			t.Fatal(err)
		}
		board.Turn(p, lockstep.Report{Next: units.Time(p+1) * units.Time(units.Microsecond)})
		if diff := cmp.Diff(board.Woken(), []int{3}); diff != "" {
			t.Fatalf("the first report of part %d wakes (-got +want):\n%s", p, diff)
		}
		if !board.Export(&told[p], false) {
			t.Fatalf("part %d tells nothing at first", p)
		}
		boards[p] = board
	}
	for p, board := range boards {
		for q := range told {
			if p != q {
				if err := board.Import(&told[q]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	horizon, verdict := boards[0].Ask(0)
	if verdict != lockstep.Go || horizon != units.Time(3*units.Microsecond) {
		t.Fatalf("node 0 may %v until %v", verdict, horizon)
	}
	sent := []lockstep.Sent{{Link: 0, Frames: 1, First: units.Time(2 * units.Microsecond)}}
	boards[0].Turn(0, lockstep.Report{Next: units.Time(4 * units.Microsecond), Last: units.Time(units.Microsecond), Sent: sent})
	if !boards[0].Export(&x, false) {
		t.Fatal("part 0 tells nothing after its turn")
	}
	return boards[0], boards[1], x
}

// TestImportRefuses: an exchange that no part can have told is refused with the reason, and
// changes nothing: the true one is accepted afterwards.
func TestImportRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*lockstep.Exchange)
		want   string
	}{
		{"replayed", func(x *lockstep.Exchange) { x.Version, x.Seen[0] = 1, 1 }, "exchange 1 was sent again after exchange 1"},
		{"skipped", func(x *lockstep.Exchange) { x.Version, x.Seen[0] = 3, 3 }, "exchange 3 was sent after exchange 1: those between are missing"},
		{"own part", func(x *lockstep.Exchange) { x.Part = 1 }, "an exchange of part 1, want another part than 1 of 3"},
		{"no part", func(x *lockstep.Exchange) { x.Part = 3 }, "an exchange of part 3, want another part than 1 of 3"},
		{"lowered bound", func(x *lockstep.Exchange) { x.Bounds[0] = 999_999 }, "exchange 2: the bound of node 0 is 999.999ns, and was 1us"},
		{"negative bound", func(x *lockstep.Exchange) { x.Bounds[0] = -1 }, "exchange 2: the bound of node 0 is -1ps, and was 1us"},
		{"too many bounds", func(x *lockstep.Exchange) { x.Bounds = append(x.Bounds, 0) }, "exchange 2 has 3 parts, 2 bounds and 2 links, want 3, 1 and 2"},
		{"frame too early", func(x *lockstep.Exchange) { x.Sent[0].First = 1_999_999 }, "exchange 2: a frame on link 0 arrives at 1.999999us, and no frame could before 2us"},
		{"no frame", func(x *lockstep.Exchange) { x.Sent[0].Frames = 0 }, "exchange 2: 0 frames on link 0, want 1 to 1048576"},
		{"foreign link", func(x *lockstep.Exchange) { x.Sent[0].Link = 1 }, "exchange 2: frames on link 1, which does not lead out of part 0"},
		{"no link", func(x *lockstep.Exchange) { x.Sent[0].Link = 4 }, "exchange 2: frames on link 4 after link -1 of 4"},
		{"link twice", func(x *lockstep.Exchange) { x.Sent = append(x.Sent, x.Sent[0]) }, "exchange 2: frames on link 0 after link 0 of 4"},
		{"read what was not sent", func(x *lockstep.Exchange) { x.Read[0] = 1 }, "exchange 2: 1 frames were read of link 1, want between 0 and 0"},
		{"seen what was not told", func(x *lockstep.Exchange) { x.Seen[1] = 2 }, "exchange 2 includes version 2 of part 1, which has told 1"},
		{"other version", func(x *lockstep.Exchange) { x.Seen[0] = 1 }, "exchange 2 says that it is of version 1"},
		{"last event never", func(x *lockstep.Exchange) { x.Last = units.Never }, "exchange 2: the earliest event is at 4us and the last at never"},
		{"early", func(x *lockstep.Exchange) { x.Seen[2] = 2 }, lockstep.ErrEarly.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, b, x := pair(t)
			wrong := x
			wrong.Seen, wrong.Bounds, wrong.Sent, wrong.Read = slices.Clone(x.Seen), slices.Clone(x.Bounds), slices.Clone(x.Sent), slices.Clone(x.Read)
			test.change(&wrong)
			err := b.Import(&wrong)
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err := b.Import(&x); err != nil {
				t.Errorf("the true exchange afterwards: %v", err)
			}
			if got := b.Count(0); got != 1 {
				t.Errorf("%d frames are counted, want 1", got)
			}
		})
	}
}

// TestImportRefusesLessSeen: a part cannot forget what it has seen.
func TestImportRefusesLessSeen(t *testing.T) {
	_, b, x := pair(t)
	if err := b.Import(&x); err != nil {
		t.Fatal(err)
	}
	x.Version, x.Seen, x.Sent = 3, []int64{3, 1, 0}, nil
	if got, want := fmt.Sprint(b.Import(&x)), "exchange 3 includes version 0 of part 2, and the one before 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReadFallsNot: what was read of a link does not become less, and is not more than was
// told to the reader's part.
func TestReadFallsNot(t *testing.T) {
	a, b, x := pair(t)
	if err := b.Import(&x); err != nil {
		t.Fatal(err)
	}
	if h, v := b.Ask(1); v != lockstep.Go || h <= units.Time(2*units.Microsecond) {
		t.Fatalf("node 1 may %v until %v", v, h)
	}
	b.Turn(1, lockstep.Report{Next: units.Never, Last: units.Time(2 * units.Microsecond)})
	var answer lockstep.Exchange
	if !b.Export(&answer, false) {
		t.Fatal("part 1 tells nothing after its turn")
	}
	if diff := cmp.Diff(answer.Read, []int64{1}); diff != "" {
		t.Fatalf("read (-got +want):\n%s", diff)
	}
	answer.Read[0] = 2
	if got, want := fmt.Sprint(a.Import(&answer)), "exchange 2: 2 frames were read of link 0, want between 0 and 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	answer.Read[0] = 1
	if err := a.Import(&answer); err != nil {
		t.Fatal(err)
	}
	answer.Version, answer.Seen[1], answer.Read[0] = 3, 3, 0
	if got, want := fmt.Sprint(a.Import(&answer)), "exchange 3: 0 frames were read of link 0, want between 1 and 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPartitionRefuses(t *testing.T) {
	links := []lockstep.Channel{{From: 0, To: 1, Lookahead: 1, Capacity: 1}, {From: 1, To: 0, Lookahead: 1, Capacity: 1}}
	for _, test := range []struct {
		p    lockstep.Partition
		want string
	}{
		{lockstep.Partition{Of: []int{0}}, "lockstep: the partition has 1 nodes, want 2"},
		{lockstep.Partition{Of: []int{0, -1}}, "lockstep: node 1 is in part -1"},
		{lockstep.Partition{Of: []int{0, 2}}, "lockstep: part 1 of 3 has no node"},
		{lockstep.Partition{Part: 2, Of: []int{0, 1}}, "lockstep: there is no part 2 among 2"},
	} {
		b, err := lockstep.New(make([]int64, lockstep.Words(2, 2)), 2, links, units.Never)
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if got := fmt.Sprint(b.Partition(test.p, true)); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.p, got, test.want)
		}
	}
}

// BenchmarkParts measures a ring of 12 nodes in two parts, each of which hands a frame to
// the next: ns per grant, and how many grants an Exchange has.
func BenchmarkParts(b *testing.B) {
	const nodes = 12
	var links []lockstep.Channel
	of := make([]int, nodes)
	for n := range nodes {
		links = append(links,
			lockstep.Channel{From: n, To: (n + 1) % nodes, Lookahead: units.Microsecond, Capacity: 100},
			lockstep.Channel{From: (n + 1) % nodes, To: n, Lookahead: units.Microsecond, Capacity: 100})
		of[n] = 2 * n / nodes
	}
	boards := make([]*lockstep.Board, 2)
	for p := range boards {
		board, err := lockstep.New(make([]int64, lockstep.Words(nodes, len(links))), nodes, links, units.Never)
		if err != nil {
			b.Fatal(err)
		}
		board.Reset()
		if err := board.Partition(lockstep.Partition{Part: p, Of: of}, true); err != nil {
			b.Fatal(err)
		}
		boards[p] = board
	}
	var queue []int // nodes, and behind them the gateways
	follow := func(p, n int, v lockstep.Verdict) {
		if v == lockstep.Go {
			queue = append(queue, n)
		}
		for _, m := range boards[p].Woken() {
			if m == nodes {
				m += p
			}
			queue = append(queue, m)
		}
	}
	for n := range nodes {
		_, v := boards[of[n]].Turn(n, lockstep.Report{})
		follow(of[n], n, v)
	}
	var x lockstep.Exchange
	exchanges := 0
	sent := make([]lockstep.Sent, 1)
	for boards[0].Grants()+boards[1].Grants() < int64(b.N) {
		n := queue[0]
		queue = append(queue[:0], queue[1:]...)
		if n >= nodes {
			p := n - nodes
			if boards[p].Export(&x, false) {
				exchanges++
				if err := boards[1-p].Import(&x); err != nil {
					b.Fatal(err)
				}
				follow(1-p, 0, lockstep.Wait)
			}
			continue
		}
		board := boards[of[n]]
		h, v := board.Ask(n)
		if v != lockstep.Go {
			continue
		}
		sent[0] = lockstep.Sent{Link: 2 * n, Frames: 1, First: h.Add(units.Microsecond)}
		_, v = board.Turn(n, lockstep.Report{Next: h, Last: h, Sent: sent})
		follow(of[n], n, v)
	}
	b.ReportMetric(float64(b.N)/float64(exchanges), "grants/exchange")
}
