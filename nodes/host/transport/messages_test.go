package transport_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// link is a connection whose packets arrive a microsecond after they are sent, in order.
type link struct {
	*sender
	receiver *transport.Receiver
	phases   []string // that the controller was told of
}

// phased is a controller that remembers phases.
type phased struct {
	*controller
	told func(p *congestion.Phase)
}

func (c phased) OnPhase(_ units.Time, p *congestion.Phase) { c.told(p) }

func newLink(t *testing.T, edit ...func(*transport.SenderConfig)) *link {
	t.Helper()
	l := &link{sender: &sender{t: t, cc: &controller{}, lb: &balancer{}, sent: map[uint32]*wire.Packet{}}}
	l.cc.out.Window = units.NoLimit
	cfg := transport.SenderConfig{Common: common(), Flow: flow, Ends: senderEnds, LB: l.lb}
	cfg.CC = phased{l.cc, func(p *congestion.Phase) {
		l.phases = append(l.phases, fmt.Sprintf("%d of %d, begin %v, after %d", p.Sent, p.Total, p.Begin, l.Sent()))
	}}
	for _, e := range edit {
		e(&cfg)
	}
	l.Sender = transport.NewSender(cfg)
	l.receiver = transport.NewReceiver(transport.ReceiverConfig{Common: cfg.Common, Flow: flow, Ends: receiverEnds})
	return l
}

// post posts a message of so many bytes of a step.
func (l *link) post(size units.Size, step int32, total units.Size) {
	l.Post(l.now, transport.Message{Size: size, Tag: metrics.Tag{Step: step}, Total: total})
}

// exchange sends everything that there is to send, and hands over the replies.
func (l *link) exchange() {
	for l.CanSend() {
		p, reply := l.send(), new(wire.Packet)
		l.now = l.now.Add(units.Microsecond)
		if l.receiver.OnData(l.now, p, reply) {
			l.now = l.now.Add(units.Microsecond)
			l.OnAck(l.now, reply)
		}
	}
}

// docs/reference/wire.md: "EndOfMessage: the last packet of a message". A message begins with a packet
// of its own; its last packet may be short and asks for an ACK, first copy or not.
func TestMessagesHaveTheirOwnPackets(t *testing.T) {
	l := newLink(t)
	l.post(2*mss, 1, 0)
	l.post(mss+100, 1, 0)
	l.post(1, 1, 0)
	var got []string
	see := func(p *wire.Packet) {
		got = append(got, fmt.Sprintf("%d: %d bytes, end %v, ACK %v", p.PSN(), p.PayloadLen, p.Flags()&wire.EndOfMessage != 0, p.Flags()&wire.AckRequest != 0))
	}
	for l.CanSend() {
		see(l.send())
	}
	l.nack(3, 1, wire.NackTrimmed, 0)
	see(l.send())
	want := []string{
		"0: 4086 bytes, end false, ACK false", "1: 4086 bytes, end true, ACK true",
		"2: 4086 bytes, end false, ACK false", "3: 100 bytes, end true, ACK true",
		"4: 1 bytes, end true, ACK true",
		"3: 100 bytes, end true, ACK true",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if got, want := l.Inflight(), 3*mtu+(100+header)+(1+header); got != want {
		t.Errorf("%v in flight, want %v", got, want)
	}
}

// The end of a message that comes before the packets in front of it, or trimmed, completes
// nothing; the packet that closes the hole is acknowledged at once.
func TestMessagesAreCompleteInOrder(t *testing.T) {
	l := newLink(t)
	for range 3 {
		l.post(2*mss, 1, 0)
	}
	for l.CanSend() {
		l.send()
	}
	for i, step := range []struct {
		psn      uint32
		trim     bool
		messages int
		acked    bool // an ACK comes
	}{
		{psn: 5, messages: 0, acked: true}, // an end asks for one
		{psn: 1, trim: true, messages: 0},
		{psn: 0, messages: 0},
		{psn: 3, messages: 0, acked: true},
		{psn: 1, messages: 1, acked: true},
		{psn: 4, messages: 1},
		{psn: 2, messages: 3, acked: true}, // closes the hole and asks for nothing
		{psn: 3, messages: 3, acked: true}, // a duplicate
	} {
		p, reply := *l.sent[step.psn], new(wire.Packet)
		if step.trim {
			p.Trim(sizes, false)
		}
		ok := l.receiver.OnData(0, &p, reply)
		if acked := ok && reply.Kind() == wire.Ack; l.receiver.Messages() != step.messages || acked != step.acked {
			t.Errorf("packet %d, PSN %d: %d messages, acknowledged %v; want %d, %v", i, step.psn, l.receiver.Messages(), acked, step.messages, step.acked)
		}
	}
}

// A receiver of a connection takes PSNs up to a range beyond the first missing one, so that
// a forged PSN does not cost memory without bound, and a sender keeps to the range.
func TestConnectionsKeepToARange(t *testing.T) {
	const window = 1 << 20
	l := newLink(t)
	expects := func(psn uint32) bool {
		p := new(wire.Packet)
		p.Build(wire.Addresses{}, wire.Data, 0, wire.ECT0, 10)
		p.SetData(flow, psn, 1)
		return l.receiver.Expects(p)
	}
	l.post(2*window*mss, 1, 0)
	first, p := l.send(), new(wire.Packet)
	for n := range window - 1 {
		if !l.CanSend() {
			t.Fatalf("nothing can be sent with %d packets out", n+1)
		}
		l.Send(l.now, p)
	}
	if l.CanSend() {
		t.Errorf("more than %d packets beyond one that is missing", window)
	}
	for range 2 {
		cum := uint32(0)
		if l.receiver.Delivered() > 0 {
			cum = 1
		}
		if !expects(cum) || !expects(cum+window-1) || expects(cum+window) || expects(1<<32-1) {
			t.Errorf("with %d packets received the range is wrong", cum)
		}
		l.receiver.OnData(l.now, first, new(wire.Packet))
	}
	if l.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0); !l.CanSend() {
		t.Error("the range does not move on")
	}
}

// While a connection is idle it sends no probes, wants no samples and has no timer; what it
// sends next is as of a flow that starts.
func TestIdleConnections(t *testing.T) {
	l := newLink(t, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = domain(t, csig.FormatCompact), transport.Tagging{Probe: 20 * units.Microsecond, Signal: csig.Delay}
	})
	l.cc.out.Wants = csig.Only(csig.Delay)
	l.post(mss, 1, 0)
	if at := l.NextTimeout(); at != units.Never {
		t.Errorf("a timer at %v before anything is sent", at)
	}
	l.exchange()
	if at := l.NextTimeout(); at != units.Never || !l.Done() || l.ProbeDue(l.now.Add(units.Second)) {
		t.Errorf("idle with a timer at %v", at)
	}
	l.now = l.now.Add(units.Second)
	l.post(mss, 1, 0)
	if l.ProbeDue(l.now) {
		t.Error("a probe before data")
	}
	l.send()
	if !l.ProbeDue(l.now) {
		t.Error("no probe with the first data after the connection was idle")
	}
	l.now = l.now.Add(30 * units.Microsecond)
	// The last 30 us and the 2 us of the first message are all the time without a sample.
	if got := l.Close(l.now).SampleGap; got != 30*units.Microsecond {
		t.Errorf("%v without a sample, want 30 us", got)
	}
}

// A flow that is done wants no samples: one that comes late begins no time without.
func TestLateSamplesBeginNoGap(t *testing.T) {
	d := domain(t, csig.FormatCompact)
	s := newSender(t, mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = d, transport.Tagging{Probe: 20 * units.Microsecond, Signal: csig.Delay}
	})
	s.wants(csig.Delay)
	s.send()
	probe, reply := new(wire.Packet), new(wire.Packet)
	s.Probe(s.now, probe)
	d.Update(probe.Tag(), 600, 3)
	newReceiver(mss, 1).OnProbe(probe, reply)
	s.now = s.now.Add(3 * units.Microsecond)
	s.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	s.OnProbeReply(s.now.Add(units.Microsecond), reply)
	got := s.Close(units.Time(units.Second))
	if got.Samples != 1 || got.SampleGap != 3*units.Microsecond {
		t.Errorf("%d samples, %v without one; want 1, and the 3 us until the flow was done", got.Samples, got.SampleGap)
	}
}

// Tags that neither controller nor balancer reads are for telemetry: nothing waits for them.
func TestNobodyWaitsForSamples(t *testing.T) {
	s := newSender(t, mss, units.NoLimit, func(c *transport.SenderConfig) {
		c.Domain, c.Tagging = domain(t, csig.FormatCompact), transport.Tagging{Probe: 20 * units.Microsecond, Signal: csig.Delay}
	})
	s.send()
	if got := s.Close(units.Time(units.Second)); got.SampleGap != 0 {
		t.Errorf("%v without a sample, want none", got.SampleGap)
	}
}

// "Records of the fabric of connections get the Tag of the message that they are about (a
// window is closed when the tag changes)".
func TestRecordsHaveTheTagOfTheMessage(t *testing.T) {
	var records metrics.Batch
	d := domain(t, csig.FormatCompact)
	l := newLink(t, func(c *transport.SenderConfig) {
		c.Domain, c.Sink, c.Traced = d, &records, allEvents
		c.Tagging = transport.Tagging{Sampling: csig.All, Signal: csig.Delay}
	})
	carry := func(step int32, n int) {
		for range n {
			p, reply := l.send(), new(wire.Packet)
			d.Update(p.Tag(), 600, 3)
			if !l.receiver.OnData(l.now, p, reply) {
				t.Fatalf("no ACK in step %d", step)
			}
			l.OnAck(l.now, reply)
		}
	}
	l.post(1, 1, 0)
	l.post(1, 1, 0)
	l.post(1, 2, 0)
	l.post(1, 3, 0)
	carry(1, 3)
	l.now = l.now.Add(units.Second) // another window
	carry(1, 1)
	l.post(1, 4, 0)
	l.post(1, 5, 0)
	l.send()
	p, reply := l.send(), new(wire.Packet) // of step 5, trimmed
	d.Update(p.Tag(), 600, 3)
	p.Trim(sizes, false)
	l.receiver.OnData(l.now, p, reply)
	l.OnNack(l.now, reply)
	l.Close(l.now)
	type window struct {
		start units.Time
		step  int32
		n     int64
	}
	var cc, signals []window
	for _, w := range records.CC {
		cc = append(cc, window{w.Start, w.Tag.Step, w.Acks})
	}
	for _, w := range records.Signals {
		signals = append(signals, window{w.Start, w.Tag.Step, w.Samples})
	}
	second := units.Time(units.Second)
	want := []window{{0, 1, 2}, {0, 2, 1}, {second, 3, 1}}
	if wantSamples := append(slices.Clone(want), window{second, 5, 1}); !slices.Equal(cc, want) || !slices.Equal(signals, wantSamples) {
		t.Errorf("windows of ACKs %v, of samples %v, want %v, %v", cc, signals, want, wantSamples)
	}
	steps := map[metrics.EventKind][]int32{}
	for _, e := range records.Events {
		steps[e.Kind] = append(steps[e.Kind], e.Tag.Step)
	}
	if diff := cmp.Diff(steps, map[metrics.EventKind][]int32{
		metrics.EventSend: {1, 1, 2, 3, 4, 5}, metrics.EventAck: {1, 1, 2, 3}, metrics.EventSample: {1, 1, 2, 3, 5},
	}); diff != "" {
		t.Errorf("steps of events: %s", diff)
	}
}

// docs/how-to/extend.md: "Of a connection a phase is a collective". It begins with the first message of a tag, ends when
// Total bytes are acknowledged or a message of another tag is next, and counts headers.
func TestPhasesOfConnections(t *testing.T) {
	l := newLink(t)
	wires := func(messages, size units.Size) units.Size {
		return messages * (size + units.Size(transport.Packets(size, mtu, header))*header)
	}
	l.post(3*mss, 1, 6*mss)
	l.exchange()
	l.post(3*mss, 1, 6*mss) // after a pause
	l.exchange()
	l.post(mss, 2, 0) // Total is not known: the message alone
	l.post(mss, 2, 0)
	l.exchange()
	l.post(mss, 3, 5*mss)
	l.exchange()
	l.post(mss, 4, mss) // another tag before the Total is reached
	l.exchange()
	want := []string{
		fmt.Sprintf("0 of %d, begin true, after 0", wires(2, 3*mss)),
		fmt.Sprintf("%d of %d, begin false, after 2", wires(2, 3*mss), wires(2, 3*mss)),
		fmt.Sprintf("0 of %d, begin true, after 2", mtu), fmt.Sprintf("%d of %d, begin false, after 3", mtu, mtu),
		fmt.Sprintf("0 of %d, begin true, after 3", mtu), fmt.Sprintf("%d of %d, begin false, after 4", mtu, mtu),
		fmt.Sprintf("0 of %d, begin true, after 4", 5*mtu), fmt.Sprintf("%d of %d, begin false, after 5", 5*mtu, 5*mtu),
		fmt.Sprintf("0 of %d, begin true, after 5", mtu), fmt.Sprintf("%d of %d, begin false, after 6", mtu, mtu),
	}
	if diff := cmp.Diff(l.phases, want); diff != "" {
		t.Error(diff)
	}
}

// Connections that are idle leave the memory of their windows to others, and sending
// messages allocates nothing.
func TestConnectionsAllocateNothing(t *testing.T) {
	c := common()
	c.Domain, c.Sink, c.Traced = domain(t, csig.FormatCompact), metrics.NewBatcher(0, 128, metrics.Consumers{}), allEvents
	type ends struct {
		sender   *transport.Sender
		receiver *transport.Receiver
	}
	var flows []ends
	for range 10 {
		s, r := flowOf(t, c, 0, &quiet{out: congestion.Output{Window: 200 * mtu}})
		flows = append(flows, ends{s, r})
	}
	var now units.Time
	var packet, reply wire.Packet
	step := int32(0)
	message := func() {
		step++
		for _, f := range flows {
			f.sender.Post(now, transport.Message{Size: 100 * mss, Tag: metrics.Tag{Step: step}})
			for f.sender.CanSend() {
				now = now.Add(perPacket)
				f.sender.Send(now, &packet)
				if f.receiver.OnData(now, &packet, &reply) {
					f.sender.OnAck(now, &reply)
				}
			}
			if !f.sender.Done() {
				t.Fatal("not done")
			}
		}
	}
	message()
	message()
	if n := testing.AllocsPerRun(20, message); n != 0 {
		t.Errorf("%v allocations per message, want 0", n)
	}
}

// An ACK of a packet that is acknowledged already is of the message that was so last.
func TestLateACKsAreOfTheLastMessage(t *testing.T) {
	var records metrics.Batch
	l := newLink(t, func(c *transport.SenderConfig) { c.Sink = &records })
	l.post(1, 1, 0)
	l.exchange()
	l.post(1, 2, 0)
	l.send()
	l.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(1 + header)}, 0)
	l.Close(l.now)
	if len(records.CC) != 1 || records.CC[0].Tag.Step != 1 || records.CC[0].Acks != 2 {
		t.Errorf("windows %+v, want one of step 1", records.CC)
	}
}

// docs/reference/references.md#receiver-credits: the pull target is what is unsent and refused, less
// the credit left, beyond what has been granted. Messages that end with short packets count
// what they send. After it was idle a connection speculates as at its start.
func TestConnectionsWithCredits(t *testing.T) {
	l := newLink(t, withCredit)
	l.cc.out.Window = units.GB
	quanta := func(size units.Size) int64 { return int64((size + 255) / 256) }
	grant := func(total int64) {
		p := control(wire.Credit)
		p.SetPull(flow, uint32(total))
		l.OnCredit(l.now, p)
	}
	const n = 100
	for range n {
		l.post(1000, 1, 0)
	}
	small := 1000 + header
	l.send()
	l.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(small)}, 0)
	grant(63)
	for sent := units.Size(2); sent <= 5; sent++ {
		if got, want := l.send().PullTargetBeyond(0), 63+quanta((n-sent)*small-(63*256-(sent-1)*small)); got != want {
			t.Errorf("packet %d: pull target %d, want %d", sent, got, want)
		}
	}
	grant(1 << 10)
	l.exchange()
	l.ack(wire.AckFields{Cumulative: n, Acked: n - 1, Received: uint64(n * small)}, 0)
	if !l.Done() {
		t.Fatal("not done")
	}
	for i := range int64(2) {
		l.post(mss, 1, 0)
		for l.CanSend() { // all the credit
			l.send()
			l.post(mss, 1, 0)
		}
		// Each packet that the connection may speculate with, and no more.
		if got, want := l.Inflight(), (terms().Max+mtu-1)/mtu*mtu; got != want {
			t.Errorf("%v sent on a speculation, want %v", got, want)
		}
		grant((i + 1) << 12)
		for l.CanSend() {
			l.send()
		}
		next := uint32(len(l.sent))
		l.ack(wire.AckFields{Cumulative: next, Acked: next - 1, Received: uint64(n*small + units.Size(next-n)*mtu)}, 0)
		if !l.Done() {
			t.Fatal("not done")
		}
	}
}

// The answer to a loss probe that was sent before the connection was idle says nothing of
// what is sent after.
func TestLateLossProbes(t *testing.T) {
	l := newLink(t, func(c *transport.SenderConfig) {
		c.Recovery, c.Sleek = transport.Sleek, transport.NewSleekTerms(100*units.Gbps, 10*units.Microsecond, false)
	})
	l.cc.out.BaseRTT = 10 * units.Microsecond
	l.post(2*mss, 1, 0)
	l.send()
	l.send()
	l.ack(wire.AckFields{Cumulative: 1, Acked: 0, Received: uint64(mtu)}, 0)
	l.now = l.NextTimeout()
	probe, reply := new(wire.Packet), new(wire.Packet)
	if !l.ProbeDue(l.now) {
		t.Fatal("no probe")
	}
	l.Probe(l.now, probe)
	l.receiver.OnProbe(probe, reply)
	l.ack(wire.AckFields{Cumulative: 2, Acked: 1, Received: uint64(2 * mtu)}, 0)
	l.post(2*mss, 1, 0)
	l.send()
	l.OnProbeReply(l.now, reply)
	if p := l.send(); p.PSN() != 3 {
		t.Errorf("PSN %d is sent again", p.PSN())
	}
}
