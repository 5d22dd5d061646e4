package spool

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Frames of a run that is under way go through named pipes. Who wants those of a
// port makes a pipe with Listen in a folder that the node sees, and rings for the
// node; the node opens the pipes that it finds with Answer, and takes their names
// away. A node never waits for a reader: what finds no room is counted.

// Hello is what a node says first.
type Hello struct {
	About string // the run, as far as who listens must know
}

// Stream is the node's end of a pipe. It belongs to one goroutine.
type Stream struct {
	Port    int // of the node
	fd      int
	pending bytes.Buffer // encoded, and not in the pipe yet
	encoder *gob.Encoder
	missed  int64 // records, since the last one that was kept
	gone    bool  // the reader, or the pipe failed
}

const (
	pipePrefix = ".live"
	// pipeSize is what an unprivileged process may ask for by default (pipe(7)).
	pipeSize = 1 << 20
	// pendingLimit is what a node keeps for a reader that does not keep up.
	pendingLimit = 4 << 20
)

// Answer opens the pipes in folder that are for a node and greets who listens at
// them. Pipes at which nobody listens are left alone.
func Answer(folder string, node int, h Hello) []*Stream {
	var streams []*Stream
	for _, name := range pipes(folder) {
		fields := strings.Split(filepath.Base(name), "-") // see Listen
		if len(fields) < 3 || fields[1] != strconv.Itoa(node) {
			continue
		}
		port, err := strconv.Atoi(fields[2])
		if err != nil {
			continue
		}
		fd, err := unix.Open(name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO || os.Remove(name) != nil {
			unix.Close(fd)
			continue
		}
		unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize) //nolint:errcheck // a smaller one does
		s := &Stream{Port: port, fd: fd}
		s.encoder = gob.NewEncoder(&s.pending)
		if s.encoder.Encode(h) != nil {
			panic("spool: a greeting cannot be encoded")
		}
		s.Flush()
		streams = append(streams, s)
	}
	return streams
}

// Write adds a record, or drops it where the reader has fallen behind, and keeps
// nothing of it.
func (s *Stream) Write(r *Record) {
	if s.gone {
		return
	}
	if s.pending.Len() > pendingLimit {
		s.missed++
		return
	}
	r.Missed, s.missed = s.missed, 0
	if err := s.encoder.Encode(r); err != nil {
		s.gone = true
	}
	r.Missed = 0
}

// Flush writes to the pipe what it has space for, and reports whether somebody still
// listens.
func (s *Stream) Flush() bool {
	for !s.gone && s.pending.Len() > 0 {
		n, err := unix.Write(s.fd, s.pending.Bytes())
		switch {
		case n > 0:
			s.pending.Next(n)
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return true
		default:
			s.gone = true
		}
	}
	return !s.gone
}

// Close gives the reader a moment to take what is left, and ends the stream.
func (s *Stream) Close() {
	for until := time.Now().Add(lingerFor); s.Flush() && s.pending.Len() > 0 && time.Now().Before(until); {
		unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}, int(lingerFor.Milliseconds())) //nolint:errcheck // the time tells
	}
	unix.Close(s.fd)
}

const lingerFor = 200 * time.Millisecond

// Source is the reader's end of a pipe.
type Source struct {
	name    string
	fd      int      // before Hello
	file    *os.File // after
	decoder *gob.Decoder
}

// ErrSilent reports a node that nobody heard of.
var ErrSilent = errors.New("the node does not answer")

// Listen makes the pipe for a port of a node; folder is the one that the node
// looks into. Then ring for the node and call Hello.
func Listen(folder string, node, port int) (*Source, error) {
	name := filepath.Join(folder, fmt.Sprintf("%s-%d-%d-%d-%d", pipePrefix, node, port, os.Getpid(), time.Now().UnixNano()))
	if err := unix.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("capture: make a pipe in %s: %w", folder, err)
	}
	// A reader that does not wait for the writer (fifo(7)).
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		os.Remove(name)
		return nil, fmt.Errorf("capture: open %s: %w", name, err)
	}
	return &Source{name: name, fd: fd}, nil
}

// Hello waits for the node's greeting. A node that does not greet within the time
// is ErrSilent.
func (s *Source) Hello(within time.Duration) (h Hello, err error) {
	for until := time.Now().Add(within); ; {
		left := time.Until(until)
		if left <= 0 {
			return h, ErrSilent
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return h, fmt.Errorf("capture: %w", err)
		}
		if n > 0 {
			break
		}
	}
	s.file = os.NewFile(uintptr(s.fd), s.name)
	s.decoder = gob.NewDecoder(bufio.NewReaderSize(s.file, 1<<18))
	if err := s.decoder.Decode(&h); err != nil {
		return h, fmt.Errorf("capture: the node's greeting: %w", err)
	}
	return h, nil
}

// Read returns the next record, which is the caller's; io.EOF when the node has
// ended, or after Close.
func (s *Source) Read() (*Record, error) {
	record := new(Record)
	if err := s.decoder.Decode(record); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
			return nil, io.EOF // a node that was killed leaves half a record
		}
		return nil, fmt.Errorf("capture: %w", err)
	}
	return record, nil
}

// Close ends the capture; the node notices.
func (s *Source) Close() error {
	os.Remove(s.name) // where no node has
	if s.file == nil {
		return unix.Close(s.fd)
	}
	return s.file.Close()
}

// RemovePipes removes what listeners that were killed have left in a folder.
func RemovePipes(folder string) {
	for _, name := range pipes(folder) {
		os.Remove(name)
	}
}

// pipes returns the paths of the pipes in a folder.
func pipes(folder string) (names []string) {
	entries, _ := os.ReadDir(folder) //nolint:errcheck // no folder, no pipes
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), pipePrefix+"-") && e.Type() == fs.ModeNamedPipe {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	return names
}
