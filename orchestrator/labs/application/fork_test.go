package application

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TwinArgument has the test binary be a twin: descriptor of its output, then exit, wait or
// parent.
const TwinArgument = "test-twin"

// TwinMain is the work of a twin of the tests, and of a process that has one.
func TwinMain(args []string) (code int) {
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return 1
	}
	out := os.NewFile(uintptr(fd), "output")
	if args[1] == "parent" {
		user, err := os.Open(args[2])
		if err == nil {
			_, err = attend(nil, func(bool) (int, error) {
				return new(twin).start(user, []*os.File{out}, []string{TwinArgument, args[0], "wait"}, os.Environ(), true)
			})
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	user, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	fmt.Fprintln(out, user, os.Geteuid(), unix.Getpgrp() == os.Getpid(), os.Getenv("TWIN"))
	if args[1] == "wait" {
		<-signals
	}
	return 7
}

// userNamespace returns a user namespace of its own, which lasts as long as the test.
func userNamespace(t *testing.T) *os.File {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Skip("no user namespace: ", err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() //nolint:errcheck // its exit code is of no interest
	})
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestTwin starts this program again in a user namespace, from a process with threads, with
// no other program on PATH.
func TestTwin(t *testing.T) {
	user := userNamespace(t)
	t.Setenv("PATH", "")
	want, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", user.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		work   string
		signal syscall.Signal
		code   int
	}{
		{work: "exit", code: 7},
		{work: "wait", signal: unix.SIGUSR1, code: 7}, // a handler of its own
		{work: "wait", signal: unix.SIGTERM, code: 128 + 15},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		line := make(chan string)
		go func() {
			text, _ := bufio.NewReader(read).ReadString('\n')
			if c.signal != 0 {
				unix.Kill(os.Getpid(), c.signal) //nolint:errcheck // the exit code says so
			}
			line <- text
		}()
		code, err := attend(nil, func(terminal bool) (int, error) {
			if terminal {
				return 0, errors.New("a terminal")
			}
			args := []string{TwinArgument, strconv.Itoa(int(write.Fd())), c.work}
			return new(twin).start(user, []*os.File{write}, args, []string{"TWIN=its own"}, true)
		})
		write.Close()
		if got, want := <-line, want+" 0 true its own\n"; err != nil || code != c.code || got != want {
			t.Errorf("%s, %v: exit code %d, %v, %q; want %d, %q", c.work, c.signal, code, err, got, c.code, want)
		}
		read.Close()
	}
}

// TestTwinFails: the step at which a twin fails, and why, are in the error.
func TestTwinFails(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	pid, err := new(twin).start(null, nil, nil, nil, false)
	if pid != 0 || !errors.Is(err, unix.EINVAL) || !strings.HasPrefix(err.Error(), "enter the user namespace: ") {
		t.Errorf("process %d, %v", pid, err)
	}
	user := userNamespace(t)
	pid, err = new(twin).start(user, nil, []string{strings.Repeat("x", 1<<20)}, nil, false)
	if pid != 0 || !errors.Is(err, unix.E2BIG) || !strings.HasPrefix(err.Error(), "start csiglab: ") {
		t.Errorf("process %d, %v", pid, err)
	}
}

// TestTwinOrphan: a twin ends with the process that started it, whatever ends that.
func TestTwinOrphan(t *testing.T) {
	user := userNamespace(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := exec.Command("/proc/self/exe", TwinArgument, "3", "parent", "/proc/self/fd/4")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{write, user}, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	out := bufio.NewReader(read)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal("the twin does not start: ", err)
	}
	cmd.Process.Kill()
	cmd.Wait() //nolint:errcheck // it was killed
	if text, err := out.ReadString('\n'); text != "" || err == nil {
		t.Errorf("the twin says %q", text)
	}
}
