// Package generator is the machine of a host that sends raw Ethernet frames as its
// configuration describes them: at a constant rate, of any size, with any tags in
// front of the network layer, also with forged CSIG tags. It is a source of load, a
// host of an older kind, or a hostile one. It has no transport, no congestion control
// and no CSIG of its own, and it filters nothing: what it receives it checks and
// counts.
//
// It draws no random numbers and waits for no clock but the model's, so that it runs
// under every clock. It is driven through package node and touches no network itself.
package generator

import (
	"encoding/binary"
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/raw"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Generator is the machine.
type Generator struct {
	cfg  Config
	pool *wire.Pool
	sink metrics.Sink

	streams  []stream
	next     units.Time // when the earliest stream is due
	outgoing map[int]*raw.Departures
	incoming map[int]*raw.Arrivals // by source host

	ready node.PortSet
	nic   units.Serialiser
	queue raw.Queue

	port  metrics.PortRecorder
	drops [dropReasons]int64
	tags  [tagCounts]int64
}

// stream is a Stream under way.
type stream struct {
	Stream
	flow  *raw.Departures
	pace  units.Serialiser
	frame wire.Packet // what every frame is a copy of
	udp   int         // offset of the UDP header in frame
	sent  uint64
	due   units.Time // of the next frame; Never after the last
}

type dropReason uint8

const (
	dropQueueFull dropReason = iota
	dropMisdirected
	dropUnexpected
	dropDamaged
	dropReasons
)

var dropNames = [dropReasons]string{"NIC queue full", "not my address", "unexpected kind", "damaged frame"}

// tagCount is how many CSIG tags a frame still has where it arrives.
type tagCount uint8

const (
	tagOne tagCount = iota
	tagSeveral
	tagCounts
)

// TagNames returns the names of what generators count of tags, in the order of the
// counts of metrics.NodeTotals.
func TagNames() []string { return tagNames[:] }

var tagNames = [tagCounts]string{"delivered", "delivered_several"}

// Layout of the frames behind their stack: IPv4, UDP to the port of the discard
// protocol (RFC 863), and a payload that begins with the number of the stream and the
// sequence number of the frame in it, from 0, and goes on with zeros.
const (
	discardPort = 9

	sequenceAt = wire.UDPLen + 4 // from the UDP header
	headerLen  = wire.IPv4Len + sequenceAt + 8

	fcsLen = 4
)

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. An error names the part of the configuration that makes no
// sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Generator, error) {
	cfg.Format.Raw = true
	g := &Generator{
		cfg:      cfg,
		pool:     pool,
		sink:     sink,
		streams:  make([]stream, len(cfg.Streams)),
		outgoing: make(map[int]*raw.Departures),
		incoming: make(map[int]*raw.Arrivals),
		ready:    node.NewPortSet(Ports),
		port:     metrics.NewPortRecorder(metrics.PortConfig{Node: cfg.Node, Port: NIC, Records: cfg.Records, Measure: cfg.Measure, Sink: sink}),
	}
	g.queue = raw.Queue{Limit: cfg.Queue, Port: &g.port}
	if err := g.configure(); err != nil {
		return nil, fmt.Errorf("generator %s: %w", cfg.Name, err)
	}
	return g, nil
}

func (g *Generator) configure() error {
	if g.cfg.Rate <= 0 {
		return fmt.Errorf("the NIC's rate is %d bit/s, want more than 0", int64(g.cfg.Rate))
	}
	g.nic = units.NewSerialiser(g.cfg.Rate)
	if err := raw.CheckPairs(g.cfg.Node, g.cfg.Pairs); err != nil {
		return err
	}
	for _, p := range g.cfg.Pairs {
		if from, to := int(p.Source), int(p.Destination); from == g.cfg.Node {
			departures := raw.NewDepartures(p.Flow, g.cfg.Traced, g.sink)
			g.outgoing[to] = &departures
		} else {
			arrivals := raw.NewArrivals(p.Flow, g.cfg.Measure, g.cfg.Records, g.sink)
			g.incoming[from] = &arrivals
		}
	}
	for i := range g.streams {
		if err := g.begin(i); err != nil {
			return fmt.Errorf("stream %d: %w", i, err)
		}
	}
	g.next = g.earliest()
	return nil
}

// begin prepares a stream.
func (g *Generator) begin(i int) error {
	c := g.cfg.Streams[i]
	c.Paths = max(c.Paths, 1)
	s := &g.streams[i]
	*s = stream{Stream: c, flow: g.outgoing[c.To], due: c.Start}
	switch {
	case s.flow == nil:
		return fmt.Errorf("no flow to host %d", c.To)
	case c.Count < 0 || c.Start < 0 || c.Paths > wire.EntropyRange || c.DSCP > 63:
		return fmt.Errorf("%d frames from %v with DSCP %d over %d paths", c.Count, c.Start, c.DSCP, c.Paths)
	case c.Size < MinSize:
		return fmt.Errorf("frames of %v; the least is %v", c.Size, MinSize)
	case c.Every < 0 || c.Every == 0 && c.Rate <= 0:
		return fmt.Errorf("a frame every %v, or %v: want one of them above 0", c.Every, c.Rate)
	}
	if c.Every == 0 {
		s.pace = units.NewSerialiser(c.Rate)
	}
	return g.build(i)
}

// build builds the frame that those of a stream are copies of.
func (g *Generator) build(i int) error {
	s := &g.streams[i]
	destination, source := wire.MAC(s.To, 0), wire.MAC(g.cfg.Node, 0)
	length := int(s.Size) - fcsLen
	b := append(destination[:], source[:]...)
	b = append(b, s.Stack...)
	b = binary.BigEndian.AppendUint16(b, wire.EtherTypeIPv4)
	s.udp = len(b) + wire.IPv4Len
	b = wire.AppendIPv4UDP(b, wire.Datagram{
		Source: wire.HostIP(g.cfg.Node), Destination: wire.HostIP(s.To), SourcePort: wire.EntropyBase, DestinationPort: discardPort,
		DSCP: s.DSCP, Length: length - wire.EthernetLen - wire.IPv4Len - wire.UDPLen,
	})
	b = binary.BigEndian.AppendUint32(b, uint32(i))
	b = append(b, make([]byte, wire.MaxHeader)...)
	length += len(s.Stack)
	if err := s.frame.ParseHead(b[:min(length, wire.MaxHeader)], length, g.cfg.Format); err != nil {
		return err
	}
	if s.udp+sequenceAt+8 > len(s.frame.Header()) {
		return fmt.Errorf("a stack of %d B leaves no room for the headers behind it", len(s.Stack))
	}
	return nil
}

func (g *Generator) earliest() units.Time {
	at := units.Never
	for i := range g.streams {
		at = min(at, g.streams[i].due)
	}
	return at
}

// Ready is the set of ports that may have something to send.
func (g *Generator) Ready() node.PortSet { return g.ready }

// NextTimeout is when the next frame of a stream is due.
func (g *Generator) NextTimeout() units.Time { return g.next }

// HandleTimeout queues the frames that are due, in the order of the streams.
func (g *Generator) HandleTimeout(now units.Time) {
	if now < g.next {
		return
	}
	for i := range g.streams {
		for s := &g.streams[i]; s.due <= now; {
			g.enqueue(now, s)
		}
	}
	g.next = g.earliest()
}

// enqueue queues the next frame of a stream.
func (g *Generator) enqueue(now units.Time, s *stream) {
	if s.flow.Totals.Start == units.Never {
		s.flow.Totals.Start = now
	}
	p := g.pool.Get()
	*p = s.frame
	header := p.Header()
	binary.BigEndian.PutUint16(header[s.udp:], uint16(wire.EntropyBase+s.sent%uint64(s.Paths)))
	binary.BigEndian.PutUint64(header[s.udp+sequenceAt:], s.sent)
	s.sent++
	switch {
	case s.Count > 0 && s.sent == uint64(s.Count):
		s.due = units.Never
	case s.Every > 0:
		s.due = s.due.Add(s.Every)
	default:
		s.due = s.pace.Departure(s.due, p.Size)
	}
	if !g.queue.Enqueue(now, p) {
		g.drop(dropQueueFull, p)
		return
	}
	g.ready.Add(NIC)
}

// Transmit returns the next frame.
func (g *Generator) Transmit(now units.Time, _ int) (*wire.Packet, units.Time, bool) {
	p := g.queue.Dequeue(now)
	if g.queue.Len() == 0 {
		g.ready.Remove(NIC)
	}
	if p == nil {
		return nil, 0, false
	}
	departs := g.nic.Departure(now, g.cfg.Format.OnLine(p))
	g.port.Transmit(now, departs, int64(p.Size), false)
	g.outgoing[p.DestinationHost()].Count(now, p)
	return p, departs, true
}

// Receive takes a packet of the fabric.
func (g *Generator) Receive(now units.Time, _ int, p *wire.Packet) {
	from := g.incoming[p.SourceHost()]
	switch {
	case p.Kind() != wire.Raw:
		g.drop(dropUnexpected, p)
	case from == nil || p.DestinationHost() != g.cfg.Node:
		g.drop(dropMisdirected, p)
	case !intact(p):
		g.drop(dropDamaged, p)
	default:
		from.Count(now, p)
		switch {
		case p.SecondTag():
			g.tags[tagSeveral]++
		case p.Tag() != nil:
			g.tags[tagOne]++
		}
		g.pool.Put(p)
	}
}

// intact reports whether a frame is as a generator sent it, as far as its network
// layer can be read.
func intact(p *wire.Packet) bool {
	for _, b := range p.Payload {
		if b != 0 {
			return false
		}
	}
	if p.EtherType() != wire.EtherTypeIPv4 {
		return true
	}
	l3 := p.L3()
	return len(l3) >= headerLen && wire.ValidIPv4(l3) && int(binary.BigEndian.Uint16(l3[2:])) == len(l3)+p.PayloadLen
}

func (g *Generator) drop(reason dropReason, p *wire.Packet) {
	g.drops[reason]++
	g.pool.Put(p)
}

// Profile is 0: a generator is in no CSIG domain.
func (g *Generator) Profile() uint32 { return 0 }

// Close closes all windows and emits the totals.
func (g *Generator) Close(end units.Time) {
	g.port.Close(end, int64(g.queue.Len()), int64(g.queue.Bytes()))
	t := metrics.NodeTotals{Node: int32(g.cfg.Node), Name: g.cfg.Name, Ports: []metrics.PortTotals{g.port.Totals}}
	for _, p := range g.cfg.Pairs {
		if int(p.Source) == g.cfg.Node {
			t.Senders = append(t.Senders, g.outgoing[int(p.Destination)].Totals)
			continue
		}
		t.Receivers = append(t.Receivers, g.incoming[int(p.Source)].Close())
	}
	for i, n := range g.drops {
		t.Drops = append(t.Drops, metrics.Count{Name: dropNames[i], Packets: n})
	}
	for i, n := range g.tags {
		t.Tags = append(t.Tags, metrics.Count{Name: tagNames[i], Packets: n})
	}
	g.sink.Emit(&t)
}

// SetRate gives the NIC another rate from now on.
func (g *Generator) SetRate(_ units.Time, port int, rate units.Rate) {
	if port == NIC {
		g.nic = units.NewSerialiser(rate)
	}
}
