package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// TurnsCommand is the hidden command of csiglab whose process performs one run after the other:
// see Turns.
const TurnsCommand = "trials"

// Bounds of a process that performs several runs: it ends when it has performed so many, or has
// got so much memory from the system.
const (
	maxTurns  = 100
	maxMemory = 256 << 20
)

// Turns performs the runs that in asks for until its end, one after the other. A line of in is the
// arguments of csiglab run as JSON. The answer in out is a line with the exit code, the length of
// what the run wrote on standard output, and 1 if another run may follow, else 0; then that output.
// Turns returns after a run that did not end well. The error is of reading or writing.
func Turns(in io.Reader, out io.Writer, run func(args []string, stdout io.Writer) (code int)) error {
	lines := json.NewDecoder(in)
	for done := 1; ; done++ {
		var args []string
		if err := lines.Decode(&args); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var stdout bytes.Buffer
		code := run(args, &stdout)
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		more := 1
		if code > 1 || done == maxTurns || memory.Sys > maxMemory {
			more = 0
		}
		if _, err := fmt.Fprintf(out, "%d %d %d\n%s", code, stdout.Len(), more, stdout.Bytes()); err != nil || more == 0 {
			return err
		}
	}
}

// turns performs trials in a process that takes one after the other. A trial that does not end
// well there runs again in a process of its own, whose outcome counts, so that no trial is blamed
// for another one.
type turns struct {
	l     *Local
	alone bool // the last trial did not end well in a process of its own either
	now   *turning
}

// turning is a process that performs Turns.
type turning struct {
	file  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	lines *bufio.Reader // of out
}

// InTurn implements InTurner.
func (l *Local) InTurn() (r Runner, end func()) {
	if !l.Together {
		return l, func() {}
	}
	t := &turns{l: l}
	return t, t.end
}

// Run implements Runner.
func (s *turns) Run(ctx context.Context, t Trial) (Outcome, error) {
	if !s.alone {
		if out, err := s.turn(ctx, t); err != nil || out != nil {
			return *out, err
		}
	}
	out, err := s.l.Run(ctx, t)
	s.alone = err == nil && !out.Counts()
	return out, err
}

// turn performs a trial in the process, which it starts if there is none. The outcome is nil if the
// trial has not ended well.
func (s *turns) turn(ctx context.Context, t Trial) (out *Outcome, err error) {
	p, err := s.l.program(t)
	if err != nil {
		return &Outcome{}, err
	}
	folder, where := "", []string{"--" + NowhereFlag}
	if s.l.Keep {
		if folder, _, err = s.l.runFolder(t); err != nil {
			return &Outcome{}, err
		}
		where = []string{"--out", folder}
	}
	began := time.Now()
	c, err := s.call(ctx, p.file, arguments(t, where...))
	if ctx.Err() != nil {
		return &Outcome{}, ctx.Err() // Each ends the process
	}
	if err != nil || c.code > 1 {
		s.end()
		return nil, nil
	}
	o := c.outcome(t)
	if !o.Counts() {
		s.end()
		return nil, nil
	}
	o.Seconds, o.Folder = math.Round(time.Since(began).Seconds()*1e3)/1e3, folder
	return &o, nil
}

// call performs a run in the process.
func (s *turns) call(ctx context.Context, file string, args []string) (*call, error) {
	if s.now == nil || s.now.file != file {
		s.end()
		if err := s.start(ctx, file); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if _, err := s.now.in.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	line, err := s.now.lines.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	c := &call{}
	var length int64
	var more int
	if _, err := fmt.Sscanf(string(line), "%d %d %d\n", &c.code, &length, &more); err != nil {
		return nil, err
	}
	if length > maxOutput {
		return nil, fmt.Errorf("%d bytes", length)
	}
	if _, err := io.CopyN(&c.stdout, s.now.lines, length); err != nil {
		return nil, err
	}
	if more == 0 {
		s.end()
	}
	return c, nil
}

// start starts the process. The calling goroutine stays on its thread until end, which it calls.
func (s *turns) start(ctx context.Context, file string) error {
	n := &turning{file: file, cmd: s.l.command(ctx, file, TurnsCommand)}
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return err
	}
	if n.out, err = n.cmd.StdoutPipe(); err != nil {
		return err
	}
	n.lines = bufio.NewReader(n.out)
	runtime.LockOSThread() // Pdeathsig is about the thread
	if err := n.cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	s.now = n
	return nil
}

// end ends the process, if there is one, and waits for it.
func (s *turns) end() {
	if s.now == nil {
		return
	}
	s.now.in.Close()                                      // it ends
	s.now.out.Close()                                     // also if it writes
	s.now.cmd.Wait()                                      //nolint:errcheck // what it has answered counts
	syscall.Kill(-s.now.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // what it has left; usually nothing
	runtime.UnlockOSThread()
	s.now = nil
}
