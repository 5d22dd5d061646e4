package transport_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Issue 2: "an ACK carries the tag of the packet that triggered it"; so does a
// NACK.
func TestEchoedSignal(t *testing.T) {
	for _, format := range []csig.Format{csig.FormatCompact, csig.FormatWide} {
		d := domain(t, format)
		var records metrics.Batch
		s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
			c.Sink, c.Domain, c.Tagging = &records, d, transport.Tagging{Every: 2, Signal: csig.Delay}
		})
		r := newReceiver(100*mss, 1)
		forced := false
		reply := func() *wire.Packet {
			p, out := s.send(), new(wire.Packet)
			if p.Tag() != nil {
				d.Update(p.Tag(), 10_600, 5)
			}
			if p.PSN() >= 2 {
				p.Trim(sizes, false)
			}
			if forced { // the trimming hop forces the value and sets D
				d.Trim(p.Tag(), 0, 6)
			}
			if !r.OnData(s.now, p, out) {
				t.Fatal("no reply")
			}
			return out
		}
		for psn := range 4 {
			p := reply()
			var got congestion.Signal
			if psn < 2 {
				s.OnAck(s.now.Add(units.Microsecond), p)
				got = s.cc.acks[len(s.cc.acks)-1].CSIG
			} else {
				s.OnNack(s.now.Add(units.Microsecond), p)
				got = s.cc.nacks[len(s.cc.nacks)-1].CSIG
			}
			// An ACK without an echo brings the last sample, which is still young.
			if want := psn%2 == 0 || psn == 1; got.Valid != want {
				t.Errorf("%v, PSN %d: sample valid %v, want %v", format, psn, got.Valid, want)
			}
			if got.Valid && psn != 1 && (got.Sample.Type != csig.Delay || got.Sample.Low > 10_600 || got.Sample.High < 10_600 || got.Sample.Locator != 5 || got.Age != units.Microsecond) {
				t.Errorf("%v, PSN %d: sample %+v, want delay 10600 of locator 5, 1us old", format, psn, got)
			}
		}
		// A forced value is shown to the controller, which must look at D, but is
		// no measurement for the records.
		forced = true
		s.OnNack(s.now, reply())
		if got := s.cc.nacks[len(s.cc.nacks)-1].CSIG; !got.Valid || !got.Sample.DoNotUpdate {
			t.Errorf("%v: sample of a trimmed packet %+v, want D set", format, got)
		}
		s.Close()
		if windows := records.Signals; len(windows) != 1 || windows[0].Samples != 2 {
			t.Errorf("%v: signal windows %+v, want one of two samples", format, windows)
		}
	}
}

// A sample is valid up to twice the RTT or the interval (docs/references.md#reflection).
func TestSampleGetsOld(t *testing.T) {
	d := domain(t, csig.FormatCompact)
	s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = d, transport.Tagging{Every: 50, Signal: csig.Delay}
	})
	r := newReceiver(100*mss, 1)
	var sent units.Time
	for _, test := range []struct {
		after units.Duration
		want  bool
	}{{units.Microsecond, true}, {2 * d.Interval(), true}, {2*d.Interval() + 1, false}} {
		p, reply := s.send(), new(wire.Packet)
		if p.Tag() != nil {
			sent = s.now
			d.Update(p.Tag(), 10_600, 5)
		}
		if !r.OnData(s.now, p, reply) {
			t.Fatal("no reply")
		}
		s.OnAck(sent.Add(test.after), reply)
		if got := s.cc.acks[len(s.cc.acks)-1].CSIG; got.Valid != test.want || got.Valid && got.Age != test.after {
			t.Errorf("after %v: sample %+v, want valid %v", test.after, got, test.want)
		}
	}
}

func TestProbes(t *testing.T) {
	d := domain(t, csig.FormatWide)
	s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = d, transport.Tagging{Probe: 10 * units.Microsecond, Signal: csig.Delay}
	})
	r := newReceiver(100*mss, 1)
	start := s.now
	if got := s.NextTimeout(); got != start {
		t.Errorf("first probe at %v, want %v", got, start)
	}
	for i := range 3 {
		at := start.Add(units.Duration(i) * 10 * units.Microsecond)
		if s.ProbeDue(at-1) || !s.ProbeDue(at) {
			t.Fatalf("probe %d is not due exactly at %v", i, at)
		}
		var probe, answer wire.Packet
		s.Probe(at, &probe)
		if probe.Kind() != wire.Probe || probe.DSCP() != wire.DSCPTrimmable || probe.Size != sizes.Header || probe.Tag() == nil {
			t.Fatalf("probe %v: DSCP %d, size %v, tag %x", &probe, probe.DSCP(), probe.Size, probe.Tag())
		}
		d.Update(probe.Tag(), uint64(5000+1000*i), 5)
		r.OnProbe(&probe, &answer)
		s.OnProbeReply(at.Add(4*units.Microsecond), &answer)
	}
	// Data goes without tags; its ACKs come with what the last probe found.
	p, reply := s.send(), new(wire.Packet)
	if p.Tag() != nil {
		t.Errorf("data carries a tag %x", p.Tag())
	}
	r.OnData(s.now, p, reply)
	at := start.Add(25 * units.Microsecond)
	s.OnAck(at, reply)
	got := s.cc.acks[0].CSIG
	if !got.Valid || got.Sample.Low > 7000 || got.Sample.High < 7000 || got.Age != 5*units.Microsecond {
		t.Errorf("sample %+v, want a delay of 7000 ns, 5us old", got)
	}
	// A flow that is done sends no more.
	for s.CanSend() {
		q, answer := s.send(), new(wire.Packet)
		if r.OnData(s.now, q, answer) {
			s.OnAck(at, answer)
		}
	}
	if !s.Done() || s.NextTimeout() != units.Never {
		t.Errorf("done %v, next timeout %v; want no more probes", s.Done(), s.NextTimeout())
	}
}
