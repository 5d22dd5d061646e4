// Package resources looks at the limits of this process, and makes folders for what a command
// needs while it runs.
package resources

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	_ "github.com/csiglab/csiglab/cmd/cli/startup"
)

// What a csiglab needs at least. When a thread or memory is refused, Go's runtime ends
// the process with exit code 2, in which it is too late for words.
const (
	leastThreads = 16    // and one for each processor
	leastMemory  = 128e6 // bytes, above what has been taken so far
)

// noLimit stands for a resource that has no limit.
const noLimit = math.MaxInt64

// Check returns an error if this process has too few threads or too little memory to
// do anything. Package startup has looked at its descriptors.
func Check() error {
	threads := leastThreads + runtime.GOMAXPROCS(0)
	const mega = 1e6
	for _, c := range []struct {
		what        string
		free, least int64
		unit, limit string
	}{
		{"few threads", moreThreads(threads), int64(threads), " more", "ulimit -u"},
		{"few threads", groupThreads(), int64(threads), " more", "pids.max of its control group"},
		{"little memory", moreMemory(unix.RLIMIT_AS, "VmSize") / mega, leastMemory / mega, " MB more", "ulimit -v"},
		{"little memory", moreMemory(unix.RLIMIT_DATA, "VmData") / mega, leastMemory / mega, " MB more", "ulimit -d"},
	} {
		if c.free < c.least {
			return command.Infrastructure(fmt.Errorf("too %s: csiglab may have %d%s and needs at least %d; see %s", c.what, max(0, c.free), c.unit, c.least, c.limit))
		}
	}
	return nil
}

// limitOf returns a limit of this process (getrlimit(2)).
func limitOf(resource int) int64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil || l.Cur > noLimit {
		return noLimit
	}
	return int64(l.Cur)
}

// moreThreads returns how many threads this user may add. It does not count the user's
// threads if the limit is far above least. Root is not limited.
func moreThreads(least int) int64 {
	const far = 100
	limit := limitOf(unix.RLIMIT_NPROC)
	if os.Geteuid() == 0 || limit > int64(far*least) {
		return noLimit
	}
	own := int64(0)
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/*")
	for _, task := range tasks {
		if info, err := os.Stat(task); err == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Getuid()) {
			own++
		}
	}
	return limit - own + ownThreads()
}

// ownThreads returns how many threads this process has.
func ownThreads() int64 {
	tasks, _ := filepath.Glob("/proc/self/task/*")
	return int64(len(tasks))
}

// moreMemory returns how many bytes of a resource this process may add to what the field of
// /proc/self/status says that it has.
func moreMemory(resource int, field string) int64 {
	limit := limitOf(resource)
	if limit == noLimit {
		return noLimit
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "\n"+field+":")
	var kib int64
	fmt.Sscan(after, &kib) //nolint:errcheck // 0 if there is none
	return limit - kib<<10
}

// groupThreads returns how many threads the control groups of this process may add.
func groupThreads() int64 {
	text, _ := os.ReadFile("/proc/self/cgroup")
	free := int64(noLimit)
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path (cgroups(7))
		if len(part) != 3 || part[1] != "" && part[1] != "pids" {
			continue
		}
		root := filepath.Join("/sys/fs/cgroup", part[1])
		for at := filepath.Clean(part[2]); ; at = filepath.Dir(at) {
			limit, err1 := readNumber(filepath.Join(root, at, "pids.max"))
			used, err2 := readNumber(filepath.Join(root, at, "pids.current"))
			if err1 == nil && err2 == nil {
				free = min(free, limit-used+ownThreads())
			}
			if at == "/" || at == "." {
				break
			}
		}
	}
	return free
}

// readNumber reads a file of one number. The error is one of the file, or of the text
// "max".
func readNumber(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// Shortage adds to an error that a resource is used up which limit that may be.
func Shortage(err error) error {
	for _, s := range []struct {
		cause syscall.Errno
		hint  string
	}{
		{unix.EMFILE, fmt.Sprintf("csiglab may have %d descriptors (ulimit -n)", limitOf(unix.RLIMIT_NOFILE))},
		{unix.ENFILE, "the machine may have no more (sysctl fs.file-max)"},
		{unix.EAGAIN, "this user or control group may have no more processes and threads (ulimit -u, pids.max)"},
		{unix.ENOMEM, "the machine or the control group has no more memory (ulimit -v, memory.max)"},
	} {
		// The error may have come from another process as text.
		if errors.Is(err, s.cause) || strings.HasSuffix(err.Error(), ": "+s.cause.Error()) {
			return fmt.Errorf("%w: %s", err, s.hint)
		}
	}
	return err
}
