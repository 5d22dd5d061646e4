package application

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/reaper"
)

// initArgument is the hidden subcommand of the programs' init.
const initArgument = "programs-init"

// Init does nothing unless the program was started as the init of a PID namespace.
// Then it runs the init and does not return. main calls it first of all.
//
// The init only reaps orphans. All programs of a run and their descendants are in its
// namespace, and the kernel kills them with it.
func Init() {
	if len(os.Args) != 2 || os.Args[1] != initArgument || os.Getpid() != 1 {
		return
	}
	reaper.Run() // does not return
}

// Local starts programs on this machine's files. Each program is in the network
// namespace of its host and sees the host's name as hostname. All programs are in one
// PID namespace, which ends with this process or with Kill.
type Local struct {
	spaces      map[int]*os.File
	environment []string
	orders      chan func() // for the thread that starts programs
	init        *exec.Cmd
	ended       chan struct{}
}

// NewLocal returns a starter of programs. spaces are the network namespaces by host
// number. NewLocal duplicates the files; the caller may close its own. The programs
// get the environment of this process and the variables in more. Kill must be called
// in the end.
func NewLocal(spaces map[int]*os.File, more ...string) (*Local, error) {
	l := &Local{spaces: map[int]*os.File{}, environment: slices.Concat(os.Environ(), more), orders: make(chan func()), ended: make(chan struct{})}
	for host, file := range spaces {
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("network namespace of host %d: %w", host, err)
		}
		l.spaces[host] = os.NewFile(uintptr(fd), file.Name())
	}
	started := make(chan error)
	// The kernel ends the init with the thread that started it.
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may get the thread
		err := l.begin()
		started <- err
		for err == nil {
			select {
			case order := <-l.orders:
				order()
			case <-l.ended:
				return
			}
		}
	}()
	if err := <-started; err != nil {
		l.close()
		return nil, fmt.Errorf("namespace for programs: %w", err)
	}
	return l, nil
}

// begin starts the init in a new PID namespace. Processes that this thread starts
// afterwards are in that namespace too.
func (l *Local) begin() error {
	l.init = exec.Command("/proc/self/exe", initArgument)
	l.init.Args[0] = os.Args[0]
	l.init.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true, Cloneflags: unix.CLONE_NEWPID}
	if err := l.init.Start(); err != nil {
		return err
	}
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/pid", l.init.Process.Pid))
	if err == nil {
		err = unix.Setns(int(space.Fd()), unix.CLONE_NEWPID)
		space.Close()
	}
	if err != nil {
		l.init.Process.Kill() //nolint:errcheck // the first error says more
	}
	go func() {
		l.init.Wait() //nolint:errcheck // it is killed
		close(l.ended)
	}()
	return err
}

// Start implements Starter.
func (l *Local) Start(p Program, output *os.File) (Process, error) {
	path, err := lookPath(p.Args[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, p.Args[1:]...)
	cmd.Args[0] = p.Args[0]
	cmd.Env = slices.Concat(l.environment, []string{process.EnvironmentNode + "=" + p.Name})
	cmd.Stdout, cmd.Stderr = output, output
	// A session of its own: Ctrl-C on the terminal is csiglab's to handle. The program
	// dies with the init. Pdeathsig does not work: its parent is not in its namespace.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	done := make(chan error, 1)
	select {
	case <-l.ended:
		return nil, errNotStarted
	case l.orders <- func() { done <- l.start(p, cmd) }:
	}
	if err := <-done; err != nil {
		return nil, err
	}
	return &local{cmd: cmd}, nil
}

func (l *Local) start(p Program, cmd *exec.Cmd) error {
	if err := unix.Setns(int(l.spaces[p.Host].Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(p.Name)); err != nil {
		return err
	}
	return cmd.Start()
}

// Kill implements Starter. Nothing can be started afterwards.
func (l *Local) Kill() {
	l.init.Process.Kill() //nolint:errcheck // it may have ended
	<-l.ended
	l.close()
}

func (l *Local) close() {
	for _, file := range l.spaces {
		file.Close()
	}
}

type local struct {
	cmd *exec.Cmd

	mu   sync.Mutex
	over bool // it has ended, and its PID may be another process's
}

func (p *local) Wait() (code int, signal string) {
	// The PID stays reserved until the process is reaped.
	for unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 0, unix.SignalName(status.Signal())
	}
	return status.ExitStatus(), ""
}

// Stop implements Process: it sends SIGTERM to the program's process group.
func (p *local) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		unix.Kill(-p.cmd.Process.Pid, unix.SIGTERM) //nolint:errcheck // it may have ended
	}
}

// lookPath finds a program as a shell does.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	var failed *exec.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return path, err
}
