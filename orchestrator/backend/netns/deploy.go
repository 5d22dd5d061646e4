package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/crash"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
)

// portName names the interface of a port.
func portName(port int) string { return fmt.Sprintf("p%d", port) }

// deploy makes the namespaces of a run's nodes, of one in parts those of this part. The driver
// makes the links.
func deploy(o *order) (*backend.Deployment, *launcher, error) {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	l := &launcher{order: o, home: home, alive: os.NewFile(fileAlive, "alive"), affinity: newAffinity(&o.Run)}
	g := o.Run.Plan.Graph
	port := func(e topologies.End) string { return g.Interface(e, portName) }
	d := &backend.Deployment{Port: port, Folder: o.Run.Folder, Sockets: o.Run.Folder, Pinned: true, Launcher: l}
	for i, n := range g.Nodes {
		if !o.Run.Here(i) {
			l.spaces, d.Nodes = append(l.spaces, nil), append(d.Nodes, backend.Place{})
			continue
		}
		file, err := application.NewNetwork()
		if err != nil {
			return nil, nil, fmt.Errorf("%w: node %s: %w", backend.ErrUnavailable, n.Name, err)
		}
		l.spaces = append(l.spaces, file)
		d.Nodes = append(d.Nodes, backend.Place{Name: n.Name, Network: file})
	}
	return d, l, nil
}

// launcher starts the nodes' processes. Only the supervisor's main thread may use it:
// the processes die with the thread that starts them.
type launcher struct {
	order    *order
	home     *os.File   // the supervisor's own namespace
	spaces   []*os.File // the nodes'
	alive    *os.File
	affinity *affinity

	started []*exec.Cmd
	waiting sync.WaitGroup
}

// Start implements backend.Launcher.
func (l *launcher) Start(_ context.Context, node int, spec *process.Spec, shared *os.File) (*backend.Process, error) {
	line, g := l.order.SwitchProgram, l.order.Run.Plan.Graph
	if g.Nodes[node].Kind == topologies.Host {
		line = l.order.HostProgram
	}
	stderr := new(crash.Stderr)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), runs.EnvironmentNode+"="+g.Nodes[node].Name)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	report, err := backend.Connect(spec, func(specification, report *os.File) error {
		cmd.ExtraFiles = []*os.File{specification, shared, report, l.alive}
		return l.startIn(node, cmd)
	})
	if err != nil {
		return nil, err
	}
	l.started = append(l.started, cmd)
	return &backend.Process{PID: cmd.Process.Pid, Report: report, Wait: l.waiter(cmd, stderr)}, nil
}

// startIn starts a command in the namespace of a node. The process inherits the
// namespace of the calling thread, and its processor in lockstep: in real time a
// node must not wait for a processor while another is idle.
func (l *launcher) startIn(node int, cmd *exec.Cmd) error {
	if l.order.Run.Wall == nil {
		l.affinity.pin(node)
		defer l.affinity.restore()
	}
	if err := unix.Setns(int(l.spaces[node].Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	err := cmd.Start()
	return errors.Join(err, unix.Setns(int(l.home.Fd()), unix.CLONE_NEWNET))
}

// waiter waits for a process in the background. It returns the function for
// backend.Process.Wait.
func (l *launcher) waiter(cmd *exec.Cmd, stderr *crash.Stderr) func(reported bool) string {
	ended := make(chan error, 1)
	l.waiting.Go(func() { ended <- cmd.Wait() })
	return func(reported bool) string {
		err := <-ended
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			status := exit.Sys().(syscall.WaitStatus)
			if status.Signaled() {
				return fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
			}
			return fmt.Sprintf("ended with code %d: %s", status.ExitStatus(), stderr.Words())
		case err != nil || !reported:
			return "ended without a result: " + stderr.Words()
		}
		return ""
	}
}

// Programs implements backend.Launcher.
func (*launcher) Programs(context.Context) application.Starter { return nil }

// Raise implements backend.Launcher: nodes raise their own threads.
func (*launcher) Raise(int, int) error { return nil }

// reap kills the processes that still run and waits for all of them, so that no
// process remains for the machine's init to reap.
func (l *launcher) reap() {
	for _, cmd := range l.started {
		cmd.Process.Kill()
	}
	l.waiting.Wait()
}
