// Package capture writes the packets of chosen ports as a pcapng file that
// Wireshark reads: one interface per port, model time, and comments with what a
// frame cannot show, such as the queue it left and the port that its CSIG tag
// names. It decides nothing about a run: drivers give it packets through a
// node.Tap.
package capture

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Dissector is the text of a Wireshark dissector in Lua for the tag in both
// formats and dialects, the transport and the trailer of real frames.
//
//go:embed csig.lua
var Dissector string

// Config says what a file holds.
type Config struct {
	Ports  []Port       // at least one
	Format wire.Format  // of the fabric's frames
	Domain *csig.Domain // nil without tags
	// Meaning says in words which ports a locator stands for, always the same; nil:
	// the number is all there is.
	Meaning func(locator uint16) string
	// SecondMeaning is Meaning of the domain's second format.
	SecondMeaning func(locator uint16) string
	Comment       string // about the whole file
	// Unordered lets records be earlier than those before them, as those of a
	// capture that cannot wait until the last of a time has come.
	Unordered bool
}

// Record is a packet at a port; Port is a place in Config.Ports.
type Record = spool.Record

// Writer writes one file. It belongs to one goroutine. The first error stays and
// makes all calls after it do nothing.
type Writer struct {
	cfg    Config
	file   *pcapng
	packet wire.Packet       // scratch
	words  map[uint32]string // what Meaning and SecondMeaning have said, by csig.Domain.Label
	last   units.Time
	err    error
}

// ErrOrder reports a record that is earlier than the one before it.
var ErrOrder = errors.New("capture: records are not in order of time")

// NewWriter begins a file. The caller closes out after Close.
func NewWriter(out io.Writer, c Config) (*Writer, error) {
	if len(c.Ports) == 0 {
		return nil, errors.New("capture: no ports")
	}
	c.Format.Elided = true // a record may have a frame's beginning only
	file, err := newPcapng(out, c.Comment, c.Ports)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return &Writer{cfg: c, file: file, words: map[uint32]string{}}, nil
}

// Tap returns what writes the packets of a node's captured ports as a driver
// tells of them, nil if there are none. Without a payload in the packet, which
// virtual time does not have, the file has the headers and says how long the
// frame was.
func (w *Writer) Tap(id int) node.Tap {
	places := map[int]int{} // by port
	for i, p := range w.cfg.Ports {
		if p.Node == id {
			places[p.Port] = i
		}
	}
	if len(places) == 0 {
		return nil
	}
	var frame []byte
	room := make([]byte, 0, wire.MaxHeader+wire.TunnelLen)
	return func(now units.Time, port int, event node.Event, p *wire.Packet) {
		place, ok := places[port]
		if !ok {
			return
		}
		header := p.HeaderOnWire(room, w.cfg.Format.Tunnel)
		frame = append(append(frame[:0], header...), p.Payload...)
		r := Record{At: now, Port: place, Sent: event == node.Sent, Frame: frame, Length: len(header) + p.PayloadLen}
		if r.Sent && !w.cfg.Ports[place].Host {
			r.Queue = &spool.Queue{Ahead: p.Ahead, Behind: p.Behind, Waited: now.Sub(p.EnqueuedAt)}
		}
		w.Write(r)
	}
}

// Write adds a record and keeps nothing of it. Records come in order of time.
func (w *Writer) Write(r Record) {
	if w.err != nil {
		return
	}
	if r.Port < 0 || r.Port >= len(w.cfg.Ports) { // of a spool that something else has written
		w.err = fmt.Errorf("capture: no port %d; there are %d", r.Port, len(w.cfg.Ports))
		return
	}
	if r.At < w.last && !w.cfg.Unordered {
		w.err = fmt.Errorf("%w: %v after %v at %s", ErrOrder, r.At, w.last, w.cfg.Ports[r.Port].Name)
		return
	}
	w.last = r.At
	w.err = w.file.packet(captured{
		at: uint64(r.At) / uint64(units.Nanosecond), port: r.Port, frame: r.Frame, length: max(r.Length, len(r.Frame)),
		comments: w.comments(r), sent: r.Sent, missed: uint64(r.Missed),
	})
}

// Flush hands on what is buffered, for who reads while it is written.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.file.out.Flush()
	}
	return w.err
}

// Err returns the first error.
func (w *Writer) Err() error { return w.err }

// Close writes what is buffered and returns the first error.
func (w *Writer) Close() error {
	return cmp.Or(w.err, w.file.out.Flush())
}
