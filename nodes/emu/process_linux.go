package emu

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Files that a node's process inherits besides the standard three.
const (
	FileSpec   = 3 // a ProcessSpec, gob
	FileShared = 4 // the memory of Shared, or of SharedSheet
	FileReport = 5 // takes a ProcessReport, gob
)

// ProcessSpec is what a node's process is told.
type ProcessSpec struct {
	Config
	Machine    []byte // the machine's configuration, gob
	Interfaces []int  // indices of the ports' interfaces in the process's namespace
	MaxFrame   int    // the longest frame, trailer included
	Nodes      int    // of the fabric
	Links      []lockstep.Link
	End        units.Time
	Wall       *Wall // nil: lockstep
}

// ProcessReport is what a node's process answers. Link or Failure is set when the
// run has failed.
type ProcessReport struct {
	Records metrics.Batch
	Sent    int64
	Foreign int64
	Timing  *Timing // of a run in real time
	Link    *LinkError
	Failure string
}

// Builder returns a machine from its configuration, which emits its records into
// sink.
type Builder func(config []byte, pool *wire.Pool, sink metrics.Sink) (node.Machine, error)

// exitFailed is the exit code of a node's process that could not do what it is for.
const exitFailed = 3

// Main is the whole of a node's process: it drives one machine from the files
// that it inherits or is handed over a socket, and returns the exit code.
func Main(build Builder) int {
	runtime.LockOSThread()
	given, err := takeFiles()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	report, err := drive(given.spec, given.shared, build)
	given.finished.Store(true)
	var link *LinkError
	var node *nodeError
	switch {
	case errors.As(err, &link):
		report = &ProcessReport{Link: link}
	case errors.As(err, &node): // who reads it knows the node
		report = &ProcessReport{Failure: node.err.Error()}
	case err != nil:
		report = &ProcessReport{Failure: err.Error()}
	}
	err = errors.Join(err, gob.NewEncoder(given.report).Encode(report), given.report.Close())
	given.linger()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return 0
}

func drive(in io.Reader, memory *os.File, build Builder) (*ProcessReport, error) {
	var spec ProcessSpec
	if err := gob.NewDecoder(in).Decode(&spec); err != nil {
		return nil, fmt.Errorf("read the node's description: %w (this program is started by csiglab)", err)
	}
	conn, err := netio.OpenPacket(spec.Interfaces, spec.MaxFrame)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	pool := new(wire.Pool)
	report := &ProcessReport{Records: metrics.Batch{Node: int32(spec.Node)}}
	m, err := build(spec.Machine, pool, &report.Records)
	if err != nil {
		return nil, err
	}
	if err := checkProfile(m, spec.Profile); err != nil {
		return nil, err
	}
	n := New(spec.Config, m, pool, conn, &report.Records)
	var end units.Time
	if spec.Wall != nil {
		end, report.Timing, err = pace(memory, n, &spec)
	} else {
		end, err = keepStep(memory, n, &spec)
	}
	if err = errors.Join(err, n.CloseCapture()); err != nil {
		return nil, err
	}
	n.Finish(end)
	report.Sent, report.Foreign = n.Sent(), n.Foreign()
	return report, nil
}

// checkProfile refuses a machine that reads tags in another way than the others
// will: this program is of another version than the one that started it.
func checkProfile(m node.Machine, want uint32) error {
	member, ok := m.(interface{ Profile() uint32 })
	if !ok {
		return nil
	}
	if got := member.Profile(); got != 0 && want != 0 && got != want {
		return fmt.Errorf("its CSIG profile is %08x, the run's %08x: its program is of another version than csiglab", got, want)
	}
	return nil
}

func keepStep(memory *os.File, n *Node, spec *ProcessSpec) (units.Time, error) {
	shared, err := OpenShared(memory, spec.Nodes, spec.Links, spec.End)
	if err != nil {
		return 0, err
	}
	defer shared.Close()
	return shared.Run(n)
}

func pace(memory *os.File, n *Node, spec *ProcessSpec) (units.Time, *Timing, error) {
	sheet, err := openSheet(memory, spec.Nodes)
	if err != nil {
		return 0, nil, err
	}
	defer sheet.Close()
	noCollections()
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 1+spareProcessors))
	timings, end, err := newPacer(*spec.Wall, spec.End, []*Node{n}, spec.Links, sheet.Sheet).drive()
	if err != nil || len(timings) == 0 {
		return 0, nil, err
	}
	return end, &timings[0], nil
}
