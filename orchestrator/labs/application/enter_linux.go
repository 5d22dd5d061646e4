package application

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// CommandError reports a command that cannot be run in a node.
type CommandError struct {
	Command string
	Err     error
}

func (e *CommandError) Error() string { return fmt.Sprintf("%s: %v", e.Command, e.Err) }

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }

// Enter runs a command, of at least one word, in the network of a node whose Server is
// at the other end of call. The command is in the PID namespace of the run's programs,
// so that it cannot outlive the run, sees this machine's files, with the hosts file of
// the run, and the node's name as hostname. It has this
// process's input, output, folder and the signals that this process receives. Enter
// returns its exit code, 128 + n if signal n killed it. The error is a *CommandError if
// the command is at fault. Enter closes call.
//
// A run of an unprivileged user is in a user namespace, which a process of several
// threads, such as this one, cannot enter (setns(2)). Then a second process of this
// program runs the command there; Init does its work. Enter does for it what it does for
// a command. What the second process cannot do it prints itself, and Enter returns its
// exit code.
func Enter(call *net.UnixConn, node string, command, env []string) (code int, err error) {
	defer call.Close()
	path, err := lookPath(command[0])
	if err != nil {
		return 0, &CommandError{command[0], err}
	}
	s, err := ask(call, node)
	if err != nil {
		return 0, fmt.Errorf("node %s: %w", node, err)
	}
	own, err := os.Stat("/proc/self/ns/user")
	if err != nil {
		return 0, err
	}
	users, err := s.user.Stat()
	if err != nil {
		return 0, err
	}
	if !os.SameFile(own, users) {
		return s.runAsUser(node, path, command, env)
	}
	return s.run(node, path, command, env)
}

// spaces are the namespaces of a node's programs, and the connection to the Server.
type spaces struct {
	network, pids, mounts, user, call *os.File
	fabric                            bool // the network has ports of the fabric
}

// ask asks the Server for the namespaces of a node.
func ask(call *net.UnixConn, node string) (*spaces, error) {
	if _, err := call.Write([]byte(node)); err != nil {
		return nil, fmt.Errorf("ask for its namespaces: %w", err)
	}
	text, control := make([]byte, longestMessage), make([]byte, unix.CmsgSpace(4*handed))
	n, got, _, _, err := call.ReadMsgUnix(text, control)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("the run has ended (%v)", err)
	}
	if text[0] == answerRefused {
		return nil, errors.New(string(text[1:n]))
	}
	files := rights(control[:got])
	if len(files) != handed {
		return nil, fmt.Errorf("got %d namespaces, want %d", len(files), handed)
	}
	connection, err := call.File()
	if err != nil {
		return nil, err
	}
	return &spaces{files[0], files[1], files[2], files[3], connection, text[0] == answerFabric}, nil
}

// enterArgument is the hidden subcommand that continues Enter in a user namespace. It
// is followed by the descriptors of the network, PID and mount namespaces and of the
// connection, whether the network has ports of the fabric, the node's name, the command's
// path, and the command.
const enterArgument = "programs-enter"

// runAsUser continues in a second process of this program, in the user namespace, and
// returns its exit code.
func (s *spaces) runAsUser(node, path string, command, env []string) (code int, err error) {
	inherited := []*os.File{s.network, s.pids, s.mounts, s.call}
	args := []string{enterArgument}
	for _, f := range inherited {
		args = append(args, strconv.Itoa(int(f.Fd())))
	}
	args = slices.Concat(args, []string{strconv.FormatBool(s.fabric), node, path}, command)
	runtime.LockOSThread() // the second process ends with the thread that started it
	defer runtime.UnlockOSThread()
	return attend([]unix.Signal{unix.SIGSTOP}, func(terminal bool) (int, error) {
		pid, err := new(twin).start(s.user, inherited, args, env, !terminal)
		if err != nil {
			return pid, fmt.Errorf("node %s: %w", node, err)
		}
		return pid, nil
	})
}

// exitUnentered and exitNotExecutable are the exit codes of the process that continues
// Enter, where it cannot enter or cannot start the command.
const (
	exitUnentered     = 3
	exitNotExecutable = 126
)

// entered is the work of that process.
func entered(args []string) (code int) {
	fail := func(code int, err error) int {
		fmt.Fprintln(os.Stderr, "csiglab:", err)
		return code
	}
	const fixed = 7
	if len(args) <= fixed {
		return fail(exitUnentered, fmt.Errorf("%s is for csiglab exec", enterArgument))
	}
	var files []*os.File
	for _, arg := range args[:4] {
		fd, err := strconv.Atoi(arg)
		if err != nil {
			return fail(exitUnentered, err)
		}
		unix.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), "inherited"))
	}
	s := &spaces{network: files[0], pids: files[1], mounts: files[2], call: files[3], fabric: args[4] == "true"}
	code, err := s.run(args[5], args[6], args[fixed:], os.Environ())
	var command *CommandError
	switch {
	case errors.As(err, &command):
		return fail(exitNotExecutable, err)
	case err != nil:
		return fail(exitUnentered, err)
	}
	return code
}

// run runs a command in the namespaces of a node and returns its exit code.
func (s *spaces) run(node, path string, command, env []string) (code int, err error) {
	folder, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	type result struct {
		pid int
		err error
	}
	return attend(nil, func(terminal bool) (int, error) {
		started := make(chan result)
		go func() {
			runtime.LockOSThread() // never unlocked: no other goroutine may get the thread
			err := s.enter()
			if err == nil {
				err = enterName(node)
			}
			if err != nil {
				started <- result{0, fmt.Errorf("enter a network of programs: %w", err)}
				return
			}
			pid, err := syscall.ForkExec(path, command, &syscall.ProcAttr{
				Dir: folder, Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: !terminal},
			})
			if err != nil {
				err = &CommandError{command[0], err}
			}
			started <- result{pid, err}
		}()
		r := <-started
		if r.err != nil {
			return 0, r.err
		}
		return r.pid, s.tie(r.pid)
	})
}

// attend starts a process, passes the signals that this one receives on to it, and returns
// its exit code, 128 + n if signal n killed it. Where the input is a terminal the process is
// to stay in this one's group, which the terminal signals as a whole; elsewhere it is to
// make its own. attend kills the process that comes with an error. At a terminal this
// process stops when the other was stopped by one of the signals suspends.
func attend(suspends []unix.Signal, start func(terminal bool) (pid int, err error)) (code int, err error) {
	// Signals that come from now on are the process's.
	terminal := term.IsTerminal(0)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passed...)
	if !terminal {
		signal.Notify(signals, unix.SIGTSTP)
	}
	defer signal.Stop(signals)
	pid, err := start(terminal)
	if err != nil {
		if pid != 0 {
			unix.Kill(pid, unix.SIGKILL) //nolint:errcheck // it may have ended
		}
		return 0, err
	}
	if !terminal {
		suspends = nil // the process stops after this one, which has passed SIGTSTP on
	}
	go pass(signals, pid, terminal)
	status := await(pid, suspends)
	if terminal {
		// A shell that the command was has made its own group the terminal's.
		signal.Ignore(unix.SIGTTOU)
		unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()) //nolint:errcheck // as well as possible
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// enter makes this thread start processes in the namespaces.
func (s *spaces) enter() error {
	if s.fabric {
		if err := withoutPackets(); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	for _, space := range []struct {
		file *os.File
		kind int
	}{{s.network, unix.CLONE_NEWNET}, {s.pids, unix.CLONE_NEWPID}, {s.mounts, unix.CLONE_NEWNS}} {
		if err := unix.Setns(int(space.file.Fd()), space.kind); err != nil {
			return err
		}
	}
	return nil
}

// withoutPackets takes from the programs that this thread starts, for good, the rights
// to open packet sockets and to configure interfaces.
func withoutPackets() error {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	for _, capability := range []int{unix.CAP_NET_RAW, unix.CAP_NET_ADMIN} {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0); err != nil {
			return err
		}
		data[0].Inheritable &^= 1 << capability // and so not in the ambient set
	}
	return unix.Capset(&header, &data[0])
}

// tie makes the Server kill a process when this one dies.
func (s *spaces) tie(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.Sendmsg(int(s.call.Fd()), []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return nil // the run has ended, and with it the command
	}
	return err
}

// passed are the signals that are passed on to a command.
var passed = []os.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGCONT,
}

// pass passes signals on to a process. A terminal has sent its own to the process too.
func pass(signals <-chan os.Signal, pid int, terminal bool) {
	for s := range signals {
		switch {
		case terminal && (s == unix.SIGINT || s == unix.SIGQUIT):
			continue
		case s == unix.SIGTSTP:
			unix.Kill(-pid, unix.SIGTSTP)          //nolint:errcheck // it may have ended
			unix.Kill(unix.Getpid(), unix.SIGSTOP) //nolint:errcheck // cannot fail
			continue
		}
		if s == unix.SIGCONT && !terminal {
			unix.Kill(-pid, unix.SIGCONT) //nolint:errcheck // it may have ended
			continue
		}
		unix.Kill(pid, s.(syscall.Signal)) //nolint:errcheck // it may have ended
	}
}

// await waits until a process has ended. When the process is stopped because it used the
// terminal in the background, or by one of the signals suspends, this one stops too, so that
// the shell takes notice.
func await(pid int, suspends []unix.Signal) (status unix.WaitStatus) {
	for {
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || !status.Stopped():
			return status
		}
		if stopped := status.StopSignal(); stopped == unix.SIGTTIN || stopped == unix.SIGTTOU || slices.Contains(suspends, stopped) {
			unix.Kill(unix.Getpid(), unix.SIGSTOP) //nolint:errcheck // cannot fail
			unix.Kill(pid, unix.SIGCONT)           //nolint:errcheck // it may have ended
		}
	}
}
