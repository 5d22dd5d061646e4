// Package raw is what machines share that send and receive raw frames: the flows
// between this host and others, what arrives of them, and the queue in front of the NIC.
// It builds and reads no frame.
package raw

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// CheckPairs refuses pairs of which a host is no end, and two flows from one host to
// another.
func CheckPairs(node int, pairs []metrics.Pair) error {
	seen := make(map[[2]int32]bool, len(pairs))
	for _, p := range pairs {
		switch from, to := int(p.Source), int(p.Destination); {
		case from == to || from != node && to != node:
			return fmt.Errorf("flow %d from host %d to host %d is not between this host and another", p.Flow, from, to)
		case seen[[2]int32{p.Source, p.Destination}]:
			return fmt.Errorf("flow %d is the second from host %d to host %d", p.Flow, from, to)
		}
		seen[[2]int32{p.Source, p.Destination}] = true
	}
	return nil
}

// Departures counts the frames of a flow that leave. Build it with NewDepartures.
type Departures struct {
	Totals metrics.SenderTotals
	events *metrics.EventRecorder // nil: the flow is not traced
}

// NewDepartures returns the Departures of a flow of which nothing has been sent. It
// emits the events that are traced into sink.
func NewDepartures(flow int32, traced metrics.Traced, sink metrics.Sink) Departures {
	return Departures{
		Totals: metrics.SenderTotals{Flow: flow, Start: units.Never, Done: units.Never},
		events: traced.Recorder(flow, sink),
	}
}

// Count counts a frame whose transmission begins at now.
func (d *Departures) Count(now units.Time, p *wire.Packet) {
	if d.events.Wants(metrics.EventSend) {
		d.events.Emit(metrics.Event{
			Kind: metrics.EventSend, At: now, Packet: d.Totals.NewPackets, EV: metrics.Absent, Bytes: int64(p.Size),
			Cwnd: metrics.Absent, Inflight: metrics.Absent,
		})
	}
	d.Totals.NewPackets++
}

// Arrivals counts the frames of a flow that arrive. Build it with NewArrivals.
type Arrivals struct {
	Totals  metrics.ReceiverTotals
	log     metrics.FlowRecorder
	measure metrics.Span
}

// NewArrivals returns the Arrivals of a flow, which emits windows of the given length
// into sink.
func NewArrivals(flow int32, measure metrics.Span, records units.Duration, sink metrics.Sink) Arrivals {
	return Arrivals{
		Totals:  metrics.ReceiverTotals{Flow: flow, Done: units.Never},
		log:     metrics.NewFlowRecorder(int(flow), records, sink),
		measure: measure,
	}
}

// Count counts a frame. Its payload is what is behind the header of Ethernet, so that
// the mean rates are those of IP.
func (a *Arrivals) Count(now units.Time, p *wire.Packet) {
	size, payload := int64(p.Size), int64(len(p.L3())+p.PayloadLen)
	a.Totals.DeliveredWhole++
	a.Totals.PayloadBytes += payload
	a.log.Receive(now, size, payload)
	if a.measure.Contains(now) {
		a.Totals.MeasuredWire += size
		a.Totals.MeasuredPayload += payload
	}
}

// Close closes the flow's windows and returns its totals.
func (a *Arrivals) Close() metrics.ReceiverTotals {
	a.log.Close()
	return a.Totals
}

// Queue is the queue in front of a NIC.
type Queue struct {
	wire.Queue
	Limit units.Size            // in wire bytes
	Port  *metrics.PortRecorder // of the NIC
}

// Enqueue puts a frame at the tail. It returns false if there is no room; the packet
// stays the caller's.
func (q *Queue) Enqueue(now units.Time, p *wire.Packet) bool {
	q.Port.Enqueue(int64(p.Size))
	if q.Bytes()+p.Size > q.Limit {
		q.Port.Drop(now, int64(p.Size))
		return false
	}
	p.EnqueuedAt = now
	q.Push(p)
	q.Port.Depth(now, int64(q.Bytes()))
	return true
}

// Dequeue takes the frame at the head, whose transmission begins at now; nil if there is
// none.
func (q *Queue) Dequeue(now units.Time) *wire.Packet {
	p := q.Pop()
	if p != nil {
		q.Port.Depth(now, int64(q.Bytes()))
		q.Port.Wait(now, now.Sub(p.EnqueuedAt))
	}
	return p
}
