package shared

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// slice is the shortest time slice that the kernel grants (sched(7)).
const slice = 100 * time.Microsecond

// TakeShortSlices asks for short time slices for all threads of this process. A node
// that is woken then preempts a process that computes without end, within its fair share
// of the processor. Otherwise all nodes may wait until that process has used its slice of
// some milliseconds. Kernels before 6.12 ignore it.
func TakeShortSlices() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return // waits are longer
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if err != nil || attr.Policy != unix.SCHED_NORMAL {
			continue
		}
		attr.Runtime = uint64(slice)
		unix.SchedSetAttr(id, attr, 0) //nolint:errcheck // as above
	}
}
