package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

// holdName is the command that up starts as a process of its own, the holder of
// the lab. It says on the descriptor holdFile how the start went.
const (
	holdName = "hold"
	holdFile = 3
	// holdLog, in the run's folder, takes what the holder says once the lab is up.
	holdLog = "lab.log"
)

// start is what a holder says.
type start struct {
	ID    string `json:"id"`   // of a lab that is up
	Code  int    `json:"code"` // of one that did not come up
	Error string `json:"error"`
}

func (a *app) hold() *cobra.Command {
	var l labFlags
	cmd := &cobra.Command{
		Use:    holdName,
		Short:  "Hold a lab, for up",
		Hidden: true,
		Args:   atMostOne("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := os.NewFile(holdFile, "up")
			if info, err := to.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				return usage("%s is for up, which starts it", holdName)
			}
			unix.CloseOnExec(holdFile)
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // an error of the write is enough
			set, err := l.load(a, cmd, args)
			if err != nil {
				return err
			}
			h := &holding{app: a, to: to, hold: make(chan struct{})}
			// A lab that is told to end before it is up has no result.
			ctx, cancel := context.WithCancelCause(context.WithoutCancel(cmd.Context()))
			defer cancel(nil)
			context.AfterFunc(cmd.Context(), func() {
				if !h.release() {
					cancel(context.Canceled)
				}
			})
			l.options.Hold = h.hold
			l.options.Ready = func(s campaign.Started) {
				if err := h.ready(s); err != nil {
					cancel(err)
				}
			}
			cmd.SetContext(ctx)
			l.json = false // it was about up
			inner := *a
			inner.args = slices.Concat([]string{"up"}, a.args[1:]) // as its user called it
			inner.stdout, inner.stderr = io.MultiWriter(a.stdout, &h.output), io.MultiWriter(a.stderr, &h.errors)
			inner.lab.run = func(ctx context.Context, set *experiment.Set, opts campaign.Options) (*campaign.Result, error) {
				opts.Progress = nil // nobody looks
				result, err := a.lab.run(ctx, set, opts)
				if result != nil { // who ends the lab may be in another directory
					if folder, err := filepath.Abs(result.Folder); err == nil {
						result.Folder = folder
					}
				}
				return result, err
			}
			return h.end(inner.perform(cmd, set, &l.runFlags))
		},
	}
	l.flags(cmd)
	return cmd
}

// holding is a lab of this process.
type holding struct {
	app            *app
	to             *os.File // to up, until the lab is up
	hold           chan struct{}
	output, errors buffer

	mu       sync.Mutex
	up       bool
	released bool
	run      runs.Run
	holder   *runs.Holder
}

// ready makes the lab one that can be asked to end, and tells up.
func (h *holding) ready(s campaign.Started) error {
	list, err := runs.List(context.Background())
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run, err = runs.Find(list, s.ID); err != nil {
		return err
	}
	if h.holder, err = runs.Hold(s.ID); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.Folder, holdLog))
	if err != nil {
		return fmt.Errorf("%s: %w", holdLog, err)
	}
	defer log.Close()
	h.errors.reset()
	if err := json.NewEncoder(h.to).Encode(start{ID: s.ID}); err != nil {
		return errors.New("csiglab up has gone") // nobody knows of the lab
	}
	h.to.Close()
	for _, fd := range []int{1, 2} {
		if err := unix.Dup3(int(log.Fd()), fd, 0); err != nil {
			return fmt.Errorf("%s: %w", holdLog, err)
		}
	}
	h.up = true
	go func() {
		<-h.holder.Asked()
		h.release()
	}()
	return nil
}

// release lets the run end, if the lab is up.
func (h *holding) release() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.up && !h.released {
		h.released = true
		close(h.hold)
	}
	return h.up
}

// end tells how the run has ended to who asked for the lab's end, or to up, or
// notes it for who asks later.
func (h *holding) end(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	code := exitOK
	if err != nil {
		code = exitCode(err)
	}
	if !h.up {
		text := ""
		if err != nil && !told(err) {
			text = err.Error()
		}
		json.NewEncoder(h.to).Encode(start{Code: code, Error: text}) //nolint:errcheck // nobody is there
		if h.holder != nil {
			h.holder.Close(runs.Report{Code: code, Errors: text}) //nolint:errcheck // as above
		}
		return &exitError{code: code} // up says it
	}
	if err != nil && !told(err) {
		fmt.Fprintf(io.MultiWriter(h.app.stderr, &h.errors), "csiglab: %v\n", err)
	}
	report := runs.Report{Code: code, Output: h.output.text(), Errors: h.errors.text()}
	if !h.released {
		if err := runs.Fail(h.run, report); err != nil {
			fmt.Fprintf(h.app.stderr, "csiglab: %v\n", err)
		}
	}
	h.holder.Close(report) //nolint:errcheck // who asked has gone
	return &exitError{code: code}
}

// buffer collects what several goroutines write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

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

// endTime is how long a holder may take to end when up is interrupted, which is
// for the containers of a large fabric; then it is killed.
const endTime = 30 * time.Second

// startLab starts a lab in a process of its own, which outlives this one, and
// returns its id when it is up. If it does not come up, or ctx ends, nothing is
// left of it. What it says until then goes to stderr.
func startLab(ctx context.Context, args, env []string, stderr io.Writer) (id string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", infrastructure(err)
	}
	defer read.Close()
	cmd := exec.Command("/proc/self/exe", args...)
	// In a node of another lab, up is a program of that lab, but its own lab is not.
	cmd.Args[0], cmd.Env = os.Args[0], slices.DeleteFunc(slices.Clone(env), runs.Marks)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	cmd.ExtraFiles = []*os.File{write} // holdFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return "", infrastructure(fmt.Errorf("start the lab's process: %w", err))
	}
	stop := context.AfterFunc(ctx, func() {
		cmd.Process.Signal(syscall.SIGTERM)
		read.SetReadDeadline(time.Now().Add(endTime))
	})
	defer stop()
	var s start
	said := json.NewDecoder(read).Decode(&s)
	if said == nil && s.ID != "" {
		if ctx.Err() == nil {
			return s.ID, infrastructure(cmd.Process.Release())
		}
		// It came up in the moment of the interrupt, and ends in order.
	}
	ended := time.AfterFunc(endTime, func() { cmd.Process.Kill() })
	defer ended.Stop()
	if errors.Is(said, os.ErrDeadlineExceeded) {
		cmd.Process.Kill()
	}
	died := cmd.Wait()
	if err := cleanHolder(cmd.Process.Pid); err != nil {
		return "", infrastructure(err)
	}
	switch {
	case ctx.Err() != nil:
		return "", infrastructure(errors.New("interrupted; nothing is left of the lab"))
	case said != nil:
		return "", infrastructure(fmt.Errorf("the lab's process %d ended before the lab was up: %v", cmd.Process.Pid, died))
	case s.Error == "":
		return "", &exitError{code: s.Code}
	}
	return "", &exitError{s.Code, errors.New(s.Error)}
}

// cleanHolder removes what a holder has left that has died.
func cleanHolder(pid int) error {
	ctx := context.Background()
	list, err := listRuns(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.PID == pid && r.State == runs.Dead {
			if _, err := cleanRuns(ctx, r.ID, false); err != nil {
				return err
			}
		}
	}
	return nil
}
