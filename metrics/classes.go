package metrics

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// ClassTotals is what one port did with one data class over the whole run, of fabrics with
// several classes, a lossless one, or switches whose ports share memory. A machine emits it
// at the end of the run. Depth and Wait are those of the measuring window, as in
// PortMeasurement.
type ClassTotals struct {
	_              Table  `name:"classes" schema:"ClassRow" doc:"A row is what one port did with one data class over the whole run. Hosts and switches of runs with [classes](../how-to/fabrics.md#classes) or shared memory emit it at the end; other runs have no rows."`
	Node           int32  `column:"node"`
	_              Column `column:"node_name,dict" names:"Node.Name"`
	Port           int32  `column:"port"`
	_              Column `column:"port_name,dict" names:"Port.Name"`
	Class          int32  `column:"class" doc:"number of the data class; 0 is 'default'"`
	Name           string `column:"class_name,dict"`
	TxPackets      int64  `column:"tx_packets" unit:"packets" doc:"data sent"`
	TxBytes        int64  `column:"tx_bytes" unit:"bytes"`
	MarkedPackets  int64  `column:"marked" unit:"packets"`
	TrimmedPackets int64  `column:"trimmed" unit:"packets"`
	DroppedPackets int64  `column:"dropped" unit:"packets" doc:"that found no room"`
	DroppedBytes   int64
	QueueMax       int64 `column:"queue_max_bytes" unit:"bytes" doc:"longest queue of the class"`
	Depth, Wait    histogram.Histogram

	// Of priority flow control. Frames that name several classes count for each.
	PausesReceived  int64          `column:"pauses_received" unit:"frames" doc:"pause frames from the peer that named the class"`
	PausesSent      int64          `column:"pauses_sent" unit:"frames" doc:"and to the peer"`
	Paused          units.Duration `column:"paused_us" unit:"us" doc:"in which the peer had paused the class"`
	HeadroomMax     int64          `column:"headroom_max_bytes" unit:"bytes" doc:"the most that came in beyond XOFF"`
	HeadroomDropped int64          `column:"headroom_dropped" unit:"packets" doc:"for which there was no headroom"` // in a lossless class there should be none
}

func (t *ClassTotals) appendTo(b *Batch) { b.Classes = append(b.Classes, *t) }

// MemoryTotals is the packet memory of one switch over the whole run, in bytes. It is 0 of
// nodes without ClassTotals.
type MemoryTotals struct {
	BufferMax  int64 // data packets, of all classes and ports
	SharedMax  int64 // of these, what was beyond reserved memory; 0 of switches whose ports share nothing
	SharedSize int64
}

// Stall is a class at a port of a switch that its peer has paused for so long that it may
// be part of a deadlock, with the packets that wait there. A machine emits it when that
// shows, and once more, with Over set, when the class may be sent again.
type Stall struct {
	Node, Port, Class int32
	Over              bool
	Since, At         units.Time
	// Held are the packets that wait, by the port through which they came in. Ports that
	// do not pause their peers are left out.
	Held []Held
}

// Held is what an ingress port has in the queue of a Stall.
type Held struct {
	Port   int32
	Bytes  int64
	Resume int64 // the peer may go on when the port has no more than this in the whole switch
}

func (s *Stall) appendTo(b *Batch) {
	c := *s
	c.Held = slices.Clone(s.Held)
	b.Stalls = append(b.Stalls, c)
}

// Urgent reports whether a record is wanted while the run goes on, so that it must not
// wait for others in a buffer.
func Urgent(r Record) bool {
	_, ok := r.(*Stall)
	return ok
}

// ClassRecorder keeps the ClassTotals of one class at one egress port. Calls come in order
// of time. Build it with NewClassRecorder.
type ClassRecorder struct {
	Totals  ClassTotals
	measure Span
	depth   int64
	since   units.Time // of depth
}

// NewClassRecorder returns the recorder of totals that name node, port and class and count
// nothing yet.
func NewClassRecorder(of ClassTotals, measure Span) ClassRecorder {
	return ClassRecorder{Totals: of, measure: measure}
}

// Depth sets the depth of the class's queue from now on, in bytes.
func (r *ClassRecorder) Depth(now units.Time, bytes int64) {
	r.advance(now)
	r.depth = bytes
	r.Totals.QueueMax = max(r.Totals.QueueMax, bytes)
}

func (r *ClassRecorder) advance(now units.Time) {
	if in := r.measure.Overlap(r.since, now); in > 0 && r.depth > 0 {
		r.Totals.Depth.Add(r.depth, int64(in))
	}
	r.since = now
}

// Transmit counts a data packet whose transmission starts at now after it has waited.
func (r *ClassRecorder) Transmit(now units.Time, size int64, waited units.Duration, marked bool) {
	t := &r.Totals
	t.TxPackets++
	t.TxBytes += size
	if marked {
		t.MarkedPackets++
	}
	if r.measure.Contains(now) {
		t.Wait.Add(int64(waited), 1)
	}
}

// Drop counts a packet that found no room.
func (r *ClassRecorder) Drop(size int64) {
	r.Totals.DroppedPackets++
	r.Totals.DroppedBytes += size
}

// Close completes Totals at the end of the run and emits them, unless nothing happened.
func (r *ClassRecorder) Close(end units.Time, to Sink) {
	t := &r.Totals
	r.advance(end)
	if t.TxPackets|t.DroppedPackets|t.TrimmedPackets|t.PausesReceived|t.PausesSent|t.HeadroomDropped|t.HeadroomMax|t.QueueMax == 0 {
		return
	}
	t.Depth.Add(0, int64(r.measure.Overlap(0, end))-t.Depth.Weight())
	to.Emit(t)
}
