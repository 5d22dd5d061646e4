package transport_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// talk is a connection over a pipe, and a slow model of what its ends know.
type talk struct {
	*pipe
	messages []timed
	posts    int      // made
	ends     []uint32 // PSN behind each message
	acked    map[uint32]bool
	puller   *transport.Puller // nil without credits
	received int
}

// timed is a message that is posted at a time.
type timed struct {
	at units.Time
	transport.Message
}

// newTalk returns a connection that sends the messages.
func newTalk(t *testing.T, seed uint64, messages []timed, f faults, d *csig.Domain, edit ...func(*transport.SenderConfig)) *talk {
	t.Helper()
	k := &talk{messages: messages, acked: map[uint32]bool{}}
	k.pipe = newPipe(t, seed, 0, f, nil, d, append(edit, func(c *transport.SenderConfig) {
		if c.Credit != nil {
			k.puller = transport.NewPuller(c.Credit)
		}
	})...)
	for _, m := range messages {
		k.packets += uint32(transport.Packets(m.Size, mtu, header))
		k.ends = append(k.ends, k.packets)
	}
	near, far := k.Nodes[0].Stepper.Machine.(*nodetest.Machine), k.Nodes[1].Stepper.Machine.(*nodetest.Machine)
	source := near.Source
	after := func(now units.Time) {
		near.Deadline = k.sender.NextTimeout()
		if k.posts < len(k.messages) {
			near.Deadline = min(near.Deadline, k.messages[k.posts].at)
		}
		near.Wake(0)
		if err := k.compare(); err != nil {
			t.Fatalf("seed %d, %v: %v", seed, now, err)
		}
	}
	near.Deadline = k.messages[0].at
	near.OnTimeout = func(now units.Time) {
		for k.posts < len(k.messages) && k.messages[k.posts].at <= now {
			k.sender.Post(now, k.messages[k.posts].Message)
			k.posts++
		}
		if k.sender.NextTimeout() <= now {
			k.sender.HandleTimeout(now)
		}
		if k.sender.ProbeDue(now) {
			p := new(wire.Packet)
			k.sender.Probe(now, p)
			near.Send(0, p)
		}
		if k.sender.RequestDue(now) {
			p := new(wire.Packet)
			k.sender.Request(now, p)
			near.Send(0, p)
		}
		after(now)
	}
	near.Source = func(now units.Time, port int) *wire.Packet {
		p := source(now, port)
		after(now)
		return p
	}
	near.OnReceive = func(now units.Time, _ int, p *wire.Packet) {
		switch p.Kind() {
		case wire.Ack:
			f := p.Ack()
			for psn := range f.Cumulative {
				k.acked[psn] = true
			}
			for i := range uint32(64) {
				if f.SackBits>>i&1 != 0 {
					k.acked[f.SackBase+i] = true
				}
			}
			k.acked[f.Acked] = true
			k.sender.OnAck(now, p)
		case wire.Nack:
			k.sender.OnNack(now, p)
		case wire.ProbeReply:
			k.sender.OnProbeReply(now, p)
		case wire.Credit:
			k.sender.OnCredit(now, p)
		}
		k.sender.Timed(now)
		after(now)
	}
	far.OnReceive = func(now units.Time, _ int, p *wire.Packet) {
		switch p.Kind() {
		case wire.Probe:
			reply := new(wire.Packet)
			k.receiver.OnProbe(p, reply)
			far.Send(0, reply)
		case wire.Data:
			if reply := k.deliver(now, p); reply != nil {
				far.Send(0, reply)
			}
			if n := k.receiver.Messages(); n < k.received {
				t.Fatalf("%d messages received after %d", n, k.received)
			} else {
				k.received = n
			}
			if err := k.compare(); err != nil {
				t.Fatalf("seed %d, %v, receiver: %v", seed, now, err)
			}
		}
		if k.puller != nil {
			k.puller.OnDemand(now, k.receiver, p)
			far.Deadline = k.puller.Due()
		}
	}
	far.OnTimeout = func(now units.Time) {
		p := new(wire.Packet)
		if k.puller.Pull(now, p) {
			far.Send(0, p)
		}
		far.Deadline = k.puller.Due()
	}
	return k
}

// compare compares what the ends say with the model: a message is received when each of its
// packets and all before have arrived, and sent when the sender has been told so.
func (k *talk) compare() error {
	count := func(known map[uint32]bool) (messages int) {
		psn := uint32(0)
		for _, end := range k.ends {
			for psn < end && known[psn] {
				psn++
			}
			if psn < end {
				return messages
			}
			messages++
		}
		return messages
	}
	switch idle := k.sender.Sent() == k.posts; {
	case k.receiver.Messages() != count(k.arrived):
		return fmt.Errorf("%d messages received, want %d", k.receiver.Messages(), count(k.arrived))
	case k.sender.Sent() != count(k.acked):
		return fmt.Errorf("%d messages sent, want %d", k.sender.Sent(), count(k.acked))
	case k.sender.Done() != idle:
		return fmt.Errorf("done %v with %d messages of %d sent", k.sender.Done(), k.sender.Sent(), k.posts)
	// While the connection is idle, it has no timer and nothing in flight.
	case idle && (k.sender.NextTimeout() != units.Never || k.sender.Inflight() != 0 || k.sender.CanSend()):
		return fmt.Errorf("idle with a timer at %v, %v in flight", k.sender.NextTimeout(), k.sender.Inflight())
	}
	return nil
}

// check checks what is left in the end.
func (k *talk) check() error {
	if k.sender.Sent() != len(k.messages) || k.receiver.Messages() != len(k.messages) {
		return fmt.Errorf("%d sent and %d received of %d messages", k.sender.Sent(), k.receiver.Messages(), len(k.messages))
	}
	var size units.Size
	for _, m := range k.messages {
		size += m.Size
	}
	s, r := k.sender.Close(k.Now), k.receiver.Close()
	switch {
	case s.Start != k.messages[0].at || s.Done == units.Never || r.Done == units.Never || r.Done > s.Done:
		return fmt.Errorf("start %v, sender done at %v, receiver at %v", s.Start, s.Done, r.Done)
	case r.PayloadBytes != int64(size):
		return fmt.Errorf("%d payload bytes delivered, want %d", r.PayloadBytes, int64(size))
	case s.NewPackets != int64(k.packets) || s.NewPackets+s.Retransmitted != k.sent:
		return fmt.Errorf("%d new and %d again, %d seen of %d packets", s.NewPackets, s.Retransmitted, k.sent, k.packets)
	case k.sent+k.twins != r.DeliveredWhole+r.DeliveredTrimmed+k.dropped:
		return fmt.Errorf("%d transmissions and %d twins, %d delivered whole, %d trimmed, %d dropped", k.sent, k.twins, r.DeliveredWhole, r.DeliveredTrimmed, k.dropped)
	}
	return nil
}

// someMessages returns messages of many sizes, some together and some after a pause.
func someMessages(seed uint64, n int) (list []timed) {
	random := rand.New(rand.NewPCG(seed, 3))
	at := units.Time(units.Microsecond)
	for i := range n {
		size := []units.Size{1, mss - 1, mss, mss + 1, 3 * mss, 20 * mss, 100 * mss}[random.IntN(7)]
		if random.IntN(3) == 0 {
			size = 1 + units.Size(random.Int64N(int64(10*mss)))
		}
		list = append(list, timed{at, transport.Message{Size: size, Tag: metrics.Tag{Step: int32(i / 3)}}})
		switch random.IntN(4) {
		case 0:
			at = at.Add(units.Duration(random.Int64N(int64(30 * units.Microsecond))))
		case 1:
			at = at.Add(3 * units.Millisecond) // beyond any recovery
		}
	}
	return list
}

// TestEveryMessageArrives: whatever a pipe does, messages are reported once, in order, and
// never before their last byte; with every recovery and with credits.
func TestEveryMessageArrives(t *testing.T) {
	d := domain(t, csig.FormatCompact)
	seeds := uint64(8)
	if checkout.SlowRace(t) {
		seeds = 2
	}
	ways := map[string]func(*transport.SenderConfig){
		"selective": func(*transport.SenderConfig) {},
		"go back n": func(c *transport.SenderConfig) { c.Recovery = transport.GoBackN },
		"sleek": func(c *transport.SenderConfig) {
			c.Recovery = transport.Sleek
			c.Sleek = transport.NewSleekTerms(100*units.Gbps, 2*pipeDelay+perPacket, true)
		},
		"credits": func(c *transport.SenderConfig) {
			c.Credit = transport.NewCreditTerms(100*units.Gbps, 2*pipeDelay+perPacket, mtu, header)
		},
		"probes": func(c *transport.SenderConfig) {
			c.Tagging = transport.Tagging{Probe: 20 * units.Microsecond, Signal: csig.Delay}
		},
	}
	for name, f := range map[string]faults{
		"clean":          {},
		"reorders":       {jitter: 20 * units.Microsecond},
		"reorders a lot": {jitter: 300 * units.Microsecond}, // beyond RTO
		"trims":          {trim: 200},
		"drops":          {drop: 50},
		"everything":     {drop: 60, trim: 150, duplicate: 60, mark: 200, jitter: 30 * units.Microsecond},
	} {
		for way, edit := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				for seed := range seeds {
					k := newTalk(t, seed, someMessages(seed, 12), f, d, edit)
					k.Run(units.Never)
					if err := k.check(); err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
				}
			})
		}
	}
}
