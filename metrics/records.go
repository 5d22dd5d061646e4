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
// To add a table of records, change three files: this one, for the record's type,
// its list in Batch and the four methods that name every list (appendTo, Each, Len
// and Reset); package runfolder's rows.go, for its row and an entry of the tables;
// and the machine that emits it.
package metrics

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// Record is one record of a node: a pointer to one of the types that Batch lists.
type Record interface{ appendTo(b *Batch) }

// Sink takes the records of one node while the run goes on. The record is the
// caller's again when Emit returns: a sink copies what it keeps. A sink belongs to
// the goroutine of its node.
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
	Values           []Value
	Classes          []ClassTotals
	Stalls           []Stall
	Operations       []Operation
	Instances        []Instance
	Hops             []HopValue
	Tagged           []TaggedSample
	Truths           []Truth
	// Dropped is the number of records that the node emitted before these and that
	// found no room in a bounded buffer.
	Dropped int64
}

func (w *PortWindow) appendTo(b *Batch)   { b.Ports = append(b.Ports, *w) }
func (w *FlowWindow) appendTo(b *Batch)   { b.Flows = append(b.Flows, *w) }
func (w *SignalWindow) appendTo(b *Batch) { b.Signals = append(b.Signals, *w) }
func (e *Event) appendTo(b *Batch)        { b.Events = append(b.Events, *e) }
func (t *NodeTotals) appendTo(b *Batch)   { b.Totals = append(b.Totals, t.clone()) }
func (w *CCWindow) appendTo(b *Batch) {
	n := len(b.CC)
	var actions []Count
	if n < cap(b.CC) {
		actions = b.CC[:n+1][n].Actions[:0] // the memory of a record before Reset
	}
	b.CC = append(b.CC, *w)
	b.CC[n].Actions = append(actions, w.Actions...)
}
func (t *Trace) appendTo(b *Batch) {
	b.Traces = append(b.Traces, Trace{Hash: t.Hash, Events: t.Events, Received: slices.Clone(t.Received)})
}

func (m *PortMeasurement) appendTo(b *Batch) {
	b.PortMeasurements = append(b.PortMeasurements, PortMeasurement{m.Node, m.Port, m.Busy, m.Depth.Clone(), m.Wait.Clone()})
}
func (m *FlowMeasurement) appendTo(b *Batch) {
	c := *m
	c.Cwnd, c.RTT = m.Cwnd.Clone(), m.RTT.Clone()
	b.FlowMeasurements = append(b.FlowMeasurements, c)
}

func (v *Value) appendTo(b *Batch) { b.Values = append(b.Values, *v) }

// Emit appends a copy of the record.
func (b *Batch) Emit(r Record) { r.appendTo(b) }

// Each emits the records into a sink, list by list. The records stay the batch's.
func (b *Batch) Each(to Sink) {
	each(b.Ports, to)
	each(b.Flows, to)
	each(b.CC, to)
	each(b.Signals, to)
	each(b.Events, to)
	each(b.Totals, to)
	each(b.PortMeasurements, to)
	each(b.FlowMeasurements, to)
	each(b.Values, to)
	each(b.Classes, to)
	each(b.Stalls, to)
	each(b.Operations, to)
	each(b.Instances, to)
	each(b.Hops, to)
	each(b.Tagged, to)
	each(b.Truths, to)
	each(b.Traces, to)
}

func each[T any, P interface {
	*T
	Record
}](list []T, to Sink) {
	for i := range list {
		to.Emit(P(&list[i]))
	}
}

// Len returns the number of records.
func (b *Batch) Len() int {
	return len(b.Ports) + len(b.Flows) + len(b.CC) + len(b.Signals) + len(b.Events) + len(b.Totals) + len(b.Traces) +
		len(b.PortMeasurements) + len(b.FlowMeasurements) + len(b.Values) +
		len(b.Classes) + len(b.Stalls) + len(b.Operations) + len(b.Instances) +
		len(b.Hops) + len(b.Tagged) + len(b.Truths)
}

// Reset empties the batch for records of the same node. The lists keep their
// memory.
func (b *Batch) Reset() {
	*b = Batch{
		Node: b.Node, Ports: b.Ports[:0], Flows: b.Flows[:0], CC: b.CC[:0], Signals: b.Signals[:0], Events: b.Events[:0],
		Totals: b.Totals[:0], Traces: b.Traces[:0],
		PortMeasurements: b.PortMeasurements[:0], FlowMeasurements: b.FlowMeasurements[:0], Values: b.Values[:0],
		Classes: b.Classes[:0], Stalls: b.Stalls[:0], Operations: b.Operations[:0], Instances: b.Instances[:0],
		Hops: b.Hops[:0], Tagged: b.Tagged[:0], Truths: b.Truths[:0],
	}
}

// PortWindow is what one egress port did in one telemetry window.
type PortWindow struct {
	Node, Port int32
	Start      units.Time
	TxPackets  int64 // packets whose transmission started in the window
	TxBytes    int64 // their wire bytes
	Marked     int64 // packets marked CE
	Trimmed    int64
	Dropped    int64
	QueueMax   int64 // largest data queue in bytes
	// QueueByteNS is the integral of the data queue over the window in
	// byte-nanoseconds; divided by the interval it is the mean depth.
	QueueByteNS int64
	// Busy is the time within the window in which the port was transmitting, line overhead
	// included. A transmission that lasts beyond the window is split at its end, so that the
	// windows of a port add up to the time that it was busy.
	Busy units.Duration
	// ABW is the lowest available bandwidth in byte/s that the port's own meter gave at any
	// time in the window (docs/references.md#available-bandwidth); Absent of a port without
	// a meter.
	ABW int64
}

// FlowWindow is what the receiver of one flow got in one telemetry window. It has no Tag: a
// receiver learns from the wire where messages end, but not what they belong to.
type FlowWindow struct {
	Flow         int32
	Start        units.Time
	Packets      int64 // first copies of data packets received whole
	WireBytes    int64
	PayloadBytes int64
}

// CCWindow is what the congestion controller of one flow did in one telemetry
// window.
type CCWindow struct {
	Flow    int32
	Start   units.Time
	Acks    int64
	Delay   units.Duration // sum over Acks of the delay fed to the controller
	Actions []Count        // ACKs by the controller's actions; actions without any are left out
	Cwnd    int64          // bytes, at the last ACK of the window
	BaseRTT units.Duration // at the last ACK of the window
	Pacing  units.Rate     // at the last ACK of the window; 0: the flow is not paced
	Tag     Tag            // of the message whose packets the ACKs are of; a window of another has a record of its own
}

// SignalWindow is the CSIG samples that one flow's sender got in one telemetry
// window, by signal type and locator.
type SignalWindow struct {
	Flow     int32
	Type     uint8 // csig signal type
	Locator  uint32
	Start    units.Time
	Samples  int64
	PointSum int64 // sum of the decoded points, in the type's unit (B/s, ppm, ns)
	PointMax int64
	PointMin int64
	// LowSum and HighSum are sums over the samples of the ends of the intervals that codes
	// stand for: divided by Samples, the interval in which the mean of the measured values
	// lies. HighSum is Absent if the code of a sample has no upper end.
	LowSum, HighSum int64
	Tag             Tag // of the message whose packets brought the samples; of another there is a record of its own
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

// Event is one event of a flow that is traced: at its sender, or where its samples are
// read. The fields of the other kinds are 0.
type Event struct {
	Flow   int32
	Kind   EventKind
	At     units.Time
	Packet int64 // sequence number in the flow of what was sent, of the packet that triggered the ACK, or that brought the sample; Absent
	EV     int32 // entropy value of that packet, which stands for its path; Absent
	Tag    Tag   // of the message that this packet is of, or if it has none, of the oldest not acknowledged

	// Of EventSend the wire bytes of the packet, its tag as the packet counts it; of
	// EventAck the wire bytes that it reports as newly received.
	Bytes int64
	Again bool // of EventSend: the packet had been sent before

	// Of all kinds, afterwards, and in wire bytes: of EventSample after the controller has
	// had the ACK that brought it. Absent of flows without a window, and of what was not
	// brought by an ACK.
	Cwnd, Inflight int64
	Pacing         units.Rate // afterwards; 0: the flow is not paced

	// Of EventAck.
	RTT units.Duration // of the packet that triggered it; Absent
	ECN bool           // that packet was marked CE

	// Of EventAck, and of EventSample that an ACK has brought.
	Action string // that the controller answered with; "" of controllers without actions

	// Of EventSample.
	Type    uint8   // csig signal type
	Code    uint32  // as in the tag
	Value   Reading // that it stands for
	Locator uint32
	Age     units.Duration // since the packet that brought it was sent; Absent
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

// Value is one metric of the whole run. No machine emits it: the metrics of a run are
// computed from the records of all nodes, and are written like these.
type Value struct {
	Metric  string // without what it is about, such as queue_kb.p99
	Subject string // what it is about, such as tor0-agg0; "" for a metric of the whole run
	Name    string // such as queue_kb.p99.tor0-agg0
	Value   float64
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

func (t *NodeTotals) clone() NodeTotals {
	c := *t
	c.Ports, c.Senders, c.Receivers = slices.Clone(t.Ports), slices.Clone(t.Senders), slices.Clone(t.Receivers)
	c.Drops, c.Tags, c.Programs = slices.Clone(t.Drops), slices.Clone(t.Tags), slices.Clone(t.Programs)
	c.Faults, c.Jobs = slices.Clone(t.Faults), slices.Clone(t.Jobs)
	return c
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
