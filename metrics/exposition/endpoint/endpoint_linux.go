// Package endpoint serves the metrics of a process to Prometheus: HTTP on a Unix socket,
// at the path /metrics, and reads them from there. The processes of nodes serve, csiglab
// reads.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition"
)

// urlPath is where the metrics are.
const urlPath = "/metrics"

// Bounds of the server. Whoever can open the socket has the rights of the run's user, so
// that they keep mistakes apart, not attackers.
const (
	maxCalls     = 16 // connections at once
	maxHeader    = 16 << 10
	readHeaderIn = 5 * time.Second
	writeIn      = 10 * time.Second
	idleFor      = 2 * time.Minute
)

// Server serves metrics on a socket. Build it with Serve.
type Server struct {
	http *http.Server
	path string
	done chan struct{}
}

// Serve makes a socket at a path, which only this user can open, and serves there what
// write writes, until Close. write is called from several goroutines. A socket that another
// process has left there is replaced.
func Serve(path string, write func(to io.Writer, f exposition.Format) error) (*Server, error) {
	listen, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+urlPath, func(w http.ResponseWriter, r *http.Request) {
		format := exposition.Text
		if strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text") {
			format = exposition.OpenMetrics
		}
		w.Header().Set("Content-Type", format.ContentType())
		write(w, format) //nolint:errcheck // the reader has gone
	})
	s := &Server{path: path, done: make(chan struct{}), http: &http.Server{
		Handler: mux, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: readHeaderIn, WriteTimeout: writeIn, IdleTimeout: idleFor,
		ErrorLog: log.New(io.Discard, "", 0),
	}}
	go func() {
		defer close(s.done)
		s.http.Serve(&limited{Listener: listen, free: make(chan struct{}, maxCalls), closed: make(chan struct{})}) //nolint:errcheck // ErrServerClosed
	}()
	return s, nil
}

// Close ends the connections and removes the socket.
func (s *Server) Close() {
	s.http.Close() //nolint:errcheck // the listener goes with the process at the latest
	<-s.done
	os.Remove(s.path)
}

// listen makes a socket. The kernel takes paths of at most 107 bytes (unix(7)), which the
// folder of a run may exceed.
func listen(path string) (l *net.UnixListener, err error) {
	err = short(path, func(name string) error {
		if info, err := os.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSocket {
			os.Remove(name)
		}
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: name}); err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // the path is of the folder's descriptor
		return os.Chmod(name, 0o600)
	})
	if err != nil && l != nil {
		l.Close()
	}
	return l, err
}

// short calls do with a short path of the file.
func short(path string, do func(name string) error) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}

// limited is a listener with at most as many connections as free has room for.
type limited struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	call, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: call, release: sync.OnceFunc(func() { <-l.free })}, nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// maxText bounds what Client.Read takes from a process.
const maxText = 64 << 20

// Client reads the metrics of one process. It keeps its connection. Its methods may be
// called from several goroutines. Build it with NewClient, and end it with Close.
type Client struct{ http http.Client }

// NewClient returns a Client of the socket at a path.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (call net.Conn, err error) {
		err = short(path, func(name string) error {
			call, err = new(net.Dialer).DialContext(ctx, "unix", name)
			return err
		})
		return call, err
	}
	return &Client{http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1, IdleConnTimeout: idleFor / 2, DisableCompression: true}}}
}

// Close closes the connection.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Read returns the metrics in Prometheus' text format. It returns when ctx ends at the
// latest.
func (c *Client) Read(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node"+urlPath, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", exposition.Text.ContentType())
	answer, err := c.http.Do(request)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) {
			return nil, dial.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answers %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxText+1))
	if len(text) > maxText {
		return nil, fmt.Errorf("answers with more than %d bytes", maxText)
	}
	return text, err
}
