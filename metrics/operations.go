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
	_       Table         `name:"operations" schema:"OperationRow" of:"Kind" doc:"What the ranks of jobs did. The host of a rank emits a row when the operation is complete. 'telemetry.operations' says how much of it is kept. A receive is joined to its send by the job, the two ranks, 'channel' and 'message'; 'after' is the operation of the same rank that made a row's operation ready. From these two follows what a step waited for."`
	Job     int32         `column:"job" doc:"number of the job"`
	_       Column        `column:"job_name,dict" names:"Job.Name"`
	Rank    int32         `column:"rank"`
	_       Column        `column:"host_name,dict" names:"Host.Rank" doc:"host of the rank"`
	Op      uint32        `column:"op" doc:"number of the operation in the rank's program; of a span that of its end"`
	Kind    OperationKind `column:"kind,dict" doc:"'send', 'recv', 'compute', 'hold': the time for which the job's schedule holds the rank back, or 'span': a collective, a phase or a step, from where the rank enters it to where it leaves it"`
	Tag     Tag
	_       Column `column:"step" from:"Tag.Step" doc:"from 1; 0: none"`
	_       Column `column:"phase,dict,optional" names:"Message.Phase" doc:"name; null: none"`
	_       Column `column:"collective,dict,optional" names:"Message.Collective" doc:"name; null: none"`
	_       Column `column:"group,optional" from:"Tag.Group" if:"Tag.Collective" doc:"which of the groups of ranks that run the collective, from 0; null without collective"`
	Peer    int32  `column:"peer,optional" of:"send, recv" doc:"rank that a message goes to or comes from; null: no message"`            // otherwise Absent
	Flow    int32  `column:"flow,optional" of:"send, recv" doc:"connection that carries the message; null: the ranks are on one server"` // Absent too within a server
	_       Column `column:"flow_name,dict,optional" names:"Flow.Name" of:"send, recv" doc:"its name, or null"`
	Channel uint16 `column:"channel,optional" of:"send, recv" doc:"stream of messages between two ranks; null: no message"`
	Message uint32 `column:"message,optional" of:"send, recv" doc:"number of the message on its stream, from 0; null: no message"`
	Bytes   int64  `column:"bytes" unit:"bytes" doc:"of the message"`
	// Start of a send is when the messages before it on its stream had been sent or, if
	// later, when it was ready; a receive and a span start when they are ready.
	Ready units.Time `column:"ready_us" unit:"us" doc:"when everything that it depends on was complete"`
	Start units.Time `column:"start_us" unit:"us" doc:"when it began: a compute when its unit was free, a send when the messages before it on its stream had been sent"`
	End   units.Time `column:"end_us" unit:"us" doc:"when it was complete: a send when its last byte was acknowledged"`
	// After is the operation whose completion made this one ready, of a span the one whose
	// completion ended it: no barrier and no mark, as what follows a barrier or a mark
	// follows what that waited for last. Absent: none, the job's start or a time did.
	After int64 `column:"after,optional" doc:"operation of the rank that made it ready; null: none did"`
}

// JobTotals is what one node did of a job.
type JobTotals struct {
	Job        int32
	Operations int64  // that are complete
	Done       bool   // the programs of all ranks of the node are
	Waits      string // if not, what waits for what
}

func (o *Operation) appendTo(b *Batch) { b.Operations = append(b.Operations, *o) }
