package sim

import (
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/units"
)

// shard is a part of the nodes, which one worker runs.
type shard struct {
	sim      *Sim
	id       int32
	calendar *calendar
	mail     [][]letter // by shard: what crosses to it, handed over when the window ends
	now      units.Time // of the last event
	count    int64      // events
	due      int64      // count at which Progress is called next

	// The open window.
	open    bool
	start   units.Time
	horizon units.Time // exclusive
	nodes   []int32
	at      int       // of nodes: the next one to run
	order   eventHeap // Ordered: nodes by their next event; order is the node
	turn    turn      // not Ordered: lent to the node that runs
}

// letter is an arrival for a node of another shard.
type letter struct {
	node int32
	arrival
}

// progressEvery is the number of events between two calls of Progress. An event takes
// up to some microseconds in a large fabric.
const progressEvery = 1 << 11

// runAlone runs the only shard. It answers false when Progress stopped it.
func (w *shard) runAlone() bool {
	for {
		if !w.open {
			window, ok := w.calendar.next()
			if !ok || w.calendar.start(window) >= w.sim.cfg.End {
				return true
			}
			w.begin(window)
		}
		if !w.run() {
			return false
		}
		if w.horizon == w.sim.cfg.End {
			return true
		}
	}
}

// begin opens a window.
func (w *shard) begin(window int64) {
	w.nodes, w.at, w.open = w.calendar.open(window), 0, true
	w.horizon = min(w.calendar.start(window+1), w.sim.cfg.End)
	w.start = w.calendar.start(window)
	booked := w.sim.booked
	live := w.nodes[:0]
	for _, id := range w.nodes {
		if booked[id] == w.start { // else another window took its place, or it is here twice
			booked[id] = units.Never
			live = append(live, id)
		}
	}
	w.nodes = live
	if w.sim.cfg.Ordered {
		for _, id := range live {
			n := &w.sim.nodes[id]
			w.collect(n)
			w.queue(id, n)
		}
	}
}

// run runs the nodes of the open window and closes it. It answers false when Progress
// stopped it before.
func (w *shard) run() bool {
	if w.sim.cfg.Ordered {
		if !w.runOrdered() {
			return false
		}
	} else {
		for w.at < len(w.nodes) {
			id := w.nodes[w.at]
			if !w.runNode(id, &w.sim.nodes[id]) {
				return false
			}
			w.at++
		}
	}
	w.calendar.recycle(w.nodes)
	w.nodes, w.open = nil, false
	return true
}

// runNode runs one node to the end of the open window, likewise.
func (w *shard) runNode(id int32, n *simNode) bool {
	w.collect(n)
	next := n.next()
	for ; next < w.horizon; next = n.next() {
		if w.count >= w.due && !w.report() {
			w.putBack(n)
			return false
		}
		w.step(n, next)
	}
	w.book(id, min(next, n.later))
	return true
}

// runOrdered runs the nodes of the open window event by event, in order of time.
func (w *shard) runOrdered() bool {
	for w.order.first() < w.horizon {
		if w.count >= w.due && !w.report() {
			return false
		}
		e := w.order.take()
		n := &w.sim.nodes[e.order]
		w.step(n, e.at)
		w.queue(int32(e.order), n)
	}
	w.order = eventHeap{events: w.order.events[:0]}
	for _, id := range w.nodes {
		n := &w.sim.nodes[id]
		w.book(id, min(n.next(), n.later))
	}
	return true
}

// queue puts a node into the order of the open window.
func (w *shard) queue(id int32, n *simNode) {
	if next := n.next(); next != units.Never {
		w.order.push(event{at: next, order: uint64(id)})
	}
}

// report calls Progress, and answers what it answers.
func (w *shard) report() bool {
	w.due = w.count + progressEvery
	return w.sim.cfg.Progress == nil || w.sim.cfg.Progress(int(w.id), w.now)
}

// book books the window of a node's next event, unless an earlier one is booked.
func (w *shard) book(id int32, next units.Time) {
	if next < w.sim.booked[id] {
		w.sim.booked[id] = w.calendar.book(id, next)
	}
}

// next returns when the node has something due in the open window, or its next timer or
// port that becomes free.
func (n *simNode) next() units.Time { return min(n.frees.first(), n.turn.next, n.timer) }

// step processes the node's next event, which is due at now: of one instant, ports that
// become free, arrivals, and then the timeout.
func (w *shard) step(n *simNode, now units.Time) {
	w.count++
	w.now = max(w.now, now)
	switch {
	case n.frees.first() <= now:
		n.PortFree(now, n.frees.take())
	case n.turn.next <= now:
		a := n.turn.take()
		n.ReceiveSent(now, int(a.port), a.packet, a.digest)
	default:
		n.Timeout(now)
	}
	for i := range n.Departures {
		w.depart(n, &n.Departures[i])
	}
	for _, port := range n.Frees {
		n.frees.push(n.FreeAt(port), port)
	}
	n.timer = max(n.NextTimeout(), now)
}

// depart sends a packet to the other end of its link.
func (w *shard) depart(n *simNode, d *node.Departure) {
	out := &n.out[d.Port]
	a := arrival{d.Packet, d.Digest, d.Departs.Add(out.delay), out.port}
	if out.shard != w.id {
		w.mail[out.shard] = append(w.mail[out.shard], letter{out.node, a})
		return
	}
	w.deliver(out.node, &a)
}

// deliver puts an arrival into the inbox of a node of the shard.
func (w *shard) deliver(id int32, a *arrival) {
	inbox := &w.sim.inboxes[id]
	*inbox = append(*inbox, *a)
	w.book(id, a.arrives)
}

// runTogether runs a shard beside others, window by window. It answers false when
// Progress stopped the run.
func (w *shard) runTogether(b *barrier) bool {
	for {
		b.wait(func() { w.sim.advance(b) })
		if b.window == noWindow {
			return !b.stopped
		}
		w.begin(b.window)
		if !w.run() {
			b.stop.Store(true)
		}
		b.wait(nil)
		w.receive()
	}
}

// advance is what one worker does while the others wait: it finds the next window, and
// runs it by itself as long as others would help little.
func (s *Sim) advance(b *barrier) {
	if s.cfg.Between != nil {
		s.cfg.Between()
	}
	for {
		if b.stopped = b.stop.Load(); b.stopped {
			b.window = noWindow
			return
		}
		if b.window = s.nextWindow(); b.window == noWindow || s.shared(b.window) >= s.cfg.WorthSharing {
			return
		}
		for _, w := range s.shards {
			w.begin(b.window)
			if !w.run() {
				b.stop.Store(true)
				break
			}
		}
		for _, w := range s.shards {
			w.receive()
		}
	}
}

// nextWindow returns the first window in which something is due before the end of the
// run; noWindow if there is none.
func (s *Sim) nextWindow() int64 {
	first := int64(noWindow)
	for _, w := range s.shards {
		if window, ok := w.calendar.next(); ok {
			first = min(first, window)
		}
	}
	if first != noWindow && (s.shards[0].calendar.start(first) >= s.cfg.End || s.shards[0].horizon == s.cfg.End) {
		return noWindow
	}
	return first
}

// shared returns how many of the nodes that are booked for a window are not of the shard
// that has most of them.
func (s *Sim) shared(window int64) int {
	sum, most := 0, 0
	for _, w := range s.shards {
		n := w.calendar.booked(window)
		sum += n
		most = max(most, n)
	}
	return sum - most
}

// receive takes what the other shards have sent in the window that has ended.
func (w *shard) receive() {
	for _, from := range w.sim.shards {
		letters := from.mail[w.id]
		for i := range letters {
			w.deliver(letters[i].node, &letters[i].arrival)
		}
		from.mail[w.id] = letters[:0]
	}
}

// noWindow is that of a shard in which nothing is due.
const noWindow = 1<<63 - 1
