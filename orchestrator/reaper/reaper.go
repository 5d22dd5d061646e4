// Package reaper is the init of a namespace of processes that holds nothing but
// programs of others: it waits, and buries the dead.
package reaper

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Argument makes csig-host such an init.
const Argument = "idle"

// Run buries those whose parent is gone, until the process gets one of the
// signals.
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
