package containerlab

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/containerlab/containerlabtest"
)

// TestEngineStops removes containers by an engine that lists three, removes one and
// never answers for the others.
func TestEngineStops(t *testing.T) {
	stopped := make(chan struct{})
	containerlabtest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			fmt.Fprint(w, `[{"Id": "a"}, {"Id": "b"}, {"Id": "c"}]`)
		case r.Method == http.MethodDelete && !strings.HasSuffix(r.URL.Path, "/a"):
			<-stopped
		}
	})
	defer close(stopped)
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
