package watchdog

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/modules"
)

// blameBad blames functions of this test whose names begin with bad.
func blameBad(t *testing.T) {
	t.Helper()
	blame = func(functions []string, what string) (*modules.Fault, bool) {
		for _, f := range functions {
			if strings.HasPrefix(f, "github.com/csiglab/csiglab/nodes/watchdog.bad") {
				return &modules.Fault{Module: "example.com/bad", What: what}, true
			}
		}
		return nil, false
	}
	compiled = func() []modules.Module { return make([]modules.Module, 1) }
	watching = true
	t.Cleanup(func() { blame, compiled, watching = modules.Blame, modules.Compiled, false })
}

//go:noinline
func badIndex(list []int) int { return list[len(list)+1] }

//go:noinline
func badPanic(value any) { panic(value) }

//go:noinline
func badLoop(stop *atomic.Bool) (n int) {
	for !stop.Load() {
		n++
	}
	return n
}

//go:noinline
func badButShort(from time.Time) {
	for time.Since(from) < 200*time.Millisecond {
		Moved()
	}
}

// A panic of an algorithm is the fault that Run returns, in words.
func TestPanic(t *testing.T) {
	blameBad(t)
	for want, run := range map[string]func(){
		"panics: index out of range [1] with length 0": func() { badIndex(nil) },
		"panics: boom":       func() { badPanic("boom") },
		"panics: an error":   func() { badPanic(errors.New("an error")) },
		"asks for too much":  func() { (&modules.Fault{What: "asks for too much"}).Panic() },
		"panics: map[]":      func() { badPanic(map[int]int(nil)) },
		"panics: in another": func() { done := make(chan int); go func() { defer Catch(); badPanic("in another") }(); <-done },
	} {
		if fault := Run(time.Minute, run); fault == nil || !strings.Contains(fault.Error(), want) {
			t.Errorf("fault %v, want %q", fault, want)
		}
	}
}

// A call that does not return is found by the stacks, one that returns is not.
func TestLoop(t *testing.T) {
	blameBad(t)
	var stop atomic.Bool
	fault := Run(300*time.Millisecond, func() { badLoop(&stop) })
	if stop.Store(true); fault == nil || !strings.Contains(fault.Error(), "has not returned for 300ms") {
		t.Errorf("fault %v", fault)
	}
	// Machines go on, though an algorithm takes all of the time.
	if fault := Run(100*time.Millisecond, func() { badButShort(time.Now()) }); fault != nil {
		t.Errorf("fault %v of one that goes on", fault)
	}
	// Nothing goes on, but no algorithm is to blame.
	if fault := Run(50*time.Millisecond, func() { time.Sleep(300 * time.Millisecond) }); fault != nil {
		t.Errorf("fault %v of a sleep", fault)
	}
	// Without modules nobody looks.
	compiled = modules.Compiled
	stop.Store(false)
	time.AfterFunc(200*time.Millisecond, func() { stop.Store(true) })
	if fault := Run(20*time.Millisecond, func() { badLoop(&stop) }); fault != nil {
		t.Errorf("fault %v without modules", fault)
	}
}

// Of several runs at a time the one whose algorithm has failed returns the fault, and what contains
// them; the others go on.
func TestRunOne(t *testing.T) {
	blameBad(t)
	compiled = func() []modules.Module { return nil } // nobody watches the runs that stand
	release := make(chan struct{})
	faults := make([]*modules.Fault, 3)
	var runs sync.WaitGroup
	runs.Add(len(faults))
	all := guard(&Guard{all: true}, time.Minute, func(*Guard) {
		for i := range faults {
			go func() {
				defer runs.Done()
				faults[i] = RunOne(time.Minute, func(g *Guard) {
					if i != 1 {
						<-release
						return
					}
					go func() { defer g.Catch(); badPanic("boom") }()
					select {}
				})
				if i == 1 {
					close(release)
				}
			}()
		}
		runs.Wait()
	})
	runs.Wait()
	if all == nil || faults[1] == nil || !strings.Contains(faults[1].Error(), "panics: boom") {
		t.Errorf("faults %v and %v", all, faults[1])
	}
	if faults[0] != nil || faults[2] != nil {
		t.Errorf("the others return %v and %v", faults[0], faults[2])
	}
}
