package application

import (
	"bytes"
	"encoding/json"
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
	"github.com/csiglab/csiglab/orchestrator/labs/reaper"
)

// initArgument is the hidden subcommand of the programs' init, fileReady the
// descriptor that the init closes when programs may start.
const (
	initArgument = "programs-init"
	fileReady    = 3
)

// Init does nothing unless the program was started as the init of a PID namespace, or
// by Enter inside a user namespace. Then it does the work of that process; ended is set
// when the process is to exit with code. main calls it first of all.
//
// The init makes the names on its input resolve, makes /proc that of its PID namespace,
// and then only reaps orphans. All
// programs of a run and their descendants are in its namespace, and the kernel kills
// them with the init.
func Init() (code int, ended bool) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == initArgument && os.Getpid() == 1:
		err := privateMounts()
		if err == nil {
			err = mountNames(os.Stdin)
		}
		if err == nil {
			err = mountProc()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitUnentered, true
		}
		unix.Close(fileReady)
		reaper.Run() // does not return
	case len(os.Args) > 2 && os.Args[1] == enterArgument:
		return entered(os.Args[2:]), true
	}
	return 0, false
}

// privateMounts keeps what is mounted in this process's mount namespace out of the
// machine's. What the machine mounts later still appears here.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make the mounts of programs private: %w", err)
	}
	return nil
}

// mountProc mounts the /proc of this process's PID namespace. Where the machine
// hides a part of its own /proc, as some containers do, the kernel refuses the mount.
// Programs then see the /proc of the machine, as far as it is visible.
func mountProc() error {
	err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("mount the /proc of programs: %w", err)
	}
	return nil
}

// Local starts programs on this machine's files. Each program is in the network
// namespace of its host, sees the host's name as hostname, and resolves the names of the
// hosts with programs. All programs are in one
// PID namespace, which ends with this process or with Kill, and see its processes in
// /proc.
type Local struct {
	networks    map[int]*os.File
	names       Names
	environment []string
	folder      string      // where programs start
	orders      chan func() // for the thread that starts programs
	init        *exec.Cmd
	ended       chan struct{}
	pids        *os.File // PID namespace of the init
	mounts      *os.File // its mount namespace
	closed      sync.Once
}

// NewLocal returns a starter of programs. networks are the network namespaces by host
// number, names the hosts whose names resolve. NewLocal duplicates the files; the caller may close its own. The programs
// get the environment of this process and the variables in more. Kill must be called
// in the end.
func NewLocal(networks map[int]*os.File, names Names, more ...string) (*Local, error) {
	l := &Local{networks: map[int]*os.File{}, names: names, environment: slices.Concat(os.Environ(), more), orders: make(chan func()), ended: make(chan struct{})}
	folder, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("namespace for programs: %w", err)
	}
	l.folder = folder
	for host, file := range networks {
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("network namespace of host %d: %w", host, err)
		}
		l.networks[host] = os.NewFile(uintptr(fd), file.Name())
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

// begin starts the init in a new PID namespace and a new mount namespace. Processes
// that this thread starts afterwards are in both.
func (l *Local) begin() error {
	ready, closing, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	names, err := json.Marshal(l.names)
	if err != nil {
		return err
	}
	stderr := new(prefix)
	l.init = exec.Command("/proc/self/exe", initArgument)
	l.init.Args[0] = os.Args[0]
	l.init.ExtraFiles, l.init.Stdin, l.init.Stderr = []*os.File{closing}, bytes.NewReader(names), stderr
	l.init.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true, Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	err = l.init.Start()
	closing.Close()
	if err != nil {
		return err
	}
	go func() {
		l.init.Wait() //nolint:errcheck // it is killed
		close(l.ended)
	}()
	ready.Read(make([]byte, 1)) //nolint:errcheck // the end of the file, as the init is ready or has ended
	if err := l.enter(); err != nil {
		l.init.Process.Kill() //nolint:errcheck // the first error says more
		<-l.ended
		if stderr.b != nil {
			return fmt.Errorf("%s (%w)", stderr.b, err)
		}
		return err
	}
	return nil
}

// enter makes this thread start processes in the namespaces of the init.
func (l *Local) enter() (err error) {
	for _, space := range []struct {
		file **os.File
		name string
	}{{&l.pids, "pid"}, {&l.mounts, "mnt"}} {
		if *space.file, err = os.Open(fmt.Sprintf("/proc/%d/ns/%s", l.init.Process.Pid, space.name)); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	return errors.Join(unix.Setns(int(l.pids.Fd()), unix.CLONE_NEWPID), unix.Setns(int(l.mounts.Fd()), unix.CLONE_NEWNS))
}

// prefix keeps the first bytes that a process writes.
type prefix struct{ b []byte }

func (p *prefix) Write(b []byte) (int, error) {
	const most = 1000
	p.b = append(p.b, b[:min(len(b), most-len(p.b))]...)
	return len(b), nil
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
	cmd.Dir = l.folder
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
	if err := unix.Setns(int(l.networks[p.Host].Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := enterName(p.Name); err != nil {
		return err
	}
	return cmd.Start()
}

// Kill implements Starter. Nothing can be started afterwards. It may be repeated.
func (l *Local) Kill() {
	l.init.Process.Kill() //nolint:errcheck // it may have ended
	<-l.ended
	l.close()
}

func (l *Local) close() {
	l.closed.Do(func() {
		for _, file := range l.networks {
			file.Close()
		}
		l.pids.Close() //nolint:errcheck // nil where it has not been opened
		l.mounts.Close()
	})
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
