// Package spool carries the packets that one node captures: in a file until the
// run ends, when package capture merges those of all nodes, or through a pipe to
// who asks for them while the run is under way. It is apart from capture so that
// the nodes' programs need no decoder of frames.
package spool

import (
	"bufio"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/units"
)

// Record is a packet at a port.
type Record struct {
	At   units.Time // Sent: when the first bit left; otherwise when the last one came
	Port int        // place in the list of captured ports
	Sent bool
	// Frame is the frame from the destination MAC address on, or its beginning;
	// Length is the length of the whole.
	Frame  []byte
	Length int
	Queue  *Queue // that the packet has left; nil for none
	Missed int64  // packets at the port since the record before that had no room
}

// Queue is what a packet met in the queue that it left: the wire bytes in it,
// the packet not counted, and the time since its last bit had arrived.
type Queue struct {
	Ahead, Behind units.Size
	Waited        units.Duration
}

// Writer writes records to a file. The first error stays.
type Writer struct {
	file    *os.File
	buffer  *bufio.Writer
	encoder *gob.Encoder
	err     error
}

// Create makes the file, which must not exist.
func Create(name string) (*Writer, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	w := &Writer{file: file, buffer: bufio.NewWriterSize(file, 1<<18)}
	w.encoder = gob.NewEncoder(w.buffer)
	return w, nil
}

// Write adds a record and keeps nothing of it. Records come in order of time.
func (w *Writer) Write(r *Record) {
	if w.err == nil {
		w.err = w.encoder.Encode(r)
	}
}

// Close writes what is buffered and returns the first error.
func (w *Writer) Close() error {
	flushed, closed := w.buffer.Flush(), w.file.Close()
	err := cmp.Or(w.err, flushed, closed) // of a full disk all say the same
	if err == nil {
		return nil
	}
	return fmt.Errorf("capture %s: %w", w.file.Name(), cause.Of(err))
}

// Reader reads what a Writer wrote.
type Reader struct {
	file    *os.File
	decoder *gob.Decoder
}

// Open opens a file of a Writer.
func Open(name string) (*Reader, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return &Reader{file: file, decoder: gob.NewDecoder(bufio.NewReaderSize(file, 1<<18))}, nil
}

// Read returns the next record, which is the caller's; io.EOF after the last.
func (r *Reader) Read() (*Record, error) {
	record := new(Record)
	if err := r.decoder.Decode(record); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("capture %s: %w", r.file.Name(), err)
	}
	return record, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
