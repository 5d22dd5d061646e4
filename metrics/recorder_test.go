package metrics_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/units"
)

// portEvent is one call of a recorder.
type portEvent struct {
	now     units.Time
	kind    int // 0 depth, 1 transmit, 2 trim, 3 drop
	size    int64
	marked  bool
	departs units.Time // of kind 1
}

// steps is a meter whose value changes every stepLength.
type steps struct {
	values []uint64
	since  units.Time
}

const stepLength = 3 * units.Microsecond

// lowest looks at every step that begins before to and ends after from.
func (s *steps) lowest(from, to units.Time) uint64 {
	lowest := uint64(1 << 60)
	for i, v := range s.values {
		if begins := units.Time(i) * units.Time(stepLength); begins < to && begins.Add(stepLength) > from {
			lowest = min(lowest, v)
		}
	}
	return lowest
}

func (s *steps) Lowest(end units.Time) uint64 {
	from := s.since
	s.since = end
	return s.lowest(from, end)
}

// slowWindows works out a port's windows from the whole history: it walks every
// window and every event.
func slowWindows(events []portEvent, end units.Time, interval units.Duration, meter *steps) (windows []metrics.PortWindow) {
	depthAt := func(t units.Time) (depth int64) { // before the events at t
		for _, e := range events {
			if e.kind == 0 && e.now < t {
				depth = e.size
			}
		}
		return depth
	}
	for start := units.Time(0); start <= end; start = start.Add(interval) {
		w := metrics.PortWindow{Node: 3, Port: 4, Start: start, ABW: metrics.Absent}
		stop := min(start.Add(interval), end)
		if meter != nil {
			w.ABW = int64(meter.lowest(start, stop))
		}
		depth, since, area := depthAt(start), start, int64(0)
		if start < end {
			w.QueueMax = depth
		}
		for _, e := range events {
			if e.kind == 1 {
				w.Busy += max(0, min(e.departs, stop).Sub(max(e.now, start)))
			}
			if e.now < start || e.now >= start.Add(interval) {
				continue
			}
			w.QueueMax = max(w.QueueMax, depth)
			switch e.kind {
			case 0:
				area += depth * int64(e.now.Sub(since))
				depth, since = e.size, e.now
				w.QueueMax = max(w.QueueMax, depth)
			case 1:
				w.TxPackets++
				w.TxBytes += e.size
				if e.marked {
					w.Marked++
				}
			case 2:
				w.Trimmed++
			case 3:
				w.Dropped++
			}
		}
		if stop > since {
			area += depth * int64(stop.Sub(since))
		}
		w.QueueByteNS = area / int64(units.Nanosecond)
		if w.TxPackets+w.Trimmed+w.Dropped+w.QueueMax+int64(w.Busy) > 0 {
			windows = append(windows, w)
		}
	}
	return windows
}

// slowMeasurement works out what a port did in a span from the whole history: it looks
// at every time between two events.
func slowMeasurement(events []portEvent, waits histogram.Histogram, end units.Time, in metrics.Span) metrics.PortMeasurement {
	m := metrics.PortMeasurement{Node: 3, Port: 4}
	stop := min(end, in.To)
	share := func(from, to units.Time) int64 {
		return max(0, int64(min(to, stop)-max(from, in.From)))
	}
	depth, since := int64(0), units.Time(0)
	for _, e := range append(events, portEvent{now: end}) {
		if e.kind == 0 {
			if depth > 0 {
				m.Depth.Add(depth, share(since, e.now))
			}
			depth, since = e.size, e.now
		}
		if e.kind == 1 {
			m.Busy += units.Duration(share(e.now, e.departs))
		}
	}
	if m.Busy > 0 || !m.Depth.Empty() || !waits.Empty() {
		m.Depth.Add(0, share(0, end)-m.Depth.Weight())
	}
	m.Wait = waits
	return m
}

func TestPortRecorderAgainstHistory(t *testing.T) {
	const interval = 10 * units.Microsecond
	for range 300 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		measure := metrics.Span{From: units.Time(r.Int64N(int64(20 * interval))), To: units.Never}
		if r.IntN(2) == 0 {
			measure.To = measure.From + units.Time(r.Int64N(int64(40*interval)))
		}
		var waits histogram.Histogram
		var free units.Time // when the last packet has left
		var got metrics.Batch
		c := metrics.PortConfig{Node: 3, Port: 4, Records: interval, Measure: measure, Sink: &got}
		var meter *steps
		if r.IntN(2) == 0 {
			meter = &steps{}
			for range 1000 {
				meter.values = append(meter.values, r.Uint64N(1e6))
			}
			c.Meter = &steps{values: meter.values}
		}
		rec := metrics.NewPortRecorder(c)
		var events []portEvent
		now, depth := units.Time(0), int64(0)
		for range 100 {
			switch r.IntN(12) {
			case 0: // idle for some windows
				now += units.Time(r.Int64N(int64(5 * interval)))
			case 1: // to the very edge of a window
				now += units.Time(interval) - now%units.Time(interval)
			case 2: // at the same instant
			default:
				now += units.Time(r.Int64N(int64(interval) / 4))
			}
			e := portEvent{now: now, kind: r.IntN(4), size: 1 + r.Int64N(9000), marked: r.IntN(2) == 0}
			if e.kind == 1 {
				now = max(now, free)
				e.now, e.departs = now, now+100
				if r.IntN(4) == 0 { // a transmission that windows begin and end in
					e.departs = now + units.Time(r.Int64N(int64(4*interval)))
				}
			}
			switch e.kind {
			case 0:
				if e.size = r.Int64N(100_000); r.IntN(2) == 0 {
					e.size = 0
				}
				depth = e.size
				rec.Depth(now, e.size)
			case 1:
				free = e.departs
				rec.Transmit(now, free, e.size, e.marked)
				rec.Wait(now, units.Duration(e.size))
				if now >= measure.From && now < measure.To {
					waits.Add(e.size, 1)
				}
			case 2:
				rec.Trim(now, e.size)
			case 3:
				rec.Drop(now, e.size)
			}
			events = append(events, e)
		}
		end := now
		if r.IntN(2) == 0 {
			end += units.Time(r.Int64N(int64(3 * interval)))
		}
		if r.IntN(4) == 0 {
			end += units.Time(interval) - end%units.Time(interval)
		}
		rec.Close(end, 7, depth)
		want := slowWindows(events, end, interval, meter)
		if diff := cmp.Diff(got.Ports, want); diff != "" {
			t.Fatalf("seed %d, end %v: windows (-got +want):\n%s", seed, end, diff)
		}
		measured := metrics.PortMeasurement{Node: 3, Port: 4}
		if len(got.PortMeasurements) > 0 {
			measured = got.PortMeasurements[0]
		}
		wantMeasured := slowMeasurement(events, waits, end, measure)
		if diff := cmp.Diff(measured, wantMeasured); diff != "" {
			t.Fatalf("seed %d, end %v, measured %v: (-got +want):\n%s", seed, end, measure, diff)
		}
		wantTotals := metrics.PortTotals{Node: 3, Port: 4, QueuedPackets: 7, QueuedBytes: depth, FirstDeparture: units.Never}
		for _, e := range events {
			switch e.kind {
			case 1:
				wantTotals.TxPackets++
				wantTotals.TxBytes += e.size
				if e.marked {
					wantTotals.MarkedPackets++
				}
				wantTotals.FirstDeparture = min(wantTotals.FirstDeparture, e.now)
				wantTotals.LastDeparture = e.departs
			case 2:
				wantTotals.TrimmedPackets++
				wantTotals.CutBytes += e.size
			case 3:
				wantTotals.DroppedPackets++
				wantTotals.DroppedBytes += e.size
			}
		}
		for _, w := range want {
			wantTotals.QueueMax = max(wantTotals.QueueMax, w.QueueMax)
			wantTotals.QueueByteNS += w.QueueByteNS
		}
		if diff := cmp.Diff(rec.Totals, wantTotals); diff != "" {
			t.Fatalf("seed %d: totals (-got +want):\n%s", seed, diff)
		}
	}
}

func TestPortRecorderEnqueue(t *testing.T) {
	r := metrics.NewPortRecorder(metrics.PortConfig{Records: units.Microsecond, Sink: metrics.Discard})
	r.Enqueue(100)
	r.Enqueue(50)
	r.Close(1, 2, 150)
	if r.Totals.EnqueuedPackets != 2 || r.Totals.EnqueuedBytes != 150 {
		t.Errorf("%d packets, %d bytes, want 2, 150", r.Totals.EnqueuedPackets, r.Totals.EnqueuedBytes)
	}
}

// Skipping idle time costs nothing, however long it is.
func TestPortRecorderSkipsIdleTime(t *testing.T) {
	var got metrics.Batch
	r := metrics.NewPortRecorder(metrics.PortConfig{Records: units.Microsecond, Sink: &got})
	r.Transmit(5, 6, 100, false)
	late := units.Time(100 * 24 * units.Hour)
	r.Transmit(late, late+1, 100, false)
	r.Close(late+1, 0, 0)
	want := []metrics.PortWindow{
		{TxPackets: 1, TxBytes: 100, Busy: 1, ABW: metrics.Absent},
		{Start: late, TxPackets: 1, TxBytes: 100, Busy: 1, ABW: metrics.Absent},
	}
	if diff := cmp.Diff(got.Ports, want); diff != "" {
		t.Errorf("windows (-got +want):\n%s", diff)
	}
}

// A queue that stands at the end of the run leaves no window of no time.
func TestPortRecorderEndsOnAnEdge(t *testing.T) {
	var got metrics.Batch
	r := metrics.NewPortRecorder(metrics.PortConfig{Records: units.Microsecond, Sink: &got})
	r.Depth(0, 1000)
	r.Close(units.Time(2*units.Microsecond), 1, 1000)
	want := []metrics.PortWindow{
		{QueueMax: 1000, QueueByteNS: 1000 * 1000, ABW: metrics.Absent},
		{Start: units.Time(units.Microsecond), QueueMax: 1000, QueueByteNS: 1000 * 1000, ABW: metrics.Absent},
	}
	if diff := cmp.Diff(got.Ports, want); diff != "" {
		t.Errorf("windows (-got +want):\n%s", diff)
	}
}

// times returns n ascending instants with gaps of several windows among them.
func times(r *rand.Rand, n int, interval units.Duration) []units.Time {
	list, now := make([]units.Time, n), units.Time(0)
	for i := range list {
		switch r.IntN(8) {
		case 0:
			now += units.Time(r.Int64N(int64(4 * interval)))
		case 1:
			now += units.Time(interval) - now%units.Time(interval)
		default:
			now += units.Time(r.Int64N(int64(interval) / 3))
		}
		list[i] = now
	}
	return list
}

func TestFlowRecorderAgainstHistory(t *testing.T) {
	const interval = 10 * units.Microsecond
	for range 200 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var got metrics.Batch
		rec := metrics.NewFlowRecorder(5, interval, &got)
		var want []metrics.FlowWindow
		for _, now := range times(r, 80, interval) {
			wire, payload := r.Int64N(9000), r.Int64N(9000)
			rec.Receive(now, wire, payload)
			start := now - now%units.Time(interval)
			if n := len(want); n == 0 || want[n-1].Start != start {
				want = append(want, metrics.FlowWindow{Flow: 5, Start: start})
			}
			w := &want[len(want)-1]
			w.Packets++
			w.WireBytes += wire
			w.PayloadBytes += payload
		}
		rec.Close()
		rec.Close() // harmless
		if diff := cmp.Diff(got.Flows, want); diff != "" {
			t.Fatalf("seed %d: windows (-got +want):\n%s", seed, diff)
		}
	}
}

// actions are those of the controllers of these tests.
var actions = []string{"hold", "grow", "shrink"}

func TestCCRecorderAgainstHistory(t *testing.T) {
	const interval = 10 * units.Microsecond
	for range 200 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var got metrics.Batch
		rec := metrics.NewCCRecorder(5, interval, actions, &got)
		var want []metrics.CCWindow
		var counts [][]int64 // by window and action
		for _, now := range times(r, 80, interval) {
			action, delay := uint8(r.IntN(len(actions))), units.Duration(r.IntN(1000))
			cwnd, pacing, base := r.Int64N(100_000), units.Rate(r.IntN(1000)), units.Duration(r.IntN(1000))
			rec.Ack(now, metrics.Answer{Action: action, Delay: delay, Cwnd: cwnd, Pacing: pacing, BaseRTT: base})
			start := now - now%units.Time(interval)
			if n := len(want); n == 0 || want[n-1].Start != start {
				want = append(want, metrics.CCWindow{Flow: 5, Start: start})
				counts = append(counts, make([]int64, len(actions)))
			}
			w := &want[len(want)-1]
			w.Acks++
			w.Delay += delay
			counts[len(want)-1][action]++
			w.Cwnd, w.Pacing, w.BaseRTT = cwnd, pacing, base
		}
		rec.Close()
		for i := range want {
			for a, n := range counts[i] {
				if n > 0 {
					want[i].Actions = append(want[i].Actions, metrics.Count{Name: actions[a], Packets: n})
				}
			}
		}
		if diff := cmp.Diff(got.CC, want); diff != "" {
			t.Fatalf("seed %d: windows (-got +want):\n%s", seed, diff)
		}
	}
}

// A FlowMeter leaves what counting each event by itself leaves, whether its values fit
// into 32 bits or not.
func TestFlowMeterAgainstHistory(t *testing.T) {
	for range 200 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		meter := metrics.NewFlowMeter(5)
		want := metrics.FlowMeasurement{Flow: 5}
		for range r.IntN(60) {
			switch r.IntN(6) {
			case 0:
				meter.Sent(false)
				want.New++
			case 1:
				meter.Sent(true)
				want.Retransmitted++
			case 2:
				meter.Sample()
				want.Samples++
			default:
				window, rtt := r.Int64N(1<<(8+r.IntN(30))), r.Int64N(1<<(8+r.IntN(30)))
				want.Acks++
				want.Cwnd.Add(window, 1)
				if r.IntN(3) == 0 {
					rtt = metrics.Absent
				} else {
					want.RTT.Add(rtt, 1)
				}
				meter.Ack(units.Size(window), units.Duration(rtt))
			}
		}
		var got metrics.Batch
		meter.Close(&got)
		var all []metrics.FlowMeasurement
		if want.New+want.Retransmitted+want.Acks+want.Samples > 0 {
			all = append(all, want)
		}
		if diff := cmp.Diff(got.FlowMeasurements, all); diff != "" {
			t.Fatalf("seed %d: (-got +want):\n%s", seed, diff)
		}
	}
}

func TestSignalRecorderAgainstHistory(t *testing.T) {
	const interval = 10 * units.Microsecond
	type key struct {
		start   units.Time
		typ     uint8
		locator uint16
	}
	for range 200 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var got metrics.Batch
		rec := metrics.NewSignalRecorder(5, interval, &got)
		position, open := map[key]int{}, map[key]bool{}
		var want []metrics.SignalWindow
		for _, now := range times(r, 120, interval) {
			k := key{now - now%units.Time(interval), uint8(r.IntN(2)), uint16(r.IntN(3))}
			point := 10 + r.Int64N(2000)
			low, high := point-r.Int64N(10), point+r.Int64N(10)
			if r.IntN(20) == 0 {
				high = metrics.Absent // the code has no upper end
			}
			rec.Sample(now, k.typ, uint32(k.locator), metrics.Reading{Point: point, Low: low, High: high})
			i, ok := position[k]
			if !ok {
				i = len(want)
				position[k] = i
				want = append(want, metrics.SignalWindow{Flow: 5, Type: k.typ, Locator: uint32(k.locator), Start: k.start, PointMax: point, PointMin: point})
			}
			w := &want[i]
			w.Samples++
			w.PointSum += point
			w.PointMax, w.PointMin = max(w.PointMax, point), min(w.PointMin, point)
			w.LowSum += low
			if high == metrics.Absent {
				open[k] = true
			}
			if w.HighSum += high; open[k] {
				w.HighSum = metrics.Absent
			}
		}
		rec.Close()
		if diff := cmp.Diff(got.Signals, want); diff != "" {
			t.Fatalf("seed %d: windows (-got +want):\n%s", seed, diff)
		}
	}
}

// Within a window nothing allocates.
func TestRecordersDoNotAllocate(t *testing.T) {
	port := metrics.NewPortRecorder(metrics.PortConfig{Records: units.Hour, Measure: metrics.Span{To: units.Never}, Sink: metrics.Discard})
	flow := metrics.NewFlowRecorder(0, units.Hour, metrics.Discard)
	cc := metrics.NewCCRecorder(0, units.Hour, actions, metrics.Discard)
	signals := metrics.NewSignalRecorder(0, units.Hour, metrics.Discard)
	meter := metrics.NewFlowMeter(0)
	now := units.Time(0)
	event := func() {
		now += 1000
		port.Enqueue(100)
		port.Depth(now, 100)
		port.Wait(now, 100)
		port.Transmit(now, now, 100, true)
		flow.Receive(now, 100, 100)
		cc.Ack(now, metrics.Answer{Action: 1, Delay: 5, Cwnd: 5, Pacing: 5, BaseRTT: 5})
		signals.Sample(now, 2, 1, metrics.Reading{Point: 5})
		meter.Sent(false)
		meter.Sample()
		meter.Ack(100, 100)
	}
	for range 100 {
		event() // the buckets grow
	}
	// Many events together: less than one allocation per event counts as none.
	if allocs := testing.AllocsPerRun(10, func() {
		for range 1000 {
			event()
		}
	}); allocs != 0 {
		t.Errorf("1000 events cost %v allocations", allocs)
	}
}

func ExampleNewPortRecorder() {
	var got metrics.Batch
	r := metrics.NewPortRecorder(metrics.PortConfig{Port: 1, Records: 100 * units.Microsecond, Sink: &got})
	r.Depth(0, 4150)
	r.Depth(units.Time(units.Microsecond), 0)
	r.Transmit(units.Time(units.Microsecond), units.Time(2*units.Microsecond), 4150, false)
	r.Close(units.Time(units.Millisecond), 0, 0)
	for _, w := range got.Ports {
		fmt.Println(w.Start, w.TxPackets, w.QueueMax, w.QueueByteNS)
	}
	// Output: 0s 1 4150 4150000
}

func ExampleNewFlowRecorder() {
	var got metrics.Batch
	r := metrics.NewFlowRecorder(7, 100*units.Microsecond, &got)
	r.Receive(0, 4150, 4086)
	r.Receive(units.Time(units.Millisecond), 4150, 4086)
	r.Close()
	fmt.Println(len(got.Flows), got.Flows[1].Start, got.Flows[1].PayloadBytes)
	// Output: 2 1ms 4086
}

func ExampleNewCCRecorder() {
	var got metrics.Batch
	r := metrics.NewCCRecorder(7, 100*units.Microsecond, []string{"hold", "grow"}, &got)
	r.Ack(5, metrics.Answer{Action: 1, Delay: units.Microsecond, Cwnd: 100_000, BaseRTT: units.Microsecond})
	r.Close()
	fmt.Println(got.CC[0].Acks, got.CC[0].Actions, got.CC[0].Cwnd)
	// Output: 1 [{grow 1}] 100000
}

func ExampleNewSignalRecorder() {
	var got metrics.Batch
	r := metrics.NewSignalRecorder(7, 100*units.Microsecond, &got)
	r.Sample(5, 2, 11, metrics.Reading{Point: 300})
	r.Sample(6, 2, 11, metrics.Reading{Point: 500})
	r.Close()
	fmt.Println(got.Signals[0].Samples, got.Signals[0].PointSum, got.Signals[0].PointMax)
	// Output: 2 800 500
}

func ExampleNewFlowMeter() {
	var got metrics.Batch
	r := metrics.NewFlowMeter(7)
	r.Sent(false)
	r.Ack(100_000, 10*units.Microsecond)
	r.Close(&got)
	fmt.Println(got.FlowMeasurements[0].New, got.FlowMeasurements[0].Cwnd.Max(), got.FlowMeasurements[0].RTT.Max())
	// Output: 1 100000 10000000
}
