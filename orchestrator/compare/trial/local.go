package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/crash"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// NoReportFlag is the flag of csiglab run that leaves out report.html.
const NoReportFlag = "no-report"

// NowhereFlag is the hidden flag of csiglab run by which a run makes no folder.
const NowhereFlag = "nowhere"

// ProbeFlag is the hidden flag of csiglab run by which a run reads no settings of a person: the
// program that started it has read them.
const ProbeFlag = "probe"

// Bounds of what is kept of a program's output, in bytes, and of the reasons of an outcome.
const (
	maxOutput  = 64 << 20
	maxErrors  = 16 << 10 // at the beginning, and as much at the end
	maxReasons = 8
	maxReason  = 2000
)

// endTime is how long a program has to end after SIGTERM; then it is killed. A run with
// containers removes them within that time.
const endTime = 20 * time.Second

// ErrProgramChanged: the program, or one for nodes that belongs to it, is another one than
// Trial.Identity is of, or was replaced while trials ran. No trial can go on.
var ErrProgramChanged = errors.New("the program was replaced since its trials began")

// Local performs trials on this machine. Each is a process of its own but with Together, in a
// process group of its own, that gets SIGTERM when the context or the calling process ends. The
// zero value is ready to use.
type Local struct {
	// Folder is where run folders are made; "" is the system's folder of temporary files. A
	// run folder is removed when its trial has ended.
	Folder string
	// Keep leaves the run folders in Folder, under the trials' names.
	Keep bool
	// Together lets trials that All and Each perform have a process together, one after the other:
	// its start takes longer than a small run. It is for runs in virtual time whose CPU time is not
	// judged.
	Together bool
	// Program is the csiglab of trials that name none; "" is the calling program.
	Program string
	// Environment of the programs; nil is that of this process. See Environment.
	Environment []string

	patience time.Duration // 0: endTime; tests set it

	mu       sync.Mutex
	programs map[string]*program
}

// Run performs a trial. The error wraps the context's, ErrProgramChanged, or is of class
// failure.ErrInfrastructure: a full disk, a program that cannot be started.
func (l *Local) Run(ctx context.Context, t Trial) (Outcome, error) {
	p, err := l.program(t)
	if err != nil {
		return Outcome{}, err
	}
	folder, remove, err := l.runFolder(t)
	if err != nil {
		return Outcome{}, err
	}
	defer remove()
	args := arguments(t, "--out", folder)
	began := time.Now()
	c, err := l.call(ctx, p.file, args)
	if err != nil {
		return Outcome{}, err
	}
	c.folder = folder
	out := c.outcome(t)
	out.Seconds = math.Round(time.Since(began).Seconds()*1e3) / 1e3
	if out.Exit == 3 && c.diskFull() {
		return Outcome{}, failure.Infrastructure(fmt.Errorf("%s: %w", l.folder(), unix.ENOSPC))
	}
	if l.Keep {
		out.Folder = folder
	}
	return out, nil
}

// arguments returns those of csiglab run. folder says where the run folder is.
func arguments(t Trial, folder ...string) []string {
	args := append([]string{"run"}, folder...)
	args = append(args, "--json", "--parallel", "1", "--seed", strconv.FormatUint(t.Seed, 10), "--"+NoReportFlag, "--"+ProbeFlag)
	if t.Variant != "" {
		args = append(args, "--variant="+t.Variant)
	}
	for _, set := range t.Set {
		args = append(args, "--set="+set)
	}
	return append(append(args, t.Flags...), "--", t.Experiment)
}

// Environment returns an environment without the variables of csiglab, which would change
// experiments, and the two sides of a comparison perhaps unlike. The folder of the list of
// runs stays.
func Environment(from []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(pair string) bool {
		return strings.HasPrefix(pair, "CSIGLAB_") && !strings.HasPrefix(pair, runs.EnvironmentList+"=")
	})
}

func (l *Local) folder() string {
	if l.Folder == "" {
		return os.TempDir()
	}
	return l.Folder
}

// runFolder returns the name of a run folder, and what removes it.
func (l *Local) runFolder(t Trial) (folder string, remove func(), err error) {
	fail := func(err error) (string, func(), error) {
		return "", nil, failure.Infrastructure(fmt.Errorf("%s: %w", l.folder(), cause.Of(err)))
	}
	if err := os.MkdirAll(l.folder(), 0o755); err != nil {
		return fail(err)
	}
	if l.Keep {
		folder = filepath.Join(l.folder(), t.Name())
		if err := os.RemoveAll(folder); err != nil { // of a trial that has not ended
			return fail(err)
		}
		return folder, func() {}, nil
	}
	if folder, err = os.MkdirTemp(l.folder(), "trial-"); err != nil {
		return fail(err)
	}
	return folder, func() { os.RemoveAll(folder) }, nil //nolint:errcheck // a later trial finds the disk full
}

// program is a csiglab.
type program struct {
	file    string
	belongs []string // what it consists of
	stamp   string   // of belongs

	mu       sync.Mutex
	looked   bool             // look has found the rest, or err
	err      error            // of look
	verified map[string]error // by Trial.Identity
}

// program returns the program of a trial, which is verified once for each identity.
func (l *Local) program(t Trial) (*program, error) {
	name := cmp.Or(t.Program, l.Program)
	l.mu.Lock()
	if l.programs == nil {
		l.programs = map[string]*program{}
	}
	p := l.programs[name]
	if p == nil {
		p = &program{file: name}
		l.programs[name] = p
	}
	l.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.looked {
		p.err, p.looked = p.look(), true
	}
	if p.err != nil {
		return nil, p.err
	}
	if stamp(p.belongs...) != p.stamp {
		return nil, failure.Infrastructure(fmt.Errorf("%s: %w", p.file, ErrProgramChanged))
	}
	err, ok := p.verified[t.Identity]
	if !ok {
		err = verify(p.file, t.Identity) // after the stamp: a later change is found
		p.verified[t.Identity] = err
	}
	return p, err
}

// look finds out where a program is and what belongs to it.
func (p *program) look() (err error) {
	if p.file == "" {
		p.file, err = programs.Core()
	} else {
		p.file, err = exec.LookPath(p.file)
	}
	if err == nil {
		p.belongs, err = belonging(p.file)
	}
	if err != nil {
		return failure.Infrastructure(err)
	}
	p.stamp, p.verified = stamp(p.belongs...), map[string]error{}
	return nil
}

// call is a program that has ended.
type call struct {
	code   int            // exit code; -1: a signal has ended it
	signal syscall.Signal // 0: none
	stdout bytes.Buffer
	more   bool   // stdout was cut
	folder string // run folder
	stderr ends
}

// command returns a program that is to run in a process group of its own. It has no input, and its
// output goes nowhere.
func (l *Local) command(ctx context.Context, file string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Args[0] = "csiglab"
	env := l.Environment
	if env == nil {
		env = os.Environ()
	}
	cmd.Env = Environment(env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends in order
	cmd.WaitDelay = cmp.Or(l.patience, endTime)
	return cmd
}

// call runs a program. Its error is one of starting it, or the context's.
func (l *Local) call(ctx context.Context, file string, args []string) (*call, error) {
	c, cmd := &call{}, l.command(ctx, file, args...)
	cmd.Stdout, cmd.Stderr = (*bounded)(c), &c.stderr
	runtime.LockOSThread() // Pdeathsig is about the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failure.Infrastructure(fmt.Errorf("start %s: %w", file, cause.Of(err)))
	}
	err := cmd.Wait()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left; usually nothing
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return nil, failure.Infrastructure(fmt.Errorf("%s: %w", file, err))
	}
	c.code = cmd.ProcessState.ExitCode()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		c.signal = status.Signal()
	}
	return c, nil
}

// bounded is the standard output of a call. What exceeds maxOutput is dropped.
type bounded call

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), maxOutput-b.stdout.Len())]
	b.stdout.Write(kept)
	b.more = b.more || len(kept) < len(p)
	return len(p), nil
}

// anyFolder stands for the run folder in reasons. Its name is another one each time, and equal
// trials are to have equal reasons.
const anyFolder = "DIR"

// reason returns a text for Outcome.Reasons.
func (c *call) reason(text string) string {
	if c.folder != "" {
		if full, err := filepath.Abs(c.folder); err == nil {
			text = strings.ReplaceAll(text, full, anyFolder)
		}
		text = strings.ReplaceAll(text, c.folder, anyFolder)
	}
	return shorten(text)
}

// outcome returns what a run came to.
func (c *call) outcome(t Trial) Outcome {
	invalid := func(format string, args ...any) Outcome {
		return Outcome{Exit: 3, Reasons: []string{c.reason(fmt.Sprintf(format, args...))}}
	}
	code, said := c.code, c.stderr.text()
	switch {
	case c.signal == syscall.SIGKILL:
		return invalid("csiglab was killed (SIGKILL): by the kernel because memory ran out, or by somebody")
	case c.signal != 0:
		return invalid("csiglab was killed by a signal: %v", c.signal)
	case code == 2 && strings.Contains(said, "\ngoroutine "):
		out := invalid("csiglab crashed: %s", crash.Words(said))
		if strings.HasPrefix(crash.Words(said), "panic: ") { // not of memory that ran out
			out.Failed = []string{Crash}
		}
		return out
	case code == 2 && strings.HasPrefix(message(said), "unknown flag: "):
		return Outcome{Exit: 2, Reasons: []string{c.reason("it is a csiglab of another version, without a flag that this csiglab runs trials with: " + message(said))}}
	case code == 2:
		return Outcome{Exit: 2, Reasons: []string{c.reason(message(said))}}
	case code < 0 || code > 3:
		return invalid("csiglab ended with exit code %d, which csiglab run does not have: %s", code, message(said))
	case c.more:
		return invalid("its results have more than %d bytes", maxOutput)
	}
	if code == 3 && len(bytes.TrimSpace(c.stdout.Bytes())) == 0 {
		return invalid("%s", message(said))
	}
	var s runfolder.Summary
	if err := json.Unmarshal(c.stdout.Bytes(), &s); err != nil {
		return invalid("its results cannot be read: %v", err)
	}
	out := Outcome{Exit: code}
	if code == 3 || !s.Valid {
		out.Exit = 3
		for _, reason := range s.Reasons[:min(len(s.Reasons), maxReasons)] {
			out.Reasons = append(out.Reasons, c.reason(reason))
		}
		if more := len(s.Reasons) - maxReasons; more > 0 {
			out.Reasons = append(out.Reasons, fmt.Sprintf("and %d more reasons", more))
		}
		if len(out.Reasons) == 0 {
			out.Reasons = []string{c.reason(message(said))}
		}
		if run, err := runOf(s, t); err == nil {
			out.Failed = run.Failed
		}
		return out
	}
	run, err := runOf(s, t)
	if err != nil {
		return invalid("its results: %v", err)
	}
	out.TraceHash, out.Metrics = run.TraceHash, run.Metrics
	return out
}

// runOf returns the one run of a summary.
func runOf(s runfolder.Summary, t Trial) (run runfolder.RunSummary, err error) {
	if s.Schema != runfolder.SummarySchema {
		return run, fmt.Errorf("schema %d, and this csiglab reads %d", s.Schema, runfolder.SummarySchema)
	}
	if len(s.Variants) != 1 {
		return run, fmt.Errorf("%d variants; want one", len(s.Variants))
	}
	for name, v := range s.Variants {
		switch {
		case t.Variant != "" && name != t.Variant:
			return run, fmt.Errorf("of variant %q; want %q", name, t.Variant)
		case len(v.Runs) != 1 || v.Runs[0].Seed != t.Seed:
			return run, fmt.Errorf("%d runs; want that of seed %d", len(v.Runs), t.Seed)
		}
		run = v.Runs[0]
	}
	return run, nil
}

// diskFull reports whether a run has failed because a disk or a quota is full.
func (c *call) diskFull() bool {
	said := c.stderr.text()
	return strings.Contains(said, unix.ENOSPC.Error()) || strings.Contains(said, unix.EDQUOT.Error())
}

// message returns the last message of csiglab among what it has said.
func message(said string) string {
	const start = "csiglab: "
	if i := strings.LastIndex("\n"+said, "\n"+start); i >= 0 {
		said = said[i+len(start):]
	}
	var kept []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "the run is incomplete: ") { // its folder is removed
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return "csiglab said nothing"
	}
	return strings.Join(kept, "\n")
}

// shorten cuts a text after maxReason bytes.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + " …"
}

// ends keeps the beginning and the end of what is written to it.
type ends struct {
	first, last []byte
	cut         bool
}

// Write never fails.
func (e *ends) Write(p []byte) (int, error) {
	n := min(len(p), maxErrors-len(e.first))
	e.first = append(e.first, p[:n]...)
	e.last = append(e.last, p[n:]...)
	if extra := len(e.last) - maxErrors; extra > 0 {
		e.last, e.cut = append(e.last[:0], e.last[extra:]...), true
	}
	return len(p), nil
}

func (e *ends) text() string {
	if !e.cut {
		return string(e.first) + string(e.last)
	}
	return string(e.first) + "\n…\n" + string(e.last)
}
