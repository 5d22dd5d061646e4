// Command csiglab runs experiments with congestion control, load balancing and
// CSIG on a fabric, and turns them into verdicts, metrics and reports.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/orchestrator/containerlab/terminal"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

// sameSignal is the time after a signal in which a second one counts as the same.
const sameSignal = 300 * time.Millisecond

func main() {
	terminal.Restore()
	netns.Supervise() // does not return in the supervisor of a netns run
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup(1)
		endings = append(endings, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings...)
	// The first Ctrl-C ends the run in order, the second at once. timeout(1) signals its
	// child and then the whole group: those two signals count as one. When a terminal
	// goes, the shell and the kernel both send SIGHUP, in no hurry.
	context.AfterFunc(ctx, func() {
		time.AfterFunc(sameSignal, func() {
			stop()
			signal.Ignore(syscall.SIGHUP)
		})
	})
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the error of the write is enough
	os.Exit(execute(ctx, newLab(), os.Args[1:], os.Environ(), standardOutput(), os.Stderr))
}
