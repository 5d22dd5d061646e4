package containerlab

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEngineStops removes containers by an engine that lists three, removes one and
// never answers for the others.
func TestEngineStops(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			fmt.Fprint(w, `[{"Id": "a"}, {"Id": "b"}, {"Id": "c"}]`)
		case r.Method == http.MethodDelete && !strings.HasSuffix(r.URL.Path, "/a"):
			<-stopped
		}
	}))
	server.Listener = listener
	server.Start()
	defer server.Close()
	defer close(stopped)
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.removeTime = 50 * time.Millisecond
	want := "destroy run r1: the docker engine has not removed 2 of 3 containers in 50ms: it has to be started again"
	if err := e.Destroy(t.Context(), &Deployed{RunID: "r1"}); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %q", err, want)
	}
}
