package graph

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Config says what an Engine plays. It is plain data but for Sink.
type Config struct {
	Job    int32 // in records
	Source Source
	Ranks  []int // that are played here, ascending
	Start  units.Time
	Seed   uint64
	// Schedule says until when Holds wait. The zero value lets them go on at once.
	Schedule Schedule
	Sink     metrics.Sink // takes an Operation of each operation that is complete; nil: nothing does
	Most     int          // operations to expand, after which Err says that there are more; 0: no limit
}

// Stream is a stream of messages: those from one rank of a job to another on one channel.
type Stream struct {
	From, To int32
	Channel  uint16
}

// Post is a message to send. The messages of a stream are posted in program order.
type Post struct {
	Stream  int    // as Engine.Stream numbers them
	Message uint32 // number of the message on its stream, from 0
	Bytes   units.Size
	Total   units.Size // see Op
	Tag     metrics.Tag
}

// Engine plays the programs of some ranks of a job. It is a state machine: its driver
// tells it that messages have been sent and have arrived, gives it time, and takes what it
// posts. What becomes ready at one instant is done in the order of ranks and of their
// programs, whatever order the driver told it in. Operations use memory from the time at
// which they are expanded until they are complete, and memory is used again.
//
//	 expanded ──dependencies──▶ ready ──▶ running ──▶ complete, forgotten
//	(waiting)   and NotBefore          compute: its unit is free, until Duration has passed
//	                                   hold:    until the next slot of the schedule
//	                                   send:    posted, until it is sent
//	                                   recv:    until the message has arrived
type Engine struct {
	due     dueHeap
	posts   []Post
	ops     []live // slots
	free    int32  // first slot of the list of free ones, linked by next; nothing if there is none
	edges   []edge
	freeOut int32 // first of the free edges
	ranks   []rank
	streams []stream
	begun   bool
	running int // ranks that are not done
	count   int // operations in ops that are in use
	taken   int // operations expanded since the beginning
	err     error
	config  Config
	numbers map[Stream]int32 // of streams
	next    Op               // as read from a program
	record  metrics.Operation
}

// nothing is the absence of a slot, an edge or a stream.
const nothing = -1

// noOperation is the absence of an id.
const noOperation = math.MaxUint32

// live is an operation that is expanded and not complete.
type live struct {
	id      uint32
	rank    int32 // index in Engine.ranks
	pending int32 // dependencies that are not complete
	out     int32 // first of the edges to the operations that depend on it
	next    int32 // slot: the next operation of its stream or unit, or of the list of free slots
	stream  int32
	message uint32
	after   uint32 // see metrics.Operation: id of the operation that made it ready, or noOperation
	kind    Kind
	unit    uint8
	state   state
	arrived bool       // of Recv
	amount  int64      // of Send and Recv: bytes
	total   units.Size // of Send
	takes   units.Duration
	tag     metrics.Tag
	// ready is NotBefore until the operation is ready. Until then start is, of Recv, when its message
	// arrived.
	ready, start units.Time
}

type state uint8

const (
	waiting state = iota
	ready         // of Send: to be posted, or posted. Of Compute: in its unit's queue. Of Recv: its message has not arrived
	running       // of those that take time, and Hold
	ended         // its message was sent, or has arrived: it is complete in this instant, or once it has taken its time
)

// edge leads from an operation to one that depends on it.
type edge struct{ to, next int32 }

// rank is a rank that is played here.
type rank struct {
	number  int32
	program Program
	window  window
	id      uint32 // of the next operation to expand
	fence   int32  // slot of the fence that is not complete, or nothing
	after   uint32 // of operations whose dependencies are all complete when they are expanded
	over    bool   // the program has ended
	left    int    // live operations
	units   []unit
	spans   []span
}

// unit is a processor of a rank: a queue of computes, the first of which is running.
type unit struct{ head, tail int32 }

// span is what a rank has begun and not ended.
type span struct {
	tag   metrics.Tag
	begun units.Time
}

// mostSpans is how many spans a rank may have open. Of more, those that began first get no
// record.
const mostSpans = 4096

// stream is the state of a Stream, of both ends where both are here.
type stream struct {
	Stream
	flow int32 // see metrics.Operation

	// The sends that are not complete, in order of the messages. Those from post on are
	// not posted.
	sends, post, last int32
	sent, posted      uint32
	freed             units.Time // when the last of the messages sent had been sent
	expanded          uint32     // sends that have been expanded

	// The receives whose messages have not arrived.
	recvs, lastRecv   int32
	received, arrived uint32 // receives that have been expanded, and messages that have arrived
}

// NewEngine returns an engine at the beginning of the run. Its first Advance is due at the
// job's start.
func NewEngine(c Config) *Engine {
	e := &Engine{config: c, free: nothing, freeOut: nothing, numbers: map[Stream]int32{}, running: len(c.Ranks)}
	e.ranks = make([]rank, len(c.Ranks))
	for i, number := range c.Ranks {
		e.ranks[i] = rank{number: int32(number), fence: nothing, after: noOperation}
	}
	return e
}

// Stream returns the number of a stream, which is new if it has none. Numbers ascend from
// 0. flow is that of the records of a new stream, metrics.Absent if no flow carries it.
func (e *Engine) Stream(s Stream, flow int32) int {
	if i, ok := e.numbers[s]; ok {
		return int(i)
	}
	i := int32(len(e.streams))
	e.streams = append(e.streams, stream{Stream: s, flow: flow, sends: nothing, post: nothing, last: nothing, recvs: nothing, lastRecv: nothing})
	e.numbers[s] = i
	return int(i)
}

// StreamOf returns the stream of a number.
func (e *Engine) StreamOf(number int) Stream { return e.streams[number].Stream }

// Next returns when Advance is due next, units.Never if nothing will happen by itself.
func (e *Engine) Next() units.Time {
	if !e.begun {
		return e.config.Start
	}
	if len(e.due) == 0 {
		return units.Never
	}
	return e.due[0].at
}

// Done reports whether all operations of all ranks are complete.
func (e *Engine) Done() bool { return e.running == 0 }

// Live returns how many operations are expanded and not complete.
func (e *Engine) Live() int { return e.count }

// Expanded returns how many operations have been expanded since the beginning.
func (e *Engine) Expanded() int { return e.taken }

// Err returns what is wrong with an operation, nil if nothing is. Its rank goes no further.
// The error wraps ErrInvalid. Check finds such operations before they are played.
func (e *Engine) Err() error { return e.err }

// Posts returns the messages to send since the last call, in order. The slice is valid
// until the next call of any method.
func (e *Engine) Posts() []Post {
	posts := e.posts
	e.posts = e.posts[:0]
	return posts
}

// Sent records that the next messages of a stream have been sent: their last byte is
// acknowledged. Advance is due then. Messages beyond those that were posted are ignored.
func (e *Engine) Sent(now units.Time, number, messages int) {
	s := &e.streams[number]
	for ; messages > 0 && s.sent < s.posted; messages-- {
		slot := s.sends
		o := &e.ops[slot]
		s.sends = o.next
		if s.sends == nothing {
			s.last = nothing
		}
		s.sent++
		o.start = max(o.ready, s.freed)
		s.freed = now
		e.end(now, slot)
	}
}

// Received records that the next messages of a stream have arrived, before or after they
// are waited for. Advance is due then if a receive is complete.
func (e *Engine) Received(now units.Time, number, messages int) {
	s := &e.streams[number]
	for ; messages > 0; messages-- {
		s.arrived++
		slot := s.recvs
		if slot == nothing {
			continue // it is early
		}
		o := &e.ops[slot]
		s.recvs = o.next
		if s.recvs == nothing {
			s.lastRecv = nothing
		}
		o.arrived = true
		if o.state == ready {
			e.end(now.Add(o.takes), slot)
		} else {
			o.start = now
		}
	}
}

// Advance does all that is due. The driver calls it when Next is due, after all that
// happens at the same instant has been recorded, and takes the Posts then.
func (e *Engine) Advance(now units.Time) {
	if !e.begun {
		if now < e.config.Start {
			return
		}
		e.begun = true
		for i := range e.ranks {
			r := &e.ranks[i]
			r.program = e.config.Source.Program(int(r.number), e.config.Seed)
			e.expand(now, int32(i))
		}
	}
	for len(e.due) > 0 && e.due[0].at <= now {
		d := e.due.pop()
		e.step(now, d.slot)
	}
}

// step takes an operation that is due into its next state.
func (e *Engine) step(now units.Time, slot int32) {
	o := &e.ops[slot]
	switch o.state {
	case ready: // a send that waited for another one of its stream
		e.post(now, slot)
		return
	case running, ended:
		e.complete(now, slot)
		return
	}
	arrival := o.start
	o.state, o.ready, o.start = ready, now, now
	switch o.kind {
	case Send:
		if e.streams[o.stream].post == slot {
			e.post(now, slot)
		}
	case Recv:
		if o.arrived {
			e.run(now, arrival.Add(o.takes), slot)
		}
	case Compute:
		e.enqueue(now, slot)
	case Hold:
		if until := e.config.Schedule.Until(now); until > now {
			o.state = running
			e.at(until, slot)
			return
		}
		e.complete(now, slot)
	default:
		e.run(now, now.Add(o.takes), slot)
	}
}

// run completes an operation at a time, which may be over.
func (e *Engine) run(now, until units.Time, slot int32) {
	if until <= now {
		e.complete(now, slot)
		return
	}
	e.ops[slot].state = running
	e.at(until, slot)
}

// post posts a send, the next one of its stream. The one behind it is due if it is ready.
func (e *Engine) post(now units.Time, slot int32) {
	o := &e.ops[slot]
	s := &e.streams[o.stream]
	e.posts = append(e.posts, Post{Stream: int(o.stream), Message: o.message, Bytes: units.Size(o.amount), Total: o.total, Tag: o.tag})
	s.posted++
	if s.post = o.next; s.post != nothing && e.ops[s.post].state == ready {
		e.at(now, s.post)
	}
}

// enqueue gives a compute to its unit, which starts it if it is idle.
func (e *Engine) enqueue(now units.Time, slot int32) {
	o := &e.ops[slot]
	u := &e.ranks[o.rank].units[o.unit]
	o.next = nothing
	if u.head == nothing {
		u.head, u.tail = slot, slot
		e.compute(now, slot)
		return
	}
	e.ops[u.tail].next = slot
	u.tail = slot
}

func (e *Engine) compute(now units.Time, slot int32) {
	o := &e.ops[slot]
	o.state, o.start = running, now
	e.at(now.Add(o.takes), slot)
}

// end makes an operation complete at a time.
func (e *Engine) end(at units.Time, slot int32) {
	e.ops[slot].state = ended
	e.at(at, slot)
}

// at makes an operation due.
func (e *Engine) at(at units.Time, slot int32) {
	o := &e.ops[slot]
	e.due.push(due{at, o.rank, o.id, slot})
}

// complete forgets an operation, frees what waits for it, and expands its rank's program
// if it was a fence.
func (e *Engine) complete(now units.Time, slot int32) {
	o := &e.ops[slot]
	r := &e.ranks[o.rank]
	after := o.id
	if o.kind >= Barrier {
		after = o.after // barriers and marks have no record to follow
	}
	e.emit(now, o, r)
	if o.kind == Compute {
		u := &r.units[o.unit]
		if u.head = o.next; u.head == nothing {
			u.tail = nothing
		} else {
			e.compute(now, u.head)
		}
	}
	for i := o.out; i != nothing; {
		to := &e.ops[e.edges[i].to]
		if to.pending--; to.pending == 0 {
			to.after = after
			e.wake(now, e.edges[i].to)
		}
		free := i
		i = e.edges[i].next
		e.edges[free].next, e.freeOut = e.freeOut, free
	}
	r.window.remove(o.id)
	at, fenced := o.rank, r.fence == slot
	o.next, e.free = e.free, slot
	r.left--
	e.count--
	if fenced {
		r.fence, r.after = nothing, after
		e.expand(now, at)
	} else {
		e.finish(r)
	}
}

// wake makes an operation due whose dependencies are complete.
func (e *Engine) wake(now units.Time, slot int32) {
	o := &e.ops[slot]
	if o.ready > now { // NotBefore
		o.after = noOperation
	}
	e.at(max(now, o.ready), slot)
}

// finish counts a rank that has nothing left to do.
func (e *Engine) finish(r *rank) {
	if r.over && r.left == 0 {
		e.running--
	}
}

// expand reads the operations of a rank up to the next fence that is not complete.
func (e *Engine) expand(now units.Time, at int32) {
	r := &e.ranks[at]
	for r.fence == nothing && !r.over {
		if !r.program.Next(&e.next) {
			r.over = true
			break
		}
		if err := e.check(r); err != nil {
			if e.err == nil {
				e.err = fmt.Errorf("%w: rank %d: operation %d (%s): %w", ErrInvalid, r.number, r.id, e.next.Kind, err)
			}
			r.left++ // never done
			r.over = true
			break
		}
		e.add(now, at)
	}
	e.finish(r)
}

// check reports what is wrong with the operation that a rank is about to add.
func (e *Engine) check(r *rank) error {
	if e.taken == e.config.Most && e.taken > 0 {
		return fmt.Errorf("%w: more than %d", ErrLimit, e.config.Most)
	}
	return e.next.check(r.number, r.id, e.config.Source.Ranks())
}

// add adds the operation that was read from a rank's program.
func (e *Engine) add(now units.Time, at int32) {
	r, op := &e.ranks[at], &e.next
	slot := e.slot()
	o := &e.ops[slot]
	*o = live{id: r.id, rank: at, out: nothing, next: nothing, stream: nothing, after: r.after, kind: op.Kind, unit: op.Unit, takes: op.Duration, tag: op.Tag.Record()}
	if op.NotBefore > 0 {
		o.ready = e.config.Start.Add(op.NotBefore)
	}
	for _, d := range op.Deps {
		if on := r.window.find(d); on != nothing {
			o.pending++
			e.edge(on, slot)
		}
	}
	switch op.Kind {
	case Send:
		e.addSend(r, slot)
	case Recv:
		e.addRecv(now, r, slot)
	case Compute:
		for len(r.units) <= int(op.Unit) {
			r.units = append(r.units, unit{nothing, nothing})
		}
	}
	r.window.add(r.id, slot)
	r.id++
	r.left++
	e.count++
	e.taken++
	if op.Fence {
		r.fence = slot
	}
	if o.pending == 0 {
		e.wake(now, slot)
	}
}

func (e *Engine) addSend(r *rank, slot int32) {
	o := &e.ops[slot]
	o.stream = int32(e.Stream(Stream{r.number, e.next.Peer, e.next.Channel}, metrics.Absent))
	o.amount, o.total = int64(e.next.Bytes), e.next.Total
	s := &e.streams[o.stream]
	o.message = s.expanded
	s.expanded++
	if s.last == nothing {
		s.sends = slot
	} else {
		e.ops[s.last].next = slot
	}
	s.last = slot
	if s.post == nothing {
		s.post = slot
	}
}

func (e *Engine) addRecv(now units.Time, r *rank, slot int32) {
	o := &e.ops[slot]
	o.stream = int32(e.Stream(Stream{e.next.Peer, r.number, e.next.Channel}, metrics.Absent))
	o.amount = int64(e.next.Bytes)
	s := &e.streams[o.stream]
	o.message = s.received
	s.received++
	if o.arrived = o.message < s.arrived; o.arrived {
		o.start = now
		return
	}
	if s.lastRecv == nothing {
		s.recvs = slot
	} else {
		e.ops[s.lastRecv].next = slot
	}
	s.lastRecv = slot
}

// Record returns the tag of records: from 1, 0 for none.
func (t Tag) Record() metrics.Tag {
	return metrics.Tag{Step: t.Step + 1, Phase: label(t.Phase), Collective: label(t.Collective), Group: max(t.Group, 0)}
}

// label returns the number of a label in records. Labels that are too many for records have
// none.
func label(index int32) int16 {
	if index >= math.MaxInt16 {
		return 0
	}
	return int16(index + 1)
}

// emit emits the record of an operation that is complete.
func (e *Engine) emit(now units.Time, o *live, r *rank) {
	record := &e.record
	*record = metrics.Operation{
		Job: e.config.Job, Rank: r.number, Op: o.id, Tag: o.tag, Peer: metrics.Absent, Flow: metrics.Absent,
		Ready: o.ready, Start: o.start, End: now, After: int64(o.after),
	}
	if o.after == noOperation {
		record.After = metrics.Absent
	}
	switch o.kind {
	case Send, Recv:
		s := &e.streams[o.stream]
		record.Kind, record.Peer = metrics.OperationSend, s.To
		if o.kind == Recv {
			record.Kind, record.Peer = metrics.OperationRecv, s.From
		}
		record.Flow, record.Channel, record.Message, record.Bytes = s.flow, s.Channel, o.message, o.amount
	case Compute:
		record.Kind = metrics.OperationCompute
	case Hold:
		record.Kind = metrics.OperationHold
	case Begin:
		if len(r.spans) == mostSpans {
			r.spans = r.spans[:copy(r.spans, r.spans[1:])]
		}
		r.spans = append(r.spans, span{o.tag, now})
		return
	case End:
		i := len(r.spans) - 1
		for i >= 0 && r.spans[i].tag != o.tag {
			i--
		}
		if i < 0 {
			return // it never began
		}
		record.Kind, record.Ready, record.Start = metrics.OperationSpan, r.spans[i].begun, r.spans[i].begun
		r.spans = append(r.spans[:i], r.spans[i+1:]...)
	default:
		return
	}
	if e.config.Sink != nil {
		e.config.Sink.Emit(record)
	}
}
