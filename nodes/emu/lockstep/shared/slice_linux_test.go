package shared

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShortSlices: the process's threads have the shortest slice, and keep their nice
// value.
func TestShortSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || before.Policy != unix.SCHED_NORMAL {
		t.Skip("not a thread of the usual policy:", err)
	}
	TakeShortSlices()
	after, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if before.Runtime == 0 && after.Runtime == 0 {
		t.Skip("the kernel has no slices of its own for threads")
	}
	if got := time.Duration(after.Runtime); got != 100*time.Microsecond {
		t.Errorf("the slice is %v, want 100us", got)
	}
	if after.Nice != before.Nice || after.Policy != before.Policy {
		t.Errorf("nice %d and policy %d have become %d and %d", before.Nice, before.Policy, after.Nice, after.Policy)
	}
}
