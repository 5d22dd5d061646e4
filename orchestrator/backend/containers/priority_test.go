package containers

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread is found by the id that its process knows it by.
func TestThreadOf(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if got, err := threadOf(os.Getpid(), unix.Gettid()); err != nil || got != unix.Gettid() {
		t.Errorf("thread %d, error %v, want %d", got, err, unix.Gettid())
	}
	if got, err := threadOf(os.Getpid(), 1<<30); err == nil {
		t.Errorf("thread %d for an id that no thread has", got)
	}
}

// The file that takes threads into this process's group exists, if there is such a
// group.
func TestOwnGroup(t *testing.T) {
	file := ownGroup()
	if file == "" {
		t.Skip("no controller cpu of cgroup v1")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
