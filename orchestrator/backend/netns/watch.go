package netns

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Times of a supervisor that shows no life. It sends a message every aliveEvery, whatever
// else it does, so that a silent one is stopped, or frozen with its control group.
const (
	aliveEvery   = time.Second
	watchEvery   = 250 * time.Millisecond
	sayAfter     = 3 * time.Second  // the user is told
	stoppedAfter = 10 * time.Second // one that is stopped by a signal is given up
	silentAfter  = 40 * time.Second // any other is given up
)

// watch ends a supervisor that shows no life.
type watch struct {
	pid  int
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	since  time.Time // csiglab has been waiting for a message; zero: it is busy with one
	failed string    // why the supervisor was given up; after end
}

func watchSupervisor(p *supervisorProcess, c *backend.Control) *watch {
	w := &watch{pid: p.cmd.Process.Pid, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		said := false
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
			silent, stopped := w.silent(), runs.Stopped(w.pid)
			switch {
			case silent < sayAfter:
				said = false
			case stopped && silent >= stoppedAfter:
				w.failed = fmt.Sprintf("process %d is stopped and did not go on for %v", w.pid, stoppedAfter)
			case silent >= silentAfter:
				w.failed = fmt.Sprintf("process %d has not shown life for %v", w.pid, silentAfter)
			case !said:
				said = true
				state := "has not shown life for " + sayAfter.String()
				if stopped {
					state = "is stopped"
				}
				c.SayWaiting("the supervisor of the run, process %d, which %s", w.pid, state)
			}
			if w.failed != "" {
				p.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // the run ends when it is gone
				return
			}
		}
	}()
	return w
}

// waiting says whether csiglab waits for a message.
func (w *watch) waiting(waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since = (time.Time{}); waits {
		w.since = time.Now()
	}
}

// silent returns for how long the supervisor has sent no message.
func (w *watch) silent() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return 0
	}
	return time.Since(w.since)
}

// end ends the watch. failed is final afterwards.
func (w *watch) end() {
	close(w.stop)
	<-w.done
}
