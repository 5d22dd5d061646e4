package metrics

import (
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// Windows are aligned to the start of the run: window i of interval d is
// [i*d, (i+1)*d).
func windowStart(now units.Time, interval units.Duration) units.Time {
	return now - now%units.Time(interval)
}

// PortRecorder keeps the totals of one egress port and emits its windows. Calls
// come in order of time. Build it with NewPortRecorder.
type PortRecorder struct {
	// What each packet changes comes first, so that it fills two cache lines.
	end           units.Time // of the current window
	depth         int64      // data queue in bytes
	since         units.Time // of that depth
	area          int64      // integral of depth in byte-ps since the window began
	queueMax      int64      // in the window
	packets       int64      // sent in the window
	bytes         int64
	lastDeparture units.Time     // negative: none yet
	sending       units.Duration // all transmissions, the one under way to its end

	enqueuedPackets int64
	enqueuedBytes   int64
	measure         Span
	busy            units.Duration // in measure
	unqueued        int64          // packets in measure that did not wait
	depths, waits   int32          // samples that are pending in measured
	measured        *portSamples   // nil until there is one

	// Totals are complete after Close. Until then they have what the windows had that
	// are closed.
	Totals PortTotals

	window   PortWindow // the rest of the current window; complete when it closes
	sink     Sink
	meter    Meter          // nil: there is none
	beside   *besides       // nil: nothing
	busied   units.Duration // in windows that are closed
	interval units.Duration
}

// Meter is what a port measures its available bandwidth with.
type Meter interface {
	// Lowest returns the least value in byte/s that the meter has given at any time since
	// the end of the call before, of the first call since the start of the run, and before
	// end. Calls come in order of time, and nothing has been asked of the meter, or told to
	// it, that is at end or later.
	Lowest(end units.Time) uint64
}

// PortConfig is what a PortRecorder is built from.
type PortConfig struct {
	Node, Port int
	Records    units.Duration // length of the windows, positive
	Measure    Span           // of the PortMeasurement
	Sink       Sink           // takes the windows, and the PortMeasurement
	Meter      Meter          // nil: the port has none
}

// NewPortRecorder returns the recorder of a port.
func NewPortRecorder(c PortConfig) PortRecorder {
	node, port := int32(c.Node), int32(c.Port)
	return PortRecorder{
		Totals:        PortTotals{Node: node, Port: port, FirstDeparture: units.Never},
		window:        PortWindow{Node: node, Port: port},
		sink:          c.Sink,
		meter:         c.Meter,
		interval:      c.Records,
		end:           units.Time(c.Records),
		measure:       c.Measure,
		lastDeparture: -1,
	}
}

// Touch reads what each packet changes, and returns a number that means nothing, so that
// it is in the cache when the port's next packet comes.
func (r *PortRecorder) Touch() int64 {
	sum := r.depth + r.enqueuedBytes
	if r.measured != nil {
		sum += int64(r.measured.depths[r.depths].Weight + r.measured.waits[r.waits])
	}
	return sum
}

// Enqueue counts a packet that came to the port.
func (r *PortRecorder) Enqueue(size int64) {
	r.enqueuedPackets++
	r.enqueuedBytes += size
}

// Advance closes the windows that end at or before now. Calls of the methods that have a
// time do that by themselves; it is for what changes the Meter alone.
func (r *PortRecorder) Advance(now units.Time) { r.roll(now) }

// Depth sets the data queue's depth from now on.
func (r *PortRecorder) Depth(now units.Time, bytes int64) {
	if now >= r.end {
		r.roll(now)
	}
	r.advance(now)
	r.depth = bytes
	if bytes > r.queueMax {
		r.queueMax = bytes
	}
}

// advance adds the time since the last change of the depth.
func (r *PortRecorder) advance(now units.Time) {
	if r.depth > 0 && now > r.since {
		r.area += r.depth * int64(now.Sub(r.since))
		if in := r.measure.Overlap(r.since, now); in > 0 {
			r.sampleDepth(r.depth, int64(in))
		}
	}
	r.since = now
}

// Wait counts the time that a packet of the data queue, whose transmission starts at
// now, was there.
func (r *PortRecorder) Wait(now units.Time, waited units.Duration) {
	switch {
	case !r.measure.Contains(now):
	case waited == 0:
		r.unqueued++
	default:
		r.sampleWait(int64(waited))
	}
}

// sampleDepth takes a depth of the data queue and how long it lasted in ps.
func (r *PortRecorder) sampleDepth(depth, lasted int64) {
	m := r.samples()
	if uint64(depth|lasted)>>32 != 0 {
		m.Depth.Add(depth, lasted)
		return
	}
	m.depths[r.depths] = histogram.Sample{Value: uint32(depth), Weight: uint32(lasted)}
	if r.depths++; int(r.depths) == len(m.depths) {
		m.Depth.AddAll(m.depths[:])
		r.depths = 0
	}
}

// sampleWait takes the wait of a packet in ps.
func (r *PortRecorder) sampleWait(waited int64) {
	m := r.samples()
	if uint64(waited)>>32 != 0 {
		m.Wait.Add(waited, 1)
		return
	}
	m.waits[r.waits] = uint32(waited)
	if r.waits++; int(r.waits) == len(m.waits) {
		m.Wait.AddEach(m.waits[:])
		r.waits = 0
	}
}

// samples returns what the port has measured, from the first sample on.
func (r *PortRecorder) samples() *portSamples {
	if r.measured == nil {
		r.measured = &portSamples{}
	}
	return r.measured
}

// Transmit counts a packet whose transmission starts at now.
func (r *PortRecorder) Transmit(now, departs units.Time, size int64, marked bool) {
	if now >= r.end {
		r.roll(now)
	}
	r.packets++
	r.bytes += size
	if r.lastDeparture < 0 {
		r.Totals.FirstDeparture = now
	}
	r.lastDeparture = departs
	r.sending += departs.Sub(now)
	r.busy += r.measure.Overlap(now, departs)
	if marked {
		r.window.Marked++
	}
}

// Trim counts a packet of which trimming removed cut bytes.
func (r *PortRecorder) Trim(now units.Time, cut int64) {
	r.roll(now)
	r.window.Trimmed++
	r.Totals.CutBytes += cut
}

// Drop counts a packet that came to the port and was dropped.
func (r *PortRecorder) Drop(now units.Time, size int64) {
	r.roll(now)
	r.window.Dropped++
	r.Totals.DroppedBytes += size
}

// Close ends the last window at end, with what is still queued, completes Totals and
// emits the PortMeasurement.
func (r *PortRecorder) Close(end units.Time, queuedPackets, queuedBytes int64) {
	r.roll(end - 1) // a window that would start at the end has no time in it
	r.closeWindow(end)
	t := &r.Totals
	t.EnqueuedPackets, t.EnqueuedBytes = r.enqueuedPackets, r.enqueuedBytes
	t.QueuedPackets, t.QueuedBytes = queuedPackets, queuedBytes
	t.LastDeparture = max(0, r.lastDeparture)
	if r.measured == nil && r.busy == 0 && r.beside == nil {
		return
	}
	m := r.samples()
	m.Depth.AddAll(m.depths[:r.depths])
	m.Wait.AddEach(m.waits[:r.waits])
	m.Wait.Add(0, r.unqueued)
	m.Depth.Add(0, int64(r.measure.Overlap(0, end))-m.Depth.Weight())
	m.Node, m.Port = t.Node, t.Port
	m.Busy = r.busy - min(r.tail(end), r.measure.Overlap(end, t.LastDeparture)) // without the rest of a packet that is leaving
	if r.beside != nil {
		m.Busy += units.Duration(r.beside.measured)
	}
	r.sink.Emit(&m.PortMeasurement)
}

// roll closes the windows that end at or before now. Those in which nothing
// happened, nothing was queued and nothing was on its way out leave no record.
func (r *PortRecorder) roll(now units.Time) {
	for now >= r.end {
		r.closeWindow(r.end)
		r.window.Start, r.queueMax = r.end, r.depth
		if start := windowStart(now, r.interval); r.depth == 0 && r.lastDeparture <= r.end && start > r.end && (r.beside == nil || r.beside.rates == Beside{}) {
			r.window.Start = start
			if r.meter != nil {
				r.meter.Lowest(start) // of windows without a record
			}
		}
		r.end = r.window.Start.Add(r.interval)
	}
}

func (r *PortRecorder) closeWindow(at units.Time) {
	r.advance(at)
	w, t := &r.window, &r.Totals
	w.TxPackets, w.TxBytes = r.packets, r.bytes
	w.QueueMax, w.QueueByteNS = r.queueMax, r.area/int64(units.Nanosecond)
	sent := r.sending - r.tail(at)
	w.Busy, r.busied = sent-r.busied, sent
	w.ABW = Absent
	if r.meter != nil {
		w.ABW = int64(r.meter.Lowest(at))
	}
	t.QueueByteNS += w.QueueByteNS
	t.QueueMax = max(t.QueueMax, w.QueueMax)
	t.TxPackets += w.TxPackets
	t.TxBytes += w.TxBytes
	t.MarkedPackets += w.Marked
	t.TrimmedPackets += w.Trimmed
	t.DroppedPackets += w.Dropped
	if r.beside != nil {
		r.beside.addTo(w, at, r.measure)
	}
	if w.TxPackets|w.Trimmed|w.Dropped|w.QueueMax|int64(w.Busy) != 0 {
		r.sink.Emit(w)
	}
	*w = PortWindow{Node: w.Node, Port: w.Port}
	r.packets, r.bytes, r.queueMax, r.area = 0, 0, 0, 0
}

// rolling determines when a window of a flow ends. The zero end makes the first event
// begin a window.
type rolling struct {
	interval units.Duration
	end      units.Time // of the window
}

// next reports whether now is beyond the window, and when the one it is in starts.
func (r *rolling) next(now units.Time) (start units.Time, beyond bool) {
	if now < r.end {
		return 0, false
	}
	start = windowStart(now, r.interval)
	r.end = start.Add(r.interval)
	return start, true
}

// FlowRecorder emits the windows of one flow at its receiver. Build it with
// NewFlowRecorder.
type FlowRecorder struct {
	sink    Sink
	rolling rolling
	current FlowWindow
}

// NewFlowRecorder returns the recorder of a flow with windows of the given
// length, which must be positive, that emits into sink.
func NewFlowRecorder(flow int, interval units.Duration, sink Sink) FlowRecorder {
	return FlowRecorder{sink: sink, rolling: rolling{interval: interval}, current: FlowWindow{Flow: int32(flow)}}
}

// Touch reads what each packet changes, and returns a number that means nothing.
func (r *FlowRecorder) Touch() int64 { return r.current.Packets }

// Receive counts a data packet.
func (r *FlowRecorder) Receive(now units.Time, wire, payload int64) {
	if start, beyond := r.rolling.next(now); beyond {
		r.Close()
		r.current.Start = start
	}
	r.current.Packets++
	r.current.WireBytes += wire
	r.current.PayloadBytes += payload
}

// Close ends the last window.
func (r *FlowRecorder) Close() {
	if r.current.Packets != 0 {
		r.sink.Emit(&r.current)
	}
	r.current = FlowWindow{Flow: r.current.Flow}
}

// CCRecorder emits the windows of one flow's congestion controller. Build it with
// NewCCRecorder.
type CCRecorder struct {
	rolling rolling
	current CCWindow // without Actions until it closes
	counts  []int64  // ACKs of the current window by action
	names   []string // of the actions
	sink    Sink
}

// NewCCRecorder returns the recorder of a flow with windows of the given length,
// which must be positive, that emits into sink. Actions are the names of the
// controller's actions, by index; the recorder keeps the list, which must not change.
func NewCCRecorder(flow int, interval units.Duration, actions []string, sink Sink) CCRecorder {
	r := CCRecorder{sink: sink, rolling: rolling{interval: interval}, current: CCWindow{Flow: int32(flow)}, names: actions}
	if len(actions) > 0 {
		r.counts = make([]int64, len(actions))
	}
	return r
}

// Touch reads what each ACK changes, and returns a number that means nothing.
func (r *CCRecorder) Touch() int64 {
	sum := r.current.Acks + r.current.Cwnd
	if len(r.counts) > 0 {
		sum += r.counts[0]
	}
	return sum
}

// Answer is what a controller answered an ACK with.
type Answer struct {
	Action  uint8          // its index, which means nothing to a controller without actions
	Delay   units.Duration // that the ACK was judged by
	Cwnd    int64
	Pacing  units.Rate
	BaseRTT units.Duration
}

// Ack counts an ACK.
func (r *CCRecorder) Ack(now units.Time, a Answer) {
	if start, beyond := r.rolling.next(now); beyond {
		r.Close()
		r.current.Start = start
	}
	r.current.Acks++
	r.current.Delay += a.Delay
	if len(r.counts) > 0 {
		r.counts[a.Action]++
	}
	r.current.Cwnd, r.current.Pacing, r.current.BaseRTT = a.Cwnd, a.Pacing, a.BaseRTT
}

// Close ends the last window.
func (r *CCRecorder) Close() {
	if r.current.Acks != 0 {
		for i, n := range r.counts {
			if n > 0 {
				r.current.Actions = append(r.current.Actions, Count{r.names[i], n})
				r.counts[i] = 0
			}
		}
		r.sink.Emit(&r.current)
	}
	r.current = CCWindow{Flow: r.current.Flow, Actions: r.current.Actions[:0], Tag: r.current.Tag}
}

// SetTag gives the next ACKs a tag. Those with another are in a record of their own.
func (r *CCRecorder) SetTag(t Tag) {
	if t != r.current.Tag {
		start := r.current.Start
		r.Close()
		r.current.Start, r.current.Tag = start, t
	}
}

// SignalRecorder emits the windows of one flow's CSIG samples. A window has one
// record per (type, locator) seen in it, in order of first appearance. Build it
// with NewSignalRecorder.
type SignalRecorder struct {
	sink     Sink
	interval units.Duration
	flow     int32
	start    units.Time     // of the open window
	open     []SignalWindow // the records of the open window
	tag      Tag
}

// NewSignalRecorder returns the recorder of a flow with windows of the given
// length, which must be positive, that emits into sink.
func NewSignalRecorder(flow int, interval units.Duration, sink Sink) SignalRecorder {
	return SignalRecorder{sink: sink, interval: interval, flow: int32(flow)}
}

// Sample counts a sample.
func (r *SignalRecorder) Sample(now units.Time, signal uint8, locator uint32, value Reading) {
	if start := windowStart(now, r.interval); start != r.start {
		r.Close()
		r.start = start
	}
	for i := range r.open {
		if w := &r.open[i]; w.Type == signal && w.Locator == locator {
			w.Samples++
			w.PointSum += value.Point
			w.PointMax, w.PointMin = max(w.PointMax, value.Point), min(w.PointMin, value.Point)
			w.LowSum += value.Low
			if w.HighSum == Absent || value.High == Absent {
				w.HighSum = Absent
			} else {
				w.HighSum += value.High
			}
			return
		}
	}
	r.open = append(r.open, SignalWindow{
		Flow: r.flow, Type: signal, Locator: locator, Start: r.start,
		Samples: 1, PointSum: value.Point, PointMax: value.Point, PointMin: value.Point, LowSum: value.Low, HighSum: value.High, Tag: r.tag,
	})
}

// SetTag gives the next samples a tag. Those with another are in records of their own.
func (r *SignalRecorder) SetTag(t Tag) {
	if t != r.tag {
		r.Close()
		r.tag = t
	}
}

// Close ends the last window.
func (r *SignalRecorder) Close() {
	ListOf(&r.open).each(r.sink)
	r.open = r.open[:0]
}
