// Package cli has the commands of csiglab: flags, calls and printing. Each program of
// csiglab is a call of Main, with what that program is linked with. Package cli itself links
// neither containerlab and docker, nor Kubernetes, nor Prometheus' server.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/garbage"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
)

// sameSignal is the time after a signal in which a second one counts as the same.
const sameSignal = 300 * time.Millisecond

// smallHeap is the size of the heap in bytes below which no garbage is collected.
const smallHeap = 24 << 20

// Main runs the command line of this process and returns its exit code. It may not return in
// the supervisor of a run in network namespaces, or where another program takes this one's
// place.
func Main(linked command.Linked) (code int) {
	netns.Supervise() // does not return in the supervisor of a netns run
	garbage.Floor(smallHeap)
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
	l := newWork(linked)
	l.Become = become
	return execute(ctx, linked, l, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
}

// Execute runs a command line and returns its exit code, as Main does, but in this process:
// what other programs do is an error. Results go to stdout, everything else to stderr.
func Execute(ctx context.Context, linked command.Linked, args, env []string, stdout, stderr io.Writer) (code int) {
	return execute(ctx, linked, newWork(linked), args, env, stdout, stderr)
}
