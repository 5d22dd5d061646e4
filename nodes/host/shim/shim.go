// Package shim is the machine of a host that runs programs over the kernel's
// TCP/IP instead of the transport. It stands between the interface of these
// programs and the NIC, so that CSIG works below them: it puts tags into the
// frames that enter the fabric, and records and strips those of the frames that
// leave it. What the programs send and receive is otherwise untouched, byte for
// byte.
//
//	programs ── Application ──▶ tag ──▶ queue ──▶ NIC ──▶ fabric
//	programs ◀── Application ◀── record, strip ◀── NIC ◀── fabric
//
// The fabric has neither broadcast nor multicast: the shim itself answers who asks
// for the MAC address of another host (neighbour.go), and drops the rest.
//
// It is driven through package node and touches no network itself.
package shim

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Shim is the machine.
type Shim struct {
	cfg    Config
	pool   *wire.Pool
	sink   metrics.Sink
	domain *csig.Domain // nil without CSIG
	mac    [6]byte

	outgoing map[int]*outgoing // by destination host
	incoming map[int]*incoming // by source host

	ready   node.PortSet
	nic     units.Serialiser
	queue   wire.Queue // towards the fabric
	inbound wire.Queue // towards the programs

	port     metrics.PortRecorder
	drops    [dropReasons]int64
	programs [programEvents]int64
}

// outgoing is what goes to one host.
type outgoing struct {
	totals   metrics.SenderTotals
	untilTag int // packets that go without a tag before the next one
	turn     int // index of the next tag's signal
}

// incoming is what comes from one host.
type incoming struct {
	totals  metrics.ReceiverTotals
	log     metrics.FlowRecorder
	signals metrics.SignalRecorder
}

type dropReason uint8

const (
	dropQueueFull dropReason = iota
	dropMisdirected
	dropUnexpected
	dropReasons
)

var dropNames = [dropReasons]string{"NIC queue full", "not my address", "unexpected kind"}

// programEvent is what becomes of a program's frame that does not enter the
// fabric.
type programEvent uint8

const (
	programARP programEvent = iota
	programNeighbour
	programMulticast
	programNoHost
	programSource
	programTagged
	programTransport
	programEvents
)

var programNames = [programEvents]string{
	"arp_answered", "nd_answered", "multicast", "no_programs", "other_source", "csig_tag", "transport_port",
}

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. An error names the part of the configuration that makes no
// sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Shim, error) {
	s := &Shim{
		cfg:      cfg,
		pool:     pool,
		sink:     sink,
		mac:      wire.MAC(cfg.Node, 0),
		outgoing: make(map[int]*outgoing, len(cfg.Pairs)),
		incoming: make(map[int]*incoming, len(cfg.Pairs)),
		ready:    node.NewPortSet(Ports),
		nic:      units.NewSerialiser(cfg.Rate),
		port:     metrics.NewPortRecorder(cfg.Node, NIC, cfg.Records, sink),
	}
	if err := s.configure(); err != nil {
		return nil, fmt.Errorf("shim %s: %w", cfg.Name, err)
	}
	return s, nil
}

func (s *Shim) configure() (err error) {
	if s.cfg.CSIG != nil {
		if s.domain, err = csig.NewDomain(*s.cfg.CSIG); err != nil {
			return err
		}
	}
	if s.cfg.Every < 0 || s.cfg.Every > 0 && len(s.cfg.Signals) == 0 {
		return fmt.Errorf("every %d with %d signals to ask for", s.cfg.Every, len(s.cfg.Signals))
	}
	for _, t := range s.cfg.Signals {
		if !t.Known() {
			return fmt.Errorf("signal %d: unknown", uint8(t))
		}
	}
	for _, p := range s.cfg.Pairs {
		switch from, to := int(p.Source), int(p.Destination); {
		case from == to || from != s.cfg.Node && to != s.cfg.Node:
			return fmt.Errorf("flow %d from host %d to host %d is not between this host and another", p.Flow, from, to)
		case from == s.cfg.Node && s.outgoing[to] != nil, to == s.cfg.Node && s.incoming[from] != nil:
			return fmt.Errorf("flow %d is the second from host %d to host %d", p.Flow, from, to)
		case from == s.cfg.Node:
			s.outgoing[to] = s.newOutgoing(p.Flow)
		default:
			s.incoming[from] = s.newIncoming(p.Flow)
		}
	}
	return nil
}

func (s *Shim) newOutgoing(flow int32) *outgoing {
	o := &outgoing{totals: metrics.SenderTotals{Flow: flow, Start: units.Never, Done: units.Never}}
	if s.cfg.Every > 1 {
		// A random phase keeps sampling from locking onto a program's period.
		o.untilTag = node.Random(s.cfg.Seed, s.cfg.Node, node.RandomTagging, int(flow)).IntN(s.cfg.Every)
	}
	return o
}

func (s *Shim) newIncoming(flow int32) *incoming {
	return &incoming{
		totals:  metrics.ReceiverTotals{Flow: flow, Done: units.Never},
		log:     metrics.NewFlowRecorder(int(flow), s.cfg.Records, s.sink),
		signals: metrics.NewSignalRecorder(int(flow), s.cfg.Records, s.sink),
	}
}

// Ready is the set of ports that may have something to send.
func (s *Shim) Ready() node.PortSet { return s.ready }

// Receive takes a frame of a program or of the fabric.
func (s *Shim) Receive(now units.Time, port int, p *wire.Packet) {
	if port == Application {
		s.send(now, p)
	} else {
		s.deliver(now, p)
	}
}

// send takes a frame of a program.
func (s *Shim) send(now units.Time, p *wire.Packet) {
	switch {
	case p.ForTransport():
		s.keep(programTransport, p)
		return
	case p.Tag() != nil: // which the far end would strip
		s.keep(programTagged, p)
		return
	}
	if event, answered := s.answer(p); answered {
		s.programs[event]++
		s.hand(p)
		return
	}
	frame := p.Header()
	switch to := s.outgoing[p.DestinationHost()]; {
	case frame[0]&1 != 0:
		s.keep(programMulticast, p)
	case to == nil:
		s.keep(programNoHost, p)
	case p.SourceHost() != s.cfg.Node:
		s.keep(programSource, p)
	default:
		s.enqueue(now, to, p)
	}
}

func (s *Shim) enqueue(now units.Time, to *outgoing, p *wire.Packet) {
	if to.totals.Start == units.Never {
		to.totals.Start = now
	}
	s.tag(to, p)
	s.port.Enqueue(int64(p.Size))
	if s.queue.Bytes()+p.Size > s.cfg.Queue {
		s.port.Drop(now, int64(p.Size))
		s.drop(dropQueueFull, p)
		return
	}
	p.EnqueuedAt = now
	s.queue.Push(p)
	s.port.Depth(now, int64(s.queue.Bytes()))
	s.ready.Add(NIC)
}

// tag puts a tag on a packet if it is its turn.
func (s *Shim) tag(to *outgoing, p *wire.Packet) {
	if s.domain == nil || s.domain.Format() == csig.FormatNone || s.cfg.Every == 0 {
		return
	}
	if to.untilTag > 0 {
		to.untilTag--
		return
	}
	to.untilTag = s.cfg.Every - 1
	s.domain.Init(p.InsertTag(s.domain.Format().Size()), s.cfg.Signals[to.turn])
	to.turn = (to.turn + 1) % len(s.cfg.Signals)
	p.Size = s.cfg.Sizes.Of(p)
}

// deliver takes a packet of the fabric.
func (s *Shim) deliver(now units.Time, p *wire.Packet) {
	if p.Kind() != wire.Raw {
		s.drop(dropUnexpected, p)
		return
	}
	from := s.incoming[p.SourceHost()]
	if from == nil || p.DestinationHost() != s.cfg.Node {
		s.drop(dropMisdirected, p)
		return
	}
	if tag := p.Tag(); tag != nil {
		if s.domain != nil {
			if sample, ok := s.domain.Decode(tag); ok {
				from.signals.Sample(now, uint8(sample.Type), sample.Locator, int64(sample.Point))
			}
		}
		p.StripTag()
		p.Size = s.cfg.Sizes.Of(p)
	}
	from.count(now, p, s.cfg.Measure)
	s.hand(p)
}

// count notes a packet without a tag. Its payload is what is behind the header of
// Ethernet, so that the mean rates are those of IP.
func (i *incoming) count(now units.Time, p *wire.Packet, measure transport.Span) {
	size, payload := int64(p.Size), int64(len(p.L3())+p.PayloadLen)
	i.totals.DeliveredWhole++
	i.totals.PayloadBytes += payload
	i.log.Receive(now, size, payload)
	if now >= measure.From && now < measure.To {
		i.totals.MeasuredWire += size
		i.totals.MeasuredPayload += payload
	}
}

// hand gives a packet to the programs.
func (s *Shim) hand(p *wire.Packet) {
	s.inbound.Push(p)
	s.ready.Add(Application)
}

// keep counts a program's frame that does not enter the fabric.
func (s *Shim) keep(event programEvent, p *wire.Packet) {
	s.programs[event]++
	s.pool.Put(p)
}

func (s *Shim) drop(reason dropReason, p *wire.Packet) {
	s.drops[reason]++
	s.pool.Put(p)
}

// Transmit returns the next packet of a port. Towards the programs there is no
// link: packets leave at once.
func (s *Shim) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	q := &s.queue
	if port == Application {
		q = &s.inbound
	}
	p := q.Pop()
	if q.Len() == 0 {
		s.ready.Remove(port)
	}
	if p == nil || port == Application {
		return p, now, p != nil
	}
	departs := s.nic.Departure(now, s.cfg.Sizes.OnLine(p))
	s.port.Depth(now, int64(q.Bytes()))
	s.port.Transmit(now, departs, int64(p.Size), false)
	s.outgoing[p.DestinationHost()].totals.NewPackets++
	return p, departs, true
}

// NextTimeout is units.Never: the shim waits for nothing.
func (s *Shim) NextTimeout() units.Time { return units.Never }

// HandleTimeout does nothing.
func (s *Shim) HandleTimeout(units.Time) {}

// Profile returns that of the shim's CSIG domain.
func (s *Shim) Profile() uint32 { return s.domain.Profile() }

// Close closes all windows and emits the totals. The port of the programs has
// none: it is no link.
func (s *Shim) Close(end units.Time) {
	s.port.Close(end, int64(s.queue.Len()), int64(s.queue.Bytes()))
	t := metrics.NodeTotals{Node: int32(s.cfg.Node), Name: s.cfg.Name, Ports: []metrics.PortTotals{s.port.Totals}}
	for _, p := range s.cfg.Pairs {
		if int(p.Source) == s.cfg.Node {
			t.Senders = append(t.Senders, s.outgoing[int(p.Destination)].totals)
			continue
		}
		i := s.incoming[int(p.Source)]
		i.log.Close()
		i.signals.Close()
		t.Receivers = append(t.Receivers, i.totals)
	}
	for i, n := range s.drops {
		t.Drops = append(t.Drops, metrics.Count{Name: dropNames[i], Packets: n})
	}
	for i, n := range s.programs {
		t.Programs = append(t.Programs, metrics.Count{Name: programNames[i], Packets: n})
	}
	s.sink.Emit(&t)
}
