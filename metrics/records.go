// Package metrics holds the typed records that machines emit while they run and
// the results they leave at the end. It has no file and no clock: package
// runfolder writes the records, drivers carry them.
//
// Windows close lazily, at the next event or at the end of the run, so that
// measuring arms no timer; a window in which nothing happened has no record.
package metrics

import (
	"github.com/csiglab/csiglab/units"
)

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
}

// FlowWindow is what the receiver of one flow got in one telemetry window.
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
}

// SignalWindow is the CSIG samples that one flow's sender got in one telemetry
// window, by signal type and locator.
type SignalWindow struct {
	Flow     int32
	Type     uint8 // csig signal type
	Locator  uint16
	Start    units.Time
	Samples  int64
	PointSum int64 // sum of the decoded points, in the type's unit (B/s, ppm, ns)
	PointMax int64
	PointMin int64
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
}

// SenderTotals is one flow seen by its sender. Times are units.Never when the
// event has not happened.
type SenderTotals struct {
	Flow          int32
	Start         units.Time // when the transfer became ready to send
	Done          units.Time // arrival of the ACK that completes the flow
	NewPackets    int64      // first transmissions
	Retransmitted int64
	AcksReceived  int64
	NacksReceived int64
	Timeouts      int64
	Probes        int64
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
	PayloadBytes     int64 // distinct
	// MeasuredWire and MeasuredPayload are the bytes of distinct packets that
	// arrived in the measuring window.
	MeasuredWire, MeasuredPayload int64
}

// Count is a number of packets to which one thing happened.
type Count struct {
	Name    string
	Packets int64
}

// NodeResult is all that a node leaves at the end of a run.
type NodeResult struct {
	Node      int32
	Name      string
	TraceHash [32]byte // SHA-256 over the node's events
	Events    int64
	Ports     []PortTotals
	Senders   []SenderTotals
	Receivers []ReceiverTotals
	Drops     []Count // packets dropped, by reason, in a fixed order
	Tags      []Count // tagged packets that left a switch, by what it did to the tag, in a fixed order
	Programs  []Count // frames of a host's programs that did not enter the fabric, by what became of them, in a fixed order

	PortWindows   []PortWindow
	FlowWindows   []FlowWindow
	CCWindows     []CCWindow
	SignalWindows []SignalWindow
}

// FlowInfo names a flow for reports.
type FlowInfo struct {
	Flow     int32
	Name     string // "<src>-<dst>", with "#2" and so on appended for repeats
	Src, Dst int32
	Size     units.Size
	Packets  int64
	Job      int32
}

// Pair names the flow under which the packets that programs on one host send to
// those on another are recorded.
type Pair struct {
	Flow                int32
	Source, Destination int32 // hosts
}
