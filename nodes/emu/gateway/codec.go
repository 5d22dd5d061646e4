package gateway

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"syscall"
	"unicode"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// A message is its length after these four bytes, its kind, and its content. Numbers are
// unsigned varints (encoding/binary), except for the length, which is big endian.
//
//	exchange: version, seen of each part but the sender's, bounds, how many links have
//	          frames, for each of them (links skipped, frames, first arrival), read,
//	          earliest, last; then, for each link to the receiver, its frames, each with
//	          its length before it
//	alive:    nothing
//	gave up:  the reason, as text
//	over:     nothing
//
// A time is one more than its picoseconds, and 0 stands for never.
const (
	kindExchange byte = 1 + iota
	kindAlive
	kindGaveUp
	kindOver
)

// Lengths.
const (
	messageHead = 5       // of a message before its content
	frameHead   = 3       // of a frame's length, at most
	headLimit   = 1 << 20 // of a message without frames, at most
	maxReason   = 1 << 10
)

// Errors of a connection whose other end is gone.
const (
	errReset = syscall.ECONNRESET
	errPipe  = syscall.EPIPE
)

// protocolError says how a message breaks the protocol.
type protocolError struct{ reason string }

func (e *protocolError) Error() string { return e.reason }

func broken(format string, args ...any) error {
	return &protocolError{fmt.Sprintf(format, args...)}
}

// beginMessage appends the head of a message; endMessage sets the length of the message
// that b is.
func beginMessage(b []byte, kind byte) []byte { return append(b, 0, 0, 0, 0, kind) }

func endMessage(b []byte) { binary.BigEndian.PutUint32(b, uint32(len(b)-4)) }

// read reads a message, leaves its content in p.message and returns its kind.
func (p *peer) read() (kind byte, err error) {
	head, err := p.from.Peek(messageHead)
	if err != nil {
		return 0, err
	}
	length, kind := int(binary.BigEndian.Uint32(head))-1, head[messageHead-1]
	limit := 0
	switch kind {
	case kindAlive, kindOver:
	case kindGaveUp:
		limit = maxReason
	case kindExchange:
		limit = p.limit
	default:
		return 0, broken("a message of kind %d, which is unknown", kind)
	}
	if length < 0 || length > limit {
		return 0, broken("a message of kind %d has %d bytes, want at most %d", kind, length, limit)
	}
	p.from.Discard(messageHead) //nolint:errcheck // it was peeked
	// What a message claims is allocated as it comes.
	p.message = p.message[:0]
	for len(p.message) < length {
		at := len(p.message)
		if cap(p.message) > at {
			p.message = p.message[:min(length, cap(p.message))]
		} else {
			p.message = append(p.message, make([]byte, min(length-at, streamBuffer))...)
		}
		if _, err := io.ReadFull(p.from, p.message[at:]); err != nil {
			return 0, err
		}
	}
	return kind, nil
}

// Printable returns text from another part without what a terminal could act on.
func Printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(text), "?"))
}

func appendTime(b []byte, t units.Time) []byte {
	if t == units.Never {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, uint64(t)+1)
}

func appendExchange(b []byte, x *lockstep.Exchange) []byte {
	b = binary.AppendUvarint(b, uint64(x.Version))
	for part, v := range x.Seen {
		if part != x.Part {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	for _, t := range x.Bounds {
		b = appendTime(b, t)
	}
	b = binary.AppendUvarint(b, uint64(len(x.Sent)))
	next := 0
	for _, s := range x.Sent {
		b = binary.AppendUvarint(b, uint64(s.Link-next))
		b = binary.AppendUvarint(b, uint64(s.Frames))
		b = appendTime(b, s.First)
		next = s.Link + 1
	}
	for _, frames := range x.Read {
		b = binary.AppendUvarint(b, uint64(frames))
	}
	return appendTime(appendTime(b, x.Earliest), x.Last)
}

// shape is what the exchanges of a part have as many of.
type shape struct{ part, parts, exits, entries int }

// scanner reads numbers off a message. After an error all of them are 0.
type scanner struct {
	rest []byte
	err  error
}

// number returns the next number, which fits into 63 bits.
func (s *scanner) number() int64 {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 || v > uint64(units.Never) {
		if s.err == nil {
			s.err = broken("an exchange ends within a number, or a number is too large")
		}
		s.rest = nil
		return 0
	}
	s.rest = s.rest[n:]
	return int64(v)
}

func (s *scanner) time() units.Time {
	if v := s.number(); v > 0 {
		return units.Time(v - 1)
	}
	return units.Never
}

// parseExchange reads the exchange of a message into x, whose slices it uses again, and
// returns the frames after it.
func (h shape) parseExchange(b []byte, x *lockstep.Exchange) (rest []byte, err error) {
	s := scanner{rest: b}
	x.Part, x.Version = h.part, s.number()
	x.Seen, x.Bounds, x.Sent, x.Read = x.Seen[:0], x.Bounds[:0], x.Sent[:0], x.Read[:0]
	for part := range h.parts {
		v := x.Version
		if part != h.part {
			v = s.number()
		}
		x.Seen = append(x.Seen, v)
	}
	for range h.exits {
		x.Bounds = append(x.Bounds, s.time())
	}
	next := int64(0)
	for count := s.number(); count > 0 && s.err == nil; count-- {
		link := next + s.number()
		if link < 0 || link > maxLink {
			return nil, broken("an exchange has a link of number %d", uint64(link))
		}
		x.Sent = append(x.Sent, lockstep.Sent{Link: int(link), Frames: s.number(), First: s.time()})
		next = link + 1
	}
	for range h.entries {
		x.Read = append(x.Read, s.number())
	}
	x.Earliest, x.Last = s.time(), s.time()
	return s.rest, s.err
}

// maxLink is more than the number of any link.
const maxLink = 1 << 40

// parseFrame returns the first frame of a message's rest, and what is after it.
func parseFrame(b []byte, longest int) (frame, rest []byte, err error) {
	length, n := binary.Uvarint(b)
	switch {
	case n <= 0:
		return nil, nil, broken("is missing")
	case length > uint64(longest):
		return nil, nil, broken("has %d bytes, want at most %d", length, longest)
	case length > uint64(len(b)-n):
		return nil, nil, broken("has %d bytes, and the message only %d more", length, len(b)-n)
	}
	return b[n:][:length:length], b[n+int(length):], nil
}
