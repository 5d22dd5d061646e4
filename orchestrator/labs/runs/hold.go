package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Report says how a lab ended. The processes that asked for the end receive it.
type Report struct {
	Code   int    `json:"code"` // exit code of csiglab
	Output string `json:"output"`
	Errors string `json:"errors"`
}

// Times of the end of a lab.
const (
	deathTime   = 2 * time.Second  // for a process that has closed its sockets to die
	reportTime  = 10 * time.Second // to hand over the report to a process that may be stopped
	aliveEvery  = time.Second      // a holder that is asked to end shows that it lives
	silentAfter = 30 * time.Second // a holder that does not is given up
	sayEvery    = 10 * time.Second // what is waited for is said again
)

// ErrHolderHangs is wrapped when a lab's holder lives and does not answer.
var ErrHolderHangs = errors.New("its holder does not answer")

// ErrHolderDied is wrapped when a lab's holder dies before it has ended the lab in
// order.
var ErrHolderDied = errors.New("its holder has died")

// Holder waits for another process to ask for the end of a lab of this process.
type Holder struct {
	asked  chan struct{}
	listen *net.UnixListener

	mu     sync.Mutex
	closed bool
	calls  []net.Conn
	doing  string
}

// message is what a holder sends to a process that waits for the report.
type message struct {
	Report
	Doing string `json:"doing,omitempty"` // what it is at; the report comes later
}

func socket(id string) string { return filepath.Join(folder(), id+".sock") }

// at calls do with a path of a file of the list that is short enough for the kernel, which
// takes at most 107 bytes (unix(7)).
func at(file string, do func(path string) error) error {
	dir, err := os.Open(folder())
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(file)))
}

// Hold opens the socket at which other processes can ask the lab id to end.
func Hold(id string) (*Holder, error) {
	h := &Holder{asked: make(chan struct{})}
	err := at(socket(id), func(path string) (err error) {
		h.listen, err = net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
		if err == nil {
			h.listen.SetUnlinkOnClose(false) // the path is of the folder's descriptor
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("hold lab %s: %w", id, err)
	}
	go h.accept()
	return h, nil
}

func (h *Holder) accept() {
	for {
		call, err := h.listen.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		if h.closed {
			call.Close()
		} else {
			if h.calls = append(h.calls, call); len(h.calls) == 1 {
				close(h.asked)
			}
			go h.showLife(call)
		}
		h.mu.Unlock()
	}
}

// Doing tells the processes that wait for the report what the holder is at.
func (h *Holder) Doing(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doing = text
}

// showLife sends what the holder is at, or an empty line, now and then to a process that waits
// for the report, so that the process can tell a holder that is at work from one that is
// stopped.
func (h *Holder) showLife(call net.Conn) {
	for {
		time.Sleep(aliveEvery)
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return
		}
		line := []byte{'\n'}
		if h.doing != "" {
			line, _ = json.Marshal(message{Doing: h.doing}) // text
		}
		call.SetWriteDeadline(time.Now().Add(aliveEvery))
		_, err := call.Write(line)
		call.SetWriteDeadline(time.Time{})
		h.mu.Unlock()
		if err != nil {
			return // nobody waits any more
		}
	}
}

// Asked is closed when another process asks for the lab's end.
func (h *Holder) Asked() <-chan struct{} { return h.asked }

// Close sends the report to all processes that asked for the end.
func (h *Holder) Close(r Report) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	errs := []error{h.listen.Close()}
	for _, call := range h.calls {
		call.SetWriteDeadline(time.Now().Add(reportTime))
		json.NewEncoder(call).Encode(r) //nolint:errcheck // the process may have closed its connection
		errs = append(errs, call.Close())
	}
	return errors.Join(errs...)
}

// Down asks the holder of a lab to end it, waits until it has, and returns its
// report. say receives what Down waits for, once that takes some seconds; it may be nil.
// The error wraps ErrHolderDied if there is no report to come, or ErrHolderHangs if the
// holder shows no life for half a minute.
func Down(ctx context.Context, r Run, say func(text string)) (Report, error) {
	var report Report
	var call net.Conn
	err := at(socket(r.ID), func(path string) (err error) {
		call, err = net.Dial("unix", path)
		return err
	})
	if err == nil {
		defer call.Close()
		stop := context.AfterFunc(ctx, func() { call.Close() })
		defer stop()
		w := &holderWatch{run: &r, conn: call, say: say, ended: make(chan struct{})}
		w.heard.Store(time.Now().UnixNano())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.look()
		}()
		messages := json.NewDecoder(w)
		for {
			var m message
			if err = messages.Decode(&m); err != nil || m.Doing == "" {
				report = m.Report
				break
			}
			w.doing.Store(&m.Doing)
		}
		close(w.ended)
		if <-done; w.hangs {
			return report, fmt.Errorf("end lab %s: %w: process %d has not shown life for %v%s; csiglab clean --force %s ends it",
				r.ID, ErrHolderHangs, r.PID, silentAfter, r.stopped(), r.ID)
		}
	}
	for deadline := time.Now().Add(deathTime); err != nil && ctx.Err() == nil && r.alive() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	switch {
	case ctx.Err() != nil:
		return report, context.Cause(ctx)
	case err != nil && r.alive():
		return report, fmt.Errorf("end lab %s: process %d: %w", r.ID, r.PID, err)
	case err != nil:
		return report, fmt.Errorf("end lab %s: %w", r.ID, ErrHolderDied)
	}
	return report, nil
}

// holderWatch watches the connection to a holder that was asked to end.
type holderWatch struct {
	run   *Run
	conn  net.Conn
	say   func(string)
	heard atomic.Int64 // wall time in ns at which something came last
	doing atomic.Pointer[string]
	ended chan struct{}
	hangs bool // once look has returned
}

// Read reads from the connection.
func (w *holderWatch) Read(b []byte) (int, error) {
	n, err := w.conn.Read(b)
	w.heard.Store(time.Now().UnixNano())
	return n, err
}

// look says what is waited for, and closes the connection to a holder that hangs.
func (w *holderWatch) look() {
	tick := time.NewTicker(aliveEvery / 4)
	defer tick.Stop()
	for say := time.Now().Add(sayAfter); ; {
		select {
		case <-w.ended:
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Sub(time.Unix(0, w.heard.Load())) > silentAfter {
			w.hangs = true
			w.conn.Close()
			return
		}
		if now.After(say) && w.say != nil {
			at := ""
			if doing := w.doing.Load(); doing != nil {
				at = ": " + *doing
			}
			w.say(fmt.Sprintf("waiting for the process %d of lab %s to write its results%s%s", w.run.PID, w.run.ID, at, w.run.stopped()))
			say = now.Add(sayEvery)
		}
	}
}

// stopped returns words about a holder that is stopped, "" about any other.
func (r *Run) stopped() string {
	if Stopped(r.PID) {
		return "; it is stopped"
	}
	return ""
}
