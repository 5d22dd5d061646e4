// Package process is a node's own process: Main receives a description of the node
// (Spec), drives its machine in lockstep or in real time, writes the records while it
// does so, and answers with a Report. The commands csig-host and csig-switch are nothing else. A backend of the
// orchestrator starts such processes, hands them their files, and reads the
// reports.
//
// Main returns the exit code and ends no process by itself: its caller does so at
// once.
package process

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/stream"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Files that a node's process inherits besides the standard three.
const (
	fileSpec   = 3 // a Spec, gob
	fileShared = 4 // the memory of a shared.Board, or of a wall.SharedControlBlock
	fileReport = 5 // takes records and a Report, see ReadReport
)

// Spec describes a node to its process. It is plain data.
type Spec struct {
	emu.Config
	Machine    machine.Spec
	Interfaces []int               // indices of the ports' interfaces in the process's namespace
	MaxFrame   int                 // the longest frame, trailer included
	Nodes      int                 // of the fabric
	Links      []lockstep.Channel  // of the fabric
	Partition  *lockstep.Partition // of a fabric in parts; nil: one part has all nodes
	Lanes      []int               // of the nodes, in lockstep
	LaneWidth  int                 // nodes of a lane that may run at once
	End        units.Time          // exclusive
	Wall       *wall.Clock         // nil: lockstep
	Build      string              // modules.Build of csiglab
	Metrics    *Exposure           // of a run in real time; nil: the process serves no metrics
}

// message is what a process writes to its report file, gob after gob: the records of
// its node while it runs, and last a Report.
type message struct {
	Records *metrics.Batch
	Report  *Report
}

// Report is what a node's process answers at its end. Link or Failure is set when
// the run has failed, and nothing else then.
type Report struct {
	Sent    int64 // frames on links of the fabric
	Strays  int64 // frames received that no node of the run has sent
	Ports   []emu.PortCount
	Timing  *wall.Timing // of a run in real time
	Link    *emu.LinkError
	Failure string
}

// exitFailed is the exit code of a process whose node has failed.
const exitFailed = 3

// Main is the whole of a node's process: it drives one machine from the files
// that it inherits or is handed over a socket, and returns the exit code. After it
// has returned the process has to exit: where the run ended before the node did,
// the node is still driven.
func Main() int {
	if code, ok := asShell(os.Stderr); ok {
		return code
	}
	given, err := takeFiles()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	driven := make(chan *modules.Fault, 1)
	records := &sender{encoder: gob.NewEncoder(given.report)}
	var report *Report
	go func() {
		driven <- watchdog.Run(watchdog.Patience, func() {
			runtime.LockOSThread()
			report, err = drive(given.spec, given.shared, records)
		})
	}()
	select {
	case fault := <-driven:
		if fault != nil { // the node may still be driven
			return given.end(records, &Report{Failure: fault.Error()})
		}
	case <-given.closed: // nobody waits for the node any more
		fmt.Fprintln(os.Stderr, "the run ended before the node did")
		return exitFailed
	}
	var link *emu.LinkError
	var driver *emu.DriverError
	switch {
	case errors.As(err, &link):
		report = &Report{Link: link}
	case errors.As(err, &driver): // the reader knows the node's name
		report = &Report{Failure: driver.Err.Error()}
	case err != nil:
		report = &Report{Failure: err.Error()}
	}
	return given.end(records, report, err, records.err)
}

// end sends the report, and waits until it has been read. It returns the exit code.
func (f *files) end(records *sender, report *Report, errs ...error) int {
	errs = append(errs, records.encoder.Encode(message{Report: report}), f.report.Close())
	f.linger()
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return 0
}

// sender writes the records of the node to the report file.
type sender struct {
	encoder *gob.Encoder
	err     error
}

// Consume implements metrics.Consumer. After an error it drops what it gets: the node
// need not wait for a reader that is gone.
func (s *sender) Consume(b *metrics.Batch) {
	if s.err == nil {
		s.err = s.encoder.Encode(message{Records: b})
	}
}

// ReadReport reads what a process writes to its report file, hands the records on as
// they come, and returns the report. The error is io.EOF if the process has ended
// without one.
func ReadReport(from io.Reader, to metrics.Consumer) (*Report, error) {
	for decoder := gob.NewDecoder(from); ; {
		var m message
		if err := decoder.Decode(&m); err != nil {
			return nil, err
		}
		if m.Report != nil {
			return m.Report, nil
		}
		if m.Records != nil {
			to.Consume(m.Records)
		}
	}
}

func drive(in io.Reader, memory *os.File, to metrics.Consumer) (*Report, error) {
	var spec Spec
	if err := gob.NewDecoder(in).Decode(&spec); err != nil {
		return nil, fmt.Errorf("read the node's description: %w (this program is started by csiglab)", err)
	}
	if err := checkBuild(spec.Build); err != nil {
		return nil, err
	}
	conn, err := open(&spec)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	pool := new(wire.Pool)
	overflow := stream.Block
	var block *wall.SharedControlBlock
	if spec.Wall != nil {
		overflow = stream.Drop
		if block, err = wall.OpenControlBlock(memory, spec.Nodes); err != nil {
			return nil, err
		}
		defer block.Close()
		if spec.Metrics != nil {
			// Without a socket the run goes on: who looks for the metrics learns that they are
			// missing.
			if exposer, err := Expose(spec.Metrics, *spec.Wall, block.ControlBlock); err == nil {
				defer exposer.Close()
				to = metrics.Consumers{to, exposer}
			}
		}
	}
	records := stream.NewBuffer(spec.Node, overflow, to)
	defer records.Close()
	m, err := spec.Machine.New(pool, records)
	if err != nil {
		return nil, err
	}
	if err := checkProfile(m, spec.Profile); err != nil {
		return nil, err
	}
	n := emu.New(spec.Config, m, pool, conn, records)
	var end units.Time
	report := new(Report)
	if spec.Wall != nil {
		end, report.Timing, err = wall.Pace(*spec.Wall, spec.End, n, spec.Links, block.ControlBlock)
	} else {
		if end, err = keepStep(memory, n, &spec); err == nil {
			err = n.Drain()
		}
	}
	if err = errors.Join(err, n.CloseCapture()); err != nil {
		return nil, err
	}
	records.Finish()
	n.Finish(end)
	report.Sent, report.Strays, report.Ports = n.Sent(), n.Strays(), n.PortCounts()
	return report, nil
}

// checkBuild refuses to drive a node for a csiglab with other modules, and with modules
// whose algorithms cannot be used.
func checkBuild(want string) error {
	if err := modules.Check(); err != nil {
		return err
	}
	if got := modules.Build(); got != want {
		return fmt.Errorf("the node program has not the modules of csiglab: it is of build %q, csiglab of %q; csiglab build writes both", got, want)
	}
	return nil
}

// open opens the ports of the node.
func open(spec *Spec) (*netio.Packet, error) {
	if spec.Wall != nil {
		return netio.OpenPacket(spec.Interfaces, spec.MaxFrame)
	}
	return netio.OpenUnshaped(spec.Interfaces, spec.MaxFrame, spec.Slots)
}

// checkProfile refuses a machine that would read tags in another way than the
// machines of other processes: this program is of another version than the one
// that started it.
func checkProfile(m node.Machine, want uint32) error {
	if got := m.Profile(); got != 0 && want != 0 && got != want {
		return fmt.Errorf("its CSIG profile is %08x, the run's %08x: its program is of another version than csiglab", got, want)
	}
	return nil
}

func keepStep(memory *os.File, n *emu.Node, spec *Spec) (units.Time, error) {
	board, err := shared.Open(memory, spec.Nodes, spec.Links, spec.End)
	if err != nil {
		return 0, err
	}
	defer board.Close()
	board.Limit(spec.Lanes, spec.LaneWidth)
	if spec.Partition != nil {
		if err := board.Partition(*spec.Partition, false); err != nil {
			return 0, err
		}
	}
	return board.Run(n)
}
