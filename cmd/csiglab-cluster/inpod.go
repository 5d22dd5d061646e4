package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// podProgram is the csiglab of a pod, which is the first process of its container. The path
// does not depend on the image.
const podProgram = "/proc/1/exe"

// InPod implements command.Cluster. It runs csiglab with args in the pod of a shard, and returns its exit code. If in and
// out are terminals, so are those of the command.
func (kubernetes) InPod(ctx context.Context, s *runs.Shard, args []string, in io.Reader, out, errs io.Writer) (code int, err error) {
	c, err := cluster.Connect(ctx, s.Context, s.Namespace)
	if err != nil {
		return 0, err
	}
	args = slices.Concat([]string{podProgram}, args)
	from, to := terminal(in), terminal(out)
	if from < 0 || to < 0 {
		return c.Exec(ctx, s.Pod, args, in, out, errs)
	}
	before, err := term.MakeRaw(from)
	if err != nil {
		return 0, err
	}
	defer term.Restore(from, before)
	sizes, changed := make(chan cluster.Size, 1), make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	defer signal.Stop(changed)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			if columns, rows, err := term.GetSize(to); err == nil {
				select {
				case sizes <- cluster.Size{Columns: uint16(columns), Rows: uint16(rows)}:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return c.ExecTerminal(ctx, s.Pod, args, in, out, sizes)
}

// terminal returns the descriptor of a stream that is a terminal, -1 for any other.
func terminal(stream any) int {
	if file, ok := stream.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return int(file.Fd())
	}
	return -1
}
