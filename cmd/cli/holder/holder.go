package holder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// Holder holds a lab in this process:
//
//	Hold ─▶ (the run starts) Ready ─▶ (a request or a signal) Released ─▶ (the run ends) End
//
// Its methods may be called by several goroutines.
type Holder struct {
	ctx            context.Context
	cancel         context.CancelCauseFunc
	starter        *os.File // a pipe to Start, until the lab is up
	released       chan struct{}
	stderr         io.Writer
	output, errors buffer // of the report

	mu         sync.Mutex
	up         bool
	isReleased bool
	run        runs.Run
	requests   *runs.Holder
}

// Hold prepares this process, which Start has started, to hold a lab. The end of ctx
// asks for the lab's end; a lab that is not up yet has no result then. Errors that
// occur beside the run's go to stderr. Close releases what Hold has taken.
func Hold(ctx context.Context, stderr io.Writer) (*Holder, error) {
	starter := os.NewFile(holderFile, "starter")
	if info, err := starter.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil, errors.New("not started by holder.Start")
	}
	unix.CloseOnExec(holderFile)
	h := &Holder{starter: starter, released: make(chan struct{}), stderr: stderr}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		if !h.release() {
			h.cancel(context.Canceled)
		}
	})
	return h, nil
}

// Close ends the context of the run.
func (h *Holder) Close() { h.cancel(nil) }

// Context returns the context of the run. It ends if the lab cannot be held.
func (h *Holder) Context() context.Context { return h.ctx }

// Released is closed when the run is to end (campaign.Options.Hold).
func (h *Holder) Released() <-chan struct{} { return h.released }

// Output returns a writer that writes to w and into the report's output.
func (h *Holder) Output(w io.Writer) io.Writer { return io.MultiWriter(&h.output, w) }

// Errors returns a writer that writes to w and into the report's errors.
func (h *Holder) Errors(w io.Writer) io.Writer { return io.MultiWriter(&h.errors, w) }

// Ready lets others ask for the end of the lab, reports to Start that the lab is up,
// and sends what this process prints from now on to logFile (campaign.Options.Ready).
func (h *Holder) Ready(s campaign.Started) {
	if err := h.ready(s); err != nil {
		h.cancel(err)
	}
}

func (h *Holder) ready(s campaign.Started) error {
	list, err := runs.List(context.Background())
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run, err = runs.Find(list, s.ID); err != nil {
		return err
	}
	if h.requests, err = runs.Hold(s.ID); err != nil {
		return err
	}
	log, err := own.NewFile(filepath.Join(s.Folder, logFile), 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", logFile, err)
	}
	defer log.Close()
	h.errors.reset()
	if err := json.NewEncoder(h.starter).Encode(start{ID: s.ID}); err != nil {
		return errors.New("csiglab up has gone") // nobody knows of the lab
	}
	h.starter.Close()
	for _, fd := range []int{1, 2} {
		if err := unix.Dup3(int(log.Fd()), fd, 0); err != nil {
			return fmt.Errorf("%s: %w", logFile, err)
		}
	}
	h.up = true
	go func() {
		<-h.requests.Asked()
		h.release()
	}()
	return nil
}

// release lets the run end, if the lab is up. It reports whether it is.
func (h *Holder) release() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.up && !h.isReleased {
		h.isReleased = true
		close(h.released)
	}
	return h.up
}

// Doing tells those who have asked for the lab's end what it is at.
func (h *Holder) Doing(text string) {
	h.mu.Lock()
	requests := h.requests
	h.mu.Unlock()
	if requests != nil {
		requests.Doing(text)
	}
}

// End hands over how the run ended: to those who asked for the lab's end, to Start if
// the lab was never up, or to whoever asks later if the lab ended by itself. text is an
// error that has not been printed, or empty.
func (h *Holder) End(code int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.up {
		json.NewEncoder(h.starter).Encode(start{Code: code, Error: text}) //nolint:errcheck // the starter may have gone
		if h.requests != nil {
			h.requests.Close(runs.Report{Code: code, Errors: text}) //nolint:errcheck // as above
		}
		return
	}
	if text != "" {
		fmt.Fprintf(h.Errors(h.stderr), "csiglab: %s\n", text)
	}
	report := runs.Report{Code: code, Output: h.output.text(), Errors: h.errors.text()}
	if !h.isReleased {
		if err := runs.Fail(h.run, report); err != nil {
			fmt.Fprintf(h.stderr, "csiglab: %v\n", err)
		}
	}
	h.requests.Close(report) //nolint:errcheck // those who asked may have gone
}

// buffer collects what several goroutines write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the buffer.
func (l *buffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *buffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *buffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
