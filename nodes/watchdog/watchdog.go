// Package watchdog ends a run whose algorithm, of a module that csiglab build has compiled
// in, panics or does not return. Algorithms are called many times for each packet, so
// nothing is done around the calls: a panic is caught at the bottom of a goroutine and is
// blamed on the innermost module of its stack; and when nothing moves for long, the stacks
// of all goroutines show whether one is in a module. It costs nothing where no module is
// compiled in.
package watchdog

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/nodes/modules"
)

// Patience is how long a call may take.
const Patience = 4 * time.Second

// Times between looks: when all is well, and while a goroutine is in a module. least is
// how many looks in a row must find one there: an algorithm that takes most of the run's
// time, but returns, is elsewhere at some of them.
const (
	lookEvery = time.Second
	lookAgain = 50 * time.Millisecond
	least     = 50
)

// blame and compiled are replaced by tests.
var (
	blame    = modules.Blame
	compiled = modules.Compiled
)

var (
	moved atomic.Int64

	mu     sync.Mutex
	guards []*Guard
)

// Guard is one call of Run, of which there may be several at a time.
type Guard struct {
	failed chan *modules.Fault
	all    bool // RunAll: it contains others
}

// watching says whether calls of Moved are counted.
var watching = len(modules.Compiled()) > 0

// Moved records that the machines of this process go on. Drivers call it now and then.
func Moved() {
	if watching {
		moved.Add(1)
	}
}

// Run calls run and returns when run has returned, or when a module has failed: then run
// still goes on, in a goroutine that nobody waits for, and the process should end. The
// fault is nil if run has returned. patience is Patience, but in tests.
func Run(patience time.Duration, run func()) *modules.Fault {
	return guard(&Guard{}, patience, func(*Guard) { run() })
}

// RunOne is Run for one of several that go on at a time: run defers the Guard's Catch, in place of
// Catch, in the goroutines that it starts, so that no other one returns its fault.
func RunOne(patience time.Duration, run func(*Guard)) *modules.Fault {
	return guard(&Guard{}, patience, run)
}

func guard(g *Guard, patience time.Duration, run func(*Guard)) *modules.Fault {
	g.failed = make(chan *modules.Fault, 1)
	mu.Lock()
	guards = append(guards, g)
	mu.Unlock()
	ended, left := make(chan struct{}), make(chan struct{})
	defer func() {
		close(left)
		mu.Lock()
		guards = slices.DeleteFunc(guards, func(other *Guard) bool { return other == g })
		mu.Unlock()
	}()
	go func() {
		defer close(ended)
		defer g.Catch()
		run(g)
	}()
	if len(compiled()) > 0 {
		go watch(patience, left)
	}
	select {
	case <-ended:
		return nil
	case fault := <-g.failed:
		return fault
	}
}

// RunAll is Run for what contains other calls of Run: where one of those has returned the
// fault too, it waits for run, which gets time to end in order.
func RunAll(run func()) *modules.Fault {
	ended := make(chan struct{})
	fault := guard(&Guard{all: true}, 2*Patience, func(*Guard) {
		defer close(ended)
		run()
	})
	if fault == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-time.After(endTime):
		return fault
	}
}

// endTime is how long a command may take to end after the fault of a run.
const endTime = 3 * time.Second

// Catch is deferred in goroutines that call machines. If the goroutine panics because of
// an algorithm, Run returns its fault, in each goroutine that is in Run; the goroutine does
// not go on. Other panics end the program as ever.
func Catch() {
	if fault := panicked(); fault != nil && guarded() {
		stand(nil, fault, recover())
	}
}

// Catch is as the function Catch, but RunOne returns the fault in the goroutine of this Guard alone,
// and RunAll.
func (g *Guard) Catch() {
	if fault := panicked(); fault != nil && guarded() {
		stand(g, fault, recover())
	}
}

// stand reports the fault of a panic and does not return, as the machines are in no state to go on
// with. g is nil if it is not known whose goroutine it is.
func stand(g *Guard, fault *modules.Fault, recovered any) {
	var own *modules.Fault
	switch value := recovered.(type) {
	case nil:
		return
	case *modules.Fault:
		fault = value
	case runtime.Error:
		fault.What = fmt.Sprintf("panics: %s%s", strings.TrimPrefix(value.Error(), "runtime error: "), fault.What)
	default:
		if err, ok := value.(error); ok && errors.As(err, &own) {
			fault = own
			break
		}
		fault.What = fmt.Sprintf("panics: %v%s", value, fault.What)
	}
	report(g, fault)
	select {}
}

// guarded reports whether somebody is in Run.
func guarded() bool {
	mu.Lock()
	defer mu.Unlock()
	return len(guards) > 0
}

// report gives a fault to a Guard and to those that contain it; nil: to whoever is in Run.
func report(to *Guard, fault *modules.Fault) {
	mu.Lock()
	defer mu.Unlock()
	for _, g := range guards {
		if to != nil && g != to && !g.all {
			continue
		}
		select {
		case g.failed <- fault:
		default: // it has one
		}
	}
}

// panicked returns the fault of the stack of a panic, nil if there is none or it is not an
// algorithm's. It is called by a deferred function.
func panicked() *modules.Fault {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var functions, places []string
	panics := false
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); frame.Function == "runtime.gopanic" {
			panics, functions, places = true, nil, nil
			continue
		}
		functions = append(functions, frame.Function)
		places = append(places, fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line))
	}
	if !panics {
		return nil
	}
	if len(functions) > 0 && functions[0] == blamed {
		return &modules.Fault{}
	}
	fault, blamed := blame(functions, "")
	if !blamed {
		return nil
	}
	for i, function := range functions {
		if before, ok := strings.CutSuffix(fault.What, "(in "+function+")"); ok {
			fault.What = fmt.Sprintf("%s(in %s, %s)", before, function, places[i])
			break
		}
	}
	return fault
}

// blamed is the function that panics with a *modules.Fault.
const blamed = "github.com/csiglab/csiglab/nodes/modules.(*Fault).Panic"

// watch looks until left is closed, or until a goroutine is in a module for long.
func watch(patience time.Duration, left <-chan struct{}) {
	// A thread of its own, which may get a priority.
	runtime.LockOSThread()
	var since time.Time
	var before int64
	looks := 0
	for wait := lookEvery; ; {
		sleep(left, min(wait, patience/2))
		select {
		case <-left:
			return
		default:
		}
		now := moved.Load()
		fault := (*modules.Fault)(nil)
		if now == before {
			fault = inside(stacks())
		}
		before = now
		if fault == nil {
			looks, wait = 0, lookEvery
			continue
		}
		if looks++; looks == 1 {
			since = time.Now()
		}
		wait = lookAgain
		if stands := time.Since(since); stands >= patience && looks >= min(least, int(patience/lookAgain)/2) {
			fault.What = fmt.Sprintf("has not returned for %v%s", patience.Round(time.Second/10), fault.What)
			relieve()
			report(nil, fault)
			return
		}
	}
}

// stacks returns the stacks of all goroutines as text.
func stacks() string {
	for size := 1 << 16; ; size *= 4 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size || size > 1<<24 {
			return string(text[:n])
		}
	}
}

// inside returns the fault of the first goroutine that is in a module, nil if none is.
func inside(text string) *modules.Fault {
	for one := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains(one, "/nodes/watchdog.stand(") {
			continue // it has panicked, and stands still since then
		}
		var functions []string
		for line := range strings.Lines(one) {
			if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "created by ") {
				continue
			}
			line = strings.TrimSpace(line)
			// example.com/a.(*b).f(0x1, {0x2, …}): the arguments are behind the last name.
			if end := strings.LastIndexByte(line, '('); end > 0 && !strings.HasPrefix(line[end:], "(*") {
				line = line[:end]
			}
			functions = append(functions, line)
		}
		if fault, ok := blame(functions, ""); ok {
			return fault
		}
	}
	return nil
}
