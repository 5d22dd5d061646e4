// Package startup ends csiglab in words where it has too few descriptors for the packages that
// are initialised later. Some of them start timers or read random numbers then, for which Go's
// runtime opens descriptors and ends the process if there are none. Go initialises packages in
// the order of their paths as far as their imports allow; this one imports nothing but syscall
// and strconv, and comes before those. It is a part of the command csiglab.
package startup

import (
	"strconv"
	"syscall"
)

// leastDescriptors is how many descriptors csiglab needs: a run folder has 12 files open, and
// one more for each run.
const leastDescriptors = 24

// exitCode is that of all failures of the machine.
const exitCode = 3

func init() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= leastDescriptors {
		return
	}
	text := "csiglab: too few descriptors: csiglab may have " + strconv.FormatUint(limit.Cur, 10) +
		" and needs at least " + strconv.Itoa(leastDescriptors) + "; see ulimit -n\n"
	syscall.Write(syscall.Stderr, []byte(text)) //nolint:errcheck // the exit code says the rest
	syscall.Exit(exitCode)
}
