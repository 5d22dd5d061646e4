package netns_test

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// TestBusyMachine: processes that take every core change how long a run takes
// and nothing in it.
func TestBusyMachine(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	want := backendtest.Virtual(t, p, nil)
	for range runtime.NumCPU() {
		hog := exec.Command("/bin/sh", "-c", "while :; do :; done")
		hog.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		started := make(chan error)
		released := make(chan struct{})
		go func() {
			runtime.LockOSThread() // the hog dies with the thread that started it
			started <- hog.Start()
			<-released
		}()
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		defer func() {
			hog.Process.Kill()
			hog.Wait()
			close(released)
		}()
	}
	out, err := run(t, newRun(t, p))
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Same(t, out.Nodes, want)
	t.Logf("%d frames beside %d hogs: wall %v", out.Frames, runtime.NumCPU(), out.Wall)
}
