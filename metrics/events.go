package metrics

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Event is one event of a flow that is traced: at its sender, or where its samples are
// read. The fields of the other kinds are 0.
type Event struct {
	_      Table      `name:"events" schema:"EventRow" of:"Kind" doc:"One row for each event of a flow that ['trace'](#what-is-recorded) chooses. A value that is not known, or that events of this kind do not have, is null. The column after the unit says which kinds have it."`
	Flow   int32      `column:"flow" doc:"number of the flow"`
	_      Column     `column:"flow_name,dict" names:"Flow.Name" doc:"its name"`
	_      Column     `column:"src_name,dict" names:"Flow.Source" doc:"host that sends"`
	_      Column     `column:"dst_name,dict" names:"Flow.Destination" doc:"host that receives"`
	Kind   EventKind  `column:"event,dict" doc:"'send': the transmission of a data packet began; 'ack': an ACK reached the sender; 'sample': a CSIG sample reached the sender. Of raw frames a sample reached the host where the flow ends, or the switch where the domain ends"`
	At     units.Time `column:"time_us" unit:"us" doc:"model time"`
	_      Column     `column:"time_ps" from:"At" unit:"ps" doc:"the same, exact"`
	Packet int64      `column:"packet,optional" doc:"sequence number in the flow, from 0: of what was sent, of the packet that triggered the ACK, of the packet that brought the sample; null of the samples of probes and of raw frames"`
	EV     int32      `column:"ev,optional" doc:"entropy value of that packet, which chooses its path; null of raw frames"`
	Tag    Tag        // of the message that this packet is of, or if it has none, of the oldest not acknowledged

	// All of the following is what it is afterwards, and in wire bytes. Absent of flows
	// without a window, and of what was not brought by an ACK.
	Bytes    int64          `column:"bytes,optional" of:"send, ack" unit:"bytes" doc:"of the packet, in wire bytes; of an ACK the wire bytes that it reports as newly received"`
	Again    bool           `column:"retransmission,optional" of:"send" doc:"the packet had been sent before"`
	Cwnd     int64          `column:"cwnd_bytes,optional" unit:"bytes" doc:"congestion window, of an ACK after its action, and of a sample after that of the ACK which brought it; null of raw frames"`
	Inflight int64          `column:"inflight_bytes,optional" unit:"bytes" doc:"in flight, afterwards; null of raw frames"`
	Pacing   units.Rate     `column:"pacing_bps,optional" unit:"bits/s" doc:"pacing rate, afterwards; null of a flow that is not paced, and of raw frames"`
	RTT      units.Duration `column:"rtt_us,optional" of:"ack" unit:"us" doc:"RTT of the packet that triggered it; null if the packet is not known or was sent more than twice"`
	ECN      bool           `column:"ecn,optional" of:"ack" doc:"the packet was marked CE"`
	Action   string         `column:"action,dict,optional" of:"ack, sample" doc:"that CC answered the ACK with, of a sample the ACK which brought it; null where a NACK or the reply to a probe brought it, and of raw frames"`

	Type    uint8   // csig signal type
	_       Column  `column:"type,dict,optional" names:"Signal" of:"sample" doc:"signal: 'abw', 'abw-c', 'delay' or 'nqd'"`
	_       Column  `column:"format,dict,optional" names:"Locator.Format" of:"sample" doc:"of the tag, as in 'signals.parquet'"`
	Code    uint32  `column:"code,optional" of:"sample" doc:"as in the tag"`
	Value   Reading // that the code stands for
	_       Column  `column:"point,optional" from:"Value.Point" of:"sample" unit:"the type's" doc:"the decoded value, in the unit of 'signals.parquet': abw in bytes/s, delay in ns, abw-c and nqd in ppm"`
	_       Column  `column:"low,optional" from:"Value.Low" of:"sample" unit:"the type's" doc:"lower end of the interval that the code stands for"`
	_       Column  `column:"high,optional" from:"Value.High" of:"sample" unit:"the type's" doc:"upper end; null if there is none"`
	Locator uint32  `column:"locator,optional" as:"int32" of:"sample" doc:"as in 'signals.parquet'"`
	_       Column  `column:"shared,optional" names:"Locator.Shared" of:"sample" unit:"ports" doc:"that have this locator, as in 'signals.parquet'"`
	_       Column  `column:"port_name,dict,optional" names:"Locator.PortName" of:"sample" doc:"port of the locator; null if several ports share it, and of locator 0"`
	_       Column  `column:"age_us,optional" from:"Age" of:"sample" unit:"us" doc:"since the packet that brought it was sent; null if that is not known, and of raw frames"`
	_       Column  `column:"job,optional" names:"Message.Job" doc:"number of the job, of a connection of a job; null otherwise"`
	_       Column  `column:"step,optional" names:"Message.Step" doc:"of the message that the row is about, from 1; null: none"`
	_       Column  `column:"phase,dict,optional" names:"Message.Phase" doc:"its phase; null: none"`
	_       Column  `column:"collective,dict,optional" names:"Message.Collective" doc:"its collective; null: none"`
	_       Column  `column:"group,optional" names:"Message.Group" doc:"which of the groups of ranks that run the collective; null without"`
	Age     units.Duration
}

func (e *Event) appendTo(b *Batch) { b.Events = append(b.Events, *e) }

// EventKind is a kind of event of a flow that is traced.
type EventKind uint8

const (
	EventAck    EventKind = iota // an ACK reached the sender
	EventSample                  // a CSIG sample reached its reader
	EventSend                    // a data packet was sent
	eventKinds
)

var eventNames = [eventKinds]string{"ack", "sample", "send"}

// EventNames returns the names of all kinds, in order.
func EventNames() []string { return eventNames[:] }

// String returns the kind's name.
func (k EventKind) String() string { return eventNames[k] }

// EventKinds is a set of kinds. The zero value is the empty set.
type EventKinds uint8

// Has reports whether a kind is in the set.
func (s EventKinds) Has(k EventKind) bool { return s>>k&1 != 0 }

// ParseEventKinds returns the set of the kinds with these names.
func ParseEventKinds(names []string) (s EventKinds, err error) {
	for _, name := range names {
		k := 0
		for k < int(eventKinds) && eventNames[k] != name {
			k++
		}
		if k == int(eventKinds) {
			return 0, fmt.Errorf("unknown event %q; known: %s%s", name, strings.Join(eventNames[:], " "), spelling.Hint(spelling.Nearest(name, eventNames[:])))
		}
		s |= 1 << k
	}
	return s, nil
}

// Traced has the events to record of the flows that are traced, by flow. It is plain
// data; nil traces nothing.
type Traced map[int32]EventKinds

// Recorder returns the recorder of a flow, which emits into sink. It returns nil for a
// flow that is not traced.
func (t Traced) Recorder(flow int32, sink Sink) *EventRecorder {
	kinds := t[flow]
	if kinds == 0 {
		return nil
	}
	return &EventRecorder{sink: sink, flow: flow, kinds: kinds}
}

// EventRecorder emits the events of one flow, each when it happens. Nil records
// nothing.
type EventRecorder struct {
	sink  Sink
	flow  int32
	kinds EventKinds
	event Event // here because a pointer that goes to an interface would be a new object each time
	held  bool  // event is kept
}

// Wants reports whether events of a kind are recorded.
func (r *EventRecorder) Wants(k EventKind) bool { return r != nil && r.kinds.Has(k) }

// Emit emits an event of a kind that is wanted. It fills in the flow.
func (r *EventRecorder) Emit(e Event) {
	r.Hold(e)
	r.Release()
}

// Hold keeps an event of a kind that is wanted, which is not complete yet, until Release.
// It fills in the flow.
func (r *EventRecorder) Hold(e Event) {
	e.Flow = r.flow
	r.event, r.held = e, true
}

// Held returns the event that Hold keeps, which the caller may complete; nil if there is
// none.
func (r *EventRecorder) Held() *Event {
	if r == nil || !r.held {
		return nil
	}
	return &r.event
}

// Release emits the event that Hold keeps.
func (r *EventRecorder) Release() {
	r.held = false
	r.sink.Emit(&r.event)
}
