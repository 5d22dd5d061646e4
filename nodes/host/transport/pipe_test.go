package transport_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// faults are what a pipe does to packets, in per mille.
type faults struct {
	drop, trim, duplicate, mark int
	jitter                      units.Duration // reorders
}

// pipe joins a sender and a receiver by a link with faults in both directions.
type pipe struct {
	*nodetest.Rig
	t        *testing.T
	random   *rand.Rand
	faults   faults
	sender   *transport.Sender
	receiver *transport.Receiver
	domain   *csig.Domain
	cc       *congestion.Output
	records  metrics.Batch
	receives transport.Recovery

	connection bool // of many messages, or it stops: how many packets there are is not known

	packets                              uint32
	arrived                              map[uint32]bool // PSNs that came whole
	sent, whole, trimmed, dropped, twins int64           // data packets
	acks, nacks                          int64           // that the receiver sent
}

const (
	pipeDelay    = 5 * units.Microsecond
	perPacket    = 332 * units.Nanosecond
	patience     = units.Time(10 * units.Second) // model time
	extraPackets = 1000                          // transmissions beyond four a packet mean a loop
)

// join puts the sender and the receiver behind a NIC each.
func (p *pipe) join() {
	p.Rig = nodetest.New(p.t)
	p.Limit, p.Fault = patience, p.fault
	near, far := nodetest.AddMachine(p.Rig, 1), nodetest.AddMachine(p.Rig, 1)
	p.Join(0, 0, 1, 0, pipeDelay)
	after := func() {
		near.Deadline = p.sender.NextTimeout()
		near.Wake(0)
		// In flight is never negative and never more than was sent.
		if got := p.sender.Inflight(); got < 0 || got > units.Size(p.packets)*mtu {
			p.t.Fatalf("%v in flight", got)
		}
	}
	near.Takes, near.Deadline = perPacket, 0
	near.OnTimeout = func(now units.Time) {
		if p.sent == 0 {
			p.sender.Start(now)
		} else {
			p.sender.HandleTimeout(now)
		}
		after()
	}
	near.OnReceive = func(now units.Time, _ int, packet *wire.Packet) {
		if packet.Kind() == wire.Ack {
			p.sender.OnAck(now, packet)
		} else {
			p.sender.OnNack(now, packet)
		}
		after()
	}
	near.Source = func(now units.Time, _ int) *wire.Packet {
		if !p.sender.CanSend() {
			return nil
		}
		packet := new(wire.Packet)
		p.sender.Send(now, packet)
		after()
		most := 4 * int64(p.packets)
		if p.receives == transport.GoBackN {
			most *= 10
		}
		if p.sent++; p.sent > most+extraPackets {
			p.t.Fatalf("still busy at %v after %d transmissions of %d packets", now, p.sent, p.packets)
		}
		// The window is kept at the moment of sending.
		if got := p.sender.Inflight(); got > p.cc.Window && p.receives != transport.Sleek {
			p.t.Fatalf("%v in flight after sending, the window is %v", got, p.cc.Window)
		}
		return packet
	}
	far.OnReceive = func(now units.Time, _ int, packet *wire.Packet) {
		if reply := p.deliver(now, packet); reply != nil {
			far.Send(0, reply)
		}
	}
}

// fault is what the link does to packets.
func (p *pipe) fault(_ units.Time, _ int, packet *wire.Packet) []units.Duration {
	data := packet.Kind() == wire.Data
	if data {
		if p.domain != nil && packet.Tag() != nil {
			p.domain.Update(packet.Tag(), uint64(p.random.IntN(16000)), 3)
		}
		if p.chance(p.faults.mark) {
			packet.MarkCE()
		}
		if p.chance(p.faults.trim) {
			packet.Trim(sizes, p.chance(500))
		}
	}
	if p.chance(p.faults.drop) {
		if data {
			p.dropped++
		}
		return nil
	}
	copies := []units.Duration{p.jitter()}
	if p.chance(p.faults.duplicate) {
		if data {
			p.twins++
		}
		copies = append(copies, p.jitter())
	}
	return copies
}

func (p *pipe) jitter() units.Duration {
	if p.faults.jitter == 0 {
		return 0
	}
	return units.Duration(p.random.Int64N(int64(p.faults.jitter)))
}

// deliver gives the receiver a data packet, and returns its reply, if there is one.
func (p *pipe) deliver(now units.Time, packet *wire.Packet) (reply *wire.Packet) {
	if !p.receiver.Expects(packet) {
		p.t.Fatalf("PSN %d of a flow of %d packets", packet.PSN(), p.packets)
	}
	if packet.Trimmed() {
		p.trimmed++
	} else {
		p.whole++
		if p.receives != transport.GoBackN || int(packet.PSN()) == len(p.arrived) { // all below have
			p.arrived[packet.PSN()] = true
		}
	}
	done := p.receiver.Done()
	reply = new(wire.Packet)
	if !p.receiver.OnData(now, packet, reply) {
		reply = nil
	} else if reply.Kind() == wire.Ack {
		p.acks++
	} else {
		p.nacks++
	}
	if complete := len(p.arrived) == int(p.packets); !p.connection && (p.receiver.Done() != complete || done && !complete) {
		p.t.Fatalf("the receiver says done %v with %d of %d packets", p.receiver.Done(), len(p.arrived), p.packets)
	}
	return reply
}

func (p *pipe) chance(perMille int) bool { return p.random.IntN(1000) < perMille }

// mixed returns a balancer over 64 paths.
func mixed(t testing.TB, seed uint64) balance.Balancer {
	t.Helper()
	a, _ := balance.Table.Lookup("mixed")
	b, err := a.New(balance.Flow{Random: rand.New(rand.NewPCG(seed, 1))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newPipe(t *testing.T, seed uint64, size units.Size, f faults, cc algorithm.Values, d *csig.Domain, edit ...func(*transport.SenderConfig)) *pipe {
	t.Helper()
	path := congestion.Path{LinkRate: 100 * units.Gbps, NetworkRTT: 2*pipeDelay + perPacket, MTU: mtu, Header: header, Trim: true}
	nscc, _ := congestion.Table.Lookup("nscc")
	controller, err := nscc.New(path, cc)
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), faults: f, domain: d, cc: controller.Output(),
		packets: uint32(transport.Packets(size, mtu, header)),
		arrived: map[uint32]bool{}, connection: size == 0,
	}
	cfg := transport.SenderConfig{
		Common: common(), Flow: flow, Ends: senderEnds, Size: size, CC: controller, LB: mixed(t, seed),
		Tagging: transport.Tagging{Sampling: csig.All, Signal: csig.Delay},
	}
	cfg.Actions, cfg.Domain, cfg.Records, cfg.Sink = nscc.ActionNames(), d, 10*units.Microsecond, &p.records
	for _, e := range edit {
		e(&cfg)
	}
	p.receives = cfg.Recovery
	p.connection = p.connection || cfg.Stop > 0
	p.sender = transport.NewSender(cfg)
	p.receiver = transport.NewReceiver(transport.ReceiverConfig{
		Common: cfg.Common, Flow: flow, Ends: receiverEnds, Packets: transport.Packets(size, mtu, header), Stops: cfg.Stop > 0,
	})
	p.join()
	return p
}

// TestEveryTransferCompletes: whatever a pipe does, each byte is delivered once,
// nothing stays in flight, no timer stays armed, and packets are conserved.
func TestEveryTransferCompletes(t *testing.T) {
	d := domain(t, csig.FormatCompact)
	const seeds = 12
	for name, f := range map[string]faults{
		"clean":          {},
		"marks":          {mark: 300},
		"reorders":       {jitter: 20 * units.Microsecond},
		"reorders a lot": {jitter: 300 * units.Microsecond}, // beyond RTO
		"trims":          {trim: 200},
		"drops":          {drop: 50},
		"duplicates":     {duplicate: 200, jitter: 2 * units.Microsecond},
		"everything":     {drop: 60, trim: 150, duplicate: 60, mark: 200, jitter: 30 * units.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				random := rand.New(rand.NewPCG(seed, 2))
				size := []units.Size{1, mss, mss + 1, 20 * mss, units.Size(1 + random.Int64N(int64(300*mss)))}[seed%5]
				values := []algorithm.Values{nil, {"csig": "max-delay"}, {"cwnd": "4150B", "quick_adapt": "false"}}[seed%3]
				p := newPipe(t, seed, size, f, values, d)
				p.Run(units.Never)
				if err := p.check(size); err != nil {
					t.Errorf("seed %d, %v, %v: %v", seed, size, values, err)
				}
			}
		})
	}
}

func (p *pipe) check(size units.Size) error {
	s, r := p.sender.Close(0), p.receiver.Close()
	var counted int64
	for _, w := range p.records.Flows {
		counted += w.PayloadBytes
	}
	switch {
	case !p.sender.Done() || !p.receiver.Done() || s.Done == units.Never || r.Done == units.Never || r.Done > s.Done:
		return fmt.Errorf("sender done at %v, receiver at %v", s.Done, r.Done)
	case p.sender.Inflight() != 0 || p.sender.NextTimeout() != units.Never || p.sender.CanSend():
		return fmt.Errorf("%v left in flight, timeout %v", p.sender.Inflight(), p.sender.NextTimeout())
	case r.PayloadBytes != int64(size) || counted != int64(size) || r.MeasuredPayload != int64(size):
		return fmt.Errorf("%d payload bytes delivered, %d in the windows, want each of %d once", r.PayloadBytes, counted, int64(size))
	case s.NewPackets != int64(p.packets) || s.NewPackets+s.Retransmitted != p.sent:
		return fmt.Errorf("%d new and %d again, %d seen of %d packets", s.NewPackets, s.Retransmitted, p.sent, p.packets)
	// docs/reference/run-folder.md#checks: transmissions = delivered whole + delivered trimmed + dropped.
	case p.sent+p.twins != r.DeliveredWhole+r.DeliveredTrimmed+p.dropped:
		return fmt.Errorf("%d transmissions and %d twins, %d delivered whole, %d trimmed, %d dropped", p.sent, p.twins, r.DeliveredWhole, r.DeliveredTrimmed, p.dropped)
	case r.DeliveredWhole != p.whole || r.DeliveredTrimmed != p.trimmed || r.DeliveredWhole-r.Duplicates-r.OutOfSequence != int64(p.packets):
		return fmt.Errorf("receiver counts %d whole, %d trimmed, %d duplicates; %d and %d came", r.DeliveredWhole, r.DeliveredTrimmed, r.Duplicates, p.whole, p.trimmed)
	case r.AcksSent != p.acks || r.NacksSent != p.nacks:
		return fmt.Errorf("receiver counts %d ACKs, %d NACKs; %d and %d came out", r.AcksSent, r.NacksSent, p.acks, p.nacks)
	case p.faults == (faults{mark: p.faults.mark}) && (s.Retransmitted != 0 || s.Timeouts != 0):
		return fmt.Errorf("%d retransmissions, %d timeouts where nothing was lost", s.Retransmitted, s.Timeouts)
	}
	return nil
}

// In steady state neither half allocates.
func TestAllocations(t *testing.T) {
	const warm, measured = 2000, 2000
	for i, f := range []faults{{}, {trim: 100, mark: 200}, {trim: 100, mark: 200}} {
		random := rand.New(rand.NewPCG(1, 0))
		var traced metrics.Traced
		if i == 2 {
			traced = allEvents
		}
		sender, receiver := steady(t, 2*(warm+measured)*mss, traced)
		sender.Start(0)
		var now units.Time
		var packet, reply wire.Packet
		step := func() {
			now = now.Add(perPacket)
			if !sender.CanSend() {
				t.Fatal("the window is closed")
			}
			sender.Send(now, &packet)
			if random.IntN(1000) < f.mark {
				packet.MarkCE()
			}
			if random.IntN(1000) < f.trim {
				packet.Trim(sizes, false)
			}
			if !receiver.OnData(now, &packet, &reply) {
				return
			}
			if reply.Kind() == wire.Ack {
				sender.OnAck(now, &reply)
			} else {
				sender.OnNack(now, &reply)
			}
		}
		for range warm {
			step()
		}
		// Many packets together: less than one allocation per packet counts as none.
		const together = 100
		if n := testing.AllocsPerRun(measured/together, func() {
			for range together {
				step()
			}
		}); n != 0 {
			t.Errorf("%+v, traced %v: %v allocations per %d packets, want 0", f, traced, n, together)
		}
	}
}

// steady returns a flow whose records never close a window.
func steady(t *testing.T, size units.Size, traced metrics.Traced) (*transport.Sender, *transport.Receiver) {
	cc := &quiet{out: congestion.Output{Window: 20 * mtu}}
	c := common()
	c.Domain, c.Sink, c.Traced = domain(t, csig.FormatCompact), metrics.NewBatcher(0, 128, metrics.Consumers{}), traced
	return flowOf(t, c, size, cc)
}

// flowOf returns the two halves of a flow.
func flowOf(t *testing.T, c *transport.Common, size units.Size, cc congestion.Controller) (*transport.Sender, *transport.Receiver) {
	return transport.NewSender(transport.SenderConfig{
			Common: c, Flow: flow, Ends: senderEnds, Size: size, CC: cc, LB: mixed(t, 1),
			Tagging: transport.Tagging{Sampling: csig.All, Signal: csig.Delay},
		}), transport.NewReceiver(transport.ReceiverConfig{
			Common: c, Flow: flow, Ends: receiverEnds, Packets: transport.Packets(size, mtu, header),
		})
}

// quiet gives a window and remembers nothing.
type quiet struct{ out congestion.Output }

func (q *quiet) OnAck(units.Time, *congestion.Ack)         {}
func (q *quiet) OnNack(units.Time, *congestion.Nack)       {}
func (q *quiet) OnTimeout(units.Time, *congestion.Timeout) {}
func (q *quiet) Output() *congestion.Output                { return &q.out }
