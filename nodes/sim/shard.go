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
	horizon units.Time // exclusive
	nodes   []int32
	at      int       // of nodes: the next one to run
	order   eventHeap // Ordered: nodes by their next event; order is the node
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
	start, booked := w.calendar.start(window), w.sim.booked
	live := w.nodes[:0]
	for _, id := range w.nodes {
		if booked[id] == start { // else another window took its place, or it is here twice
			booked[id] = units.Never
			live = append(live, id)
		}
	}
	w.nodes = live
	if w.sim.cfg.Ordered {
		for _, id := range live {
			n := &w.sim.nodes[id]
			n.unpack(w.sim.cfg.TieSeed)
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
			n := &w.sim.nodes[id]
			n.unpack(w.sim.cfg.TieSeed)
			next := n.next()
			for ; next < w.horizon; next = n.next() {
				if w.count >= w.due && !w.report() {
					return false
				}
				w.step(n, next)
			}
			w.book(id, next)
			w.at++
		}
	}
	w.calendar.recycle(w.nodes)
	w.nodes, w.open = nil, false
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
	for w.order.first() != units.Never {
		e := w.order.take()
		w.book(int32(e.order), e.at)
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

// unpack moves the node's inbox into the queues of its ports.
func (n *simNode) unpack(tieSeed uint64) {
	for i := range n.inbox {
		a := &n.inbox[i]
		q := &n.in[a.port]
		if q.Len() == 0 {
			n.expect(tieSeed, a.port, a.arrives)
		}
		q.Push(a.flying)
	}
	n.inbox = n.inbox[:0]
}

// expect queues the arrival of the packet at the head of the link to a port.
func (n *simNode) expect(tieSeed uint64, port int32, at units.Time) {
	tie := uint64(node.TieKey(tieSeed, int(n.id), at, int(port)))
	n.events.push(event{at: at, order: classReceive | tie<<portBits | uint64(port)})
}

// next returns when the node has something due.
func (n *simNode) next() units.Time { return min(n.events.first(), n.timer) }

// step processes the node's next event, which is due at now.
func (w *shard) step(n *simNode, now units.Time) {
	w.count++
	w.now = max(w.now, now)
	if n.events.first() > now {
		n.Timeout(now)
	} else {
		e := n.events.take()
		port := e.port()
		if e.class() == classFree {
			n.PortFree(now, port)
		} else {
			q := &n.in[port]
			f, _ := q.Pop()
			if next, ok := q.Peek(); ok {
				n.expect(w.sim.cfg.TieSeed, int32(port), next.arrives)
			}
			n.ReceiveSent(now, port, f.packet, f.digest)
		}
	}
	for i := range n.Departures {
		w.depart(n, &n.Departures[i])
	}
	for _, port := range n.Frees {
		n.events.push(event{at: n.FreeAt(port), order: classFree | uint64(port)})
	}
	n.timer = max(n.NextTimeout(), now)
}

// depart sends a packet to the other end of its link.
func (w *shard) depart(n *simNode, d *node.Departure) {
	out := &n.out[d.Port]
	a := arrival{flying{d.Packet, d.Digest, d.Departs.Add(out.delay)}, out.port}
	if out.shard != w.id {
		w.mail[out.shard] = append(w.mail[out.shard], letter{out.node, a})
		return
	}
	w.deliver(out.node, &a)
}

// deliver puts an arrival into the inbox of a node of the shard.
func (w *shard) deliver(id int32, a *arrival) {
	to := &w.sim.nodes[id]
	to.inbox = append(to.inbox, *a)
	w.book(id, a.arrives)
}

// runTogether runs a shard beside others, window by window. It answers false when
// Progress stopped the run.
func (w *shard) runTogether(b *barrier) bool {
	for {
		window, ok := w.calendar.next()
		if !ok {
			window = noWindow
		}
		window = b.agree(w, window)
		if window == noWindow || w.calendar.start(window) >= w.sim.cfg.End {
			return true
		}
		w.begin(window)
		if !w.run() {
			b.stop.Store(true)
		}
		b.wait(nil)
		if b.stop.Load() {
			return false
		}
		if w.horizon == w.sim.cfg.End {
			return true
		}
		for _, from := range w.sim.shards {
			letters := from.mail[w.id]
			for i := range letters {
				w.deliver(letters[i].node, &letters[i].arrival)
			}
			from.mail[w.id] = letters[:0]
		}
	}
}

// noWindow is that of a shard in which nothing is due.
const noWindow = 1<<63 - 1
