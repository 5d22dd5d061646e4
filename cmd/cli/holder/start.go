package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// holderFile is the descriptor on which a holder writes its start.
const holderFile = 3

// start is the message of a holder to the process that started it.
type start struct {
	ID    string `json:"id"`   // of a lab that is up
	Code  int    `json:"code"` // of one that did not come up
	Error string `json:"error"`
}

// StartError is the error of a lab whose holder ended, in order, before the lab was up.
type StartError struct {
	Code int    // the holder's exit code
	Text string // empty: the holder has printed the reason
}

// Error returns the holder's message.
func (e *StartError) Error() string { return e.Text }

// endTime is how long a holder may take to end when its start is interrupted: the
// containers of a large fabric need some time. The holder is killed after that.
const endTime = 30 * time.Second

// Start starts this program with args as the holder of a lab, which outlives this
// process, and returns the lab's id when the lab is up. If the lab does not come up, or
// ctx ends, nothing is left of it. What the holder prints until then goes to stderr.
// The error is a *StartError or one of the machine.
func Start(ctx context.Context, args, env []string, stderr io.Writer) (id string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	cmd := exec.Command("/proc/self/exe", args...)
	// In a node of another lab, this process is a program of that lab, but the holder is not.
	cmd.Args[0], cmd.Env = os.Args[0], slices.DeleteFunc(slices.Clone(env), runs.Marks)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	cmd.ExtraFiles = []*os.File{write} // holderFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return "", fmt.Errorf("start the lab's process: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		cmd.Process.Signal(syscall.SIGTERM)
		read.SetReadDeadline(time.Now().Add(endTime))
	})
	defer stop()
	up := make(chan struct{})
	go watchStart(cmd.Process.Pid, read, stderr, up)
	var s start
	received := json.NewDecoder(read).Decode(&s)
	close(up)
	if received == nil && s.ID != "" {
		if ctx.Err() == nil {
			return s.ID, cmd.Process.Release()
		}
		// The lab came up at the moment of the interrupt, and ends in order.
	}
	ended := time.AfterFunc(endTime, func() { cmd.Process.Kill() })
	defer ended.Stop()
	given := errors.Is(received, os.ErrDeadlineExceeded)
	if given {
		cmd.Process.Kill()
	}
	died := cmd.Wait()
	if err := cleanHolder(cmd.Process.Pid); err != nil {
		return "", err
	}
	switch {
	case ctx.Err() != nil:
		return "", errors.New("interrupted; nothing is left of the lab")
	case given:
		return "", fmt.Errorf("the lab's process %d was stopped for %v before the lab was up; nothing is left of the lab", cmd.Process.Pid, stoppedAfter)
	case received != nil:
		return "", fmt.Errorf("the lab's process %d ended before the lab was up: %v", cmd.Process.Pid, died)
	}
	return "", &StartError{Code: s.Code, Text: s.Error}
}

// Times of a holder that is stopped by a signal before the lab is up.
const (
	sayAfter     = 3 * time.Second  // the user is told
	stoppedAfter = 30 * time.Second // it is given up
)

// watchStart ends the wait for a holder's start, by the pipe's deadline, if the holder is
// stopped for long. It returns when up is closed.
func watchStart(pid int, pipe *os.File, stderr io.Writer, up <-chan struct{}) {
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	said, since := false, time.Now()
	for {
		select {
		case <-up:
			return
		case <-tick.C:
		}
		switch stopped := time.Since(since); {
		case !runs.Stopped(pid):
			said, since = false, time.Now()
		case stopped > stoppedAfter:
			pipe.SetReadDeadline(time.Now()) //nolint:errcheck // a pipe takes it
			return
		case stopped > sayAfter && !said:
			said = true
			fmt.Fprintf(stderr, "waiting for the lab's process %d, which is stopped\n", pid)
		}
	}
}

// cleanHolder removes what a dead holder has left behind.
func cleanHolder(pid int) error {
	ctx := context.Background()
	list, err := List(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.PID == pid && r.State == runs.Dead {
			if _, err := Clean(ctx, r.ID, runs.Cleaner{}); err != nil {
				return err
			}
		}
	}
	return nil
}
