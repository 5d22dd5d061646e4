package emu

import (
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/units"
)

// Sheet is what the drivers of a run in real time tell each other's keeper, and
// it tells them: when the run starts, how far each node is, and when the run is
// over. It lives in memory that they share; every word has one writer.
//
//	prepared ──(every node is ready)──▶ started ──(nothing is due before the limit)──▶ stopped
type Sheet struct {
	words []int64
	nodes int
	// seen is the keeper's: what it saw at its last look, and since when.
	seen  Standing
	since time.Duration
}

// Standing is how far all nodes are.
type Standing struct {
	Next     units.Time // the earliest thing that is due anywhere, units.Never without one
	Last     units.Time // the latest event so far
	Sent     int64      // frames
	Received int64
}

// Words of a Sheet: eight of the run, then eight for each node.
const (
	sheetLine = 8

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
)

// sheetWords returns how many words a Sheet of that many nodes takes.
func sheetWords(nodes int) int { return sheetLine * (1 + nodes) }

func newSheet(words []int64, nodes int) *Sheet { return &Sheet{words: words, nodes: nodes} }

func (s *Sheet) word(node, word int) *int64 { return &s.words[sheetLine*(1+node)+word] }

// publish tells how far a node is. The frames that it counts as sent are on the
// wire.
func (s *Sheet) publish(node int, at Standing, beat time.Duration) {
	atomic.StoreInt64(s.word(node, wordLast), int64(at.Last))
	atomic.StoreInt64(s.word(node, wordSent), at.Sent)
	atomic.StoreInt64(s.word(node, wordReceived), at.Received)
	atomic.StoreInt64(s.word(node, wordNext), int64(at.Next))
	atomic.StoreInt64(s.word(node, wordBeat), int64(beat))
}

// ready tells that a node waits for the start on the calling thread, which has
// the given id in its PID namespace.
func (s *Sheet) ready(node, thread int) { atomic.StoreInt64(s.word(node, wordReady), int64(thread)) }

// Thread returns the id of the thread that drives a node, in the PID namespace of
// its process; 0 before the node is ready.
func (s *Sheet) Thread(node int) int { return int(atomic.LoadInt64(s.word(node, wordReady))) }

// Ready tells whether every node waits for the start.
func (s *Sheet) Ready() bool {
	for n := range s.nodes {
		if atomic.LoadInt64(s.word(n, wordReady)) == 0 {
			return false
		}
	}
	return true
}

// Start sets the common start, as a time of CLOCK_MONOTONIC.
func (s *Sheet) Start(at time.Duration) { atomic.StoreInt64(&s.words[wordStart], int64(at)) }

func (s *Sheet) start() time.Duration { return time.Duration(atomic.LoadInt64(&s.words[wordStart])) }

// Limit ends the run before a model time that has not come yet: no node processes
// what is due then or later, so that all of them end at the same moment of the
// model.
func (s *Sheet) Limit(end units.Time) { atomic.StoreInt64(&s.words[wordLimit], int64(end)) }

// limit returns what Limit has set, units.Never before.
func (s *Sheet) limit() units.Time {
	if end := units.Time(atomic.LoadInt64(&s.words[wordLimit])); end != 0 {
		return end
	}
	return units.Never
}

// Stop ends the run at a model time.
func (s *Sheet) Stop(end units.Time) {
	atomic.StoreInt64(&s.words[wordEnd], int64(end))
	atomic.StoreInt64(&s.words[wordStop], 1)
}

func (s *Sheet) stopped() (end units.Time, ok bool) {
	ok = atomic.LoadInt64(&s.words[wordStop]) != 0
	return units.Time(atomic.LoadInt64(&s.words[wordEnd])), ok
}

// Silent returns a node that has not taken a turn since the given time of
// CLOCK_MONOTONIC, or -1.
func (s *Sheet) Silent(since time.Duration) int {
	for n := range s.nodes {
		if time.Duration(atomic.LoadInt64(s.word(n, wordBeat))) < since {
			return n
		}
	}
	return -1
}

// Look adds up what the nodes have published.
func (s *Sheet) Look() Standing {
	at := Standing{Next: units.Never}
	for n := range s.nodes {
		at.Next = min(at.Next, units.Time(atomic.LoadInt64(s.word(n, wordNext))))
		at.Last = max(at.Last, units.Time(atomic.LoadInt64(s.word(n, wordLast))))
		at.Sent += atomic.LoadInt64(s.word(n, wordSent))
		at.Received += atomic.LoadInt64(s.word(n, wordReceived))
	}
	return at
}

// Times that the keeper waits before it takes a run for ended: a short one when
// every frame has been read, a long one when some are lost.
const (
	quietFor = 20 * time.Millisecond
	lostFor  = time.Second
)

// Over tells whether the run is over at a time of CLOCK_MONOTONIC: nothing is due
// before end, every frame is read or lost, and it has been so for a while. It is
// called again and again.
func (s *Sheet) Over(now time.Duration, end units.Time) (Standing, bool) {
	at := s.Look()
	if at != s.seen || at.Next < end {
		s.seen, s.since = at, now
		return at, false
	}
	wait := quietFor
	if at.Received < at.Sent {
		wait = lostFor
	}
	return at, now-s.since >= wait
}
