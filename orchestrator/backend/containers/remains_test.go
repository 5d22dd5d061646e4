package containers

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// The containers of a run are looked for on the engine that the run was begun on, too, if that answers;
// that neither does is an error of a run in containers. Two paths of one socket are one engine.
func TestRemoveElsewhere(t *testing.T) {
	folder := t.TempDir()
	own, linked := filepath.Join(folder, "own.sock"), filepath.Join(folder, "linked.sock")
	var asked atomic.Int32
	listener, err := net.Listen("unix", own)
	if err != nil {
		t.Fatal(err)
	}
	engine := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); !strings.HasSuffix(r.URL.Path, "/_ping") {
			http.Error(w, `{"message": "it is busy"}`, http.StatusInternalServerError)
		}
	})}
	go engine.Serve(listener) //nolint:errcheck // it ends with Close
	defer engine.Close()
	if err := os.Symlink(own, linked); err != nil {
		t.Fatal(err)
	}
	if !sameEngine("unix://"+own, "unix://"+linked) || sameEngine("unix://"+own, "unix://"+folder) {
		t.Error("a link to a socket is not the same engine, or another one is")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root runs containers")
	}
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(folder, "nobody.sock"))
	run := runs.Run{ID: "a1b2", Runtime: runtimes.Containerlab, Engine: "unix://" + own}
	if _, err := (Backend{}).Remove(t.Context(), run); err == nil || !strings.Contains(err.Error(), "it is busy") || asked.Load() < 2 {
		t.Errorf("the engine of the run: %v after %d requests, want what it says", err, asked.Load())
	}
	run.Engine = ""
	if _, err := (Backend{}).Remove(t.Context(), run); err == nil || !strings.Contains(err.Error(), "look for its containers: ") {
		t.Errorf("no engine: %v", err)
	}
}
