package containerlabtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Request is a request to the engine that Proxy has seen.
type Request struct {
	What  string // such as "POST /containers/*/start"
	Stage Stage
}

// Stage is how far a request has come.
type Stage string

// Stages of a request.
const (
	Made     Stage = "made"     // the engine has not seen it
	Sending  Stage = "sending"  // the engine has a part of what is sent with it, if that is long
	Answered Stage = "answered" // the answer has not been passed on
)

// part is how much of what is sent with a request is passed on before Sending.
const part = 1 << 20

// sending calls halfway when a part has been read.
type sending struct {
	io.ReadCloser
	left    int
	halfway func()
}

func (s *sending) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if s.left > 0 && s.left <= n {
		s.halfway()
	}
	s.left -= n
	return n, err
}

var (
	version = regexp.MustCompile(`^/v[0-9.]+/`)
	hexID   = regexp.MustCompile(`/[0-9a-f]{12,64}(/|$)`)
)

// Proxy stands between a program and the engine, and returns the DOCKER_HOST to
// give to that program. It calls see with each request at each of its stages; the
// request waits meanwhile. see may be called by several
// goroutines.
func (e *Engine) Proxy(t *testing.T, see func(Request)) (host string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	what := func(r *http.Request) string {
		path := version.ReplaceAllString(r.URL.Path, "/")
		return r.Method + " " + hexID.ReplaceAllString(path, "/*$1")
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(e.Host, "unix://"))
	}}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "docker"}) },
		ModifyResponse: func(r *http.Response) error {
			see(Request{what(r.Request), Answered})
			return nil
		},
		// An engine that is not there shows as one: the connection breaks.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := what(r)
		see(Request{name, Made})
		r.Body = &sending{r.Body, part, func() { see(Request{name, Sending}) }}
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(listener) //nolint:errcheck // it ends when it is closed
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return "unix://" + socket
}
