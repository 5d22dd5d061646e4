package parts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/crash"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Local is the backend that runs the parts of a plan on this machine, each in a process of
// its own with the backend of network namespaces. The parts reach each other on the loopback
// address.
type Local struct {
	netns.Backend
	// Command is the command line of a shard, which calls ServeLocal; empty: this program
	// with the command shard.
	Command []string
}

// Command is the command of csiglab that is a shard.
const Command = "shard"

// localFile is the descriptor of the connection to the coordinator.
const localFile = 3

// localFolder, in the folder of a run, has the folders of its parts while it lasts.
const localFolder = ".shards"

// CheckCut returns the error of Cut if a run cannot be cut into its number of parts.
func CheckCut(r *backend.Run) error {
	if _, err := Cut(r.Plan, r.Shards); err != nil {
		return fmt.Errorf("--shards %d: %w", r.Shards, err)
	}
	return nil
}

// Check implements backend.Backend.
func (l Local) Check(ctx context.Context, r *backend.Run) error {
	if err := CheckCut(r); err != nil {
		return err
	}
	return l.Backend.Check(ctx, r)
}

// Run implements backend.Backend.
func (l Local) Run(ctx context.Context, r *backend.Run, c backend.Control) (out *backend.Outcome, err error) {
	cut, err := Cut(r.Plan, r.Shards)
	if err != nil {
		return nil, err
	}
	if c.Entrance != nil {
		c.Entrance.Close() // the parts have entrances of their own
	}
	defer os.RemoveAll(filepath.Join(r.Folder, localFolder))
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The kernel kills the shards when the thread that started them ends.
		runtime.LockOSThread()
		out, err = l.run(ctx, r, cut.Of, c)
	}()
	<-done
	return out, err
}

func (l Local) run(ctx context.Context, r *backend.Run, of []int, c backend.Control) (*backend.Outcome, error) {
	var list []Shard
	var processes []*localProcess
	divide, restore := divideProcessors(r)
	defer restore()
	defer func() {
		for _, p := range processes {
			p.end()
		}
	}()
	for i := range r.Shards {
		divide(i)
		p, err := l.start(r, i)
		if err != nil {
			for _, s := range list {
				s.Conn.Close()
			}
			return nil, fmt.Errorf("%w: start shard %d: %w", backend.ErrUnavailable, i, err)
		}
		processes = append(processes, p)
		list = append(list, Shard{
			Name: fmt.Sprintf("shard %d (process %d)", i, p.cmd.Process.Pid), Conn: p.conn, Fate: p.fate,
			Place: runs.Shard{Index: i, List: filepath.Join(localPart(r, i), listFolder)},
		})
	}
	restore()
	same := *r
	same.Identity = "" // the shards are this program
	return Coordinate(ctx, &same, of, list, c)
}

// listFolder, in the folder of a part, is the list of runs that has the part.
const listFolder = "list"

func localPart(r *backend.Run, part int) string {
	return filepath.Join(r.Folder, localFolder, fmt.Sprint(part))
}

// localProcess is a shard on this machine.
type localProcess struct {
	cmd    *exec.Cmd
	conn   net.Conn
	stderr crash.Stderr
	ended  chan struct{} // it has, with wait
	wait   error
}

// start starts the process of a part.
func (l Local) start(r *backend.Run, part int) (*localProcess, error) {
	folder := localPart(r, part)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, theirs := os.NewFile(uintptr(pair[0]), "shard"), os.NewFile(uintptr(pair[1]), "coordinator")
	defer theirs.Close()
	p := &localProcess{ended: make(chan struct{})}
	p.conn, err = net.FileConn(own)
	own.Close()
	if err != nil {
		return nil, err
	}
	line := l.Command
	if len(line) == 0 {
		line = []string{"/proc/self/exe", Command}
	}
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return runs.Marks(v) || strings.HasPrefix(v, runs.EnvironmentList+"=")
	})
	p.cmd.Env = append(p.cmd.Env, runs.EnvironmentRun+"="+r.ID, runs.EnvironmentList+"="+filepath.Join(folder, listFolder))
	p.cmd.Dir, p.cmd.Stderr, p.cmd.ExtraFiles = folder, &p.stderr, []*os.File{theirs}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Setpgid:   true, // Ctrl-C on the terminal is csiglab's to handle
	}
	if err := p.cmd.Start(); err != nil {
		p.conn.Close()
		return nil, err
	}
	go func() {
		p.wait = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Times of the end of a shard on this machine.
const (
	exitWithin  = time.Second     // after its connection has broken
	deathWithin = 5 * time.Second // after its connection was closed
)

// fate returns why the process's connection has broken.
func (p *localProcess) fate(ctx context.Context) string {
	if runs.Stopped(p.cmd.Process.Pid) {
		return fmt.Sprintf("process %d is stopped and did not go on for %v", p.cmd.Process.Pid, silentAfter)
	}
	select {
	case <-p.ended:
	case <-time.After(exitWithin):
		return ""
	case <-ctx.Done():
		return ""
	}
	var exit *exec.ExitError
	if !errors.As(p.wait, &exit) {
		return "ended early: " + p.stderr.Words()
	}
	status := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("ended with code %d: %s", status.ExitStatus(), p.stderr.Words())
}

// end waits for the process, whose connection is closed, and kills it if it does not end.
func (p *localProcess) end() {
	p.conn.Close()
	if !runs.Stopped(p.cmd.Process.Pid) {
		select {
		case <-p.ended:
			return
		case <-time.After(deathWithin):
		}
	}
	p.cmd.Process.Kill()
	<-p.ended
}

// ServeLocal is Serve in a process that Local has started. b runs the part; nil: network
// namespaces.
func ServeLocal(ctx context.Context, b backend.Backend) error {
	unix.CloseOnExec(localFile)
	file := os.NewFile(localFile, "coordinator")
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		return fmt.Errorf("a shard is started by csiglab run --shards: %w", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	return Serve(ctx, conn, Options{Listen: "127.0.0.1:0", Folder: folder, Tunnels: os.Geteuid() == 0, Backend: b})
}
