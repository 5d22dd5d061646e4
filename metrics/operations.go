package metrics

import "github.com/csiglab/csiglab/units"

// Tag says what a record of a job belongs to: the step, and the numbers of phase,
// collective and group in what the plan says of the job. The zero Tag is that of records
// that belong to no job's operation.
type Tag struct {
	Step       int32 // from 1; 0: no step
	Phase      int16 // from 1; 0: none
	Collective int16 // from 1; 0: none
	Group      int32 // of ranks that run the collective, from 0
}

// OperationKind is what an operation of a rank did.
type OperationKind uint8

// Kinds of operation.
const (
	OperationSend OperationKind = iota
	OperationRecv
	OperationCompute
	// OperationSpan is a collective, a phase or a step of one rank, from its Begin to its
	// End mark: what its tag names most narrowly.
	OperationSpan
	// OperationHold is the time that the schedule of a job holds a rank back; 0 where the
	// rank goes on at once.
	OperationHold
)

var operationNames = [...]string{"send", "recv", "compute", "span", "hold"}

// String returns the kind's name.
func (k OperationKind) String() string { return operationNames[k] }

// Operation is one operation of a rank that is complete. A rank emits it when it is.
// Barriers have no records.
type Operation struct {
	Job, Rank int32
	Op        uint32 // number in the rank's program; of a span that of its end
	Kind      OperationKind
	Tag       Tag
	Peer      int32  // rank; of sends and receives, otherwise Absent
	Flow      int32  // that carries the message; Absent: within a server, or no message
	Channel   uint16 // of the message: a stream is the messages of two ranks on one channel
	Message   uint32 // number of the message on its stream, from 0
	Bytes     int64
	// Ready is when all dependencies were complete. Start is when the work began: a compute
	// when it got its unit, a send when the messages before it on its stream had been sent
	// or, if later, when it was ready; a receive and a span when they were ready. End is when
	// it was complete.
	Ready, Start, End units.Time
	// After is the operation of the same rank whose completion made this one ready, of a span
	// the one whose completion ended it: no barrier and no mark, as what follows a
	// barrier or a mark follows what that waited for last. Absent: none, the job's start or a
	// time did.
	After int64
}

// JobTotals is what one node did of a job.
type JobTotals struct {
	Job        int32
	Operations int64  // that are complete
	Done       bool   // the programs of all ranks of the node are
	Waits      string // if not, what waits for what
}

func (o *Operation) appendTo(b *Batch) { b.Operations = append(b.Operations, *o) }
