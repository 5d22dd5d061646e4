package containerlab

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// asked is the exit code of a Go program in its container after SIGTERM; it prints
// nothing. The kernel does not let a namespace's first process die of the signal
// itself.
const asked = 2

// signalled plus n is the exit code of a process that signal n killed.
const signalled = 128

// exitTime bounds the wait for the engine to notice that a process is gone.
const exitTime = 2 * time.Second

// end waits until the engine has noticed that the container's process is gone, and
// returns the state of the container.
func (e *Engine) end(ctx context.Context, id string) (container.InspectResponse, error) {
	noticed, stop := context.WithTimeout(ctx, exitTime)
	defer stop()
	done, failed := e.docker.ContainerWait(noticed, id, container.WaitConditionNotRunning)
	select {
	case <-done:
	case <-failed: // the inspection below shows the state
	}
	ctx, cancel := e.ask(ctx)
	defer cancel()
	info, err := e.docker.ContainerInspect(ctx, id)
	return info, e.explain(err)
}

// exited returns the error of a container whose process is gone: its exit code
// and the first lines that it wrote.
func (e *Engine) exited(ctx context.Context, id string) error {
	info, err := e.end(ctx, id)
	if err != nil {
		return err
	}
	return fmt.Errorf("container %s is %s, exit code %d%s", strings.TrimPrefix(info.Name, "/"), info.State.Status, info.State.ExitCode, e.words(ctx, id))
}

// Exit returns in words how a node's container ended, with the first lines that it
// wrote: "was killed by signal 9 (killed)". It waits up to two seconds for the
// engine to notice.
func (e *Engine) Exit(ctx context.Context, n Container) string {
	info, err := e.end(ctx, n.ID)
	switch {
	case errdefs.IsNotFound(err):
		return "ended: its container was removed"
	case err != nil:
		return fmt.Sprintf("ended: %v", err)
	case info.State.Running:
		return "ended without a result, but its container runs" + e.words(ctx, n.ID)
	case info.State.OOMKilled:
		return "was killed: out of the memory that its container may use"
	case info.State.ExitCode > signalled:
		signal := syscall.Signal(info.State.ExitCode - signalled)
		return fmt.Sprintf("was killed by signal %d (%v)", signal, signal)
	}
	text := e.words(ctx, n.ID)
	if info.State.ExitCode == asked && text == "" {
		return "was asked to end, as by docker stop or by an engine that is started again"
	}
	return fmt.Sprintf("ended with code %d%s", info.State.ExitCode, text)
}
