package transport_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// wants makes a controller that is asked about ask for a type.
func (s *sender) wants(t csig.Type) { s.cc.out.Wants = csig.Only(t) }

// last returns the sample of delay that the controller got with the last ACK.
func (s *sender) last() congestion.Signal { return s.cc.acks[len(s.cc.acks)-1].CSIG[csig.Delay] }

// Issue 2: "an ACK carries the tag of the packet that triggered it"; so does a
// NACK.
func TestEchoedSignal(t *testing.T) {
	for _, format := range []csig.Format{csig.FormatCompact, csig.FormatWide} {
		d := domain(t, format)
		var records metrics.Batch
		s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
			c.Sink, c.Domain, c.Tagging = &records, d, transport.Tagging{Sampling: csig.Sampling{Every: 2, Stride: true}, Signal: csig.Delay}
			c.Random = rand.New(rand.NewPCG(6, 0)) // the first packet has a tag
		})
		s.wants(csig.Delay)
		s.cc.out.BaseRTT = 10 * units.Microsecond
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
				got = s.last()
			} else {
				s.OnNack(s.now.Add(units.Microsecond), p)
				got = s.cc.nacks[len(s.cc.nacks)-1].CSIG[csig.Delay]
			}
			// An ACK without an echo brings the last sample, which is still young.
			if want := psn%2 == 0 || psn == 1; got.Valid != want || got.Fresh != (psn%2 == 0) {
				t.Errorf("%v, PSN %d: sample valid %v, fresh %v, want %v, %v", format, psn, got.Valid, got.Fresh, want, psn%2 == 0)
			}
			if got.Fresh && (got.Sample.Low > 10_600 || got.Sample.High < 10_600 || got.Sample.Locator != 5 || got.Age != units.Microsecond ||
				got.SentAt != s.now || int(got.EV) != psn) {
				t.Errorf("%v, PSN %d: sample %+v, want delay 10600 of locator 5 and EV %d, sent at %d, 1us old", format, psn, got, psn, int64(s.now))
			}
			if psn == 1 && (got.EV != 0 || got.SentAt != units.Time(units.Microsecond) || got.Age != 2*units.Microsecond) {
				t.Errorf("%v: held sample %+v, want that of the first packet, 2us old", format, got)
			}
		}
		// A forced value is shown to the controller, which must look at D, but is
		// no measurement for the records.
		forced = true
		s.OnNack(s.now, reply())
		if got := s.cc.nacks[len(s.cc.nacks)-1].CSIG[csig.Delay]; !got.Valid || !got.Sample.DoNotUpdate {
			t.Errorf("%v: sample of a trimmed packet %+v, want D set", format, got)
		}
		totals := s.Close(s.now)
		if windows := records.Signals; len(windows) != 1 || windows[0].Samples != 2 || totals.Samples != 2 || totals.FreshSamples != 2 {
			t.Errorf("%v: signal windows %+v, totals %+v, want two samples", format, windows, totals)
		}
	}
}

// A sample is used up to an age: of delay and queue depth, which are of one moment,
// twice the RTT or what is configured; of what is measured over an interval twice that
// at least (docs/reference/references.md#reflection). The interval does not matter to a delay.
func TestSampleGetsOld(t *testing.T) {
	const rtt = 12 * units.Microsecond
	interval := domain(t, csig.FormatCompact).Interval()
	for _, test := range []struct {
		signal csig.Type
		maxAge units.Duration
		limit  units.Duration
	}{
		{csig.Delay, 0, 2 * rtt}, {csig.NQD, 0, 2 * rtt}, {csig.Delay, 5 * units.Microsecond, 5 * units.Microsecond},
		{csig.ABW, 0, 2 * interval}, {csig.ABWC, 5 * units.Microsecond, 2 * interval},
	} {
		d := domain(t, csig.FormatCompact)
		s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
			c.Domain, c.Tagging = d, transport.Tagging{Sampling: csig.Sampling{Every: 50, Stride: true}, Signal: test.signal, MaxAge: test.maxAge}
			c.Random = rand.New(rand.NewPCG(2, 0))
		})
		s.wants(test.signal)
		s.cc.out.BaseRTT = rtt
		r := newReceiver(100*mss, 1)
		var sent units.Time
		var psn uint32
		for sent == 0 {
			if p := s.send(); p.Tag() != nil {
				sent, psn = s.now, p.PSN()
				d.Update(p.Tag(), 100_000, 5)
				s.answer(r, p, sent.Add(units.Microsecond))
			}
		}
		for _, after := range []units.Duration{test.limit, test.limit + 1} {
			s.now = sent.Add(after)
			s.ack(wire.AckFields{Acked: psn}, 0) // brings neither a sample nor an RTT
			got := s.cc.acks[len(s.cc.acks)-1].CSIG[test.signal]
			if want := after == test.limit; got.Valid != want || got.Valid && (got.Age != after || got.Fresh) {
				t.Errorf("%v, limit %v, after %v: sample %+v, want valid %v and not fresh", test.signal, test.limit, after, got, want)
			}
		}
	}
}

// answer lets a receiver take a packet and hands its reply to the sender at a time.
func (s *sender) answer(r *transport.Receiver, p *wire.Packet, at units.Time) {
	s.t.Helper()
	reply := new(wire.Packet)
	if !r.OnData(s.now, p, reply) {
		s.t.Fatal("no reply")
	}
	s.OnAck(at, reply)
}

// An older sample never takes the place of a newer one, and events that bring
// another type leave the one that is wanted alone.
func TestOlderNeverReplacesNewer(t *testing.T) {
	d := domain(t, csig.FormatWide)
	s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = d, transport.Tagging{Sampling: csig.All, Signal: csig.Delay, Telemetry: csig.Only(csig.ABW)}
	})
	s.wants(csig.Delay)
	s.cc.out.BaseRTT = units.Millisecond
	r := newReceiver(100*mss, 1)
	type tagged struct {
		packet *wire.Packet
		delay  uint64
	}
	var delays, others []tagged
	for i := range 8 {
		p := s.send()
		signal, _ := d.Peek(p.Tag())
		delay := uint64(1600 * (i + 1))
		d.Update(p.Tag(), delay, 5)
		if signal == csig.Delay {
			delays = append(delays, tagged{p, delay})
		} else {
			others = append(others, tagged{p, delay})
		}
	}
	if len(delays) != 4 || len(others) != 4 {
		t.Fatalf("%d tags of delay and %d of abw in 8, want 4 and 4", len(delays), len(others))
	}
	at := s.now.Add(10 * units.Microsecond)
	s.answer(r, delays[2].packet, at)
	newest := delays[2].delay
	if got := s.last(); !got.Fresh || got.Sample.Low != newest {
		t.Fatalf("sample %+v, want the fresh one of %d ns", got, newest)
	}
	s.answer(r, delays[0].packet, at) // comes late: it is delivered, and not kept
	if got := s.last(); !got.Fresh || got.Sample.Low != delays[0].delay {
		t.Errorf("sample %+v, want the fresh one of %d ns", got, delays[0].delay)
	}
	s.answer(r, others[0].packet, at)
	if got := s.last(); got.Fresh || got.Sample.Low != newest || s.cc.acks[2].CSIG[csig.ABW].Valid {
		t.Errorf("with a sample of another type: %+v, want the held one of %d ns and none of abw", s.cc.acks[2].CSIG, newest)
	}
	if totals := s.Close(at); totals.Samples != 3 || totals.FreshSamples != 2 {
		t.Errorf("%d samples, %d in the order of sending; want 3, 2: of delay the second came late", totals.Samples, totals.FreshSamples)
	}
}

// A tag that no hop has written is a sample where every hop of the path updates the
// type, and none elsewhere.
func TestUntouchedTags(t *testing.T) {
	for _, covered := range []bool{false, true} {
		d := domain(t, csig.FormatCompact)
		s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
			c.Domain, c.Tagging = d, transport.Tagging{Sampling: csig.All, Signal: csig.Delay}
			c.Paths.Covered[csig.Delay] = covered
		})
		s.wants(csig.Delay)
		r := newReceiver(100*mss, 1)
		s.answer(r, s.send(), s.now.Add(units.Microsecond))
		if got := s.last(); got.Valid != covered || covered && (got.Sample.Low != 0 || got.Sample.Locator != 0) {
			t.Errorf("covered %v: sample %+v", covered, got)
		}
		want := int64(0)
		if covered {
			want = 1
		}
		if totals := s.Close(s.now); totals.Untouched != 1 || totals.Samples != want {
			t.Errorf("covered %v: %d samples, %d untouched, want %d, 1", covered, totals.Samples, totals.Untouched, want)
		}
	}
}

// The unloaded residence that the plan knows comes with samples of delay alone.
func TestUnloaded(t *testing.T) {
	d := domain(t, csig.FormatWide)
	for _, signal := range []csig.Type{csig.Delay, csig.NQD} {
		s := newSender(t, 10*mss, units.NoLimit, func(c *transport.SenderConfig) {
			c.Domain, c.Tagging = d, transport.Tagging{Sampling: csig.All}
			c.Paths.Unloaded = 332 * units.Nanosecond
		})
		s.wants(signal)
		r := newReceiver(10*mss, 1)
		p := s.send()
		d.Update(p.Tag(), 352, 5)
		s.answer(r, p, s.now.Add(units.Microsecond))
		want := units.Duration(0)
		if signal == csig.Delay {
			want = 332 * units.Nanosecond
		}
		if got := s.cc.acks[0].CSIG[signal]; !got.Fresh || got.Unloaded != want {
			t.Errorf("%v: sample %+v, want %v unloaded", signal, got, want)
		}
	}
}

func TestProbes(t *testing.T) {
	d := domain(t, csig.FormatWide)
	s := newSender(t, 100*mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = d, transport.Tagging{Probe: 10 * units.Microsecond, Signal: csig.Delay}
	})
	s.wants(csig.Delay)
	s.cc.out.BaseRTT = 10 * units.Microsecond
	r := newReceiver(100*mss, 1)
	if got := s.NextTimeout(); got != units.Never {
		t.Errorf("a probe at %v, before there is a path of data to probe", got)
	}
	data := []*wire.Packet{s.send(), s.send()}
	start := units.Time(units.Microsecond) // of the first data packet
	if got := s.NextTimeout(); got != start {
		t.Errorf("first probe at %v, want %v", got, start)
	}
	taken := s.lb.next
	for i := range 3 {
		at := start.Add(units.Duration(i) * 10 * units.Microsecond)
		if s.ProbeDue(at-1) || !s.ProbeDue(at) {
			t.Fatalf("probe %d is not due exactly at %v", i, at)
		}
		var probe, answer wire.Packet
		s.Probe(at, &probe)
		if probe.Kind() != wire.Probe || probe.DSCP() != wire.DSCPTrimmable || probe.Size != sizes.Header || probe.Tag() == nil || probe.ECN() != wire.ECT0 {
			t.Fatalf("probe %v: DSCP %d, ECN %d, size %v, tag %x", &probe, probe.DSCP(), probe.ECN(), probe.Size, probe.Tag())
		}
		if got := wire.EntropyOf(flow, probe.SourcePort()); got != 1 {
			t.Errorf("probe %d has EV %d, want that of the last data packet, 1", i, got)
		}
		d.Update(probe.Tag(), uint64(5000+1000*i), 5)
		switch i {
		case 1:
			probe.MarkCE()
		case 2:
			d.Trim(probe.Tag(), 0, 6)
			probe.Trim(sizes, false)
		}
		r.OnProbe(&probe, &answer)
		s.OnProbeReply(at.Add(4*units.Microsecond), &answer)
	}
	if s.lb.next != taken {
		t.Errorf("probes took %d EVs out of the balancer", s.lb.next-taken)
	}
	want := []balance.Feedback{{EV: 1, Outcome: balance.Good}, {EV: 1, Outcome: balance.Marked}, {EV: 1, Outcome: balance.Trimmed}}
	for i := range want {
		want[i].Dated, want[i].Age, want[i].Inflight = true, 4*units.Microsecond, s.Inflight()
	}
	if diff := cmp.Diff(want, s.lb.feedback); diff != "" {
		t.Errorf("feedback of probes (-want +got)\n%s", diff)
	}
	// Data goes without tags; its ACKs come with what the last whole probe found.
	for _, p := range data {
		if p.Tag() != nil {
			t.Errorf("data carries a tag %x", p.Tag())
		}
	}
	at := start.Add(25 * units.Microsecond)
	s.answer(r, data[0], at)
	if got := s.last(); !got.Valid || !got.Fresh || got.Sample.Low > 6000 || got.Sample.High < 6000 || got.Age != 15*units.Microsecond {
		t.Errorf("sample %+v, want a delay of 6000 ns, 15us old", got)
	}
	// A flow that is done sends no more.
	for s.CanSend() {
		q, answer := s.send(), new(wire.Packet)
		if r.OnData(s.now, q, answer) {
			s.OnAck(at, answer)
		}
	}
	s.answer(r, data[1], at)
	if !s.Done() || s.NextTimeout() != units.Never {
		t.Errorf("done %v, next timeout %v; want no more probes", s.Done(), s.NextTimeout())
	}
}

// listener is a balancer that wants queue depth.
type listener struct{ balancer }

func (l *listener) Wants() csig.Weights { return csig.Only(csig.NQD) }

// Controller, balancer and telemetry share the tags by their weights, and each sees
// its own types alone.
func TestCustomers(t *testing.T) {
	d := domain(t, csig.FormatWide)
	lb := &listener{}
	var records metrics.Batch
	s := newSender(t, 400*mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.LB, c.Sink = d, lb, &records
		c.LastHops.Add(5)
		c.Tagging = transport.Tagging{Sampling: csig.All, Signal: csig.ABWC, Telemetry: csig.Weights{csig.ABW: 2}}
	})
	s.wants(csig.Delay)
	s.cc.out.BaseRTT = units.Millisecond
	r := newReceiver(400*mss, 1)
	count := map[csig.Type]int{}
	for i := range 400 {
		p := s.send()
		signal, _ := d.Peek(p.Tag())
		count[signal]++
		value := uint64(500_000)
		if signal == csig.ABW {
			value = 1 << 30
		}
		locator := uint16(5 + i/200) // first one of the last hops, then none
		d.Update(p.Tag(), value, locator)
		s.answer(r, p, s.now.Add(units.Microsecond))
		ack := s.cc.acks[len(s.cc.acks)-1]
		for typ := range csig.Standard {
			if got := ack.CSIG[typ]; got.Valid && typ != csig.Delay || got.Fresh != (typ == csig.Delay && signal == csig.Delay) {
				t.Fatalf("a tag of %v gives the controller %+v of %v", signal, got, typ)
			}
		}
		f := lb.feedback[len(lb.feedback)-1]
		if f.Sampled != (signal == csig.NQD) || f.Sampled && (f.Sample.Type != csig.NQD || f.Age != units.Microsecond || f.LastHop != (locator == 5)) {
			t.Fatalf("a tag of %v gives the balancer %+v", signal, f)
		}
	}
	want := map[csig.Type]int{csig.Delay: 100, csig.NQD: 100, csig.ABW: 200}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("types of 400 tags (-want +got)\n%s", diff)
	}
	if totals := s.Close(s.now); totals.Samples != 400 {
		t.Errorf("%d samples of 400 tags", totals.Samples)
	}
}
