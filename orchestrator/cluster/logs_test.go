package cluster

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// podServer is an API server of one pod.
type podServer struct {
	mu   sync.Mutex
	pod  func() (code int, body string)
	logs []func(w http.ResponseWriter, r *http.Request) // one for each connection
	seen []string                                       // queries of the connections
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasSuffix(r.URL.Path, "/log") {
		code, body := s.pod()
		w.WriteHeader(code)
		io.WriteString(w, body)
		return
	}
	s.seen = append(s.seen, r.URL.RawQuery)
	if len(s.logs) == 0 {
		w.WriteHeader(500)
		io.WriteString(w, statusJSON(500, "the node does not answer"))
		return
	}
	next := s.logs[0]
	s.logs = s.logs[1:]
	next(w, r)
}

// connected returns a cluster of a test's server, with short times.
func connected(t *testing.T, h http.Handler) *Cluster {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c := &Cluster{Namespace: "lab", times: times{patience: 300 * time.Millisecond, heartbeat: 10 * time.Millisecond, diagnose: 0, hang: 0, retry: time.Millisecond, remove: 5 * time.Second}}
	if err := c.use(&rest.Config{Host: s.URL}); err != nil {
		t.Fatal(err)
	}
	return c
}

// podJSON returns a pod whose container is in a state, such as running: {}.
func podJSON(state string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"lab"},"spec":{"nodeName":"n","containers":[{"name":"csiglab","image":"i"}]},
		"status":{"phase":"Running","containerStatuses":[{"name":"csiglab","ready":true,"state":{%s}}]}}`, state)
}

func says(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// breaks writes a text and breaks the connection.
func breaks(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, text)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

const stamp = "2026-01-02T03:04:05."

// TestLogsReconnect reads a log over connections that break, in the middle of a line too: no
// line is lost or repeated.
func TestLogsReconnect(t *testing.T) {
	s := &podServer{logs: []func(http.ResponseWriter, *http.Request){
		breaks(stamp + "1Z one\n" + stamp + "2Z two\n" + stamp + "2Z again two\n" + stamp + "3Z thr"),
		func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			io.WriteString(w, statusJSON(500, "connection to node refused"))
		},
		// From the second of the last line; times may come with zeros at the end or not.
		breaks(stamp + "1Z one\n" + stamp + "20Z two\n" + stamp + "2Z again two\n" + stamp + "3Z three\n"),
		says(stamp + "2Z two\n" + stamp + "2Z again two\n" + stamp + "3Z three\n"),
		says(stamp + "3Z three\n" + stamp + "4Z \n" + stamp + "5Z the end"),
	}}
	ended := false
	s.pod = func() (int, string) {
		if ended = ended || len(s.logs) == 1; ended {
			return 200, podJSON(`"terminated":{"exitCode":0}`)
		}
		return 200, podJSON(`"running":{}`)
	}
	c := connected(t, s)
	r, err := c.Logs(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if want := "one\ntwo\nagain two\nthree\n\nthe end"; string(text) != want || err != nil {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
	if q := s.seen[len(s.seen)-1]; strings.Contains(q, "follow=true") || !strings.Contains(q, "sinceTime=2026-01-02T03") {
		t.Errorf("last connection asked for %s, want the rest of an ended log", q)
	}
}

// TestLogsErrors reads logs that cannot be read to their end.
func TestLogsErrors(t *testing.T) {
	gone := func() (int, string) {
		return 404, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"p\" not found","reason":"NotFound","details":{"name":"p","kind":"pods"},"code":404}`
	}
	running := func() (int, string) { return 200, podJSON(`"running":{}`) }
	for _, tt := range []struct {
		name string
		s    *podServer
		want error
		text string
	}{
		{"pod gone", &podServer{pod: gone}, ErrGone, `pods "p" not found`},
		{"no rights", &podServer{pod: func() (int, string) { return 403, statusJSON(403, `User "x" cannot get resource "pods"`) }}, ErrForbidden, "cannot get"},
		{"node silent", &podServer{pod: running}, ErrUnreachable, "the node does not answer"},
		{"evicted", &podServer{pod: func() (int, string) {
			return 200, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`
		}}, ErrGone, "low on resource"},
		{"without times", &podServer{pod: running, logs: []func(http.ResponseWriter, *http.Request){says("garbage\n")}}, ErrRefused, "garbage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := connected(t, tt.s).Logs(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := io.ReadAll(r); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}
