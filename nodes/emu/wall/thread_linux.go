package wall

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/watchdog"
)

// Monotonic returns CLOCK_MONOTONIC, which all processes of a machine share.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("wall: no monotonic clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// fifoPriority is above that of ordinary threads; which one does not matter.
const fifoPriority = 10

// prepareThread makes the calling thread fit to pace, as far as it is permitted. A
// thread in a container gets its priority from outside (Raise), before the start.
func prepareThread() {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) //nolint:errcheck // lateness shows it
	watchdog.RealTime()
	setPolicy(0, unix.SCHED_FIFO, fifoPriority) //nolint:errcheck // isRealTime reports it
}

// Raise gives the real-time priority of threads that pace to a thread, by its id
// in the caller's PID namespace.
func Raise(thread int) error {
	if err := setPolicy(thread, unix.SCHED_FIFO, fifoPriority); err != nil {
		return fmt.Errorf("wall: give thread %d a real-time priority: %w", thread, err)
	}
	return nil
}

// setPolicy changes the scheduling policy of a thread, 0 for the calling one. To
// give up a real-time policy needs no privilege (sched(7)).
func setPolicy(thread int, policy, priority uint32) error {
	return unix.SchedSetAttr(thread, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
}

// isRealTime reports whether the calling thread has a real-time priority.
func isRealTime() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	return err == nil && attr.Policy == unix.SCHED_FIFO
}

// threadSleeper is the sleeper of the calling thread. Its sleeps are raw system
// calls (see lockstep/shared.Board for the reason); the garbage collector, which
// could have to wait for them, is off, and no sleep is longer than maxSleep.
type threadSleeper struct {
	base   time.Time
	offset time.Duration        // of base on CLOCK_MONOTONIC
	start  func() time.Duration // of the run on CLOCK_MONOTONIC, which may move a little; nil: 0
	fds    []unix.PollFd
	slept  time.Duration // when the last sleep ended
	// demote is how long the thread may go without a sleep before it gives up its
	// real-time priority, 0 for ever: a run that is so late is lost, and the rest
	// of the machine is not.
	demote time.Duration
}

const demoteAfter = 200 * time.Millisecond

// calibrate finds CLOCK_MONOTONIC of a time of the runtime, which reads the clock
// without a system call.
func (t *threadSleeper) calibrate() { t.base, t.offset = time.Now(), Monotonic() }

// begun returns the start of the run, 0 before.
func (t *threadSleeper) begun() time.Duration {
	if t.start == nil {
		return 0
	}
	return t.start()
}

func (t *threadSleeper) now() time.Duration {
	now := t.offset + time.Since(t.base) - t.begun()
	if t.demote > 0 && now-t.slept > t.demote {
		setPolicy(0, unix.SCHED_NORMAL, 0) //nolint:errcheck // it needs no privilege
		t.demote = 0
	}
	return now
}

func (t *threadSleeper) wait(until time.Duration, frames bool) {
	left := until - t.now()
	switch {
	case left <= 0:
		return
	case frames && len(t.fds) > 0:
		limit := unix.NsecToTimespec(int64(min(left, maxSleep)))
		syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&t.fds[0])), uintptr(len(t.fds)), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	default:
		at := unix.NsecToTimespec(int64(min(until, until-left+maxSleep) + t.begun()))
		syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
	}
	t.slept = t.offset + time.Since(t.base) - t.begun()
}
