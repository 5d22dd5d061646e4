package containerlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
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
	if err := e.Destroy(t.Context(), &Deployed{RunID: "r1"}); !errors.Is(err, ErrLost) || err.Error() != want {
		t.Errorf("got error %v, want ErrLost as %q", err, want)
	}
}

// TestRemoveAContainerThatEnds: an engine that is about to kill a container which ends at
// that moment answers with an error. The next try removes the container. If the engine
// goes on to fail, or the container runs, its error is reported.
func TestRemoveAContainerThatEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		fails   int // requests to remove it
		running bool
		want    string // of the error
		tries   int
	}{
		{"ended meanwhile", 1, false, "", 2},
		{"never removed", 100, false, "cannot remove - Container c is not running", endedTries},
		{"runs on", 1, true, "cannot remove - Container c is not running", 1},
	} {
		tries := 0
		containerlabtest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/containers/c/json"):
				fmt.Fprintf(w, `{"Id": "c", "State": {"Running": %v}}`, c.running)
			case r.Method == http.MethodDelete:
				if tries++; tries <= c.fails {
					w.WriteHeader(http.StatusInternalServerError)
					fmt.Fprint(w, `{"message": "Could not kill running container c, cannot remove - Container c is not running"}`)
				}
			}
		})
		e, err := Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		err = e.removeContainer(t.Context(), "c")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || tries != c.tries {
			t.Errorf("%s: %d tries, error %v; want %d, %q", c.name, tries, err, c.tries, c.want)
		}
	}
}

// TestEngineStopsAnswering asks an engine that gives no answer to one kind of request.
func TestEngineStopsAnswering(t *testing.T) {
	for _, test := range []struct {
		stops string // the end of the request's path
		ask   func(context.Context, *Engine) error
		want  string
	}{
		{"/_ping", func(ctx context.Context, e *Engine) error { return e.ping(ctx) }, "it does not answer at unix://"},
		{"/images/i:1/json", func(ctx context.Context, e *Engine) error { return e.CheckImage(ctx, "i:1") }, "image i:1: " + ErrLost.Error()},
		{"/containers/json", func(ctx context.Context, e *Engine) error { _, err := e.List(ctx); return err }, "list containers: " + ErrLost.Error()},
		{"/containers/c/exec", start, ErrLost.Error()},
		{"/exec/x/start", start, ErrLost.Error()},
		{"/exec/x/json", func(ctx context.Context, e *Engine) error { return e.pass(ctx, "x", syscall.SIGINT, 0) }, ErrLost.Error()},
		{"/containers/c/json", func(ctx context.Context, e *Engine) error { return errors.New(e.Exit(ctx, Container{ID: "c"})) }, "ended: " + ErrLost.Error()},
		{"/containers/c/logs", func(ctx context.Context, e *Engine) error { return errors.New(e.Exit(ctx, Container{ID: "c"})) }, "ended with code 3"},
	} {
		t.Run(test.stops, func(t *testing.T) {
			stopped, stops := make(chan struct{}), ""
			containerlabtest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
				switch path := r.URL.Path; {
				case stops != "" && strings.HasSuffix(path, stops):
					<-stopped
				case strings.HasSuffix(path, "/exec"):
					w.WriteHeader(http.StatusCreated)
					fmt.Fprint(w, `{"Id": "x"}`)
				case strings.HasSuffix(path, "/wait"):
					fmt.Fprint(w, `{"StatusCode": 3}`)
				case strings.HasSuffix(path, "/containers/c/json"):
					fmt.Fprint(w, `{"State": {"ExitCode": 3}}`)
				}
			})
			defer close(stopped)
			e, err := Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			stops, e.askTime = test.stops, 200*time.Millisecond
			if err := test.ask(t.Context(), e); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func start(ctx context.Context, e *Engine) error {
	_, err := e.Start(ctx, Container{ID: "c"}, []string{"true"}, nil, io.Discard)
	return err
}
