package runfolder

import (
	"iter"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

const tableEvents = "events"

// EventRow is a row of events.parquet: a metrics.Event. What events of its kind do not
// have, or what is not known, is nil or "", which is null in the file.
type EventRow struct {
	Variant  string  `parquet:"variant,dict"`
	Seed     uint64  `parquet:"seed"`
	Flow     int32   `parquet:"flow"`
	FlowName string  `parquet:"flow_name,dict"`
	SrcName  string  `parquet:"src_name,dict"`
	DstName  string  `parquet:"dst_name,dict"`
	Event    string  `parquet:"event,dict"` // name of the kind
	TimeUS   float64 `parquet:"time_us"`
	TimePS   int64   `parquet:"time_ps"` // the same, exact
	Packet   *int64  `parquet:"packet,optional"`
	EV       *int32  `parquet:"ev,optional"`

	Bytes    *int64   `parquet:"bytes,optional"`
	Again    *bool    `parquet:"retransmission,optional"`
	Cwnd     *int64   `parquet:"cwnd_bytes,optional"`
	Inflight *int64   `parquet:"inflight_bytes,optional"`
	Pacing   *int64   `parquet:"pacing_bps,optional"` // nil of a flow that is not paced
	RTTUS    *float64 `parquet:"rtt_us,optional"`
	ECN      *bool    `parquet:"ecn,optional"`
	Action   string   `parquet:"action,dict,optional"`

	Type       string   `parquet:"type,dict,optional"`   // name of the signal
	Format     string   `parquet:"format,dict,optional"` // of the tag
	Code       *int64   `parquet:"code,optional"`
	Point      *int64   `parquet:"point,optional"` // in the type's unit, as in SignalRow
	Low        *int64   `parquet:"low,optional"`   // ends of the interval that the code stands for
	High       *int64   `parquet:"high,optional"`  // nil too where it has no upper end
	Locator    *int32   `parquet:"locator,optional"`
	Shared     *int32   `parquet:"shared,optional"`         // ports that have the locator, as in SignalRow
	PortName   string   `parquet:"port_name,dict,optional"` // of the locator; null too where several ports share it
	AgeUS      *float64 `parquet:"age_us,optional"`
	Job        *int32   `parquet:"job,optional"`  // of a connection of a job; nil otherwise
	Step       *int32   `parquet:"step,optional"` // of the message that the row is about, from 1
	Phase      string   `parquet:"phase,dict,optional"`
	Collective string   `parquet:"collective,dict,optional"`
	Group      *int32   `parquet:"group,optional"`
}

// eventValues is what the pointers of an EventRow point to.
type eventValues struct {
	event    metrics.Event
	code     int64
	pacing   int64
	locator  int32
	shared   int32
	rtt, age float64
}

func eventRow(e *metrics.Event, node int32, n *names) EventRow {
	f, v := n.flow(node, e.Flow), &eventValues{event: *e}
	r := EventRow{
		Variant: n.variant, Seed: n.seed, Flow: e.Flow, FlowName: f.Name, SrcName: f.src, DstName: f.dst,
		Event: e.Kind.String(), TimeUS: us(e.At), TimePS: int64(e.At), Packet: known(&v.event.Packet), EV: known(&v.event.EV),
	}
	b := n.belongs(f.Flow, e.Tag)
	r.Job, r.Step, r.Phase, r.Collective, r.Group = b.job, b.step, b.phase, b.collective, b.group
	r.Cwnd, r.Inflight, r.Action = known(&v.event.Cwnd), known(&v.event.Inflight), e.Action
	if e.Pacing > 0 {
		v.pacing = int64(e.Pacing)
		r.Pacing = &v.pacing
	}
	switch e.Kind {
	case metrics.EventSend:
		r.Bytes, r.Again = &v.event.Bytes, &v.event.Again
	case metrics.EventAck:
		r.Bytes, r.RTTUS, r.ECN = &v.event.Bytes, microseconds(e.RTT, &v.rtt), &v.event.ECN
	case metrics.EventSample:
		place := n.locator(e.Locator)
		v.code, v.locator, v.shared = int64(e.Code), int32(e.Locator), place.shared
		r.Format = n.formats.Format(e.Locator)
		r.Type, r.Code, r.Point, r.Locator, r.Shared = n.signal(e.Type), &v.code, &v.event.Value.Point, &v.locator, &v.shared
		r.Low, r.High = &v.event.Value.Low, known(&v.event.Value.High)
		r.PortName, r.AgeUS = place.portName, microseconds(e.Age, &v.age)
	}
	return r
}

// known returns nil for a value that is absent.
func known[T int32 | int64](value *T) *T {
	if *value == metrics.Absent {
		return nil
	}
	return value
}

// microseconds writes d into value and returns it, nil if d is absent.
func microseconds(d units.Duration, value *float64) *float64 {
	if d == metrics.Absent {
		return nil
	}
	*value = d.Microseconds()
	return value
}

// Events reads the events of the flows that were traced; see Ports.
func (f *Folder) Events() iter.Seq2[EventRow, error] {
	return readTable[EventRow](f, tableEvents)
}
