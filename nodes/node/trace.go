package node

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/cespare/xxhash/v2"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Event is what happened to a packet at a port.
type Event uint8

// Events of a trace. The time of Received is when the last bit arrived, that of
// Sent when the first bit left.
const (
	Received Event = 1
	Sent     Event = 2
)

// eventLen is the length of an event in the trace: time 8, digest 8, size 4,
// port 2, event 1, zero 1.
const eventLen = 24

// Trace folds the events of one node into a hash. Two runs in which the node
// saw and sent the same packets, header byte for header byte, at the same
// instants have the same sum, and no others in practice.
//
// Header bytes, which hold the packet's identity (flow, PSN, kind,
// transmission), enter as their XXH64 digest and the events as a SHA-256: the
// digest is an order of magnitude cheaper on a path that every packet-hop takes
// twice.
//
// The zero value counts events and has no hash: its Sum is zero.
type Trace struct {
	hash   hash.Hash // nil: events are counted only
	buffer *TraceBuffer
	events int64
}

// TraceBuffer collects events of a trace until they are worth hashing. Traces whose
// nodes run in turns in one goroutine may share one, so that it stays in the cache. The
// zero value is ready.
type TraceBuffer struct {
	trace  *Trace // whose events it has
	len    int
	events [64 * eventLen]byte
}

// NewTrace returns an empty trace.
func NewTrace() *Trace { return newTrace(new(TraceBuffer)) }

func newTrace(b *TraceBuffer) *Trace { return &Trace{hash: sha256.New(), buffer: b} }

// Digest is what the header bytes of a packet enter a trace as.
func Digest(p *wire.Packet) uint64 { return xxhash.Sum64(p.Header()) }

// Add appends an event of a packet with the given Digest and wire size.
func (t *Trace) Add(now units.Time, port int, event Event, digest uint64, size units.Size) {
	t.events++
	if t.hash == nil {
		return
	}
	buffer := t.buffer
	if buffer.trace != t || buffer.len == len(buffer.events) {
		buffer.flush()
		buffer.trace = t
	}
	b := buffer.events[buffer.len:][:eventLen:eventLen]
	buffer.len += eventLen
	binary.LittleEndian.PutUint64(b, uint64(now))
	binary.LittleEndian.PutUint64(b[8:], digest)
	binary.LittleEndian.PutUint64(b[16:], uint64(uint32(size))|uint64(port)<<32|uint64(event)<<48)
}

// Events returns the number of events added.
func (t *Trace) Events() int64 { return t.events }

// Sum returns the SHA-256 over the events so far.
func (t *Trace) Sum() (sum [32]byte) {
	if t.hash == nil {
		return sum
	}
	if t.buffer.trace == t {
		t.buffer.flush()
	}
	t.hash.Sum(sum[:0])
	return sum
}

// flush hashes what the buffer has.
func (b *TraceBuffer) flush() {
	if b.len > 0 {
		b.trace.hash.Write(b.events[:b.len])
		b.len = 0
	}
}
