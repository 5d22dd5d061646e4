package watchdog

import (
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// priority is above that of threads that pace (nodes/emu/wall).
const priority = 20

var realTime atomic.Bool

// RealTime says that threads of this process have a real-time priority. An algorithm that
// does not return then leaves no processor to other threads, so that the one that looks
// needs a priority, too.
func RealTime() { realTime.Store(true) }

// sleep returns after a time, or when ended is closed. In a process with real-time threads
// it may return later than that.
func sleep(ended <-chan struct{}, d time.Duration) {
	if !realTime.Load() {
		select {
		case <-ended:
		case <-time.After(d):
		}
		return
	}
	setPolicy(0, unix.SCHED_FIFO, priority)
	t := unix.NsecToTimespec(int64(d)) // the timers of Go may be those of a thread that starves
	unix.Nanosleep(&t, nil)            //nolint:errcheck // a signal makes it shorter
}

// relieve takes their real-time priority from all threads of this process.
func relieve() {
	if !realTime.Load() {
		return
	}
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, e := range list {
		if thread, err := strconv.Atoi(e.Name()); err == nil {
			setPolicy(thread, unix.SCHED_NORMAL, 0)
		}
	}
}

// setPolicy changes the scheduling of a thread, 0 for the calling one, where that is
// permitted.
func setPolicy(thread int, policy, priority uint32) {
	unix.SchedSetAttr(thread, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0) //nolint:errcheck // as said
}
