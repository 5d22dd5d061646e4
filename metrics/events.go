package metrics

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

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
