package application

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownProgram is this program's file, also where its path is not visible or names another.
const ownProgram = "/proc/self/exe"

// twin is a second process of this program, in a user namespace. The kernel lets only a
// process with one thread enter a user namespace (setns(2)), and each Go program has
// several. A process that was just forked has one.
type twin struct {
	path       *byte
	argv, envv []*byte
	user       uintptr   // descriptor of the user namespace
	keep       []uintptr // descriptors that the program inherits
	group      bool      // it gets a process group of its own
	parent     uintptr   // process id of this process

	failed  uintptr // pipe that takes a failure
	mask    unix.Sigset_t
	failure failure
	action  action
}

// failure is the step at which a twin failed, and why.
type failure struct{ step, errno uintptr }

// Steps of a twin.
const (
	stepSignals = iota
	stepGroup
	stepEnter
	stepParent
	stepKeep
	stepProgram
)

var steps = [...]string{
	stepSignals: "reset signals", stepGroup: "make a process group", stepEnter: "enter the user namespace",
	stepParent: "follow the parent", stepKeep: "pass descriptors on", stepProgram: "start csiglab",
}

// action is what the kernel does on a signal: the struct sigaction of the system call
// rt_sigaction on amd64 and arm64.
type action struct{ handler, flags, restorer, mask uintptr }

const (
	signals    = 64 // the kernel's number of signals
	maskLength = signals / 8
	ignored    = 1 // SIG_IGN; 0 is SIG_DFL, and the others are functions
)

// start starts the twin and returns its process id. The twin is killed when the thread
// that called start ends. Its first argument is that of this process.
func (t *twin) start(user *os.File, keep []*os.File, args, env []string, group bool) (pid int, err error) {
	if t.path, err = syscall.BytePtrFromString(ownProgram); err != nil {
		return 0, err
	}
	if t.argv, err = syscall.SlicePtrFromStrings(append([]string{os.Args[0]}, args...)); err != nil {
		return 0, err
	}
	if t.envv, err = syscall.SlicePtrFromStrings(env); err != nil {
		return 0, err
	}
	for _, f := range keep {
		t.keep = append(t.keep, f.Fd())
	}
	t.user, t.group, t.parent = user.Fd(), group, uintptr(os.Getpid())
	read, write, err := os.Pipe() // closed on exec, which is success
	if err != nil {
		return 0, err
	}
	defer read.Close()
	t.failed = write.Fd()

	// No handler of this process may run in the twin, which has no Go runtime behind it.
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	runtime.LockOSThread() // the mask is the thread's
	defer runtime.UnlockOSThread()
	syscall.ForkLock.Lock()
	err = unix.PthreadSigmask(unix.SIG_SETMASK, &all, &t.mask)
	var errno syscall.Errno
	if err == nil {
		pid, errno = t.fork()
		err = unix.PthreadSigmask(unix.SIG_SETMASK, &t.mask, nil)
	}
	syscall.ForkLock.Unlock()
	write.Close()
	switch {
	case errno != 0:
		return 0, fmt.Errorf("fork: %w", errno)
	case err != nil:
		return pid, fmt.Errorf("signal mask: %w", err)
	}
	var text [unsafe.Sizeof(t.failure)]byte
	if _, err := io.ReadFull(read, text[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return pid, nil
		}
		return pid, err
	}
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	got := *(*failure)(unsafe.Pointer(&text))
	return 0, fmt.Errorf("%s: %w", steps[got.step], syscall.Errno(got.errno))
}

// fork forks. In the twin it does not return. The twin has one thread, without the others
// that Go needs to allocate memory, to grow a stack or to schedule. So it makes system
// calls and does nothing else.
//
//go:norace
//go:noinline
func (t *twin) fork() (int, syscall.Errno) {
	var (
		pid, parent uintptr
		errno       syscall.Errno
		i           uintptr
		k           int
	)
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}

	// A signal with a handler gets its default action, which execve would do too late.
	// An ignored one stays ignored.
	t.failure.step = stepSignals
	for i = 1; i <= signals; i++ {
		_, _, errno = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, i, 0, uintptr(unsafe.Pointer(&t.action)), maskLength, 0, 0)
		if errno != 0 {
			goto failed
		}
		if t.action.handler <= ignored {
			continue
		}
		t.action.handler, t.action.flags, t.action.restorer, t.action.mask = 0, 0, 0, 0
		_, _, errno = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, i, uintptr(unsafe.Pointer(&t.action)), 0, maskLength, 0, 0)
		if errno != 0 {
			goto failed
		}
	}
	if t.group {
		t.failure.step = stepGroup
		if _, _, errno = syscall.RawSyscall6(unix.SYS_SETPGID, 0, 0, 0, 0, 0, 0); errno != 0 {
			goto failed
		}
	}
	t.failure.step = stepEnter
	if _, _, errno = syscall.RawSyscall6(unix.SYS_SETNS, t.user, unix.CLONE_NEWUSER, 0, 0, 0, 0); errno != 0 {
		goto failed
	}
	// After setns, which clears it.
	t.failure.step = stepParent
	if _, _, errno = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0); errno != 0 {
		goto failed
	}
	if parent, _, _ = syscall.RawSyscall6(unix.SYS_GETPPID, 0, 0, 0, 0, 0, 0); parent != t.parent {
		errno = unix.ESRCH
		goto failed
	}
	t.failure.step = stepKeep
	for k = 0; k < len(t.keep); k++ {
		if _, _, errno = syscall.RawSyscall6(unix.SYS_FCNTL, t.keep[k], unix.F_SETFD, 0, 0, 0, 0); errno != 0 {
			goto failed
		}
	}
	t.failure.step = stepSignals
	_, _, errno = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&t.mask)), 0, maskLength, 0, 0)
	if errno != 0 {
		goto failed
	}
	t.failure.step = stepProgram
	_, _, errno = syscall.RawSyscall6(unix.SYS_EXECVE, uintptr(unsafe.Pointer(t.path)),
		uintptr(unsafe.Pointer(&t.argv[0])), uintptr(unsafe.Pointer(&t.envv[0])), 0, 0, 0)

failed:
	t.failure.errno = uintptr(errno)
	syscall.RawSyscall6(unix.SYS_WRITE, t.failed, uintptr(unsafe.Pointer(&t.failure)), unsafe.Sizeof(t.failure), 0, 0, 0)
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, exitUnentered, 0, 0, 0, 0, 0)
	}
}
