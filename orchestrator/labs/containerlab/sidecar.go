package containerlab

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/labs/reaper"
	"github.com/csiglab/csiglab/units"
)

// Sidecar is a container beside that of a node. It runs the user's programs from the
// user's image. Its network namespace is its own and is empty when it starts: the
// programs see no port of the node. Its init is the host program, which
// waits: the user's image may have no program that does.
type Sidecar struct {
	Node  int // index in Lab.Nodes
	Image string
	// Init is the path of a static program, which is mounted and started with the
	// argument reaper.Argument.
	Init string
	// Hosts is the path of the hosts file (hosts(5)) that its programs see; "": the
	// image's. It may be relative to Lab.Folder.
	Hosts string
}

// sidecarInit is the path of Init in the container.
const sidecarInit = "/.csiglab-init"

// Limits of a sidecar container.
const (
	sidecarMemory = 1024 * units.MiB
	sidecarPIDs   = 1024
)

// sidecarName returns the name of a sidecar's node in the topology.
func (lab *Lab) sidecarName(s Sidecar) string { return lab.Graph.Nodes[s.Node].Name + "-programs" }

func (s Sidecar) settings() NodeSettings {
	binds := []string{s.Init + ":" + sidecarInit + ":ro"}
	if s.Hosts != "" {
		binds = append(binds, s.Hosts+":/etc/hosts:ro")
	}
	return NodeSettings{
		Image: s.Image, Cmd: []string{reaper.Argument}, Binds: binds,
		Memory: sidecarMemory, PIDs: sidecarPIDs,
	}
}

// Command is a program that was started in a container.
type Command struct {
	docker *client.Client
	id     string
	code   int
	ended  chan struct{}
}

// Start starts a program in a container, with the container's environment and env. Its
// output goes to out until Wait returns. ctx bounds all of it.
func (e *Engine) Start(ctx context.Context, n Container, args, env []string, out io.Writer) (*Command, error) {
	id, stream, err := e.begin(ctx, n.ID, container.ExecOptions{Cmd: args, Env: env, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return nil, err
	}
	c := &Command{docker: e.docker, id: id, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.follow(ctx, stream.Conn, stream.Reader, out)
	}()
	return c, nil
}

// Times of a program. The end of its output is not the end of the program: another
// program may still hold the output, or the program has closed it and goes on.
const (
	pollEvery  = 100 * time.Millisecond // how often the engine is asked whether it has ended
	closedPoll = 10 * time.Millisecond  // the same once its output has ended, as the program then mostly has
	copyTime   = 200 * time.Millisecond // for its last output
	answerTime = 10 * time.Second       // for the engine to report the program's state when the run is over
)

// follow copies the program's output until it ends, and records its exit code.
func (c *Command) follow(ctx context.Context, conn interface{ Close() error }, from io.Reader, out io.Writer) {
	copied := make(chan struct{})
	w := &gate{w: out}
	go func() {
		defer close(copied)
		stdcopy.StdCopy(w, w, from) //nolint:errcheck // the program's exit code shows a failure
		io.Copy(io.Discard, from)   //nolint:errcheck // if out fails, the program must not block
	}()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for closed, over := copied, false; ; {
		select {
		case <-closed:
			closed = nil
			tick.Reset(closedPoll)
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		info, err := c.inspect(ctx)
		if err != nil || !info.Running || over {
			c.code = info.ExitCode
			if err != nil {
				c.code = -1 // its container is gone
			}
			break
		}
	}
	select {
	case <-copied:
	case <-time.After(copyTime):
	}
	conn.Close()
	w.shut()
}

// inspect returns the program's state from the engine, also when ctx has ended.
func (c *Command) inspect(ctx context.Context) (container.ExecInspect, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	return c.docker.ContainerExecInspect(ctx, c.id)
}

// Wait returns the program's exit code, -1 if its container has gone, or the name of
// the signal that ended it.
func (c *Command) Wait() (code int, signal string) {
	<-c.ended
	if c.code > signalled {
		return 0, unix.SignalName(unix.Signal(c.code - signalled))
	}
	return c.code, ""
}

// Terminate asks the program to end, also when ctx has ended.
func (c *Command) Terminate(ctx context.Context) {
	info, err := c.inspect(ctx)
	if err == nil && info.Running && info.Pid > 0 {
		syscall.Kill(info.Pid, syscall.SIGTERM) //nolint:errcheck // it may have ended
	}
}

// Kill kills all processes in a container. It does not remove the container.
func (e *Engine) Kill(ctx context.Context, n Container) error {
	err := e.docker.ContainerKill(ctx, n.ID, "KILL")
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil // gone, or not running
	}
	return err
}

// gate passes writes on until it is shut.
type gate struct {
	mu sync.Mutex
	w  io.Writer
}

func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.w == nil {
		return 0, os.ErrClosed
	}
	return g.w.Write(b)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.w = nil
}
