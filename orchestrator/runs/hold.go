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
	"time"
)

// Report says how a lab ended. The processes that asked for the end receive it.
type Report struct {
	Code   int    `json:"code"` // exit code of csiglab
	Output string `json:"output"`
	Errors string `json:"errors"`
}

// deathTime is how long a process that has closed its sockets may take to die.
const deathTime = 2 * time.Second

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
		} else if h.calls = append(h.calls, call); len(h.calls) == 1 {
			close(h.asked)
		}
		h.mu.Unlock()
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
		json.NewEncoder(call).Encode(r) //nolint:errcheck // the process may have closed its connection
		errs = append(errs, call.Close())
	}
	return errors.Join(errs...)
}

// Down asks the holder of a lab to end it, waits until it has, and returns its
// report. The error wraps ErrHolderDied if there is no report to come.
func Down(ctx context.Context, r Run) (Report, error) {
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
		err = json.NewDecoder(call).Decode(&report)
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
