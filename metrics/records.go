// Package metrics holds the typed records that machines emit while they run, and
// what carries them within a process: sinks and batches. It has no file, no clock
// and no goroutine: package stream carries batches between goroutines, package
// runfolder writes them to files.
//
// A node emits its records into a Sink that it gets at its construction: the
// windows when they close, the totals at the end of the run. Windows close
// lazily, at the next event or at the end of the run, so that measuring arms no
// timer; a window in which nothing happened has no record. A record in a sink is
// all that is left of a window, so that the memory of a node does not grow with
// the length of its run.
//
// A type of records whose first field is a Table is written to a table of the run folder. To
// add one, write the type in a file of its own, with table and keep as values.go has them, and
// emit its records from the machine.
package metrics

import (
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// Record is one record of a node: a pointer to one of the types that Batch lists.
type Record interface{ appendTo(b *Batch) }

// Sink takes the records of one node while the run goes on. The record is the
// caller's again when Emit returns: a sink copies what it keeps. What a node emits at the
// end of the run is large, and shared: neither side changes the lists and histograms of
// totals, traces and measurements after Emit. A sink belongs to the goroutine of its node.
type Sink interface{ Emit(r Record) }

// Discard is a Sink that keeps nothing, for tests and benchmarks.
var Discard Sink = discard{}

type discard struct{}

func (discard) Emit(Record) {}

// Batch is records of one node, in the order in which the node emitted those of
// each type. It is plain data, and a Sink that keeps everything. Its zero value is
// an empty batch of node 0.
type Batch struct {
	Node    int32
	Ports   []PortWindow
	Flows   []FlowWindow
	CC      []CCWindow
	Signals []SignalWindow
	Events  []Event
	Totals  []NodeTotals
	Traces  []Trace

	PortMeasurements []PortMeasurement
	FlowMeasurements []FlowMeasurement
	Classes          []ClassTotals
	Stalls           []Stall
	Operations       []Operation
	Instances        []Instance
	Hops             []HopValue
	Tagged           []TaggedSample
	// Rows are the records of the types that only their table reads, a list of each type.
	Rows []Rows
	// Dropped is the number of records that the node emitted before these and that
	// found no room in a bounded buffer.
	Dropped int64
}

// lists returns the lists of the batch's own fields.
func (b *Batch) lists() [15]Rows {
	return [...]Rows{
		ListOf(&b.Ports), ListOf(&b.Flows), ListOf(&b.CC), ListOf(&b.Signals), ListOf(&b.Events), ListOf(&b.Totals), ListOf(&b.Traces),
		ListOf(&b.PortMeasurements), ListOf(&b.FlowMeasurements), ListOf(&b.Classes), ListOf(&b.Stalls),
		ListOf(&b.Operations), ListOf(&b.Instances), ListOf(&b.Hops), ListOf(&b.Tagged),
	}
}

// ListOf returns a list as Batch.Rows has it. It shares the memory of the list.
func ListOf[T any, P record[T]](list *[]T) Rows { return (*rows[T, P])(list) }

func (t *NodeTotals) appendTo(b *Batch)      { b.Totals = append(b.Totals, *t) }
func (t *Trace) appendTo(b *Batch)           { b.Traces = append(b.Traces, *t) }
func (m *PortMeasurement) appendTo(b *Batch) { b.PortMeasurements = append(b.PortMeasurements, *m) }
func (m *FlowMeasurement) appendTo(b *Batch) { b.FlowMeasurements = append(b.FlowMeasurements, *m) }

// Emit appends a copy of the record.
func (b *Batch) Emit(r Record) { r.appendTo(b) }

// Each emits the records into a sink, list by list. The records stay the batch's.
func (b *Batch) Each(to Sink) {
	for _, l := range b.lists() {
		l.each(to)
	}
	for _, l := range b.Rows {
		l.each(to)
	}
}

// Len returns the number of records.
func (b *Batch) Len() (records int) {
	for _, l := range b.lists() {
		records += l.count()
	}
	for _, l := range b.Rows {
		records += l.count()
	}
	return records
}

// Clone returns a copy of the batch, which shares no memory with it.
func (b *Batch) Clone() *Batch {
	c := &Batch{Node: b.Node, Dropped: b.Dropped}
	from := b.lists()
	for i, l := range c.lists() {
		l.grow(from[i].count())
	}
	for _, l := range b.Rows {
		c.Rows = append(c.Rows, l.like())
	}
	b.Each(c)
	return c
}

// Reset empties the batch for records of the same node. The lists keep their
// memory.
func (b *Batch) Reset() {
	for _, l := range b.lists() {
		l.reset()
	}
	b.Rows, b.Dropped = b.Rows[:0], 0
}

// SecondFormat is what the locators in records have added if their tag is of the second
// format of a fabric with two: one number may stand for other ports in each.
const SecondFormat = 1 << 16

// Absent is the value of a field of a record that is not known, or that records of its
// kind do not have.
const Absent = -1

// Reading is what the code of one CSIG sample stands for, in the unit of its type (B/s,
// ppm, ns): the measured value lies between Low and High.
type Reading struct {
	Point     int64
	Low, High int64 // both inclusive; High is Absent if the code has no upper end
}

// PortTotals is what one port did over the whole run. The ingress half counts
// what arrived on the port, the egress half what was sent through it.
// Conservation: EnqueuedPackets = TxPackets + DroppedPackets + QueuedPackets;
// EnqueuedBytes = TxBytes + DroppedBytes + CutBytes + QueuedBytes.
type PortTotals struct {
	Node, Port                     int32
	RxPackets, RxBytes             int64
	EnqueuedPackets, EnqueuedBytes int64
	TxPackets, TxBytes             int64
	DroppedPackets, DroppedBytes   int64
	TrimmedPackets, CutBytes       int64 // trimmed, and the bytes that trimming removed
	QueuedPackets, QueuedBytes     int64 // still queued at the end
	MarkedPackets                  int64
	QueueMax                       int64
	LastDeparture                  units.Time
	FirstDeparture                 units.Time
	QueueByteNS                    int64 // integral of the data queue over the run
	PausesReceived, PausesSent     int64 // frames of priority flow control, which are in the counts of packets too
}

// SenderTotals is one flow seen by its sender. Times are units.Never when the
// event has not happened.
type SenderTotals struct {
	Flow          int32
	Start         units.Time // when the transfer became ready to send
	Done          units.Time // arrival of the ACK that completes the flow
	NewPackets    int64      // first transmissions
	PayloadBytes  int64      // of these
	Retransmitted int64
	AcksReceived  int64
	NacksReceived int64
	Returned      int64 // of the NACKs, those of switches whose port was down
	Timeouts      int64
	GaveUp        bool // it ended before it was done: a fault left it no way
	Stopped       bool // the transfer ended at its stop, before all of its size was sent
	Probes        int64
	Samples       int64          // CSIG samples that came back, those of trimmed packets not counted
	FreshSamples  int64          // of these, the ones of packets sent no earlier than that of any sample before
	Untouched     int64          // tags that came back and that no hop had written
	SampleGap     units.Duration // longest time in which the flow wanted samples and got none
	CNPsReceived  int64
	Credits       int64 // credit packets received
	Requests      int64 // packets sent to ask for credit
	BaseRTT       units.Duration
	Cwnd          int64
}

// ReceiverTotals is one flow seen by its receiver.
type ReceiverTotals struct {
	Flow             int32
	Done             units.Time // last byte received
	DeliveredWhole   int64      // data packets, duplicates included
	Duplicates       int64
	DeliveredTrimmed int64
	AcksSent         int64
	NacksSent        int64
	CNPsSent         int64
	CreditsSent      int64
	OutOfSequence    int64 // data packets that came whole behind a hole, and that go-back-N does not take
	PayloadBytes     int64 // distinct
	Untouched        int64 // tags that no hop had written, of a flow between programs, whose tags end here
	// MeasuredWire and MeasuredPayload are the bytes of distinct packets that
	// arrived in the measuring window.
	MeasuredWire, MeasuredPayload int64
}

// Span is a window of model time, To exclusive.
type Span struct{ From, To units.Time }

// Contains reports whether a moment lies in the window.
func (s Span) Contains(at units.Time) bool { return at >= s.From && at < s.To }

// Overlap returns how long the time from one moment to another lies in the window.
func (s Span) Overlap(from, to units.Time) units.Duration {
	return max(0, min(to, s.To).Sub(max(from, s.From)))
}

// PortMeasurement is what one egress port did in the measuring window. A machine emits
// it at the end of the run, unless the port did nothing.
type PortMeasurement struct {
	Node, Port int32
	Busy       units.Duration // in which the port was transmitting, line overhead included
	// Depth is the data queue's depth in bytes, weighted by time in ps: by all of the
	// measuring window up to the end of the run.
	Depth histogram.Histogram
	// Wait is the time in ps from the arrival of a packet of the data queue there to the
	// beginning of its transmission, by packets whose transmission began in the window.
	Wait histogram.Histogram
}

// FlowMeasurement is what the sender of one flow saw in the measuring window. A machine
// emits it at the end of the run, unless the sender saw nothing.
type FlowMeasurement struct {
	Flow          int32
	New           int64 // data packets sent for the first time
	Retransmitted int64
	Acks          int64               // received
	Samples       int64               // as SenderTotals.Samples
	Cwnd          histogram.Histogram // bytes, after each ACK
	RTT           histogram.Histogram // ps, of each ACK that has one
}

// Count is a number of packets to which one thing happened.
type Count struct {
	Name    string
	Packets int64
}

// FaultTotals is what a fault of the run dropped at one node.
type FaultTotals struct {
	Fault    int32  // number in the run
	Reason   string // of the packets in NodeTotals.Drops; "": the fault drops nothing
	Arriving int64  // packets that arrived over a link
	Queued   int64  // packets that waited in the node for a port
	Bytes    int64  // wire bytes of all of them
}

// AddQueued counts packets that waited in the node.
func (t *FaultTotals) AddQueued(packets, bytes int64) {
	t.Queued += packets
	t.Bytes += bytes
}

// NodeTotals is what a node measured over the whole run. A machine emits one at
// the end, without TraceHash and Events; these and the ingress half of the ports
// come from the Trace that its driver emits (see Batch.NodeTotals).
type NodeTotals struct {
	Node      int32
	Name      string
	TraceHash [32]byte // of the node's events (node.Trace); zero: left out
	Events    int64
	Ports     []PortTotals
	Senders   []SenderTotals
	Receivers []ReceiverTotals
	Drops     []Count       // packets dropped, by reason, in a fixed order
	Tags      []Count       // tagged packets that left a switch, by what it did to the tag, in a fixed order
	Faults    []FaultTotals // of the faults that touch the node; their packets are in Drops too
	Made      int64         // packets that a switch made itself and forwarded as if they had come in; pause frames are not among them
	Memory    MemoryTotals
	Postcards int64       // of Made
	Taken     int64       // packets for the node itself: weights at a switch, postcards at a collector
	Jobs      []JobTotals // whose ranks the node plays
	Programs  []Count     // frames of a host's programs that did not enter the fabric, by what became of them, in a fixed order
}

// Trace is what the driver of a node counted over the whole run.
type Trace struct {
	Hash     [32]byte // of the node's events (node.Trace)
	Events   int64
	Received []Ingress // by port of the machine
}

// Ingress counts what arrived on a port.
type Ingress struct{ Packets, Bytes int64 }

// FlowInfo names a flow for reports.
type FlowInfo struct {
	Flow     int32
	Job      int32
	Name     string // "<src>-<dst>", with "#2" and so on appended for repeats
	Src, Dst int32
	Size     units.Size // of a transfer that stops, the most that it can send until then
	Packets  int64
	// Of a connection of a job: how many messages it carries, 0 for a flow that is none,
	// the ranks that it joins and which of their streams it is. Size is the sum of the
	// messages.
	Messages         int
	SrcRank, DstRank int32
	Channel          uint16
}

// Pair names the flow under which the packets that programs on one host send to
// those on another are recorded.
type Pair struct {
	Flow                int32
	Source, Destination int32 // hosts
}
