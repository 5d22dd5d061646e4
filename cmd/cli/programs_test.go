package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	nodeprocess "github.com/csiglab/csiglab/nodes/emu/process"
)

// asProgram makes this test's program one of csiglab's, if it is called by the
// name of one.
func asProgram() {
	switch filepath.Base(os.Args[0]) {
	case "csiglab":
		main()
	case "csig-host", "csig-switch":
		os.Exit(nodeprocess.Main())
	case meteredName:
		os.Exit(metered())
	}
}

// built is where builtPrograms has put the programs.
var built struct {
	once   sync.Once
	folder string
	err    error
}

// programsEnv holds the folder of programs that another process has built; .ci/run sets
// it, too.
const programsEnv = "TEST_PROGRAMS"

// builtPrograms returns a folder with the three programs, which are static, as
// containers need them, and start at once, which those under the race detector do
// not.
func builtPrograms(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv(programsEnv); folder != "" {
		return folder
	}
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "programs"); built.err != nil {
			return
		}
		built.err = os.Chmod(built.folder, 0o755)
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ".=-E main.entry", "-o", built.folder, ".", "../csig-host", "../csig-switch")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = errors.Join(built.err, fmt.Errorf("%v: %v\n%s", build, err, out))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.folder
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool { return !endedWithin(pid, 0) }

// ended waits until a process has ended.
func ended(t testing.TB, pid int) {
	t.Helper()
	if !endedWithin(pid, limit) {
		t.Fatalf("process %d goes on after %v", pid, limit)
	}
}

func endedWithin(pid int, limit time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	for until := time.Now().Add(limit); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(time.Until(until), 0).Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}
