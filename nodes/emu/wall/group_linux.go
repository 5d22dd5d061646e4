package emu

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// Monotonic returns CLOCK_MONOTONIC, which all processes of a machine share.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("emu: no monotonic clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// SharedSheet is a Sheet in memory that several processes map.
type SharedSheet struct {
	*Sheet
	File   *os.File
	memory []byte
}

// sheetName is that of the memory's file, by which others find it.
const sheetName = "csiglab-wall"

// NewSharedSheet returns the Sheet of a new run.
func NewSharedSheet(nodes int) (*SharedSheet, error) {
	fd, err := unix.MemfdCreate(sheetName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("emu: shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), sheetName)
	if err = file.Truncate(int64(8 * sheetWords(nodes))); err == nil {
		var s *SharedSheet
		if s, err = openSheet(file, nodes); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("emu: shared memory: %w", err), file.Close())
}

// openSheet maps a Sheet that another process has created.
func openSheet(file *os.File, nodes int) (*SharedSheet, error) {
	memory, err := unix.Mmap(int(file.Fd()), 0, 8*sheetWords(nodes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("emu: map shared memory: %w", err)
	}
	words := unsafe.Slice((*int64)(unsafe.Pointer(&memory[0])), sheetWords(nodes))
	return &SharedSheet{Sheet: newSheet(words, nodes), File: file, memory: memory}, nil
}

// Close unmaps the Sheet and closes its file.
func (s *SharedSheet) Close() error { return errors.Join(unix.Munmap(s.memory), s.File.Close()) }

// Keeper runs nodes of one process in real time, on a few threads.
type Keeper struct {
	Sheet  *Sheet
	pacers []*Pacer
}

// NewKeeper returns the Keeper of nodes of a fabric, dealt out to the given
// number of threads.
func NewKeeper(w Wall, end units.Time, nodes []*Node, links []lockstep.Link, sheet *Sheet, threads int) *Keeper {
	k := &Keeper{Sheet: sheet}
	threads = min(threads, len(nodes))
	groups := make([][]*Node, threads)
	for i, n := range nodes {
		groups[i%threads] = append(groups[i%threads], n)
	}
	for _, group := range groups {
		k.pacers = append(k.pacers, newPacer(w, end, group, links, k.Sheet))
	}
	return k
}

// Run drives the nodes until the Sheet is stopped; somebody else starts and stops
// it. It returns how each node kept real time, in the order of the nodes. The
// collector of garbage is off from then on: it would stop threads that pace.
func (k *Keeper) Run() ([]Timing, error) {
	noCollections()
	// A thread that sleeps in a raw system call keeps its processor of the
	// scheduler.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), len(k.pacers)+spareProcessors))
	var all sync.WaitGroup
	errs := make([]error, len(k.pacers))
	timings := make([][]Timing, len(k.pacers))
	for i, p := range k.pacers {
		all.Go(func() {
			if timings[i], _, errs[i] = p.drive(); errs[i] != nil {
				k.Sheet.Stop(0) // the others have nothing to wait for
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var list []Timing
	for at := 0; ; at++ {
		for i := range timings {
			if at == len(timings[i]) {
				return list, nil
			}
			list = append(list, timings[i][at])
		}
	}
}

// spareProcessors are for the goroutines that do not pace.
const spareProcessors = 2

// memoryLimit is where the collector comes back.
const memoryLimit = 512 << 20

func noCollections() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
}

// drive runs the pacer on a thread of its own, from the common start on.
func (k *Pacer) drive() ([]Timing, units.Time, error) {
	runtime.LockOSThread() // never unlocked: nobody else may get a real-time thread
	pacing()
	w := &thread{}
	w.calibrate()
	k.clock = w
	for _, p := range k.nodes {
		if s, ok := p.conn.(interface{ Descriptor() int }); ok {
			w.fds = append(w.fds, unix.PollFd{Fd: int32(s.Descriptor()), Events: unix.POLLIN})
		}
		k.sheet.ready(p.cfg.Node, unix.Gettid())
	}
	for k.sheet.start() == 0 {
		if _, over := k.sheet.stopped(); over {
			return nil, 0, nil
		}
		w.wait(w.now()+time.Millisecond, false)
	}
	w.start, k.epoch = k.sheet.start(), k.sheet.start()
	for w.now() < 0 {
		w.wait(0, false)
	}
	w.resign = resignAfter
	for _, p := range k.nodes {
		p.timing.RealTime = realTime()
	}
	end, err := k.run()
	if err != nil {
		return nil, 0, err
	}
	timings, err := k.timings()
	return timings, end, err
}

// fifoPriority is above that of ordinary threads; which one does not matter.
const fifoPriority = 10

// pacing makes the calling thread fit to pace, as far as it is permitted. A
// thread in a container gets its priority from outside (Raise), before the start.
func pacing() {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) //nolint:errcheck // lateness tells
	setPolicy(0, unix.SCHED_FIFO, fifoPriority)    //nolint:errcheck // realTime tells
}

// Raise gives the real-time priority of threads that pace to a thread, by its id
// in the caller's PID namespace.
func Raise(thread int) error {
	if err := setPolicy(thread, unix.SCHED_FIFO, fifoPriority); err != nil {
		return fmt.Errorf("emu: give thread %d a real-time priority: %w", thread, err)
	}
	return nil
}

// setPolicy changes the scheduling policy of a thread, 0 for the calling one. To
// give up a real-time policy needs no privilege (sched(7)).
func setPolicy(thread int, policy, priority uint32) error {
	return unix.SchedSetAttr(thread, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
}

// realTime tells whether the calling thread has a real-time priority.
func realTime() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	return err == nil && attr.Policy == unix.SCHED_FIFO
}

// thread is the waker of the calling thread. Its sleeps are raw system calls, see
// Shared; what could stop the world is off, and no sleep is longer than restless.
type thread struct {
	base   time.Time
	offset time.Duration // of base on CLOCK_MONOTONIC
	start  time.Duration // of the run on CLOCK_MONOTONIC
	fds    []unix.PollFd
	slept  time.Duration // when the last sleep ended
	// resign is how long the thread may go without a sleep before it gives up its
	// real-time priority, 0 for ever: a run that is so late is lost, and the rest
	// of the machine is not.
	resign time.Duration
}

const resignAfter = 200 * time.Millisecond

// calibrate finds CLOCK_MONOTONIC of a time of the runtime, which reads the clock
// without a system call.
func (t *thread) calibrate() { t.base, t.offset = time.Now(), Monotonic() }

func (t *thread) now() time.Duration {
	now := t.offset + time.Since(t.base) - t.start
	if t.resign > 0 && now-t.slept > t.resign {
		setPolicy(0, unix.SCHED_NORMAL, 0) //nolint:errcheck // nobody may forbid it
		t.resign = 0
	}
	return now
}

func (t *thread) wait(until time.Duration, frames bool) {
	left := until - t.now()
	switch {
	case left <= 0:
		return
	case frames && len(t.fds) > 0:
		limit := unix.NsecToTimespec(int64(min(left, restless)))
		syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&t.fds[0])), uintptr(len(t.fds)), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	default:
		at := unix.NsecToTimespec(int64(min(until, until-left+restless) + t.start))
		syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
	}
	t.slept = t.offset + time.Since(t.base) - t.start
}
