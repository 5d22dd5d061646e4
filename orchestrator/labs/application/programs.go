package application

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// Program is one program of a run.
type Program struct {
	Host       int
	Name       string // of the host
	Args       []string
	Start      units.Time
	Background bool   // the run does not wait for it and stops it at its end
	Output     string // file for its standard output and error
}

// Ended is the result of a program. Times are model times.
type Ended struct {
	Started units.Time // units.Never: it was not or could not be started
	Ended   units.Time
	Code    int    // exit code
	Signal  string // name of the signal that killed it, if any
	Stopped bool   // it was stopped at the end of the run; Code and Signal have no meaning
	Failure string // why it could not be started
}

// OK reports whether a program ended well.
func (e Ended) OK() bool { return e.Failure == "" && (e.Stopped || e.Code == 0 && e.Signal == "") }

// String returns the end in words.
func (e Ended) String() string {
	switch {
	case e.Failure != "":
		return "could not be started: " + e.Failure
	case e.Started == units.Never:
		return "was not started before the run ended"
	case e.Stopped:
		return "was ended with the run"
	case e.Signal != "":
		return fmt.Sprintf("was ended by signal %s at %v", e.Signal, units.Duration(e.Ended))
	}
	return fmt.Sprintf("exited with %d at %v", e.Code, units.Duration(e.Ended))
}

// Process is a program that runs.
type Process interface {
	// Wait waits until the program has ended. It returns the exit code, or the name
	// of the signal that killed the program.
	Wait() (code int, signal string)
	// Stop asks it to end; it may take its time.
	Stop()
}

// Starter starts a program where its host is.
type Starter interface {
	Start(p Program, output *os.File) (Process, error)
	// Kill kills all started programs and their descendants, and returns when they
	// are gone.
	Kill()
}

// Set is the programs of one run. Begin starts it, Stop ends it.
type Set struct {
	programs []Program
	wall     wall.Clock
	end      units.Time
	starter  Starter
	hold     <-chan struct{} // nil: not held
	unwanted chan struct{}   // closed when no program is left that the run waits for
	done     chan struct{}   // closed when the run need not wait for any program

	mu       sync.Mutex
	start    time.Duration // of the run on CLOCK_MONOTONIC
	stopping bool
	running  []Process // by program; nil: not started, or ended
	ended    []Ended
	all      sync.WaitGroup
	cancel   context.CancelFunc
}

// NewSet returns the programs of a run that ends at end, units.Never for one that
// ends when its programs have ended.
func NewSet(programs []Program, w wall.Clock, end units.Time, s Starter) *Set {
	set := &Set{
		programs: programs, wall: w, end: end, starter: s, unwanted: make(chan struct{}), done: make(chan struct{}),
		running: make([]Process, len(programs)), ended: make([]Ended, len(programs)),
	}
	for i := range set.ended {
		set.ended[i] = Ended{Started: units.Never, Ended: units.Never}
	}
	return set
}

// Hold keeps the programs in the background, when all others have ended, until the
// channel is closed. It is called before Begin.
func (s *Set) Hold(until <-chan struct{}) { s.hold = until }

// Done is closed when all programs that are not in the background have ended and the
// hold, if any, is released, or when the end of the run has come. Programs in the
// background have been stopped by then.
func (s *Set) Done() <-chan struct{} { return s.done }

// Unwanted is closed when all programs that are not in the background have ended, or when the
// end of the run has come. Programs in the background may still run.
func (s *Set) Unwanted() <-chan struct{} { return s.unwanted }

// Begin starts each program at its time. start is that of the run on
// CLOCK_MONOTONIC. It returns at once.
func (s *Set) Begin(start time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.start, s.cancel = start, cancel
	s.mu.Unlock()
	var wanted sync.WaitGroup
	for i, p := range s.programs {
		end := func() { s.all.Done() }
		s.all.Add(1)
		if !p.Background {
			wanted.Add(1)
			end = func() { wanted.Done(); s.all.Done() }
		}
		go func() {
			defer end()
			s.run(ctx, i)
		}()
	}
	go func() {
		defer close(s.done)
		over := make(chan struct{})
		go func() {
			defer close(over)
			wanted.Wait()
			close(s.unwanted)
			if s.hold != nil {
				select {
				case <-s.hold:
				case <-ctx.Done():
				}
			}
		}()
		select {
		case <-over:
		case <-ctx.Done():
		case <-s.until(s.end):
		}
		s.Stop()
	}()
}

// until returns a channel that receives when a model time has come, and never for
// units.Never.
func (s *Set) until(t units.Time) <-chan time.Time {
	if t == units.Never {
		return nil
	}
	return time.After(s.start - wall.Monotonic() + min(s.wall.At(t), math.MaxInt64/2))
}

// now returns the model time.
func (s *Set) now() units.Time { return s.wall.Model(max(0, wall.Monotonic()-s.start)) }

// run runs one program at its time.
func (s *Set) run(ctx context.Context, i int) {
	p := s.programs[i]
	select {
	case <-s.until(p.Start):
	case <-ctx.Done():
		return
	}
	if ctx.Err() != nil {
		return
	}
	process, err := s.begin(p)
	s.mu.Lock()
	e := &s.ended[i]
	if err != nil {
		if !s.stopping { // otherwise the end of the run may have caused the error
			e.Failure = err.Error()
		}
		s.mu.Unlock()
		return
	}
	e.Started, s.running[i] = s.now(), process
	s.mu.Unlock()
	code, signal := process.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[i] = nil
	e.Ended, e.Code, e.Signal, e.Stopped = s.now(), code, signal, s.stopping
}

func (s *Set) begin(p Program) (Process, error) {
	if err := os.MkdirAll(filepath.Dir(p.Output), 0o755); err != nil {
		return nil, err
	}
	output, err := own.NewFile(p.Output, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close() // the program has its own
	return s.starter.Start(p, output)
}

// stopWithin is how long programs may take to end when they are asked to.
const stopWithin = 300 * time.Millisecond

// Stop ends the programs that run and returns when all are gone. It may be called
// again, and without Begin.
func (s *Set) Stop() {
	s.mu.Lock()
	s.stopping = true
	if s.cancel != nil {
		s.cancel()
	}
	left := slices.DeleteFunc(slices.Clone(s.running), func(p Process) bool { return p == nil })
	s.mu.Unlock()
	var asked sync.WaitGroup
	for _, p := range left {
		asked.Go(p.Stop) // an engine may take its time for each
	}
	asked.Wait()
	gone := make(chan struct{})
	go func() { s.all.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(stopWithin):
	}
	s.starter.Kill() // also the descendants of programs that have ended
	<-gone
}

// Ended returns the result of each program, once Stop has returned.
func (s *Set) Ended() []Ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ended)
}

// Check returns an error for a program that cannot be started on this machine's
// files.
func (p Program) Check() error {
	if _, err := lookPath(p.Args[0]); err != nil {
		return fmt.Errorf("run %q on %s: %w", p.Args[0], p.Name, err)
	}
	return nil
}

var errNotStarted = errors.New("the programs have been ended")
