package wall

import (
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/units"
)

// ControlBlock joins the pacers of a run in real time with the supervisor that
// starts and stops them. The supervisor writes when the run starts and when it is
// over; each pacer writes how far its nodes are. It lives in memory that they
// share; every word has one writer, except for the requests.
//
//	prepared ──(every node is ready)──▶ started ──(nothing is due before the limit)──▶ stopped
type ControlBlock struct {
	words []int64
	here  []int // the nodes that the supervisor starts and stops
	quiet Quiet // the supervisor's
}

// Progress is how far all nodes are, or one of them.
type Progress struct {
	Next     units.Time // the earliest thing that is due anywhere, units.Never without one
	Last     units.Time // the latest event so far
	Sent     int64      // frames
	Received int64
}

// Words of a ControlBlock: eight of the run, then eight for each node.
const (
	blockLine = 8

	wordStart = 0 // CLOCK_MONOTONIC in ns; 0 before
	wordStop  = 1 // not 0: the run is over
	wordEnd   = 2 // model time of its end
	wordLimit = 3 // model time before which it ends; 0: only where the spec says

	wordReady    = 0 // not 0: the node waits for the start; it is its thread's id
	wordNext     = 1
	wordLast     = 2
	wordSent     = 3
	wordReceived = 4
	wordBeat     = 5 // CLOCK_MONOTONIC in ns of the node's last turn
	wordRequests = 6 // number of RequestCapture calls; it has many writers
	wordLateness = 7 // the node's greatest lateness so far, wall time in ns
)

// blockWords returns how many words a ControlBlock of that many nodes takes.
func blockWords(nodes int) int { return blockLine * (1 + nodes) }

func newControlBlock(words []int64, nodes int) *ControlBlock {
	b := &ControlBlock{words: words}
	for n := range nodes {
		b.here = append(b.here, n)
	}
	return b
}

// Restrict restricts Ready, Silent, Look and Over to some of the nodes: the others are
// driven on other machines.
func (b *ControlBlock) Restrict(here []int) { b.here = here }

func (b *ControlBlock) word(node, word int) *int64 { return &b.words[blockLine*(1+node)+word] }

// publish writes how far a node is, at a time of CLOCK_MONOTONIC. The frames that
// it counts as sent are on the wire.
func (b *ControlBlock) publish(node int, at Progress, beat time.Duration) {
	atomic.StoreInt64(b.word(node, wordLast), int64(at.Last))
	atomic.StoreInt64(b.word(node, wordSent), at.Sent)
	atomic.StoreInt64(b.word(node, wordReceived), at.Received)
	atomic.StoreInt64(b.word(node, wordNext), int64(at.Next))
	atomic.StoreInt64(b.word(node, wordBeat), int64(beat))
}

// publishLateness writes how late a node has been at most.
func (b *ControlBlock) publishLateness(node int, most time.Duration) {
	atomic.StoreInt64(b.word(node, wordLateness), int64(most))
}

// Lateness returns how late a node has been for an event at most, in wall time.
func (b *ControlBlock) Lateness(node int) time.Duration {
	return time.Duration(atomic.LoadInt64(b.word(node, wordLateness)))
}

// Progress returns how far a node is.
func (b *ControlBlock) Progress(node int) Progress {
	return Progress{
		Next: units.Time(atomic.LoadInt64(b.word(node, wordNext))), Last: units.Time(atomic.LoadInt64(b.word(node, wordLast))),
		Sent: atomic.LoadInt64(b.word(node, wordSent)), Received: atomic.LoadInt64(b.word(node, wordReceived)),
	}
}

// Began returns the common start as a time of CLOCK_MONOTONIC. It reports whether it has
// been set.
func (b *ControlBlock) Began() (at time.Duration, ok bool) {
	at = b.start()
	return at, at != 0
}

// ready writes that a node waits for the start on the calling thread, which has
// the given id in its PID namespace.
func (b *ControlBlock) ready(node, thread int) {
	atomic.StoreInt64(b.word(node, wordReady), int64(thread))
}

// Thread returns the id of the thread that drives a node, in the PID namespace of
// its process; 0 before the node is ready.
func (b *ControlBlock) Thread(node int) int { return int(atomic.LoadInt64(b.word(node, wordReady))) }

// Ready reports whether every node waits for the start.
func (b *ControlBlock) Ready() bool {
	for _, n := range b.here {
		if atomic.LoadInt64(b.word(n, wordReady)) == 0 {
			return false
		}
	}
	return true
}

// Start sets the common start, as a time of CLOCK_MONOTONIC. To call it again later moves
// the clock of the run: parts of a run on other machines have clocks that drift apart.
func (b *ControlBlock) Start(at time.Duration) { atomic.StoreInt64(&b.words[wordStart], int64(at)) }

func (b *ControlBlock) start() time.Duration {
	return time.Duration(atomic.LoadInt64(&b.words[wordStart]))
}

// Limit ends the run before a model time that is still in the future: no node
// processes events at that time or later, so that all nodes end at the same model
// time.
func (b *ControlBlock) Limit(end units.Time) { atomic.StoreInt64(&b.words[wordLimit], int64(end)) }

// limit returns what Limit has set, units.Never before.
func (b *ControlBlock) limit() units.Time {
	if end := units.Time(atomic.LoadInt64(&b.words[wordLimit])); end != 0 {
		return end
	}
	return units.Never
}

// Stop ends the run at a model time.
func (b *ControlBlock) Stop(end units.Time) {
	atomic.StoreInt64(&b.words[wordEnd], int64(end))
	atomic.StoreInt64(&b.words[wordStop], 1)
}

// RequestCapture asks a node to look for new pipes in the folder of its emu.Live.
func (b *ControlBlock) RequestCapture(node int) { atomic.AddInt64(b.word(node, wordRequests), 1) }

func (b *ControlBlock) requests(node int) int64 { return atomic.LoadInt64(b.word(node, wordRequests)) }

func (b *ControlBlock) stopped() (end units.Time, ok bool) {
	ok = atomic.LoadInt64(&b.words[wordStop]) != 0
	return units.Time(atomic.LoadInt64(&b.words[wordEnd])), ok
}

// Silent returns a node that has not taken a turn since the given time of
// CLOCK_MONOTONIC, or -1.
func (b *ControlBlock) Silent(since time.Duration) int {
	for _, n := range b.here {
		if time.Duration(atomic.LoadInt64(b.word(n, wordBeat))) < since {
			return n
		}
	}
	return -1
}

// Look returns the sum of what the nodes have published.
func (b *ControlBlock) Look() Progress {
	at := Progress{Next: units.Never}
	for _, n := range b.here {
		at.Next = min(at.Next, units.Time(atomic.LoadInt64(b.word(n, wordNext))))
		at.Last = max(at.Last, units.Time(atomic.LoadInt64(b.word(n, wordLast))))
		at.Sent += atomic.LoadInt64(b.word(n, wordSent))
		at.Received += atomic.LoadInt64(b.word(n, wordReceived))
	}
	return at
}

// Times that nothing may change before a run counts as ended: a short one when
// every frame has been read, a long one when some are lost.
const (
	quietFor = 20 * time.Millisecond
	lostFor  = time.Second
)

// Over reports whether the run is over at a time of CLOCK_MONOTONIC: nothing is
// due before end, every frame is read or lost, and both have been so for a while.
// The supervisor calls it repeatedly.
func (b *ControlBlock) Over(now time.Duration, end units.Time) (Progress, bool) {
	at := b.Look()
	return at, b.quiet.Over(at, now, now, end)
}

// Quiet finds out when a run is over, from how far its nodes are now and then. The zero
// value has seen nothing.
type Quiet struct {
	seen  Progress
	since time.Duration // from when on seen was so
}

// Over reports whether nothing has been due before end for a while, and nothing has changed.
// at was collected between two times: where nodes are on several machines that takes a
// while, and only what was so before it began and after the last time had ended is the same
// everywhere at one moment.
func (q *Quiet) Over(at Progress, began, ended time.Duration, end units.Time) bool {
	if at != q.seen || at.Next < end {
		q.seen, q.since = at, ended
		return false
	}
	wait := quietFor
	if at.Received < at.Sent {
		wait = lostFor
	}
	return began-q.since >= wait
}
