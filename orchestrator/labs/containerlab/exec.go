package containerlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	"golang.org/x/term"
)

// Exec runs a program in a container with this process's input and output, in a
// terminal if they are one, and passes on the signals that arrive. It returns the
// program's exit code: 128 + n if signal n killed it, 126 or 127 if the engine could
// not start it.
func (e *Engine) Exec(ctx context.Context, name string, args, env []string, signals <-chan os.Signal) (code int, err error) {
	options := container.ExecOptions{Cmd: args, Env: env, AttachStdin: true, AttachStdout: true, AttachStderr: true}
	in := int(os.Stdin.Fd())
	options.Tty = term.IsTerminal(in) && term.IsTerminal(int(os.Stdout.Fd()))
	if options.Tty {
		options.ConsoleSize = consoleSize(in)
	}
	id, stream, err := e.begin(ctx, name, options)
	if err != nil {
		return 0, fmt.Errorf("container %s: %w", name, err)
	}
	defer stream.Close()
	if options.Tty { // keys, Ctrl-C too, are the program's
		before, err := term.MakeRaw(in)
		if err != nil {
			return 0, fmt.Errorf("the terminal: %w", err)
		}
		defer term.Restore(in, before) //nolint:errcheck // nothing helps
	}
	go func() {
		io.Copy(stream.Conn, os.Stdin) //nolint:errcheck // the program's exit code shows a failure
		stream.CloseWrite()
	}()
	copied := make(chan error, 1)
	go func() {
		var err error
		if options.Tty {
			_, err = io.Copy(os.Stdout, stream.Reader)
		} else {
			_, err = stdcopy.StdCopy(os.Stdout, os.Stderr, stream.Reader)
		}
		copied <- err
	}()
	for running := true; running; {
		select {
		case s := <-signals:
			if err := e.pass(ctx, id, s, in); err != nil {
				return 0, fmt.Errorf("container %s: %w", name, err)
			}
		case err := <-copied:
			if err != nil {
				return 0, fmt.Errorf("container %s: %w", name, err)
			}
			running = false
		}
	}
	ctx, cancel := e.ask(ctx)
	defer cancel()
	info, err := e.docker.ContainerExecInspect(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("container %s: %w", name, e.explain(err))
	}
	return info.ExitCode, nil
}

// begin starts a program in a container and returns its id and the stream of its input
// and output.
func (e *Engine) begin(ctx context.Context, name string, options container.ExecOptions) (id string, stream types.HijackedResponse, err error) {
	ctx, cancel := e.ask(ctx)
	defer cancel()
	made, err := e.docker.ContainerExecCreate(ctx, name, options)
	if err != nil {
		return "", stream, e.explain(err)
	}
	attached := make(chan error, 1)
	var late types.HijackedResponse
	go func() { // the client waits for this answer even if ctx ends
		var err error
		late, err = e.docker.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: options.Tty, ConsoleSize: options.ConsoleSize})
		attached <- err
	}()
	select {
	case err := <-attached:
		return made.ID, late, e.explain(err)
	case <-ctx.Done():
		go func() {
			if <-attached == nil {
				late.Close()
			}
		}()
		return "", stream, e.explain(ctx.Err())
	}
}

// pass passes a signal on to a program in a container; for SIGWINCH it passes on the
// size of the terminal whose descriptor is in. Its error wraps ErrLost; a program that
// has ended is not an error.
func (e *Engine) pass(ctx context.Context, id string, s os.Signal, in int) error {
	ctx, cancel := e.ask(ctx)
	defer cancel()
	if s == syscall.SIGWINCH {
		if size := consoleSize(in); size != nil {
			e.docker.ContainerExecResize(ctx, id, container.ResizeOptions{Height: size[0], Width: size[1]}) //nolint:errcheck // it may have ended
		}
		return nil
	}
	// A program that has just been started may write before the engine knows its
	// process.
	for range passTries {
		info, err := e.docker.ContainerExecInspect(ctx, id)
		if err = e.explain(err); errors.Is(err, ErrLost) {
			return err
		}
		if err != nil || !info.Running {
			return nil
		}
		if n, ok := s.(syscall.Signal); ok && info.Pid > 0 {
			syscall.Kill(info.Pid, n) //nolint:errcheck // as above
			return nil
		}
		time.Sleep(passEvery)
	}
	return nil
}

// Attempts to pass a signal on, and the time between two of them.
const (
	passTries = 100
	passEvery = 20 * time.Millisecond
)

// consoleSize returns the height and width of a terminal, nil if it has none.
func consoleSize(fd int) *[2]uint {
	width, height, err := term.GetSize(fd)
	if err != nil {
		return nil
	}
	return &[2]uint{uint(height), uint(width)}
}
