package gateway

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// Patient returns a reader of a connection that reads once more, for a moment, after a
// deadline has passed. A process that was frozen past a deadline gets the timeout on resume,
// before the bytes that wait in its socket, and would blame the other end for its own silence.
// ended reports that the deadline was set to end the reading; nil: it never is.
func Patient(conn net.Conn, ended func() bool) io.Reader {
	return &patient{conn: conn, ended: ended}
}

// moment is enough to read what is in the socket.
const moment = 100 * time.Millisecond

type patient struct {
	conn  net.Conn
	ended func() bool
}

func (r *patient) Read(b []byte) (int, error) {
	n, err := r.conn.Read(b)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || r.over() {
		return n, err
	}
	r.conn.SetReadDeadline(time.Now().Add(moment)) //nolint:errcheck // Read fails too
	if r.over() {                                  // its deadline may have been overwritten
		return n, err
	}
	return r.conn.Read(b)
}

func (r *patient) over() bool { return r.ended != nil && r.ended() }
