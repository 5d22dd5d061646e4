package parts

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// protocol is the version of the messages.
const protocol = 1

// message is one message of either side. One field is set.
type message struct {
	// Of the coordinator.
	Order *order
	Go    bool // start, all shards are ready
	End   bool // a run that is held ends now
	Stop  bool // remove everything of the run

	// Of a shard.
	Hello    *hello
	Ready    bool
	Deployed *deployed
	Records  *metrics.Batch
	Progress *progress
	Started  bool // a run in real time has started
	Note     string
	Waiting  string
	File     *chunk
	Outcome  *backend.Outcome
	Failure  *fault

	Alive bool // of either side, every aliveEvery
}

// hello introduces a shard.
type hello struct {
	Protocol int
	Build    string // of csiglab with modules (modules.Build)
	Identity string // of csiglab
	Address  string // where it listens for other shards
	Tunnels  bool
}

// order is the run of one shard.
type order struct {
	Run backend.Run // Part is set
	// Experiment is the file of the experiment, which csiglab capture reads beside the
	// shard; nil: there is none.
	Experiment []byte
}

// deployed describes the nodes and links of the run, of which those of the shard are true.
type deployed struct {
	Nodes []runs.Node
	Links []runs.Link
}

// progress is how far the nodes of a shard are.
type progress struct {
	Now units.Time
}

// chunk is a piece of a file that the run has written in the folder of a shard. It has no
// name: the coordinator knows where the file belongs.
type chunk struct {
	Output bool // of a program, by its number in the plan; else captured frames, by node
	Index  int
	Data   []byte
}

// fault is an error of a backend in a form that can be sent.
type fault struct {
	backend.Failure
	Ended bool // somebody has ended the shard itself, by a signal
}

// Error is an error of one shard. It wraps that of its backend.
type Error struct {
	Shard string // its name
	Err   error
}

func (e *Error) Error() string { return e.Shard + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Times of a connection.
const (
	aliveEvery = time.Second
	sayAfter   = 3 * time.Second // the user is told
	// silentAfter is how long a shard may send nothing.
	silentAfter = 30 * time.Second
	// orphanAfter is how long a coordinator may send nothing. It may have been stopped for
	// a while by its user.
	orphanAfter = time.Minute
)

// Limits of a message. What gob makes of it is a small multiple.
const (
	helloLimit = 1 << 17 // of the first message, which describes all types, and of short ones
	limit      = 64 << 20
	orderLimit = 1 << 30
)

// stream sends and receives messages on a connection. Each is a gob behind its length in
// 4 bytes, big-endian. Several goroutines may send; one receives.
type stream struct {
	conn    net.Conn
	in      *bufio.Reader
	decoder *gob.Decoder
	pending bytes.Buffer // what decoder reads
	limit   int          // of the messages received

	silence time.Duration // without any bytes, after which the connection is closed
	slow    func()        // called after sayAfter; may be nil
	silent  atomic.Bool   // the connection was closed for its silence

	mu      sync.Mutex
	encoder *gob.Encoder
	text    bytes.Buffer // what encoder writes
}

func newStream(conn net.Conn, silence time.Duration) *stream {
	s := &stream{conn: conn, silence: silence, limit: helloLimit}
	s.in = bufio.NewReaderSize(watched{s}, 64<<10)
	s.decoder, s.encoder = gob.NewDecoder(&s.pending), gob.NewEncoder(&s.text)
	return s
}

// watched reads from the connection of a stream, and closes it when nothing comes.
type watched struct{ *stream }

func (w watched) Read(p []byte) (int, error) {
	if w.slow != nil {
		defer time.AfterFunc(sayAfter, w.slow).Stop()
	}
	defer time.AfterFunc(w.silence, func() {
		w.silent.Store(true)
		w.conn.Close()
	}).Stop()
	n, err := w.conn.Read(p)
	if err != nil && w.silent.Load() {
		err = fmt.Errorf("has sent nothing for %v", w.silence)
	}
	return n, err
}

// send sends a message.
func (s *stream) send(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Reset()
	s.text.Write(make([]byte, 4))
	if err := s.encoder.Encode(m); err != nil {
		return err
	}
	text := s.text.Bytes()
	if len(text)-4 > orderLimit {
		return fmt.Errorf("a message of %d bytes is too long", len(text))
	}
	binary.BigEndian.PutUint32(text, uint32(len(text)-4))
	_, err := s.conn.Write(text)
	if cap(text) > limit {
		s.text = bytes.Buffer{} // the order was large and is sent once
	}
	return err
}

// errProtocol is wrapped when the other side sends what is no message.
var errProtocol = errors.New("does not keep to the protocol")

// receive returns the next message. Memory grows with the bytes that come, not with the
// length that is announced.
func (s *stream) receive() (m message, err error) {
	var length [4]byte
	if _, err := io.ReadFull(s.in, length[:]); err != nil {
		return m, err
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	if n > int64(s.limit) {
		return m, fmt.Errorf("%w: a message of %d bytes, at most %d are accepted", errProtocol, n, s.limit)
	}
	if s.pending.Reset(); s.pending.Cap() > limit {
		s.pending = bytes.Buffer{}
	}
	if _, err := io.CopyN(&s.pending, s.in, n); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return m, err
	}
	if err := s.decoder.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: %v", errProtocol, err)
	}
	if s.pending.Len() > 0 {
		return m, fmt.Errorf("%w: %d bytes behind a message", errProtocol, s.pending.Len())
	}
	return m, nil
}

// showLife sends a message every second until the connection is closed.
func (s *stream) showLife() {
	for s.send(message{Alive: true}) == nil {
		time.Sleep(aliveEvery)
	}
}
