package builder

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of the go command and of what it starts: compilers, linkers,
// git. Its leader is a shell that reads from a pipe whose other end only this process has
// open. When this process ends, also by kill -9, the shell reads the end of the pipe and
// kills the group. PR_SET_PDEATHSIG would end the go command alone: the kernel does not pass
// it on to the processes that the go command starts.
type group struct {
	leader *exec.Cmd
	pipe   *os.File
}

// watch is the leader's program. An interrupt of the group is for the others.
const watch = `trap "" HUP INT TERM; read -r end; kill -9 0`

// newGroup starts the leader.
func newGroup() (*group, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	leader := exec.Command("/bin/sh", "-c", watch)
	leader.Stdin = read
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := leader.Start(); err != nil {
		write.Close()
		return nil, fmt.Errorf("the process that ends compilers with csiglab: %w", err)
	}
	return &group{leader, write}, nil
}

// attributes are those of a process that is to be in the group.
func (g *group) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: g.leader.Process.Pid}
}

// signal sends a signal to all processes of the group.
func (g *group) signal(s syscall.Signal) error { return syscall.Kill(-g.leader.Process.Pid, s) }

// close kills what is left in the group, usually the leader alone. No attributes are used
// after it.
func (g *group) close() {
	g.signal(syscall.SIGKILL) //nolint:errcheck // the group has its leader until Wait
	g.leader.Wait()           //nolint:errcheck // it was killed
	g.pipe.Close()
}
