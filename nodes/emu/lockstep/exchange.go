package lockstep

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Exchange is the state of one part, as it tells it to all others, and what has changed
// since the version before. It is plain data.
type Exchange struct {
	Part    int
	Version int64   // of the part's state, from 1 and without a gap
	Seen    []int64 // by part: the version of its state that this state includes; of Part: Version
	// Bounds are, for the part's exits in ascending order of nodes, the earliest that the
	// part can still cause something there: the minimum over the part's nodes k of
	// LB(k) + dist(k, exit) inside of the part.
	Bounds []units.Time
	// Sent are the frames on links into other parts since the version before, in ascending
	// order of links. The frames follow the Exchange in the stream to the part of their
	// receiver.
	Sent []Sent
	// Read are, for the links into the part in ascending order, how many frames have been
	// read of each since the start.
	Read []int64
	// Earliest is the smallest bound of the part's nodes. At the end or later, the part has
	// no event before the end. Last is the latest event that one of them has processed.
	Earliest, Last units.Time
}

// ErrEarly is the error of Import for an Exchange that includes the state of a third part
// which has not been imported yet. The caller imports it again after Exchanges of others.
var ErrEarly = errors.New("an exchange depends on one of another part that has not come")

// maxFrames is how many frames an Exchange may count on a link: more than any capacity.
const maxFrames = 1 << 20

// Exits returns how many exits a part has, and EntryLinks how many links lead into it:
// the lengths of Bounds and Read in its Exchanges.
func (b *Board) Exits(part int) int { return len(b.part.exits[part]) }

// EntryLinks is described at Exits.
func (b *Board) EntryLinks(part int) int { return len(b.part.in[part]) }

// Capacity returns how many frames may be on a link unread.
func (b *Board) Capacity(link int) int { return int(b.links[link].Capacity) }

// Over reports whether the run is over.
func (b *Board) Over() bool { return b.head[headDone] != 0 }

// Export writes the state of this part into x, whose slices it uses again, and reports
// whether it did: whether another part may need it, or always is set. It does nothing until
// all nodes of the part have reported. From now on the others are taken to know this state,
// so that the caller has to send it to all of them. The lock is held.
func (b *Board) Export(x *Exchange, always bool) bool {
	t := b.part
	b.head[headCalled] = 0
	if !b.reported() || !always && !b.worth(true) {
		return false
	}
	t.version++
	b.head[headVersion] = t.version
	t.known[t.self] = t.version
	x.Part, x.Version, x.Seen = t.self, t.version, append(x.Seen[:0], t.known...)
	x.Bounds = x.Bounds[:0]
	for _, e := range t.exits[t.self] {
		b.view[e] = b.exit(e)
		x.Bounds = append(x.Bounds, units.Time(b.view[e]))
	}
	x.Sent = x.Sent[:0]
	for _, l := range t.out {
		frames := b.sent[l] - t.exported[l]
		if frames == 0 {
			continue
		}
		m := b.links[l].To
		x.Sent = append(x.Sent, Sent{Link: l, Frames: frames, First: units.Time(b.first[l])})
		t.transit[t.of[m]] = append(t.transit[t.of[m]], transit{from: t.self, version: t.version, to: m, first: b.first[l]})
		t.exported[l], b.first[l] = b.sent[l], int64(units.Never)
	}
	x.Read = x.Read[:0]
	for _, l := range t.in[t.self] {
		b.told[l] = b.read[l]
		x.Read = append(x.Read, b.read[l])
	}
	x.Earliest, x.Last = units.Time(b.own()), units.Time(b.head[headLast])
	b.head[headUnsent], b.head[headUrgent], b.head[headFresh], b.head[headEnded] = 0, 0, 0, 0
	if x.Earliest >= b.end {
		b.head[headEnded] = 1
	}
	return true
}

// Import takes over the state of another part. Its frames to nodes of this part are where
// these nodes can read them. Import returns ErrEarly, or an error that says what is wrong with
// the Exchange, and then the Board is as before. Woken names the nodes that may go on. The
// lock is held.
func (b *Board) Import(x *Exchange) error {
	b.wake = b.wake[:0]
	if err := b.Check(x); err != nil {
		return err
	}
	t, q := b.part, x.Part
	begins := t.known[q] == 0
	if begins {
		b.head[headHeard]++
	}
	t.known[q] = x.Version
	copy(t.seen[q], x.Seen)
	t.transit[q] = slices.DeleteFunc(t.transit[q], func(f transit) bool { return f.version <= x.Seen[f.from] })
	for i, e := range t.exits[q] {
		t.bounds[e] = int64(x.Bounds[i])
	}
	t.earliest[q] = int64(x.Earliest)
	b.head[headLatest] = max(b.head[headLatest], int64(x.Last))
	for i, l := range t.in[q] {
		if t.of[b.links[l].From] == t.self {
			b.read[l] = x.Read[i]
		}
	}
	for _, s := range x.Sent {
		m := b.links[s.Link].To
		if r := t.of[m]; r != t.self {
			t.transit[r] = append(t.transit[r], transit{from: q, version: x.Version, to: m, first: int64(s.First)})
			b.bound[m] = min(b.bound[m], int64(s.First))
			continue
		}
		b.take(s)
	}
	b.reckon(q)
	others := int64(units.Never)
	for r, at := range t.earliest {
		if r != t.self {
			others = min(others, at)
		}
	}
	b.head[headOthers] = others
	if !b.present() {
		b.summon(true)
		return nil
	}
	for m, s := range b.state {
		if s == asleep && (begins || t.of[b.blocker[m]] != t.self) {
			b.measure(m)
		}
	}
	if b.over() {
		b.callAll()
	} else {
		for lane := range b.lanes {
			b.dispatch(lane)
		}
	}
	b.summon(len(b.wake) == 0)
	return nil
}

// take counts frames from another part, which a node of this part can read.
func (b *Board) take(s Sent) {
	m := b.links[s.Link].To
	b.sent[s.Link] += s.Frames
	b.pending[m] = min(b.pending[m], int64(s.First))
	b.bound[m] = min(b.bound[m], int64(s.First))
	b.head[headFresh] = 1
	for _, e := range b.part.exits[b.part.self] {
		b.view[e] = min(b.view[e], later(int64(s.First), b.part.inside[e][m]))
	}
	if b.full(s.Link) {
		b.relieve(s.Link)
		b.asked[m] = 1
	}
}

// reckon sets the bounds of another part's nodes, each with one store: some read them without
// the lock (Earliest).
func (b *Board) reckon(q int) {
	t := b.part
	for m, r := range t.of {
		if r == q {
			t.floor[m] = int64(units.Never)
		}
	}
	for _, e := range t.exits[q] {
		t.floor[e] = t.bounds[e]
	}
	for _, f := range t.transit[q] {
		t.floor[f.to] = min(t.floor[f.to], f.first)
	}
	for _, l := range t.out {
		if m := b.links[l].To; t.of[m] == q {
			t.floor[m] = min(t.floor[m], b.first[l])
		}
	}
	for m, r := range t.of {
		if r == q {
			b.bound[m] = t.floor[m]
		}
	}
}

// Missing returns the third parts whose states x includes and that have not told them yet:
// those that an ErrEarly is about.
func (b *Board) Missing(x *Exchange) []int {
	var parts []int
	for r, v := range x.Seen {
		if r != x.Part && r != b.part.self && v > b.part.known[r] {
			parts = append(parts, r)
		}
	}
	return parts
}

// Check returns the error that Import would return, and changes nothing. The lock is held.
func (b *Board) Check(x *Exchange) error {
	t, q := b.part, x.Part
	if q < 0 || q >= t.parts || q == t.self {
		return fmt.Errorf("an exchange of part %d, want another part than %d of %d", q, t.self, t.parts)
	}
	switch known := t.known[q]; {
	case x.Version <= known:
		return fmt.Errorf("exchange %d was sent again after exchange %d", x.Version, known)
	case x.Version > known+1:
		return fmt.Errorf("exchange %d was sent after exchange %d: those between are missing", x.Version, known)
	}
	if len(x.Seen) != t.parts || len(x.Bounds) != len(t.exits[q]) || len(x.Read) != len(t.in[q]) {
		return fmt.Errorf("exchange %d has %d parts, %d bounds and %d links, want %d, %d and %d", x.Version,
			len(x.Seen), len(x.Bounds), len(x.Read), t.parts, len(t.exits[q]), len(t.in[q]))
	}
	if err := b.checkSeen(x); err != nil {
		return err
	}
	if x.Earliest < 0 || x.Last < 0 || x.Last == units.Never {
		return fmt.Errorf("exchange %d: the earliest event is at %v and the last at %v", x.Version, x.Earliest, x.Last)
	}
	// How far a bound may fall.
	for _, e := range t.exits[q] {
		t.floor[e] = t.bounds[e]
		for _, f := range t.transit[q] {
			if f.version <= x.Seen[f.from] {
				t.floor[e] = min(t.floor[e], later(f.first, t.inside[e][f.to]))
			}
		}
	}
	for i, e := range t.exits[q] {
		if int64(x.Bounds[i]) < t.floor[e] {
			return fmt.Errorf("exchange %d: the bound of node %d is %v, and was %v", x.Version, e, x.Bounds[i], units.Time(t.floor[e]))
		}
	}
	if err := b.checkSent(x); err != nil {
		return err
	}
	for i, l := range t.in[q] {
		if t.of[b.links[l].From] == t.self && (x.Read[i] < b.read[l] || x.Read[i] > t.exported[l]) {
			return fmt.Errorf("exchange %d: %d frames were read of link %d, want between %d and %d", x.Version, x.Read[i], l, b.read[l], t.exported[l])
		}
	}
	return nil
}

func (b *Board) checkSeen(x *Exchange) error {
	t, q := b.part, x.Part
	if x.Seen[q] != x.Version {
		return fmt.Errorf("exchange %d says that it is of version %d", x.Version, x.Seen[q])
	}
	if own := x.Seen[t.self]; own > t.version {
		return fmt.Errorf("exchange %d includes version %d of part %d, which has told %d", x.Version, own, t.self, t.version)
	}
	for r, v := range x.Seen {
		if v < t.seen[q][r] {
			return fmt.Errorf("exchange %d includes version %d of part %d, and the one before %d", x.Version, v, r, t.seen[q][r])
		}
	}
	if len(b.Missing(x)) > 0 {
		return ErrEarly
	}
	return nil
}

func (b *Board) checkSent(x *Exchange) error {
	t, q, last := b.part, x.Part, -1
	for _, s := range x.Sent {
		if s.Link <= last || s.Link >= len(b.links) {
			return fmt.Errorf("exchange %d: frames on link %d after link %d of %d", x.Version, s.Link, last, len(b.links))
		}
		last = s.Link
		l := b.links[s.Link]
		if t.of[l.From] != q || t.of[l.To] == q {
			return fmt.Errorf("exchange %d: frames on link %d, which does not lead out of part %d", x.Version, s.Link, q)
		}
		if s.Frames < 1 || s.Frames > maxFrames {
			return fmt.Errorf("exchange %d: %d frames on link %d, want 1 to %d", x.Version, s.Frames, s.Link, maxFrames)
		}
		if least := later(t.floor[l.From], int64(l.Lookahead)); int64(s.First) < least || s.First == units.Never {
			return fmt.Errorf("exchange %d: a frame on link %d arrives at %v, and no frame could before %v", x.Version, s.Link, s.First, units.Time(least))
		}
	}
	return nil
}
