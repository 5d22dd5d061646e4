package cluster

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// lateServer is an API server that answers the making of a Job with code, and has the Job
// when it was asked for it often enough.
type lateServer struct {
	code int // 0: the connection breaks

	mu     sync.Mutex
	misses int // so many questions before the Job is there; -1: it never is
	asked  int
}

func (s *lateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPatch {
		if s.code == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(s.code)
		io.WriteString(w, statusJSON(s.code, "no"))
		return
	}
	if s.asked++; s.misses >= 0 && s.asked > s.misses {
		io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j","namespace":"lab"}}`)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
}

// count returns how often the server was asked for the Job. A request whose client has given up may
// still be answered.
func (s *lateServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Job says whether there may be a Job after an error: not when the server has refused it.
func TestJobMayExist(t *testing.T) {
	for code, may := range map[int]bool{403: false, 422: false, 409: false, 500: true, 504: true, 0: true} {
		c := connected(t, &lateServer{code: code, misses: -1})
		name, err := c.Job(t.Context(), "f00d", "shards", indexed(1, c.PodSpec("i", nil, nil)))
		if err == nil || (name != "") != may {
			t.Errorf("code %d: name %q, error %v; a Job may exist: want %v", code, name, err, may)
		}
	}
}

// AwaitJob returns once the Job is there, and when it does not come.
func TestAwaitJob(t *testing.T) {
	s := &lateServer{misses: 3}
	c := connected(t, s)
	c.times.late = time.Minute
	c.AwaitJob(t.Context(), "j")
	if n := s.count(); n != 4 {
		t.Errorf("asked %d times, want 4: the Job was there then", n)
	}
	s = &lateServer{misses: -1}
	c = connected(t, s)
	c.times.late = 20 * time.Millisecond
	c.AwaitJob(t.Context(), "j")
	if s.count() == 0 {
		t.Error("asked nobody")
	}
}
