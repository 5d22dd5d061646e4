package transport_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const us = units.Time(units.Microsecond)

var allEvents = func() metrics.Traced {
	kinds, err := metrics.ParseEventKinds(metrics.EventNames())
	if err != nil {
		panic(err)
	}
	return metrics.Traced{int32(flow): kinds}
}()

// A send event has the state after the packet, an ACK event that after the controller's
// answer, and a sample that of its tag.
func TestEvents(t *testing.T) {
	d := domain(t, csig.FormatWide)
	var got metrics.Batch
	s := newSender(t, 3*mss, 10*mtu, func(c *transport.SenderConfig) {
		c.Traced, c.Sink, c.Actions = allEvents, &got, []string{"grow", "cut"}
		c.Domain, c.Tagging = d, transport.Tagging{Sampling: csig.All, Signal: csig.Delay}
	})
	s.sendAll(2)
	s.nack(0, 1, wire.NackTrimmed, 0)
	s.send() // PSN 0 again

	// PSN 1 comes back marked, with 2 us of a port that has locator 5.
	s.now, s.cc.out.Window, s.cc.out.Action, s.cc.out.PacingRate = 12*us, 5*mtu, 1, 7*units.Gbps
	tag := s.sent[1].Tag()
	d.Update(tag, 2000, 5)
	p := control(wire.Ack)
	p.SetAck(wire.AckFields{Flow: flow, EV: 1, Cumulative: 0, Acked: 1, Received: uint64(mtu), Penalty: 255})
	p.SetFlags(wire.ECNEcho)
	p.SetEcho(tag)
	s.OnAck(s.now, p)

	const wire8 = int64(mtu) // a tag is not charged unless the experiment says so
	event := func(e metrics.Event) metrics.Event { e.Flow = int32(flow); return e }
	want := []metrics.Event{
		event(metrics.Event{Kind: metrics.EventSend, At: 1 * us, Packet: 0, EV: 0, Bytes: wire8, Cwnd: 10 * int64(mtu), Inflight: 1 * int64(mtu)}),
		event(metrics.Event{Kind: metrics.EventSend, At: 2 * us, Packet: 1, EV: 1, Bytes: wire8, Cwnd: 10 * int64(mtu), Inflight: 2 * int64(mtu)}),
		event(metrics.Event{Kind: metrics.EventSend, At: 3 * us, Packet: 0, EV: 2, Bytes: wire8, Again: true, Cwnd: 10 * int64(mtu), Inflight: 2 * int64(mtu)}),
		// 2 us lie in the wide quantiser's range of code 125, 16 ns each.
		event(metrics.Event{Kind: metrics.EventSample, At: 12 * us, Packet: 1, EV: 1, Type: uint8(csig.Delay), Code: 125, Value: metrics.Reading{Point: 2008, Low: 2000, High: 2015}, Locator: 5, Age: 10 * units.Microsecond,
			Cwnd: 5 * int64(mtu), Inflight: int64(mtu), Pacing: 7 * units.Gbps, Action: "cut"}),
		event(metrics.Event{Kind: metrics.EventAck, At: 12 * us, Packet: 1, EV: 1, Bytes: int64(mtu), Cwnd: 5 * int64(mtu), Inflight: int64(mtu), Pacing: 7 * units.Gbps, RTT: 10 * units.Microsecond, ECN: true, Action: "cut"}),
	}
	if diff := cmp.Diff(want, got.Events); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// What is not known is Absent: the ACK of a PSN that is below the window.
	s.ack(wire.AckFields{EV: 1, Cumulative: 2, Acked: 1, Received: 2 * uint64(mtu)}, 0)
	s.ack(wire.AckFields{EV: 1, Cumulative: 2, Acked: 1, Received: 2 * uint64(mtu)}, 0)
	if last := got.Events[len(got.Events)-1]; last.RTT != metrics.Absent || last.Bytes != 0 {
		t.Errorf("an ACK that dates nothing has %+v", last)
	}
}

// Over a link that does everything, the events agree with the totals and the windows,
// and tracing changes neither.
func TestEventsAgree(t *testing.T) {
	f := faults{drop: 30, trim: 100, duplicate: 40, mark: 200, jitter: 3 * units.Microsecond}
	run := func(traced metrics.Traced) (*pipe, metrics.SenderTotals) {
		p := newPipe(t, 1, 300*mss, f, nil, domain(t, csig.FormatCompact), func(c *transport.SenderConfig) { c.Traced = traced })
		p.Run(units.Never)
		return p, p.sender.Close(0)
	}
	plain, untraced := run(nil)
	p, totals := run(allEvents)
	events := p.records.Events
	if len(plain.records.Events) != 0 || len(events) == 0 {
		t.Fatalf("%d events untraced, %d traced", len(plain.records.Events), len(events))
	}
	p.records.Events = nil
	if diff := cmp.Diff(plain.records, p.records); diff != "" || untraced != totals {
		t.Errorf("tracing changes the other records: %s", diff)
	}
	var got metrics.SenderTotals
	actions, points := map[string]int64{}, map[uint8]int64{}
	for i, e := range events {
		if i > 0 && e.At < events[i-1].At {
			t.Fatalf("event %d is at %v, before the one at %v", i, e.At, events[i-1].At)
		}
		switch {
		case e.Kind == metrics.EventSend && e.Again:
			got.Retransmitted++
		case e.Kind == metrics.EventSend:
			if e.Packet != got.NewPackets {
				t.Errorf("new packet %d is the %dth", e.Packet, got.NewPackets)
			}
			got.NewPackets++
		case e.Kind == metrics.EventAck:
			got.AcksReceived++
			actions[e.Action]++
		default:
			got.Samples++
			points[e.Type] += e.Value.Point
		}
		if e.Inflight < 0 || e.Age < metrics.Absent {
			t.Errorf("%+v", e)
		}
	}
	if got.NewPackets != totals.NewPackets || got.Retransmitted != totals.Retransmitted || got.AcksReceived != totals.AcksReceived || got.Samples != totals.Samples || got.Samples == 0 || got.Retransmitted == 0 {
		t.Errorf("events count %+v, the totals are %+v", got, totals)
	}
	for _, w := range p.records.CC {
		for _, a := range w.Actions {
			actions[a.Name] -= a.Packets
		}
	}
	for _, w := range p.records.Signals {
		points[w.Type] -= w.PointSum
	}
	for what, rest := range actions {
		if rest != 0 {
			t.Errorf("%d more events than ACKs in windows have action %q", rest, what)
		}
	}
	if points[uint8(csig.Delay)] != 0 {
		t.Errorf("the samples differ by %d from the sum of the windows", points[uint8(csig.Delay)])
	}
}
