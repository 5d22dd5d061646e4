package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	nodeprocess "github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// asProgram makes this test's program one of csiglab's, if it is called by the
// name of one.
func asProgram() {
	switch filepath.Base(os.Args[0]) {
	case "csiglab":
		os.Exit(Main(command.Linked{}))
	case "csig-host", "csig-switch":
		os.Exit(nodeprocess.Main())
	case meteredName:
		os.Exit(metered())
	}
}

// programsEnv is programstest.Variable.
const programsEnv = programstest.Variable

// builtPrograms is programstest.Built.
func builtPrograms(t *testing.T) string {
	t.Helper()
	return programstest.Built(t)
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
