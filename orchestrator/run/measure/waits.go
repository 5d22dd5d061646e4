package measure

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// share is one of the parts into which the time of the ranks of a job is divided
// (docs/reference/metrics.md#what-an-iteration-is-made-of).
type share uint8

const (
	shareCompute share = iota // the rank computes
	shareBubble               // it waits for what another stage of the pipeline computes
	shareNetwork              // it waits for a message that is under way
	shareSkew                 // it waits for what another rank, of no other stage, computes
	shareHeld                 // a schedule holds it, or the rank that it waits for
	shareIdle                 // nothing is under way
	shareCount
)

// division is how long the ranks of a job spent in each part, summed over the ranks.
type division [shareCount]units.Duration

// mostWaits bounds the operations of a job that are held to divide its time: those of the
// steps that are not over for all ranks.
const mostWaits = 1 << 21

// waits divides the time of the ranks of a job by what each waited for. A rank that does
// not compute waits for its next compute, or for the end of its step. What it waited for is
// found from there back along what made each operation ready, from a receive to its send, so
// that at each moment it is one thing. Operations are held until the moments before their ends
// are divided.
type waits struct {
	perStage int32 // ranks of a stage of the pipeline; 0: the job has no stages
	ranks    []waitRank
	held     int        // operations
	since    units.Time // operations that ended before are not held
	latest   units.Time
	spans    []metrics.Span // scratch
}

// waitRank is what is held of a rank.
type waitRank struct {
	ops    []waitOp // in the order of their ends
	bounds []waitOp // ends of steps, in order
	byOp   []int32  // indices in ops
	byPost []int32  // of sends and receives, by compareWaits
}

// waitOp is an operation of a rank, or the end of a step of it.
type waitOp struct {
	ready, start, end units.Time
	op, message       uint32
	after             int64
	peer              int32
	channel           uint16
	kind              metrics.OperationKind
}

// stage returns the stage of the pipeline that a rank belongs to.
func (w *waits) stage(rank int32) int32 {
	if w.perStage == 0 {
		return 0
	}
	return rank / w.perStage
}

// add takes an operation. Those of one rank come in the order of their ends.
func (w *waits) add(o *metrics.Operation) {
	r := &w.ranks[o.Rank]
	one := waitOp{o.Ready, o.Start, o.End, o.Op, o.Message, o.After, o.Peer, o.Channel, o.Kind}
	w.latest = max(w.latest, o.End)
	if o.Kind == metrics.OperationSpan {
		if t := o.Tag; t.Collective == 0 && t.Phase == 0 && t.Step != 0 {
			r.bounds = append(r.bounds, one)
		}
		return
	}
	if w.held == mostWaits {
		w.forget(w.latest)
	}
	r.ops = append(r.ops, one)
	w.held++
}

// bound adds the end of a step that a rank does not mark: it ends with an operation.
func (w *waits) bound(rank int32, at units.Time) {
	r := &w.ranks[rank]
	b := waitOp{end: at, after: metrics.Absent}
	if i, ok := slices.BinarySearchFunc(r.ops, at, compareEnd); ok {
		b.after = int64(r.ops[i].op)
	}
	r.bounds = append(r.bounds, b)
}

func compareEnd(o waitOp, at units.Time) int { return cmp.Compare(o.end, at) }

// forget gives up the operations that ended by a time.
func (w *waits) forget(by units.Time) {
	w.since, w.held = by, 0
	for i := range w.ranks {
		r := &w.ranks[i]
		ended := func(o waitOp) bool { return o.end <= by }
		r.ops, r.bounds = slices.DeleteFunc(r.ops, ended), slices.DeleteFunc(r.bounds, ended)
		w.held += len(r.ops)
	}
}

// divide divides the time from from to to of all ranks. All that ended before to has been
// added, and of each rank the next end of a step too, unless it has none; last is the rank
// that ends the job, or Absent: ranks that have nothing left to do wait for it. ok is false if
// the operations of this time are too many to be held.
func (w *waits) divide(from, to units.Time, last int32) (d division, ok bool) {
	if from < w.since {
		w.forget(max(to, w.since))
		return d, false
	}
	for i := range w.ranks {
		w.ranks[i].index()
	}
	for i := range w.ranks {
		w.rank(int32(i), from, to, last, &d)
	}
	w.forget(to)
	return d, true
}

// index orders the operations of the rank for searches.
func (r *waitRank) index() {
	r.byOp, r.byPost = r.byOp[:0], r.byPost[:0]
	for i := range r.ops {
		r.byOp = append(r.byOp, int32(i))
		if r.ops[i].kind <= metrics.OperationRecv {
			r.byPost = append(r.byPost, int32(i))
		}
	}
	slices.SortFunc(r.byOp, func(a, b int32) int { return cmp.Compare(r.ops[a].op, r.ops[b].op) })
	slices.SortFunc(r.byPost, func(a, b int32) int { return compareWaits(&r.ops[a], &r.ops[b]) })
}

// compareWaits orders the sends and receives of a rank by their messages.
func compareWaits(a, b *waitOp) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.peer, b.peer), cmp.Compare(a.channel, b.channel), cmp.Compare(a.message, b.message))
}

// find returns an operation by its number, nil if it is not held.
func (r *waitRank) find(op int64) *waitOp {
	i, ok := slices.BinarySearchFunc(r.byOp, op, func(i int32, op int64) int { return cmp.Compare(int64(r.ops[i].op), op) })
	if !ok {
		return nil
	}
	return &r.ops[r.byOp[i]]
}

// post returns the send or the receive of a message of a rank, nil if it is not held.
func (w *waits) post(rank int32, kind metrics.OperationKind, peer int32, channel uint16, message uint32) *waitOp {
	if rank < 0 || int(rank) >= len(w.ranks) {
		return nil
	}
	r, like := &w.ranks[rank], waitOp{kind: kind, peer: peer, channel: channel, message: message}
	i, ok := slices.BinarySearchFunc(r.byPost, &like, func(i int32, like *waitOp) int { return compareWaits(&r.ops[i], like) })
	if !ok {
		return nil
	}
	return &r.ops[r.byPost[i]]
}

// rank divides the time of one rank.
func (w *waits) rank(rank int32, from, to units.Time, last int32, d *division) {
	r := &w.ranks[rank]
	w.spans = w.spans[:0]
	for i := range r.ops {
		if o := &r.ops[i]; o.kind == metrics.OperationCompute && o.end > max(o.start, from) {
			w.spans = append(w.spans, metrics.Span{From: o.start, To: o.end})
		}
	}
	slices.SortFunc(w.spans, func(a, b metrics.Span) int { return cmp.Compare(a.From, b.From) })
	at, bounds := from, r.bounds
	for i := 0; i < len(w.spans) && at < to; i++ {
		s := w.spans[i]
		for len(bounds) > 0 && bounds[0].end < s.From {
			w.wait(wait{rank, at, bounds[0].end, to, r.find(bounds[0].after), rank, metrics.Absent}, d)
			at, bounds = max(at, bounds[0].end), bounds[1:]
		}
		if s.From > at {
			w.wait(wait{rank, at, s.From, to, r.find(r.begun(s.From)), rank, metrics.Absent}, d)
		}
		at = max(at, s.From)
		if end := min(s.To, to); end > at {
			d[shareCompute] += end.Sub(at)
			at = end
		}
	}
	for ; len(bounds) > 0 && at < to; bounds = bounds[1:] {
		w.wait(wait{rank, at, bounds[0].end, to, r.find(bounds[0].after), rank, metrics.Absent}, d)
		at = max(at, bounds[0].end)
	}
	if at >= to {
		return
	}
	if last < 0 || last == rank {
		d[shareIdle] += to.Sub(at)
		return
	}
	of := &w.ranks[last]
	o := (*waitOp)(nil)
	if n := len(of.bounds); n > 0 {
		o = of.find(of.bounds[n-1].after)
	}
	w.wait(wait{rank, at, to, to, o, last, last}, d)
}

// begun returns after which operation the first of the computes that begin at a time became
// ready.
func (r *waitRank) begun(at units.Time) int64 {
	after, op := int64(metrics.Absent), int64(-1)
	i, _ := slices.BinarySearchFunc(r.ops, at, compareEnd)
	for ; i < len(r.ops); i++ {
		o := &r.ops[i]
		if o.kind == metrics.OperationCompute && o.start == at && o.end > at && (op < 0 || int64(o.op) < op) {
			after, op = o.after, int64(o.op)
		}
	}
	return after
}

// wait is a time in which a rank waits.
type wait struct {
	rank        int32
	from, until units.Time
	to          units.Time // what is behind it does not count
	o           *waitOp    // with which it ends; nil: with none
	at          int32      // the rank of o
	first       int32      // the rank that it waits for first; Absent: not known yet
}

// wait divides a time.
func (w *waits) wait(t wait, d *division) {
	rank, from, to, o, at, first := t.rank, t.from, t.to, t.o, t.at, t.first
	now := t.until
	take := func(since units.Time, s share) {
		if a, b := max(since, from), min(now, to); b > a {
			d[s] += b.Sub(a)
		}
		now = min(now, since)
	}
	for steps := 0; now > from && steps <= w.held; steps++ {
		if o == nil {
			take(from, shareIdle)
			return
		}
		if o.end < now { // a time passed that no operation is of
			take(o.end, shareIdle)
		}
		after := o.after
		switch o.kind {
		case metrics.OperationCompute:
			s := shareSkew
			if first >= 0 && w.stage(first) != w.stage(rank) {
				s = shareBubble
			}
			take(o.start, s)
			if o.start > o.ready {
				if c := w.ranks[at].before(o); c != nil {
					o = c
					continue
				}
				take(o.ready, shareIdle)
			}
		case metrics.OperationHold:
			take(o.ready, shareHeld)
		case metrics.OperationRecv:
			if o.end == o.ready {
				break
			}
			send := w.post(o.peer, metrics.OperationSend, at, o.channel, o.message)
			if send == nil || send.ready > now {
				take(o.ready, shareNetwork)
				break
			}
			if first < 0 {
				first = o.peer
			}
			at, o = o.peer, send
			after = w.message(at, o, take)
		case metrics.OperationSend:
			after = w.message(at, o, take)
		}
		o = w.ranks[at].find(after)
		if o != nil && o.end > now {
			o = nil // of a damaged record
		}
	}
	take(from, shareIdle)
}

// message takes the time in which a message was under way: since it was ready, or since the
// earlier messages of its stream were that had not arrived by then. It returns what the first of
// these became ready after.
func (w *waits) message(at int32, send *waitOp, take func(units.Time, share)) (after int64) {
	for range w.ranks[at].byPost {
		take(send.ready, shareNetwork)
		previous := (*waitOp)(nil)
		if send.message > 0 {
			previous = w.post(at, metrics.OperationSend, send.peer, send.channel, send.message-1)
			arrival := w.post(send.peer, metrics.OperationRecv, at, send.channel, send.message-1)
			if arrival == nil || arrival.end <= send.ready || arrival.end == arrival.ready {
				previous = nil
			}
		}
		if previous == nil || previous.ready >= send.ready {
			break
		}
		send = previous
	}
	return send.after
}

// before returns the compute that ended when another one started, which waited for its unit;
// nil if it is not held.
func (r *waitRank) before(o *waitOp) *waitOp {
	i, _ := slices.BinarySearchFunc(r.ops, o.start, compareEnd)
	for ; i < len(r.ops) && r.ops[i].end == o.start; i++ {
		if c := &r.ops[i]; c.kind == metrics.OperationCompute && c.start < c.end {
			return c
		}
	}
	return nil
}
