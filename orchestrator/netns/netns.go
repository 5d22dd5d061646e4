// Package netns is the backend that runs a fabric with real frames on this
// machine: every node in a network namespace of its own, veth pairs for links,
// and between them the lockstep clock or, dilated, the wall clock.
//
// Run starts a supervisor, which is the calling program again, in a private
// network namespace and, for an unprivileged user, in a user namespace. The
// supervisor builds the namespaces and links, starts the nodes and collects what
// they measured:
//
//	csiglab ── supervisor ─┬─ csig-host   (namespace of h0)
//	                       ├─ csig-switch (namespace of tor0)
//	                       └─ …
//
// No interface appears in the namespace that csiglab runs in. Namespaces have no
// names, and each process dies with the one above it, so that nothing stays
// behind; Clean is for what a kernel or a debugger kept alive nevertheless.
package netns

import (
	"context"
	"crypto/rand"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/orchestrator/shape"
	"github.com/csiglab/csiglab/orchestrator/watch"
	"github.com/csiglab/csiglab/units"
)

// Fabric is a run: what to build and how to run it.
type Fabric struct {
	emu.Fabric             // Run is filled in by Run
	Wall       *wall.Clock // real time; nil: lockstep

	Name, Folder string // of the experiment, for List
	Nodes        []machine.Spec
	MaxPayload   units.Size // of a packet
	// OneProcess drives all nodes in the supervisor, over the same namespaces and
	// links, instead of a process for each.
	OneProcess bool
	// SwitchesTogether drives the switches in the supervisor, over links in memory,
	// and the hosts in a process each. It needs Wall.
	SwitchesTogether bool
	// Patience, Hold and Ready are those of watch.Paced, of a run in real time; Ready
	// is told the run's id. Held is filled in by Run.
	Patience time.Duration
	Hold     <-chan struct{}
	Ready    func(id string)
	Held     bool
	// Records takes the records of the nodes, batch by batch, on one goroutine; nil:
	// nobody keeps them.
	Records func(*metrics.Batch)

	ApplicationMTU units.Size // of the programs' interface on the hosts of Applications
	Programs       []application.Program

	Calibrate int // not 0: measure how well the machine keeps real time with so many nodes; none runs
	// HostProgram and SwitchProgram are command lines of the nodes' programs;
	// empty: csig-host and csig-switch, beside this executable or on PATH.
	HostProgram, SwitchProgram []string
}

// Outcome is what a run left.
type Outcome struct {
	watch.Outcome
	Counters Counters
	CPU      time.Duration  // of all processes, from their start
	Setup    time.Duration  // until every node was there
	Wall     time.Duration  // from then until the last result
	Shaped   []shape.Shaped // of a run in real time: its links' shapers, by node and port

	Programs []application.Ended // as Fabric.Programs

	Calibration *wall.Calibration // of Fabric.Calibrate
}

// Counters are the sums over the interfaces of all namespaces.
type Counters struct {
	TxPackets, RxPackets, Dropped int64
}

// NodeError reports a node that died or came to a halt.
type NodeError = watch.NodeError

// ErrUnavailable is wrapped when this machine or user cannot run real nodes.
var ErrUnavailable = errors.New("network namespaces are not available")

// Environment variables that mark a run's processes: with the run's id, and with
// the node's name.
const (
	environmentRun  = runs.EnvironmentRun
	environmentNode = runs.EnvironmentNode
)

// supervisorArgument is the hidden subcommand of the supervisor.
const supervisorArgument = "netns-supervisor"

// message is what the supervisor says on its pipe, gob after gob.
type message struct {
	Places  *places
	Now     units.Time
	Records *metrics.Batch
	Started bool // a run in real time has
	Outcome *Outcome
	Failure *failure
}

// failure is an error that crosses processes.
type failure struct {
	Node        *NodeError
	Link        *emu.LinkError
	Unavailable bool // wraps ErrUnavailable, with which Text begins
	Text        string
}

func (f *failure) err() error {
	switch {
	case f.Link != nil:
		return f.Link
	case f.Node != nil:
		return f.Node
	case f.Unavailable:
		return fmt.Errorf("%w%s", ErrUnavailable, strings.TrimPrefix(f.Text, ErrUnavailable.Error()))
	}
	return errors.New(f.Text)
}

func asFailure(err error) *failure {
	f := &failure{Text: err.Error(), Unavailable: errors.Is(err, ErrUnavailable)}
	if !errors.As(err, &f.Link) {
		errors.As(err, &f.Node)
	}
	return f
}

// Run runs a fabric to its end. progress, which may be nil, is told now and then
// the model time that all nodes have passed. A *emu.LinkError names the link that
// lost a frame, a *NodeError the node that died or hangs; an error of the machine
// wraps ErrUnavailable. When ctx ends, so do all processes, and the error is its
// cause. The program must call Supervise first of all.
func Run(ctx context.Context, f Fabric, progress func(units.Time)) (*Outcome, error) {
	if err := f.programs(); err != nil {
		return nil, err
	}
	id := newRunID()
	f.Run = wireRun(id)
	entry, err := runs.Register(runs.Run{ID: id, Name: f.Name, Runtime: "netns", Folder: f.Folder, Held: f.Hold != nil}, f.Wall)
	if err != nil {
		return nil, err
	}
	type answer struct {
		out *Outcome
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		// The kernel kills the supervisor when the thread that started it ends.
		runtime.LockOSThread()
		out, err := supervised(ctx, id, &f, entry, progress)
		answers <- answer{out, err}
	}()
	a := <-answers
	return a.out, errors.Join(a.err, entry.Remove())
}

// programs finds the programs of the nodes.
func (f *Fabric) programs() error {
	if f.OneProcess {
		return nil
	}
	for _, p := range []struct {
		line *[]string
		name string
	}{{&f.HostProgram, "csig-host"}, {&f.SwitchProgram, "csig-switch"}} {
		if len(*p.line) > 0 {
			continue
		}
		path, err := FindProgram(p.name)
		if err != nil {
			return err
		}
		*p.line = []string{path}
	}
	return nil
}

// FindProgram returns the path of a program that is installed beside this one or
// on PATH.
func FindProgram(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		beside := self[:strings.LastIndexByte(self, '/')+1] + name
		if info, err := os.Stat(beside); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: program %s is neither beside %s nor on PATH; make build puts it there", ErrUnavailable, name, self)
	}
	return path, nil
}

func newRunID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// wireRun is the part of the run's id that its frames carry.
func wireRun(id string) uint32 {
	return uint32(wire.Mix(0, wire.Mix(uint64(len(id)), hash(id))))
}

func hash(text string) (h uint64) {
	for _, c := range []byte(text) {
		h = wire.Mix(h, uint64(c))
	}
	return h
}

// grace is how long a supervisor that is told to end may take to bury its nodes;
// patience is how long processes may take to die.
const (
	grace    = time.Second
	patience = 3 * time.Second
)

// supervised starts the supervisor and listens to it until it ends.
func supervised(ctx context.Context, id string, f *Fabric, entry *runs.Entry, progress func(units.Time)) (*Outcome, error) {
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specWrite.Close()
	defer specRead.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	defer write.Close()
	// No process of the run closes its end of this pipe: it ends with the last.
	aliveRead, aliveWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer aliveRead.Close()
	defer aliveWrite.Close()

	var stderr tail
	cmd := exec.Command("/proc/self/exe", supervisorArgument)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), environmentRun+"="+id)
	cmd.Stderr = &stderr
	cmd.ExtraFiles = []*os.File{specRead, write, aliveWrite}
	cmd.SysProcAttr = isolation()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: start the supervisor: %w; rootless runs need user namespaces", ErrUnavailable, err)
	}
	for _, file := range []*os.File{specRead, write, aliveWrite} {
		file.Close()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(grace):
			cmd.Process.Kill()
		}
	})
	defer stop()
	f.Held = f.Hold != nil
	go func() {
		defer specWrite.Close()
		gob.NewEncoder(specWrite).Encode(f) // without channels and functions
		if f.Held {
			select {
			case <-f.Hold:
			case <-ended:
			}
		}
	}()

	var outcome *Outcome
	var failed *failure
	var noted error // why the run could not be described to others
	for decoder := gob.NewDecoder(read); ; {
		var m message
		if decoder.Decode(&m) != nil {
			break
		}
		switch {
		case m.Places != nil:
			if noted = entry.Describe(f.describe(m.Places)); noted != nil {
				cmd.Process.Signal(syscall.SIGTERM)
			}
		case m.Records != nil:
			if f.Records != nil {
				f.Records(m.Records)
			}
		case m.Outcome != nil:
			outcome = m.Outcome
		case m.Failure != nil:
			failed = m.Failure
		case m.Started:
			if f.Ready != nil {
				f.Ready(id)
			}
		case progress != nil && ctx.Err() == nil:
			progress(m.Now)
		}
	}
	waited := cmd.Wait()
	close(ended)
	// What does not end by then, Entry.Remove kills.
	aliveRead.SetReadDeadline(time.Now().Add(patience))
	aliveRead.Read(make([]byte, 1)) //nolint:errcheck // the end or the deadline
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case noted != nil:
		return nil, noted
	case failed != nil:
		return nil, failed.err()
	case outcome == nil:
		return nil, &NodeError{Name: "supervisor", Reason: fmt.Sprintf("ended early: %v: %s", waited, stderr.text())}
	}
	// The nodes' usage is in that of the supervisor, which waited for them.
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		outcome.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return outcome, nil
}

// isolation puts the supervisor into namespaces of its own. Root needs no user
// namespace.
func isolation() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // Ctrl-C on the terminal is csiglab's to handle
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// tail keeps the end of what a process writes to its standard error.
type tail struct{ b []byte }

const tailLen = 2000

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*tailLen {
		t.b = append(t.b[:0], t.b[len(t.b)-tailLen:]...)
	}
	return len(b), nil
}

func (t *tail) text() string {
	text := strings.TrimSpace(string(t.b[max(0, len(t.b)-tailLen):]))
	if text == "" {
		return "it said nothing"
	}
	return text
}
