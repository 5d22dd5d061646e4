// Package workloads describes traffic as transfers between hosts and the
// dependencies among them. Generators and trace readers build a Workload; the
// hosts' players run it.
package workloads

import (
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// None is the absent trigger.
const None = -1

// Transfer is one message from a host to another over its own flow. Its id is
// its position in Workload.Transfers.
type Transfer struct {
	Label    string // the input's own id, for messages; may be empty
	Job      int
	Src, Dst int // hosts
	Size     units.Size
	// Start is when the transfer starts, if After is None; otherwise it is the
	// time that passes between the trigger's firing and the start.
	Start units.Duration
	After int // trigger that starts it, or None
	// SendDone and RecvDone are triggers hit when the sender has its last byte
	// acknowledged and when the receiver has every byte, or None.
	SendDone, RecvDone int
	Priority           int
	// Stop is when the sender stops, whatever is left, since the start of the run; 0: it
	// does not stop. Size is the most that it sends then. The next packet that has not been
	// sent is then the last one, of one byte; a transfer that starts later sends this alone.
	Stop units.Duration
	// Response says that the transfer answers the one before it: both are one RPC.
	Response bool
	// Messages says that the transfer is a connection of a training job: a flow that lasts
	// and carries so many messages, one after the other, which are Size together. The job's
	// player posts them; triggers have nothing to do with it. 0: an ordinary transfer. No
	// input has connections: a plan makes them from Jobs.
	Messages int
}

// TriggerKind says how hits fire a trigger.
type TriggerKind uint8

// Kinds of trigger, with the semantics of htsim's connection matrices.
const (
	OneShot   TriggerKind = iota // fires at its first hit, once
	MultiShot                    // every hit starts the next waiting transfer, in the order of their ids
	Barrier                      // fires at its Count-th hit, once
)

// Trigger starts the transfers whose After names it: OneShot and Barrier all of
// them when it fires, MultiShot one per hit. Its id is its position in
// Workload.Triggers.
type Trigger struct {
	Label string // the input's own id
	Kind  TriggerKind
	Count int // hits that a barrier waits for
}

// Workload is a run's traffic.
type Workload struct {
	Name      string
	Hosts     int // number of hosts it is written for
	Transfers []Transfer
	Triggers  []Trigger
	Jobs      []Job
	JobNames  map[int]string // of the jobs of Transfers that have one, by number
	Failures  []Failure      // of a file
	StartUnit string         // that start times of a file were read in, such as us; "" without a file
}

// Failure is a link of a fat tree that is down from the beginning, and that routes avoid, as
// htsim's connection matrices name it: link Link, from 0, upwards of switch Switch of a tier.
type Failure struct {
	Tier         string // tor, agg or core
	Switch, Link int
}

// Job is a training job on the fabric. What it sends are messages on the connections of
// its ranks, which are flows beside those of Transfers.
type Job struct {
	Name   string
	Source graph.Source
	Hosts  []int          // host of each rank; several ranks may share one
	Start  units.Duration // offset of the job's start
	// Schedule holds the job's communication back. Source has graph.Holds where it is not
	// the zero value.
	Schedule graph.Schedule
	// Local is what messages take between ranks of one server, which do not cross the
	// fabric: each rank sends them one after the other at Rate, and they arrive Delay later.
	Local Local
}

// Local is the connection of the ranks of one server, such as NVLink.
type Local struct {
	Rate  units.Rate
	Delay units.Duration
	// PXN lets a message to another server go inside the own server first, to the host with the same
	// NIC as the receiver, and from there to it; if a rank of the job is on that host.
	PXN bool
}

// AddJobs appends training jobs. Their numbers come from 0, in the order of Jobs, and the
// numbers of the jobs of Transfers come behind them.
func (w *Workload) AddJobs(jobs []Job) {
	w.Jobs = append(w.Jobs, jobs...)
	behind := len(w.Jobs)
	if behind == 0 {
		return
	}
	for i := range w.Transfers {
		w.Transfers[i].Job += behind
	}
	names := make(map[int]string, len(w.JobNames))
	for job := range w.JobNames { // order: each name gets a place of its own
		names[job+behind] = w.JobNames[job]
	}
	w.JobNames = names
}

// Bytes returns the payload bytes of all transfers.
func (w *Workload) Bytes() units.Size {
	var sum units.Size
	for _, t := range w.Transfers {
		sum += t.Size
	}
	return sum
}

// ErrInvalid is wrapped by every error of Validate.
var ErrInvalid = errors.New("invalid workload")

// Validate checks that hosts and triggers exist, sizes are positive, no
// transfer goes to its own host and every trigger can fire.
func (w *Workload) Validate() error {
	if len(w.Transfers) == 0 {
		return fmt.Errorf("%w: no transfers", ErrInvalid)
	}
	hits := make([]int, len(w.Triggers))
	hit := func(trigger int) bool {
		if trigger == None {
			return true
		}
		if trigger < 0 || trigger >= len(w.Triggers) {
			return false
		}
		hits[trigger]++
		return true
	}
	for i := range w.Transfers {
		t := &w.Transfers[i]
		name := transferName{i, t}
		switch {
		case t.Src < 0 || t.Src >= w.Hosts || t.Dst < 0 || t.Dst >= w.Hosts:
			return fmt.Errorf("%w: %s: hosts go from 0 to %d", ErrInvalid, name, w.Hosts-1)
		case t.Src == t.Dst:
			return fmt.Errorf("%w: %s: source and destination are the same host", ErrInvalid, name)
		case t.Size <= 0:
			return fmt.Errorf("%w: %s: size %v is not positive", ErrInvalid, name, t.Size)
		case t.Stop < 0 || t.Stop > 0 && t.After == None && t.Stop <= t.Start:
			return fmt.Errorf("%w: %s: stop %v is not after its start, %v", ErrInvalid, name, t.Stop, t.Start)
		case t.Start < 0:
			return fmt.Errorf("%w: %s: start %v is before the run", ErrInvalid, name, t.Start)
		case !hit(t.SendDone) || !hit(t.RecvDone) || t.After != None && (t.After < 0 || t.After >= len(w.Triggers)):
			return fmt.Errorf("%w: %s: unknown trigger", ErrInvalid, name)
		}
	}
	for i, t := range w.Triggers {
		switch {
		case hits[i] == 0:
			return fmt.Errorf("%w: trigger %s: no transfer hits it, so it never fires", ErrInvalid, t.Label)
		case t.Kind == Barrier && (t.Count < 1 || t.Count > hits[i]):
			return fmt.Errorf("%w: barrier %s waits for %d hits, %d can come", ErrInvalid, t.Label, t.Count, hits[i])
		}
	}
	if stuck := w.Stuck(); stuck != None {
		t := w.Transfers[stuck]
		return fmt.Errorf("%w: transfer %d (%d->%d) can never start: what trigger %s waits for never happens", ErrInvalid, stuck+1, t.Src, t.Dst, w.Triggers[t.After].Label)
	}
	return nil
}

// transferName is how errors name a transfer, by its place in the workload.
type transferName struct {
	place    int
	transfer *Transfer
}

// String implements fmt.Stringer.
func (n transferName) String() string {
	return fmt.Sprintf("transfer %d (%d->%d)", n.place+1, n.transfer.Src, n.transfer.Dst)
}

// Stuck returns the first transfer that cannot start even if every transfer
// that starts completes, or None. Triggers must exist.
func (w *Workload) Stuck() int {
	waiting := make([][]int, len(w.Triggers))
	started := make([]bool, len(w.Transfers))
	var queue []int
	start := func(id int) {
		started[id] = true
		queue = append(queue, id)
	}
	for id, t := range w.Transfers {
		if t.After == None {
			start(id)
		} else {
			waiting[t.After] = append(waiting[t.After], id)
		}
	}
	hits := make([]int, len(w.Triggers))
	hit := func(id int) {
		if id == None {
			return
		}
		hits[id]++
		t := w.Triggers[id]
		ready := 0
		switch {
		case t.Kind == MultiShot:
			ready = min(1, len(waiting[id]))
		case t.Kind == OneShot, hits[id] >= t.Count:
			ready = len(waiting[id])
		}
		for _, next := range waiting[id][:ready] {
			start(next)
		}
		waiting[id] = waiting[id][ready:]
	}
	for len(queue) > 0 {
		t := w.Transfers[queue[0]]
		queue = queue[1:]
		hit(t.SendDone)
		hit(t.RecvDone)
	}
	for id, ok := range started {
		if !ok {
			return id
		}
	}
	return None
}
