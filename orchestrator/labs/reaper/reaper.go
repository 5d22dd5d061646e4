// Package reaper is the init of a PID namespace in which users' programs run: it
// waits and reaps orphans.
package reaper

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Argument is the argument that makes csig-host such an init.
const Argument = "idle"

// Run reaps orphans until the process receives one of the signals.
func Run(until ...os.Signal) {
	died, end := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGTERM)
	signal.Notify(died, unix.SIGCHLD)
	if len(until) > 0 {
		signal.Notify(end, until...)
	}
	for {
		select {
		case <-end:
			return
		case <-died:
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
}
