package runs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/process"
)

// Environment variables of a run's processes on this machine: the run's id, by which
// they are found, and the node's name.
const (
	EnvironmentRun  = "CSIGLAB_RUN"
	EnvironmentNode = process.EnvironmentNode
)

// Marks reports whether a variable, as name=value, is one of those.
func Marks(variable string) bool {
	return strings.HasPrefix(variable, EnvironmentRun+"=") || strings.HasPrefix(variable, EnvironmentNode+"=")
}

// CommandError reports a command that cannot be run in a node.
type CommandError struct {
	Command string
	Err     error
}

func (e *CommandError) Error() string { return fmt.Sprintf("%s: %v", e.Command, e.Err) }

func (e *CommandError) Unwrap() error { return e.Err }

// Enter replaces this process by a command, of at least one word, in the network
// namespace of a node, with the machine's files. The command belongs to the run and
// is killed at the run's end. It has this process's input, output, signals and exit
// code. Enter returns only if it fails: with a *CommandError if the command is at
// fault.
func (r *Run) Enter(n Node, command, env []string) error {
	env = slices.DeleteFunc(slices.Clone(env), Marks)
	env = append(env, EnvironmentRun+"="+r.ID, EnvironmentNode+"="+n.Name)
	path, err := exec.LookPath(command[0])
	if err != nil {
		var e *exec.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return &CommandError{command[0], err}
	}
	if n.User != "" {
		return enterUser(n, path, command, env)
	}
	runtime.LockOSThread() // the command inherits the namespace of the thread
	defer runtime.UnlockOSThread()
	space, err := os.Open(n.Network)
	if err != nil {
		return fmt.Errorf("node %s: enter its network namespace: %w", n.Name, err)
	}
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("node %s: enter its network namespace: %w", n.Name, err)
	}
	err = &CommandError{command[0], syscall.Exec(path, command, env)}
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		runtime.LockOSThread() // the thread ends with the goroutine
	}
	return err
}

// enterUser enters a node of an unprivileged run. A process with several threads, such
// as this one, cannot enter a user namespace (setns(2)); nsenter of util-linux can.
func enterUser(n Node, path string, command, env []string) error {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return fmt.Errorf("node %s: to enter it without being root needs the program nsenter, of the package util-linux", n.Name)
	}
	args := append([]string{"nsenter", "--user=" + n.User, "--net=" + n.Network, "--preserve-credentials", "--", path}, command[1:]...)
	return fmt.Errorf("node %s: %s: %w", n.Name, nsenter, syscall.Exec(nsenter, args, env))
}
