package runfolder

import "iter"

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

// Events reads the events of the flows that were traced; see Ports.
func (f *Folder) Events() iter.Seq2[EventRow, error] {
	return readTable[EventRow](f, tableEvents)
}
