// Package watch waits for the processes of a run, collects what they report, and
// says which is to blame when the run stops: Run under the lockstep clock, Paced,
// which also starts and stops the run, in real time. It knows nothing of how a
// process was started: every backend that has a process per node uses it.
package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// Process is one node's process.
type Process struct {
	Name string // of the node
	PID  int    // in this process's PID namespace
}

// NodeError reports a node that died or came to a halt.
type NodeError struct {
	Name   string
	Reason string
}

func (e *NodeError) Error() string { return "node " + e.Name + ": " + e.Reason }

// Ended is what a process left.
type Ended struct {
	Node   int
	Report *process.Report // nil when it left none
	Reason string          // why it failed, as far as its end tells; empty: it ended well
}

// Failure returns what is wrong with the process of node name, if anything: a
// *emu.LinkError or a *NodeError.
func (e Ended) Failure(name string) error {
	switch {
	case e.Report != nil && e.Report.Link != nil:
		return e.Report.Link
	case e.Report != nil && e.Report.Failure != "":
		return &NodeError{Name: name, Reason: e.Report.Failure}
	case e.Reason != "":
		return &NodeError{Name: name, Reason: e.Reason}
	case e.Report == nil:
		return &NodeError{Name: name, Reason: "ended without a result"}
	}
	return nil
}

// Run is a run whose processes have been started.
type Run struct {
	Processes    []Process // by node
	Shared       *shared.Board
	Ends         <-chan Ended  // one for each process
	FrameTimeout time.Duration // 0: emu.DefaultFrameTimeout
	Progress     func(units.Time)
}

// Outcome is what the processes reported.
type Outcome struct {
	End     units.Time // of the model
	Frames  int64      // sent by the nodes
	Foreign int64      // frames that the nodes received and that are not of the run
	Grants  int64      // turns granted by the safe horizon
	Started time.Time  // when the first node went

	// Of a run in real time.
	Timing  *wall.Timing
	Drained bool          // ended because nothing was due
	Behind  time.Duration // how late the run was when it was given up; 0: it was not
}

// take adds the report of a process.
func (o *Outcome) take(e Ended) {
	o.Frames += e.Report.Sent
	o.Foreign += e.Report.Strays
	if e.Report.Timing != nil {
		o.Timing.Merge(*e.Report.Timing)
	}
}

// Tick is how often a run is looked at.
const Tick = 20 * time.Millisecond

// Wait returns when every process has reported, or with the first error: of a
// process, of a run that stands still, or the cause of ctx's end.
func (r *Run) Wait(ctx context.Context) (*Outcome, error) {
	out := new(Outcome)
	dog := watchdog{run: r}
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	for left := len(r.Processes); left > 0; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case e := <-r.Ends:
			if err := e.Failure(r.Processes[e.Node].Name); err != nil {
				return nil, err
			}
			out.take(e)
			left--
		case now := <-ticker.C:
			if out.Started.IsZero() && r.Shared.Board.Grants() > 0 {
				out.Started = now
			}
			r.Progress(r.Shared.Board.Earliest())
			if err := dog.look(now); err != nil {
				return nil, err
			}
		}
	}
	if out.Started.IsZero() {
		out.Started = time.Now()
	}
	out.Grants, out.End = r.Shared.Board.Grants(), r.Shared.Board.End()
	return out, nil
}

// watchdog finds the node that the others wait for when nothing moves.
type watchdog struct {
	run    *Run
	grants int64
	moved  time.Time
}

// Limits of a halt: after the first, a process that is stopped is to blame; after
// the second, which leaves a node the time to miss a frame and say so, whichever
// owes a turn.
const (
	stoppedAfter = time.Second
	haltedAfter  = 5 * time.Second
)

func (w *watchdog) look(now time.Time) error {
	board, all := w.run.Shared, w.run.Processes
	if g := board.Grants(); g != w.grants || w.moved.IsZero() {
		w.grants, w.moved = g, now
		return nil
	}
	still := now.Sub(w.moved)
	if still < stoppedAfter || board.Earliest() == units.Never {
		return nil
	}
	for _, p := range all {
		if state := p.state(); state == 'T' || state == 't' {
			return &NodeError{Name: p.Name, Reason: "is stopped and all others wait for it"}
		}
	}
	limit := w.run.FrameTimeout
	if limit == 0 {
		limit = emu.DefaultFrameTimeout
	}
	if still < 2*limit+haltedAfter {
		return nil
	}
	owes := board.Stuck()
	if holder := board.Holder(); holder >= 0 {
		owes = []int{holder}
	}
	var names []string
	for _, n := range owes {
		names = append(names, all[n].Name)
	}
	if len(names) == 0 {
		return errors.New("all nodes wait and none may advance")
	}
	return &NodeError{Name: strings.Join(names, ", "), Reason: fmt.Sprintf("has not taken its turn for %v", still.Round(time.Second))}
}

// state returns the state letter of the process (proc(5)), 0 when it is gone.
func (p Process) state() byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		return 0
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	if len(after) < 2 {
		return 0
	}
	return after[1]
}
