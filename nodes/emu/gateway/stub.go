package gateway

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
)

// stub is the state of a Stub.
type stub struct {
	leaves, enters uint32 // marks of the frames of both directions
	out            queue
	in             int64 // sequence number of the last frame that was put on the stub
	count          StubCount
}

// queue holds the frames that have come off a stub and were not sent yet, in the form of
// the stream.
type queue struct {
	last  int64            // sequence number of the last frame in bytes
	bytes []byte           // frames, each with its length before it
	ends  []int            // by frame: where it ends in bytes
	ahead map[int64][]byte // frames that came before one with a smaller sequence number
}

// put adds a frame. It reports whether the frame is new.
func (q *queue) put(sequence int64, frame []byte) bool {
	switch {
	case sequence == q.last+1:
		q.add(frame)
		for f, ok := q.ahead[q.last+1]; ok; f, ok = q.ahead[q.last+1] {
			delete(q.ahead, q.last+1)
			q.add(f)
		}
	case sequence <= q.last || q.ahead[sequence] != nil:
		return false
	default:
		if q.ahead == nil {
			q.ahead = make(map[int64][]byte)
		}
		q.ahead[sequence] = append([]byte(nil), frame...)
	}
	return true
}

func (q *queue) add(frame []byte) {
	q.last++
	q.bytes = append(binary.AppendUvarint(q.bytes, uint64(len(frame))), frame...)
	q.ends = append(q.ends, len(q.bytes))
}

// append appends the first frames to a message.
func (q *queue) append(b []byte, frames int64) []byte {
	return append(b, q.bytes[:q.ends[frames-1]]...)
}

// drop removes the first frames.
func (q *queue) drop(frames int64) {
	cut := q.ends[frames-1]
	q.bytes = append(q.bytes[:0], q.bytes[cut:]...)
	q.ends = append(q.ends[:0], q.ends[frames:]...)
	for i := range q.ends {
		q.ends[i] -= cut
	}
}

// receiveBatch is how many frames are read at a time.
const receiveBatch = 64

// collect reads frames off the stubs until it has all that sent counts.
func (g *gateway) collect(sent []lockstep.Sent) error {
	var since time.Time
	for tries := 0; ; tries++ {
		lacking := -1
		for _, s := range sent {
			if i := g.leaving(s.Link); int64(len(g.stubs[i].out.ends)) < s.Frames {
				lacking = i
				break
			}
		}
		if lacking < 0 {
			return nil
		}
		// As a rule the kernel delivers within the sender's system call.
		wait := time.Duration(0)
		if tries > 3 {
			wait = time.Millisecond
		}
		got, err := g.read(wait)
		if err != nil {
			return err
		}
		switch {
		case got > 0:
			tries, since = 0, time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= g.FrameTimeout:
			return g.missing(lacking)
		}
		if err := g.failure(); err != nil {
			return err
		}
	}
}

// missing is the error for the first frame that a stub lacks.
func (g *gateway) missing(i int) error {
	s := g.Stubs[i]
	reason := fmt.Sprintf("did not arrive at the stub of %s within %v", g.Names[g.Part], g.FrameTimeout)
	g.wire.Lock()
	defer g.wire.Unlock()
	if drops, err := g.Conn.Drops(); err == nil && drops > 0 {
		reason = fmt.Sprintf("did not arrive at the stub of %s: %d frames found no room", g.Names[g.Part], drops)
	}
	return &emu.LinkError{Link: s.Link, From: s.Near, To: s.Far, Frame: g.stubs[i].out.last + 1, Reason: reason}
}

// read reads frames off the stubs, for which it waits at most so long, and returns how
// many there were. Frames that no node of the run has sent are dropped.
func (g *gateway) read(wait time.Duration) (int, error) {
	g.wire.Lock()
	defer g.wire.Unlock()
	got, err := g.Conn.Receive(g.batch[:], wait)
	if err != nil {
		return 0, fmt.Errorf("stubs of %s: %w", g.Names[g.Part], err)
	}
	for _, f := range g.batch[:got] {
		s := &g.stubs[f.Port]
		t, ok := emu.ReadTrailer(f.Data)
		if !ok || t.Mark != s.leaves || t.Sequence < 1 {
			continue
		}
		if !s.out.put(t.Sequence, f.Data) {
			at := g.Stubs[f.Port]
			return 0, &emu.LinkError{Link: at.Link, From: at.Near, To: at.Far, Frame: t.Sequence, Reason: "arrived at the stub twice"}
		}
	}
	if got > 0 { // the frames have been copied
		if _, err := g.Conn.Receive(nil, 0); err != nil {
			return 0, fmt.Errorf("stubs of %s: %w", g.Names[g.Part], err)
		}
	}
	return got, nil
}
