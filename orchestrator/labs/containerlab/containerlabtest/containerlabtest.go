// Package containerlabtest gives tests a Docker engine of their own, which pulls
// nothing and changes nothing on the machine's network, and shows whether they
// left the machine as it was.
package containerlabtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// startTime bounds the start of an engine; it takes about a second.
const startTime = 30 * time.Second

// Engine is a Docker engine of a test's own.
type Engine struct {
	Host   string // for DOCKER_HOST
	Client *client.Client

	program string
	network string // path of its network namespace; "": this one
	folder  string

	mu      sync.Mutex // guards what follows
	process *exec.Cmd
	exited  chan error
}

// Docker starts an engine, points DOCKER_HOST at it until the test ends, and
// returns a client of it. The test is skipped where dockerd is not installed, or
// not run by root.
func Docker(t testing.TB) *client.Client {
	t.Helper()
	return New(t).Client
}

// New is Docker for tests that also stop and start the engine.
func New(t testing.TB) *Engine { return newEngine(t, "") }

// NewIn is New for an engine in the network namespace that a path names. Others may run
// beside it.
func NewIn(t testing.TB, network string) *Engine { return newEngine(t, network) }

func newEngine(t testing.TB, network string) *Engine {
	t.Helper()
	e := &Engine{program: Program(t), network: network, folder: scratch(t)}
	t.Cleanup(func() { os.RemoveAll(e.folder) })
	e.Host = "unix://" + filepath.Join(e.folder, "docker.sock")
	t.Setenv("DOCKER_HOST", e.Host)
	var err error
	e.Client, err = client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	e.Start(t)
	t.Cleanup(func() {
		e.mu.Lock()
		lives := e.process != nil
		e.mu.Unlock()
		if lives {
			signal := syscall.SIGTERM
			if err := removeAll(e.Client); err != nil {
				t.Errorf("dockerd: %v\n%s", err, e.said())
				signal = syscall.SIGKILL // it would wait for its containers
			}
			if err := e.Stop(signal); err != nil && signal == syscall.SIGTERM {
				t.Errorf("dockerd: %v\n%s", err, e.said())
			}
		}
		e.Client.Close()
	})
	return e
}

// Program returns the path of dockerd, or skips the test if it could not start it.
func Program(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a Docker engine needs root")
	}
	dockerd, err := exec.LookPath("dockerd")
	if err != nil {
		t.Skip("no dockerd: apt-get install --no-install-recommends docker.io iptables")
	}
	return dockerd
}

// Start starts the engine, with what it had, and waits until it answers.
func (e *Engine) Start(t testing.TB) {
	t.Helper()
	in := func(name string) string { return filepath.Join(e.folder, name) }
	args := []string{e.program}
	if e.network != "" {
		args = []string{"nsenter", "--net=" + e.network, e.program}
	}
	args = append(args, "--data-root", in("data"), "--exec-root", in("exec"),
		"-H", e.Host, "-p", in("docker.pid"), "--iptables=false", "--ip6tables=false",
		"--ip-forward=false", "--ip-masq=false", "--bridge=none")
	cmd := exec.Command(args[0], args[1:]...)
	// Not a pipe: those that the engine leaves when it is killed would hold it open.
	log, err := os.OpenFile(in(logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	e.mu.Lock()
	e.process, e.exited = cmd, exited
	e.mu.Unlock()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		_, err := e.Client.Ping(ctx)
		cancel()
		if err == nil {
			return
		}
		select {
		case died := <-exited:
			e.mu.Lock()
			e.process = nil
			e.mu.Unlock()
			t.Fatalf("dockerd: %v\n%s", died, e.said())
		default:
		}
		if time.Since(start) > startTime {
			t.Fatalf("dockerd did not answer in %v: %v", startTime, err)
		}
	}
}

// logName is the file of what the engine says.
const logName = "log"

// said returns the last of what the engine has said.
func (e *Engine) said() string {
	text, err := os.ReadFile(filepath.Join(e.folder, logName))
	if err != nil {
		return err.Error()
	}
	const enough = 4000
	return string(text[max(0, len(text)-enough):])
}

// stopTime bounds the end of an engine that is asked to.
const stopTime = time.Minute

// Stop ends the engine by a signal and returns how it ended. Unlike SIGTERM,
// SIGKILL leaves its containers. An engine that does not end is killed.
func (e *Engine) Stop(signal syscall.Signal) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil {
		return errors.New("the engine does not run")
	}
	process := e.process.Process
	process.Signal(signal)
	killer := time.AfterFunc(stopTime, func() { process.Kill() })
	defer killer.Stop()
	err := <-e.exited
	e.process = nil
	e.awaitContainerd()
	return err
}

// Signal sends a signal to the engine's process, such as SIGSTOP and SIGCONT.
func (e *Engine) Signal(signal syscall.Signal) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil {
		return errors.New("the engine does not run")
	}
	return e.process.Process.Signal(signal)
}

// SignalContainerd sends a signal to the engine's containerd.
func (e *Engine) SignalContainerd(signal syscall.Signal) error {
	pid := e.containerd()
	if pid == 0 {
		return errors.New("the engine has no containerd")
	}
	return syscall.Kill(pid, signal)
}

// containerd returns the process of the engine's containerd, or 0.
func (e *Engine) containerd() int {
	text, err := os.ReadFile(filepath.Join(e.folder, "exec", "containerd", "containerd.pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return max(0, pid)
}

// awaitContainerd waits until the engine's containerd, which the kernel kills with the
// engine, has ended. An engine that starts before that takes it for one that works, and
// gives up after a while.
func (e *Engine) awaitContainerd() {
	pid := e.containerd()
	if pid == 0 {
		return // it ended in order
	}
	const patience = 2 * time.Second
	for start := time.Now(); syscall.Kill(pid, 0) == nil && time.Since(start) < patience; {
		time.Sleep(5 * time.Millisecond)
	}
}

// scratch returns a folder for the engine, in memory where there is some: an
// engine waits for the disk after each of its many small writes. Not t.TempDir,
// as a Unix socket's path is at most 107 bytes long.
func scratch(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "docker")
	if err != nil {
		dir, err = os.MkdirTemp("", "docker")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// removeTime bounds the removal of what a test left.
const removeTime = 30 * time.Second

// removeAll removes what a failed test left; otherwise the engine would wait ten
// seconds for each container.
func removeAll(docker *client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	list, err := docker.ContainerList(ctx, container.ListOptions{All: true})
	for _, c := range list {
		removed := docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true})
		if errdefs.IsNotFound(removed) || errdefs.IsConflict(removed) { // it is being removed
			continue
		}
		err = errors.Join(err, removed)
	}
	return err
}
