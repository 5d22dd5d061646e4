package containerlab

import (
	"context"
	"fmt"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// asked is the exit code of a Go program in its container, without a word, upon
// SIGTERM: the kernel does not let a namespace's first process die of that.
const asked = 2

// signalled is what the exit code of a process that a signal killed begins at.
const signalled = 128

// Exit tells in words how a node's container ended, with the last lines that it
// wrote: "was killed by signal 9 (killed)". It waits up to two seconds for the
// engine to notice.
func (e *Engine) Exit(ctx context.Context, n Node) string {
	noticed, cancel := context.WithTimeout(ctx, exitTime)
	defer cancel()
	done, failed := e.docker.ContainerWait(noticed, n.ID, container.WaitConditionNotRunning)
	select {
	case <-done:
	case <-failed: // the state below tells
	}
	info, err := e.docker.ContainerInspect(ctx, n.ID)
	switch {
	case errdefs.IsNotFound(err):
		return "ended: its container was removed"
	case err != nil:
		return fmt.Sprintf("ended: %v", e.told(err))
	case info.State.Running:
		return "ended without a result, but its container runs" + tail(ctx, e.docker, n.ID)
	case info.State.OOMKilled:
		return "was killed: out of the memory that its container may use"
	case info.State.ExitCode > signalled:
		signal := syscall.Signal(info.State.ExitCode - signalled)
		return fmt.Sprintf("was killed by signal %d (%v)", signal, signal)
	}
	text := tail(ctx, e.docker, n.ID)
	if info.State.ExitCode == asked && text == "" {
		return "was asked to end, as by docker stop or by an engine that is started again"
	}
	return fmt.Sprintf("ended with code %d%s", info.State.ExitCode, text)
}
