// Package netns is the backend that runs plans with real frames on this machine:
// every node in a network namespace of its own, with veth pairs for links. It also
// works for users without privileges.
//
// A run starts a supervisor, which is the calling program again, in a private
// network namespace and, for an unprivileged user, in a user namespace. The
// supervisor makes the nodes' namespaces and drives the run (backend.Drive):
//
//	csiglab ── supervisor ─┬─ csig-host   (namespace of h0)
//	                       ├─ csig-switch (namespace of tor0)
//	                       └─ …
//
// No interface appears in the namespace that csiglab runs in. Namespaces have no
// names, and each process dies with its parent in this tree, so that nothing
// remains. Find and Remove are for processes that a kernel or a debugger kept alive
// nevertheless.
package netns

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/crash"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// Runtime is network namespaces as a runtime.
var Runtime = backend.Runtime{Runtime: runtimes.Get(runtimes.Netns), Backend: Backend{}}

// Backend runs plans in network namespaces. The zero value is ready to use.
type Backend struct {
	// HostProgram and SwitchProgram are command lines of the nodes' programs;
	// empty: csig-host and csig-switch, beside this executable or on PATH.
	HostProgram, SwitchProgram []string
}

// Check implements backend.Backend. It checks that the run's programs and those of its
// nodes exist. It does not check whether namespaces can be made.
func (b Backend) Check(_ context.Context, r *backend.Run) error {
	if err := r.CheckPrograms(); err != nil {
		return err
	}
	_, err := b.order(r)
	return err
}

// NodeFolder implements backend.Backend: nodes see the folder of the run.
func (Backend) NodeFolder(runFolder string) string { return runFolder }

// Run implements backend.Backend. The program must call Supervise first of all.
func (b Backend) Run(ctx context.Context, r *backend.Run, c backend.Control) (*backend.Outcome, error) {
	defer c.Meeting.Close()
	o, err := b.order(r)
	if err != nil {
		return nil, err
	}
	m, err := supervised(ctx, r.ID, o, c)
	if err != nil {
		return nil, err
	}
	return m.Outcome, nil
}

// order is the order that csiglab sends to a supervisor. It is plain data.
type order struct {
	Run                        backend.Run
	HostProgram, SwitchProgram []string
	Calibrate                  int // not 0: measure how well the machine keeps real time with so many nodes and run none
	Files                      files
}

func (b Backend) order(r *backend.Run) (*order, error) {
	o := &order{Run: *r, HostProgram: b.HostProgram, SwitchProgram: b.SwitchProgram}
	if r.Processes == backend.OneProcess || len(b.HostProgram) > 0 && len(b.SwitchProgram) > 0 {
		return o, nil
	}
	programs, err := backend.FindPrograms()
	o.HostProgram, o.SwitchProgram = []string{programs.Host}, []string{programs.Switch}
	return o, err
}

// supervisorArgument is the hidden subcommand of the supervisor.
const supervisorArgument = "netns-supervisor"

// message is one message of the supervisor. It sends a stream of gobs on its pipe.
type message struct {
	Deployed    *deployed
	Records     *metrics.Batch
	Now         units.Time
	Alive       bool // the supervisor runs; it says so every second
	Note        string
	Waiting     string
	Started     bool // a run in real time has started
	Outcome     *backend.Outcome
	Calibration *wall.Calibration
	Failure     *backend.Failure
}

// deployed describes the nodes and links that the supervisor has made.
type deployed struct {
	Supervisor int // its process
	Nodes      []runs.Node
	Links      []runs.Link
}

// Times of the end of a run: how long a supervisor may take to reap its nodes after a
// SIGTERM, and how long processes may take to die.
const (
	reapTime  = time.Second
	deathTime = 3 * time.Second
)

// supervised runs a supervisor to its end. It returns the last message.
func supervised(ctx context.Context, id string, o *order, c backend.Control) (m *message, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The kernel kills the supervisor when the thread that started it ends.
		runtime.LockOSThread()
		m, err = supervise(ctx, id, o, c)
	}()
	<-done
	return m, err
}

// supervise starts the supervisor and receives its messages until it ends.
func supervise(ctx context.Context, id string, o *order, c backend.Control) (*message, error) {
	p, err := startSupervisor(id, o, c)
	if err != nil {
		return nil, err
	}
	defer p.close()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(reapTime):
			p.cmd.Process.Kill()
		}
	})
	defer stop()
	go func() {
		defer p.order.Close()
		gob.NewEncoder(p.order).Encode(o) //nolint:errcheck // a supervisor that dies says why
		if o.Run.Held {
			select {
			case <-c.Hold:
			case <-ended:
			}
		}
	}()
	watch := watchSupervisor(p, &c)
	last, refused := receive(ctx, p, c, watch)
	watch.end()
	waited := p.cmd.Wait()
	close(ended)
	p.awaitDeath()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case refused != nil:
		return nil, refused
	case last.Failure != nil:
		return nil, last.Failure.Err()
	case watch.failed != "":
		return nil, &backend.NodeError{Name: "supervisor", Reason: watch.failed}
	case last.Outcome == nil && last.Calibration == nil:
		return nil, &backend.NodeError{Name: "supervisor", Reason: fmt.Sprintf("ended early: %v: %s", waited, p.stderr.Words())}
	}
	// The nodes' usage is in that of the supervisor, which waited for them.
	if usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && last.Outcome != nil {
		last.Outcome.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return last, nil
}

// receive passes the supervisor's messages to the caller's Control until their end. It
// returns the last message, and the error with which Control.Deployed refused the run.
func receive(ctx context.Context, p *supervisorProcess, c backend.Control, watch *watch) (last *message, refused error) {
	last = new(message)
	for decoder := gob.NewDecoder(p.messages); ; {
		var m message
		watch.waiting(true)
		err := decoder.Decode(&m)
		watch.waiting(false)
		if err != nil {
			return last, refused
		}
		switch {
		case m.Alive:
		case m.Note != "":
			if c.Note != nil {
				c.Note(m.Note)
			}
		case m.Waiting != "":
			if c.Waiting != nil {
				c.Waiting(m.Waiting)
			}
		case m.Deployed != nil:
			if c.Deployed == nil {
				continue
			}
			if refused = c.Deployed(m.Deployed.asSeenHere()); refused != nil {
				p.cmd.Process.Signal(syscall.SIGTERM)
			}
		case m.Outcome != nil, m.Calibration != nil, m.Failure != nil:
			last = &m
		case m.Records != nil:
			c.Consumer().Consume(m.Records)
		case m.Started:
			if c.Started != nil {
				c.Started()
			}
		case c.Progress != nil && ctx.Err() == nil:
			c.Progress(m.Now, 0)
		}
	}
}

// asSeenHere returns the nodes and links, with the user namespace of the nodes. The
// supervisor cannot set it: its own namespace looks like the machine's to it.
func (d *deployed) asSeenHere() ([]runs.Node, []runs.Link) {
	if needsUser() {
		for i := range d.Nodes {
			d.Nodes[i].User = fmt.Sprintf("/proc/%d/ns/user", d.Supervisor)
		}
	}
	return d.Nodes, d.Links
}

// supervisorProcess is a supervisor and the pipes to it.
type supervisorProcess struct {
	cmd      *exec.Cmd
	stderr   crash.Stderr
	order    *os.File // the order is written to it; closing it releases a run that is held
	messages *os.File
	alive    *os.File // reaches its end when the last process of the run has died
}

// startSupervisor starts the supervisor, and sets the files of its order. It closes those of
// Control.Meeting.
func startSupervisor(id string, o *order, c backend.Control) (_ *supervisorProcess, err error) {
	defer c.Meeting.Close()
	if !supervisable {
		return nil, errors.New("the program has not called netns.Supervise, so it cannot be a supervisor")
	}
	p := new(supervisorProcess)
	var remote []*os.File // the supervisor's ends of the pipes
	defer func() {
		for _, file := range remote {
			file.Close()
		}
		if err != nil {
			p.close()
		}
	}()
	for _, pipe := range []struct {
		local **os.File
		write bool // the local end is the one that is written to
	}{{&p.order, true}, {&p.messages, false}, {&p.alive, false}} {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if pipe.write {
			read, write = write, read
		}
		*pipe.local, remote = read, append(remote, write)
	}
	p.cmd = exec.Command("/proc/self/exe", supervisorArgument)
	p.cmd.Args[0] = os.Args[0]
	if c.Entrance != nil { // the supervisor has a copy
		file, err := c.Entrance.File()
		if err != nil {
			return nil, err
		}
		o.Files.Entrance, remote = firstFile+len(remote), append(remote, file)
	}
	p.cmd.Env = append(os.Environ(), runs.Environment(id)...)
	p.cmd.Stderr = &p.stderr
	p.cmd.ExtraFiles = append(remote, o.Files.meeting(firstFile+len(remote), c.Meeting)...)
	p.cmd.SysProcAttr = isolation()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: start the supervisor: %w; rootless runs need user namespaces", backend.ErrUnavailable, err)
	}
	if c.Meeting == nil || c.Meeting.Move == nil {
		return p, nil
	}
	if err := c.Meeting.Move(p.cmd.Process.Pid); err != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait() //nolint:errcheck // it was killed
		return nil, err
	}
	return p, nil
}

// meeting sets the numbers of the files of a meeting, from the first, and returns the files.
func (f *files) meeting(first int, m *backend.Meeting) (list []*os.File) {
	if m == nil {
		return nil
	}
	number := func(file *os.File) int {
		if file == nil {
			return 0
		}
		list = append(list, file)
		return first + len(list) - 1
	}
	f.Listener = number(m.Listener)
	for _, call := range m.Calls {
		f.Calls = append(f.Calls, number(call))
	}
	return list
}

// awaitDeath waits until the last process of the run has died, at most deathTime. The
// caller kills the remaining processes by the run's id.
func (p *supervisorProcess) awaitDeath() {
	p.alive.SetReadDeadline(time.Now().Add(deathTime))
	p.alive.Read(make([]byte, 1)) //nolint:errcheck // the end or the deadline
}

func (p *supervisorProcess) close() {
	for _, file := range []*os.File{p.order, p.messages, p.alive} {
		if file != nil {
			file.Close()
		}
	}
}

// needsUser reports whether this process needs a user namespace to make network namespaces.
// In a container root may need one too.
func needsUser() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	return err != nil || sets[0].Effective>>unix.CAP_SYS_ADMIN&1 == 0
}

// isolation puts the supervisor into namespaces of its own, in a user namespace where it
// needs one. There it is root.
func isolation() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // Ctrl-C on the terminal is csiglab's to handle
	}
	if needsUser() {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}
