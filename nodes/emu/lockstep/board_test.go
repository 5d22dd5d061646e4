package lockstep_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// event is something that happens at a toy node. What it causes follows from
// its id alone, so that every schedule must give the same history.
type event struct {
	At units.Time
	ID uint64
}

type toy struct {
	links []lockstep.Channel
	out   [][]int // per node
	end   units.Time
}

type flight struct {
	link int
	event
}

// effect returns what event e at node n causes: at most two frames and a local
// event, on average a little less than one in all, so that histories die out.
func (y *toy) effect(n int, e event) (frames []flight, local []event) {
	rng := rand.New(rand.NewPCG(e.ID, uint64(n)))
	for range max(0, rng.IntN(10)-1) / 4 { // 0 to 2, mean 0.6
		link := y.out[n][rng.IntN(len(y.out[n]))]
		at := e.At.Add(y.links[link].Lookahead + units.Duration(rng.IntN(3)*rng.IntN(5000)))
		frames = append(frames, flight{link, event{at, rng.Uint64()}})
	}
	if rng.IntN(3) == 0 {
		local = append(local, event{e.At.Add(units.Duration(rng.IntN(20000))), rng.Uint64()})
	}
	return frames, local
}

func earlier(a, b event) int {
	if a.At != b.At {
		return int(a.At - b.At)
	}
	if a.ID < b.ID {
		return -1
	}
	return 1
}

func insert(queue []event, e event) []event {
	at, _ := slices.BinarySearchFunc(queue, e, earlier)
	return slices.Insert(queue, at, e)
}

func randomToy(rng *rand.Rand) (*toy, int, [][]event) {
	nodes := 2 + rng.IntN(8)
	y := &toy{out: make([][]int, nodes), end: units.Time(100_000 + rng.IntN(400_000))}
	join := func(a, b int) {
		la, room := units.Duration(1+rng.IntN(3000)), int64(1+rng.IntN(5))
		for _, l := range []lockstep.Channel{{From: a, To: b, Lookahead: la, Capacity: room}, {From: b, To: a, Lookahead: la, Capacity: room}} {
			y.out[l.From] = append(y.out[l.From], len(y.links))
			y.links = append(y.links, l)
		}
	}
	for n := 1; n < nodes; n++ {
		join(rng.IntN(n), n)
	}
	for range rng.IntN(3) {
		if a, b := rng.IntN(nodes), rng.IntN(nodes); a != b {
			join(a, b)
		}
	}
	start := make([][]event, nodes)
	for range 1 + rng.IntN(20) {
		n := rng.IntN(nodes)
		start[n] = insert(start[n], event{units.Time(rng.IntN(int(y.end))), rng.Uint64()})
	}
	return y, nodes, start
}

// sequential is the reference: one queue, one event after the other.
func (y *toy) sequential(start [][]event) [][]event {
	type held struct {
		event
		node int
	}
	var queue []held
	for n, events := range start {
		for _, e := range events {
			queue = append(queue, held{e, n})
		}
	}
	history := make([][]event, len(start))
	for len(queue) > 0 {
		i := 0
		for j := range queue {
			if earlier(queue[j].event, queue[i].event) < 0 {
				i = j
			}
		}
		e := queue[i]
		queue = slices.Delete(queue, i, i+1)
		if e.At >= y.end {
			break
		}
		history[e.node] = append(history[e.node], e.event)
		frames, local := y.effect(e.node, e.event)
		for _, f := range frames {
			queue = append(queue, held{f.event, y.links[f.link].To})
		}
		for _, l := range local {
			queue = append(queue, held{l, e.node})
		}
	}
	return history
}

// TestRandomSchedules runs random fabrics under random schedules: nodes act in
// any order, are woken late and read frames only when they must, in lanes of any width
// or in none. Every node must see the history of a sequential run, no lane may be
// fuller than it is wide, and no schedule may come to a halt.
func TestRandomSchedules(t *testing.T) {
	blocks, full := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		y, nodes, queues := randomToy(rng)
		want := y.sequential(queues)
		for n := range queues {
			queues[n] = slices.Clone(queues[n])
		}

		board, err := lockstep.New(make([]int64, lockstep.Words(nodes, len(y.links))), nodes, y.links, y.end)
		if err != nil {
			t.Fatal(err)
		}
		board.Reset()
		lane, width := make([]int, nodes), nodes
		if lanes := rng.IntN(4); lanes > 0 {
			for n := range lane {
				lane[n] = rng.IntN(lanes)
			}
			width = 1 + rng.IntN(2)
			board.Limit(lane, width)
		}
		running := make([]int, slices.Max(lane)+1) // by lane
		history := make([][]event, nodes)
		wires := make([][]event, len(y.links))
		read := make([]int64, len(y.links))
		last := make([]units.Time, nodes)

		type waiting struct {
			node    int
			horizon units.Time // of a granted turn; 0: read only
			granted bool
		}
		var ready []waiting
		done := 0
		follow := func(n int, horizon units.Time, v lockstep.Verdict) {
			switch v {
			case lockstep.Go, lockstep.Read:
				ready = append(ready, waiting{n, horizon, true})
				running[lane[n]]++
			case lockstep.Done:
				done++
			}
			for _, m := range board.Woken() {
				ready = append(ready, waiting{node: m})
				running[lane[m]]++
			}
			for l, got := range running {
				if got > width && done == 0 {
					t.Fatalf("seed %d: %d nodes of lane %d may run, want %d at most", seed, got, l, width)
				}
				if width < nodes && got == width {
					full++
				}
			}
		}
		next := func(n int) units.Time {
			if len(queues[n]) == 0 {
				return units.Never
			}
			return queues[n][0].At
		}
		for i, n := range rng.Perm(nodes) {
			h, v := board.Turn(n, lockstep.Report{Next: next(n)})
			follow(n, h, v)
			if i < nodes-1 && len(ready) > 0 {
				t.Fatalf("seed %d: nodes may advance after %d of %d have reported", seed, i+1, nodes)
			}
		}
		for len(ready) > 0 {
			i := rng.IntN(len(ready))
			w := ready[i]
			ready = slices.Delete(ready, i, i+1)
			n := w.node
			running[lane[n]]--
			if !w.granted {
				h, v := board.Ask(n)
				follow(n, h, v)
				continue
			}
			for _, link := range board.In(n) {
				for read[link] < board.Count(link) {
					e := wires[link][0]
					wires[link] = wires[link][1:]
					read[link]++
					if e.At < last[n] {
						t.Fatalf("seed %d: node %d has reached %v and reads a frame that arrived at %v", seed, n, last[n], e.At)
					}
					queues[n] = insert(queues[n], e)
				}
			}
			report := lockstep.Report{}
			credit := make([]int64, len(y.links))
			for _, link := range y.out[n] {
				credit[link] = board.Credit(link)
			}
			for len(queues[n]) > 0 && queues[n][0].At < w.horizon && !report.Blocked {
				e := queues[n][0]
				queues[n] = queues[n][1:]
				last[n] = e.At
				history[n] = append(history[n], e)
				frames, local := y.effect(n, e)
				for _, f := range frames {
					wires[f.link] = append(wires[f.link], f.event)
					report.Sent = append(report.Sent, lockstep.Sent{Link: f.link, Frames: 1, First: f.At})
					if credit[f.link]--; credit[f.link] <= 0 {
						report.Blocked, report.Full = true, f.link
						blocks++
					}
					// One event may send two frames.
					if unread, room := int64(len(wires[f.link])), y.links[f.link].Capacity; unread > room+1 {
						t.Fatalf("seed %d: %d frames are unread on link %d with room for %d", seed, unread, f.link, room)
					}
				}
				for _, l := range local {
					queues[n] = insert(queues[n], l)
				}
			}
			report.Next, report.Last = next(n), last[n]
			h, v := board.Turn(n, report)
			follow(n, h, v)
		}
		if done != nodes {
			t.Fatalf("seed %d: %d of %d nodes are done and nobody may advance", seed, done, nodes)
		}
		if diff := cmp.Diff(history, want); diff != "" {
			t.Fatalf("seed %d: histories differ from the sequential run (-got +want):\n%s", seed, diff)
		}
		if got, want := board.Last(), slices.Max(last); got != want {
			t.Errorf("seed %d: Last = %v, want %v", seed, got, want)
		}
	}
	if full < 1000 {
		t.Errorf("lanes were full %d times in all schedules, want many", full)
	}
	if blocks < 100 {
		t.Errorf("%d turns ended for want of room in all schedules, want many", blocks)
	}
}

// TestIdleGap: a gap of a second between events costs turns by the event, not by
// the lookahead of a microsecond.
func TestIdleGap(t *testing.T) {
	links := []lockstep.Channel{
		{From: 0, To: 1, Lookahead: units.Microsecond, Capacity: 100}, {From: 1, To: 0, Lookahead: units.Microsecond, Capacity: 100},
		{From: 1, To: 2, Lookahead: units.Microsecond, Capacity: 100}, {From: 2, To: 1, Lookahead: units.Microsecond, Capacity: 100},
	}
	board, err := lockstep.New(make([]int64, lockstep.Words(3, len(links))), 3, links, units.Never)
	if err != nil {
		t.Fatal(err)
	}
	board.Reset()
	const gaps = 5
	timers := []int{gaps, 0, gaps} // left at each node
	at := []units.Time{0, units.Never, units.Time(units.Second) / 2}
	var ready []int
	done := 0
	var follow func(n int, h units.Time, v lockstep.Verdict)
	follow = func(n int, h units.Time, v lockstep.Verdict) {
		ready = append(ready, board.Woken()...)
		if v == lockstep.Done {
			done++
		}
		if v != lockstep.Go {
			return
		}
		for at[n] < h {
			if timers[n]--; timers[n] == 0 {
				at[n] = units.Never
				break
			}
			at[n] = at[n].Add(units.Second)
		}
		h, v = board.Turn(n, lockstep.Report{Next: at[n]})
		follow(n, h, v)
	}
	for n := range 3 {
		h, v := board.Turn(n, lockstep.Report{Next: at[n]})
		follow(n, h, v)
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		h, v := board.Ask(n)
		follow(n, h, v)
	}
	if done != 3 {
		t.Fatalf("%d of 3 nodes are done", done)
	}
	if got, want := board.Grants(), int64(2*gaps); got != want {
		t.Errorf("%d grants for %d events a second apart, want %d", got, 2*gaps, want)
	}
}

// TestLanesTakeLongTurns: of two leaves on either side of a spine, a lane runs first
// the one that can advance farther, and the turns of all become two lookaheads long,
// where nodes that are woken at once take turns of one.
func TestLanesTakeLongTurns(t *testing.T) {
	const leaves, end = 4, 1000 * units.Microsecond
	var links []lockstep.Channel
	for n := 1; n <= leaves; n++ {
		links = append(links,
			lockstep.Channel{From: 0, To: n, Lookahead: units.Microsecond, Capacity: 100},
			lockstep.Channel{From: n, To: 0, Lookahead: units.Microsecond, Capacity: 100})
	}
	grants := func(limit bool) int64 {
		board, err := lockstep.New(make([]int64, lockstep.Words(leaves+1, len(links))), leaves+1, links, units.Time(end))
		if err != nil {
			t.Fatal(err)
		}
		board.Reset()
		if limit {
			board.Limit(make([]int, leaves+1), 1)
		}
		// Each node has an event every 100 ns, and none sends.
		next := make([]units.Time, leaves+1)
		type turn struct {
			node    int
			horizon units.Time
		}
		var running []turn
		follow := func(n int, h units.Time, v lockstep.Verdict) {
			woken := slices.Clone(board.Woken())
			if v == lockstep.Go {
				running = append(running, turn{n, h})
			}
			for _, m := range woken {
				if h, v := board.Ask(m); v == lockstep.Go {
					running = append(running, turn{m, h})
				}
			}
		}
		for n := range next {
			h, v := board.Turn(n, lockstep.Report{})
			follow(n, h, v)
		}
		for len(running) > 0 {
			r := running[0]
			running = running[1:]
			for next[r.node] < r.horizon {
				next[r.node] = next[r.node].Add(100 * units.Nanosecond)
			}
			h, v := board.Turn(r.node, lockstep.Report{Next: next[r.node], Last: next[r.node]})
			follow(r.node, h, v)
		}
		if board.Earliest() < units.Time(end) {
			t.Fatalf("the nodes have stopped at %v", board.Earliest())
		}
		return board.Grants()
	}
	atOnce, inLanes := grants(false), grants(true)
	t.Logf("%d turns at once, %d in lanes", atOnce, inLanes)
	least := int64((leaves + 1) * int(end/(2*units.Microsecond)))
	if inLanes > least*11/10 || atOnce < inLanes {
		t.Errorf("%d turns in lanes and %d at once, want about %d in lanes", inLanes, atOnce, least)
	}
}

func TestNewRefuses(t *testing.T) {
	for what, link := range map[string]lockstep.Channel{
		"a link without lookahead": {From: 0, To: 1, Capacity: 1},
		"a link without capacity":  {From: 0, To: 1, Lookahead: 1},
	} {
		if _, err := lockstep.New(make([]int64, lockstep.Words(2, 1)), 2, []lockstep.Channel{link}, units.Never); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// BenchmarkTurn measures turns of a ring of 12 nodes, each of which hands a
// frame to the next: ns per grant of the algorithm alone.
func BenchmarkTurn(b *testing.B) {
	const nodes = 12
	var links []lockstep.Channel
	for n := range nodes {
		links = append(links,
			lockstep.Channel{From: n, To: (n + 1) % nodes, Lookahead: units.Microsecond, Capacity: 100},
			lockstep.Channel{From: (n + 1) % nodes, To: n, Lookahead: units.Microsecond, Capacity: 100})
	}
	board, err := lockstep.New(make([]int64, lockstep.Words(nodes, len(links))), nodes, links, units.Never)
	if err != nil {
		b.Fatal(err)
	}
	board.Reset()
	next := make([]units.Time, nodes)
	var queue []int
	for n := range nodes {
		if _, v := board.Turn(n, lockstep.Report{Next: next[n]}); v == lockstep.Go {
			queue = append(queue, n)
		}
		queue = append(queue, board.Woken()...)
	}
	sent := make([]lockstep.Sent, 1)
	b.ResetTimer()
	for board.Grants() < int64(b.N) {
		n := queue[0]
		queue = append(queue[:0], queue[1:]...)
		h, v := board.Ask(n)
		if v != lockstep.Go {
			continue
		}
		next[n] = h
		sent[0] = lockstep.Sent{Link: 2 * n, Frames: 1, First: h.Add(units.Microsecond)}
		_, v = board.Turn(n, lockstep.Report{Next: h, Last: h, Sent: sent})
		if v == lockstep.Go {
			queue = append(queue, n)
		}
		queue = append(queue, board.Woken()...)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "grants/s")
}
