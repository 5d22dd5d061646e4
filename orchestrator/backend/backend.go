// Package backend is the contract that every runtime with real nodes implements,
// and the one driver of every run with real nodes.
//
// A Backend deploys a plan: it makes the nodes, each with a network namespace, and
// may make some or all of their links. Drive does the rest, the same for every
// backend: it makes the missing links, attaches the interfaces of programs, shapes
// links, waits until interfaces carry frames, starts the nodes, steps or paces
// them, starts programs, counts frames and collects the nodes' reports.
//
//	Deploy ─▶ join ─▶ attach ─▶ shape ─▶ settle ─▶ start ─▶ step or pace ─▶ count ─▶ Outcome
//
// Run and Outcome are plain data and Control is a handful of messages. The caller
// of Drive may therefore be another process, or one of several machines that each
// hold a part of the nodes.
package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/labs/shape"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Backend runs plans. Its methods may be called from several goroutines.
type Backend interface {
	// Check returns an error if a run cannot start on this machine. It makes
	// nothing. The error wraps ErrUnavailable, or ErrImage where the image of the
	// run's programs is at fault, or is a *ProgramError.
	Check(ctx context.Context, r *Run) error
	// Run deploys a run, drives it to its end and removes what it made, however it
	// ends. The errors are those of Drive; when ctx ends, the error is its cause.
	// An error that wraps ErrRemains says that something could not be removed.
	Run(ctx context.Context, r *Run, c Control) (*Outcome, error)
	// NodeFolder returns the folder, in the folder of a run, where the run's nodes
	// write captured frames and look for the pipes of live captures.
	NodeFolder(runFolder string) string
	// Finder finds and removes the remains of runs that were killed.
	runs.Finder
}

// FolderChecker is a Backend that cannot use every folder for a run.
type FolderChecker interface {
	// CheckFolder returns why a run cannot have this folder, an absolute path.
	CheckFolder(folder string) error
}

// EngineUser is a Backend whose nodes live on an engine.
type EngineUser interface {
	// Engine returns the address of the engine that this process uses.
	Engine() string
}

// Runtime is a backend with its name and its clocks.
type Runtime struct {
	runtimes.Runtime
	Backend
	Cut Backend // of runs in parts; nil: Backend
}

// Processes says which nodes have a process of their own.
type Processes string

// Values of Processes.
const (
	ProcessPerNode Processes = "node"     // every node has one
	OneProcess     Processes = "one"      // none: the driver's process drives all
	SwitchProcess  Processes = "switches" // the hosts; the driver drives the switches, joined in memory. It needs Wall.
)

// Run is a plan and how to run it. It is plain data.
type Run struct {
	ID     string // [0-9a-f]+, of this run alone
	Name   string // of the experiment
	Folder string // of the run, absolute
	Plan   *plan.Plan

	Workers      int // in virtual time: cores that run it; 0: one
	Processes    Processes
	Elide        bool // frames end with the transport header
	Inject       []emu.Injection
	FrameTimeout time.Duration // 0: emu.DefaultFrameTimeout
	Wall         *wall.Clock   // real time; nil: lockstep
	Lateness     float64       // of a run in real time: wall.budget.lateness
	// Patience bounds a run in real time: a run that takes longer has fallen behind
	// for good and is given up. 0: no bound. It does not apply to a run that is held.
	Patience  time.Duration
	DiskLimit units.Size // of a run that is held: the most that its windows take on disk
	Held      bool       // the run goes on until Control.Hold is closed
	About     string     // description that nodes send first on a live capture
	// Series names the run in the metrics that nodes serve in real time, besides ID, Name
	// and what Wall says.
	Series Series
	// Outputs are the files for the programs' output, in the order of Plan.Programs.
	Outputs []string

	Shards int    // parts to cut the run into, each with a kernel of its own; 0, 1: it is not cut
	Remote Remote // of runtime kubernetes
	Part   *Part  // what is driven here of a run that is cut; nil: everything
	// Identity is that of this csiglab (trial.Identity), which those that drive parts of the
	// run must have too.
	Identity string
}

// Series names the variant of a run in metrics. It is plain data.
type Series struct {
	Variant, Runtime string
	Seed             uint64
	Number           int    // place of the variant in the experiment, from 1
	CC, LB, CSIG     string // names
}

// Control is what connects a run to its caller. Every field may be nil.
type Control struct {
	// Hold ends a run that is held: when it is closed the run ends at once, at the
	// same model time at every node.
	Hold <-chan struct{}
	// Deployed is called when the nodes are deployed, and again when the process,
	// namespace or container of a node has changed. An error ends the run.
	Deployed func(nodes []runs.Node, links []runs.Link) error
	// Started is called once, when a run in real time starts.
	Started func()
	// Progress is called now and then with the model time that all nodes have
	// passed, and the share of the payload that has been delivered, 0 where that is
	// not known.
	Progress func(now units.Time, delivered float64)
	// Tap returns the tap that sees the packets of a node, nil for none. Only a
	// backend whose nodes share the caller's memory calls it; the nodes of other
	// backends write captured frames to NodeFolder.
	Tap func(node int) node.Tap
	// Records receives the records of the nodes while the run goes on, from several
	// goroutines at once.
	Records metrics.Consumer
	// Entrance is the socket, of type unixpacket, at which other processes ask to start
	// commands in the nodes' networks. The run closes it. It needs real time.
	Entrance *net.UnixListener
	// Meeting is how a part of a run that is cut reaches the others. The run closes it.
	Meeting *Meeting
	// Note receives remarks for the user about the backend's own work.
	Note func(text string)
	// Waiting receives what the backend has been waiting for, once that takes some
	// seconds, from several goroutines at once.
	Waiting func(text string)
}

// Consumer returns Records, or a consumer that keeps nothing.
func (c *Control) Consumer() metrics.Consumer {
	if c.Records == nil {
		return metrics.Consumers(nil)
	}
	return c.Records
}

// SayWaiting passes to Waiting what the backend waits for.
func (c *Control) SayWaiting(format string, args ...any) {
	if c.Waiting != nil {
		c.Waiting("waiting for " + fmt.Sprintf(format, args...))
	}
}

// Outcome is the result of a run besides its records. It is plain data.
type Outcome struct {
	End     units.Time    // of the model
	Drained bool          // the run ended because nothing was due, not because of Plan.End
	Setup   time.Duration // until the first node started
	Wall    time.Duration // from then until the last result
	CPU     time.Duration // of all processes, or of the event loop in virtual time

	// Of a run with real nodes.
	Frames int64 // that the nodes sent
	Strays int64 // frames that the nodes received and that no node has sent
	// Ports are the frames that each port of a link has sent and received, in any order.
	Ports      []emu.PortCount
	Grants     int64    // turns granted by the safe horizon, under lockstep
	Interfaces Counters // sums over the interfaces of all nodes
	// Counters are the kernel's counters of each of them.
	Counters []InterfaceCounters

	// Of a run in real time.
	Timing   *wall.Timing
	Behind   time.Duration       // how late the run was when it was given up; 0: it was not given up
	Shaped   []shape.Shaped      // the links' shapers, by node and port
	Programs []application.Ended // in the order of Plan.Programs

	Cut *Cut // of a run in several parts
}

// Counters are sums of the kernel's interface counters.
type Counters struct {
	TxPackets, RxPackets, Dropped int64
}

// InterfaceCounters are the counters of the interface of a port.
type InterfaceCounters struct {
	topologies.End
	Counters
}

// Errors of a backend; test with errors.Is.
var (
	// ErrUnavailable is wrapped when this machine or user cannot run real nodes.
	ErrUnavailable = errors.New("real nodes are not available")
	// ErrImage is wrapped when the image of a run's programs cannot be used.
	ErrImage = errors.New("image of the programs")
	// ErrRemains is wrapped when something of a run could not be removed. The run
	// stays on the list of runs, so that it can be removed later.
	ErrRemains = errors.New("something of the run is left")
)

// ProgramError reports a program of a run that cannot be started.
type ProgramError struct {
	Index int // in Plan.Programs
	Err   error
}

func (e *ProgramError) Error() string { return e.Err.Error() }
func (e *ProgramError) Unwrap() error { return e.Err }

// NodeError reports a node that died or came to a halt.
type NodeError struct {
	Name   string
	Reason string
}

func (e *NodeError) Error() string { return "node " + e.Name + ": " + e.Reason }

// Fabric returns the description of the fabric for the drivers of a run's nodes.
// folder is the path, as the nodes see it, of the folder for captured frames.
func (r *Run) Fabric(folder string) emu.Fabric {
	p := r.Plan
	f := emu.Fabric{
		Graph: p.Graph, Format: p.Format, TieSeed: p.TieSeed, End: p.End, Run: r.mark(), Elide: r.Elide,
		Inject: r.Inject, Profile: p.Domain().Profile(), FrameTimeout: r.FrameTimeout, MTU: p.MaxPayload() + p.Format.Header + p.Format.Tunnelled(),
		Applications: p.ApplicationHosts(), Foreign: r.foreignNodes(),
	}
	for _, l := range p.Control() {
		f.Control = append(f.Control, emu.ControlLink{A: l.A, B: l.B, Delay: l.Delay})
	}
	if len(p.Captured) > 0 {
		f.Spools = r.Spools(folder)
	}
	if r.Wall != nil {
		f.Live = emu.Live{Folder: folder, About: r.About}
	}
	return f
}

// Spools returns which ports the nodes of a run capture, into a folder.
func (r *Run) Spools(folder string) emu.Capture {
	c := emu.Capture{Folder: folder}
	for _, port := range r.Plan.Captured {
		c.Ports = append(c.Ports, topologies.End{Node: port.Node, Port: port.Port})
	}
	return c
}

// MaxFrame returns the length of the longest frame, with tag and trailer.
func (r *Run) MaxFrame() int {
	return emu.MaxFrame(r.Plan.MaxPayload() + r.Plan.Format.Tunnelled())
}

// MTU returns the MTU of the interfaces of the fabric's links.
func (r *Run) MTU() int { return r.MaxFrame() - wire.EthernetLen }

// mark is the part of the run's id that its frames carry.
func (r *Run) mark() uint32 {
	var h uint64
	for _, c := range []byte(r.ID) {
		h = wire.Mix(h, uint64(c))
	}
	return uint32(wire.Mix(0, wire.Mix(uint64(len(r.ID)), h)))
}

// inDriver reports whether the driver's own process drives a node.
func (r *Run) inDriver(node int) bool {
	switch {
	case r.Plan.ForeignNode(node) != nil:
		return false
	case r.Processes == OneProcess:
		return true
	case r.Processes == SwitchProcess:
		return r.Plan.Graph.Nodes[node].Kind == topologies.Switch
	}
	return false
}

// inMemory reports whether a link joins two nodes in memory, and so needs no
// interfaces.
func (r *Run) inMemory(l plan.Link) bool {
	return r.Processes == SwitchProcess && r.inDriver(l.A.Node) && r.inDriver(l.B.Node) && r.Here(l.A.Node) == r.Here(l.B.Node)
}

// Deployment is the nodes of a run on this machine. They have been made and are not
// started.
type Deployment struct {
	Nodes []Place
	// Port returns the name of a port's interface.
	Port func(topologies.End) string
	// Folder is the path, as the nodes see it, of the folder where they write
	// captured frames and look for the pipes of live captures.
	Folder string
	// Sockets is the same folder as this process sees it; in its subfolder metrics are the
	// sockets at which nodes serve metrics in real time. Empty: they serve none.
	Sockets string
	// Pinned says that in lockstep each process runs on the processor of its node's lane
	// (Lanes). Otherwise as many nodes run at once as there are processors.
	Pinned bool
	Launcher
}

// Place is where a node of a deployment is.
type Place struct {
	Name       string
	PID        int      // of the process that drives it; 0: this process, or one that is not started yet
	Network    *os.File // its network namespace; other processes open it by the file's name
	Interfaces []int    // by port: index in that namespace; 0 or missing: there is none yet
	Container  string   // name of its container, if it has one
	Sidecar    string   // name of the container of its programs, if they have one
	// Programs is the network namespace of the programs of a host that has them. Where
	// the backend makes none, the driver does.
	Programs *os.File
}

// Launcher starts processes in the nodes of a deployment.
type Launcher interface {
	// Start starts a node in its process as spec describes it. shared is the memory
	// that all nodes of the run share.
	Start(ctx context.Context, node int, spec *process.Spec, shared *os.File) (*Process, error)
	// Programs returns the starter of the run's programs on their hosts; nil: they
	// start in the nodes' namespaces, on this machine's files.
	Programs(ctx context.Context) application.Starter
	// Raise gives a thread of a node's process a real-time priority, if the machine
	// permits. thread is its id in the process's own PID namespace.
	Raise(node, thread int) error
}

// Process is the process of a node.
type Process struct {
	PID    int
	Report *os.File // the stream of its records and its report; the driver closes it
	// Wait waits until the process or its report has ended, and returns why the
	// process failed, as far as its exit shows it; "" if it ended well. reported
	// says whether the process sent its whole report.
	Wait func(reported bool) string
}
