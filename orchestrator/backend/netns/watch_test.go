package netns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// TestStoppedSupervisor: a supervisor that is stopped is named after some seconds, and
// ends the run unless it goes on.
func TestStoppedSupervisor(t *testing.T) {
	checkout.SkipLong(t)
	p := backendtest.Compile(t, longText)
	var mu sync.Mutex
	var said []string
	stopped := 0
	began := time.Now()
	r := newRun(t, p)
	_, err := backend.Perform(context.Background(), testBackend, &r.Run, backend.Control{
		Waiting: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, text)
		},
		Progress: func(units.Time, float64) {
			if stopped != 0 {
				return
			}
			for _, pid := range ownRun(t).Processes {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				if bytes.HasSuffix(line, []byte("netns-supervisor\x00")) {
					stopped = pid
				}
			}
			began = time.Now()
			if stopped == 0 { // which would stop this test
				t.Error("there is no supervisor")
			} else if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
				t.Errorf("stop the supervisor %d: %v", stopped, err)
			}
		},
	})
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	var got *backend.NodeError
	if !errors.As(err, &got) || got.Name != "supervisor" || !strings.HasSuffix(got.Reason, "is stopped and did not go on for 10s") {
		t.Errorf("error %v, want a NodeError of the supervisor", err)
	}
	if after := time.Since(began); after > 30*time.Second {
		t.Errorf("it ended after %v", after)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := fmt.Sprintf("waiting for the supervisor of the run, process %d, which is stopped", stopped); len(said) != 1 || said[0] != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	nothingLeft(t)
}
