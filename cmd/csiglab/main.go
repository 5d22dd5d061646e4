// Command csiglab runs experiments with congestion control, load balancing and
// CSIG on a fabric, and turns them into verdicts, metrics and reports.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/csiglab/csiglab/orchestrator/containerlab/terminal"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

func main() {
	terminal.Restore()
	netns.Supervise() // does not return in the supervisor of a netns run
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first Ctrl-C ends the run in order, the second at once
	os.Exit(execute(ctx, newLab(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
