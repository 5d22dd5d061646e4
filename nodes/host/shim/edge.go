package shim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/raw"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Edge is the work below the programs of a host, which is the same for a Shim and for
// a host that runs our transport beside its programs. It takes their frames, puts tags
// into them and queues them for the fabric; it takes the packets of the fabric, records
// and strips their tags and queues them for the programs. The machine that holds the
// Edge owns the ports: it empties both queues.
type Edge struct {
	cfg    EdgeConfig
	pool   *wire.Pool
	sink   metrics.Sink
	domain *csig.Domain // nil without CSIG

	outgoing map[int]*outgoing // by destination host
	incoming map[int]*incoming // by source host

	queue   raw.Queue  // towards the fabric
	inbound wire.Queue // towards the programs

	drops    [dropReasons]int64
	programs [programEvents]int64
	several  int64 // frames that arrived with more than one CSIG tag
}

// outgoing is what goes to one host.
type outgoing struct {
	raw.Departures
	classes [64]*class // by DSCP
}

// class is the state of an init policy for one destination.
type class struct {
	sampler csig.Sampler
	signals csig.Weights
	types   csig.Multiplexer
	domain  *csig.Domain // of the format of its tags; nil without CSIG
}

// incoming is what comes from one host.
type incoming struct {
	raw.Arrivals
	signals metrics.SignalRecorder
	events  *metrics.EventRecorder // nil: the flow is not traced
	covered [2][csig.Types]bool    // of the domain's first format, and of its second
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

// ProgramNames returns the names of what became of programs' frames that did not enter
// the fabric, in the order of the counts of metrics.NodeTotals.
func ProgramNames() []string { return programNames[:] }

// TagNames returns the names of what edges count of tags.
func TagNames() []string { return []string{tagSeveral} }

const tagSeveral = "delivered_several"

var programNames = [programEvents]string{
	"arp_answered", "nd_answered", "multicast", "no_programs", "other_source", "csig_tag", "transport_port",
}

// NewEdge returns the edge of cfg. It draws packets from pool and emits windows into
// sink. port is the recorder of the machine's NIC, where it counts what enters its queue
// and what finds no room there. An error names the part of the configuration that makes
// no sense.
func NewEdge(cfg EdgeConfig, port *metrics.PortRecorder, pool *wire.Pool, sink metrics.Sink) (*Edge, error) {
	e := &Edge{
		cfg:      cfg,
		pool:     pool,
		sink:     sink,
		queue:    raw.Queue{Limit: cfg.Queue, Port: port},
		outgoing: make(map[int]*outgoing, len(cfg.Pairs)),
		incoming: make(map[int]*incoming, len(cfg.Pairs)),
	}
	if err := e.configure(); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Edge) configure() (err error) {
	if e.cfg.CSIG != nil {
		if e.domain, err = csig.NewDomain(*e.cfg.CSIG); err != nil {
			return err
		}
	}
	if err := e.checkInit(&e.cfg.Init); err != nil {
		return err
	}
	if n := max(len(e.cfg.Covered), len(e.cfg.CoveredSecond)); n > len(e.cfg.Pairs) {
		return fmt.Errorf("%d pairs and what covers %d of them", len(e.cfg.Pairs), n)
	}
	if err := raw.CheckPairs(e.cfg.Node, e.cfg.Pairs); err != nil {
		return err
	}
	for i, p := range e.cfg.Pairs {
		from, to := int(p.Source), int(p.Destination)
		if from == e.cfg.Node {
			e.outgoing[to] = e.newOutgoing(p.Flow)
			continue
		}
		e.incoming[from] = e.newIncoming(p.Flow)
		if i < len(e.cfg.Covered) {
			e.incoming[from].covered[0] = e.cfg.Covered[i]
		}
		if i < len(e.cfg.CoveredSecond) {
			e.incoming[from].covered[1] = e.cfg.CoveredSecond[i]
		}
	}
	return e.classify()
}

// classify sets up the classes of the packets to each destination.
func (e *Edge) classify() error {
	for i, c := range e.cfg.Classes {
		at := slices.IndexFunc(e.cfg.Pairs, func(p metrics.Pair) bool { return p.Flow == c.Flow && int(p.Source) == e.cfg.Node })
		if at < 0 {
			return fmt.Errorf("class %d: flow %d does not leave this host", i, c.Flow)
		}
		if err := e.checkInit(&c.Init); err != nil {
			return fmt.Errorf("class %d: %w", i, err)
		}
		o, state := e.outgoing[int(e.cfg.Pairs[at].Destination)], e.newClass(c.Init, c.Flow, i+1)
		for dscp := range o.classes {
			if c.DSCPs>>dscp&1 != 0 {
				o.classes[dscp] = state
			}
		}
	}
	return nil
}

func (e *Edge) checkInit(i *Init) error {
	switch {
	case e.domain != nil && e.domain.In(i.Format) == nil:
		return fmt.Errorf("tags of format %v, which the domain does not have", i.Format)
	case i.Every < 0 || i.Spacing < 0:
		return fmt.Errorf("one packet in %d, %v apart", i.Every, i.Spacing)
	case i.Every > 0 && !i.Signals.Any():
		return errNoSignal
	}
	return nil
}

var errNoSignal = errors.New("packets are tagged and there is no signal to ask for")

func (e *Edge) newOutgoing(flow int32) *outgoing {
	o := &outgoing{Departures: raw.NewDepartures(flow, e.cfg.Traced, e.sink)}
	rest := e.newClass(e.cfg.Init, flow, 0)
	for dscp := range o.classes {
		o.classes[dscp] = rest
	}
	return o
}

// newClass returns the state of class number i, from 1, for the packets of a flow; 0 is
// Config.Init. Each draws from a generator of its own.
func (e *Edge) newClass(c Init, flow int32, i int) *class {
	var random *rand.Rand
	if c.Draws() {
		random = node.Random(e.cfg.Seed, e.cfg.Node, node.RandomTagging, int(flow)|i<<32)
	}
	of := e.domain
	if of != nil {
		of = of.In(c.Format)
	}
	return &class{sampler: csig.NewSampler(c.Sampling, random), signals: c.Signals, domain: of}
}

func (e *Edge) newIncoming(flow int32) *incoming {
	return &incoming{
		Arrivals: raw.NewArrivals(flow, e.cfg.Measure, e.cfg.Records, e.sink),
		signals:  metrics.NewSignalRecorder(int(flow), e.cfg.Records, e.sink),
		events:   e.cfg.Traced.Recorder(flow, e.sink),
	}
}

// Send takes a frame of a program.
func (e *Edge) Send(now units.Time, p *wire.Packet) {
	switch {
	case p.ForTransport():
		e.keep(programTransport, p)
		return
	case p.Tag() != nil: // which the far end would strip
		e.keep(programTagged, p)
		return
	}
	if event, answered := e.answer(p); answered {
		e.programs[event]++
		e.hand(p)
		return
	}
	frame := p.Header()
	switch to := e.outgoing[p.DestinationHost()]; {
	case frame[0]&1 != 0:
		e.keep(programMulticast, p)
	case to == nil:
		e.keep(programNoHost, p)
	case p.SourceHost() != e.cfg.Node:
		e.keep(programSource, p)
	default:
		e.enqueue(now, to, p)
	}
}

func (e *Edge) enqueue(now units.Time, to *outgoing, p *wire.Packet) {
	if to.Totals.Start == units.Never {
		to.Totals.Start = now
	}
	e.tag(now, to.classes[p.DSCP()], p)
	if !e.queue.Enqueue(now, p) {
		e.drop(dropQueueFull, p)
	}
}

// tag puts a tag on a packet of a class if it is its turn.
func (e *Edge) tag(now units.Time, c *class, p *wire.Packet) {
	if c.domain == nil || c.domain.Format() == csig.FormatNone || !c.sampler.Due(now) {
		return
	}
	c.domain.Init(p.InsertTag(c.domain.Format().Size()), c.types.Next(c.signals))
	p.Size = e.cfg.Sizes.Of(p)
}

// Deliver takes a packet of the fabric.
func (e *Edge) Deliver(now units.Time, p *wire.Packet) {
	if p.Kind() != wire.Raw {
		e.drop(dropUnexpected, p)
		return
	}
	from := e.incoming[p.SourceHost()]
	if from == nil || p.DestinationHost() != e.cfg.Node {
		e.drop(dropMisdirected, p)
		return
	}
	switch tag := p.Tag(); {
	case p.SecondTag(): // left alone: docs/reference/references.md#hop-update
		e.several++
	case tag != nil:
		if e.domain != nil {
			if sample, ok := e.domain.Of(tag).Decode(tag); ok {
				from.sample(now, e.domain, sample)
			}
		}
		p.StripTag()
		p.Size = e.cfg.Sizes.Of(p)
	}
	from.Count(now, p)
	e.hand(p)
}

// sample records the sample of a tag, if the tag says something about the path.
func (i *incoming) sample(now units.Time, domain *csig.Domain, s csig.Sample) {
	if s.Untouched {
		i.Totals.Untouched++
	}
	format := 0
	if s.Format != domain.Format() {
		format = 1
	}
	if s.Measured(i.covered[format][s.Type]) {
		value := metrics.Reading{Point: int64(s.Point)}
		value.Low, value.High = domain.Ends(&s)
		i.signals.Sample(now, uint8(s.Type), domain.Label(&s), value)
		if i.events.Wants(metrics.EventSample) {
			i.events.Emit(metrics.Event{
				Kind: metrics.EventSample, At: now, Packet: metrics.Absent, EV: metrics.Absent, Type: uint8(s.Type), Code: s.Code,
				Value: value, Locator: domain.Label(&s), Age: metrics.Absent, Cwnd: metrics.Absent, Inflight: metrics.Absent,
			})
		}
	}
}

// hand queues a packet for the programs.
func (e *Edge) hand(p *wire.Packet) {
	e.inbound.Push(p)
}

// keep counts a program's frame that does not enter the fabric.
func (e *Edge) keep(event programEvent, p *wire.Packet) {
	e.programs[event]++
	e.pool.Put(p)
}

func (e *Edge) drop(reason dropReason, p *wire.Packet) {
	e.drops[reason]++
	e.pool.Put(p)
}

// Outbound reports whether a frame waits for the fabric.
func (e *Edge) Outbound() bool { return e.queue.Len() > 0 }

// Inbound reports whether a frame waits for the programs.
func (e *Edge) Inbound() bool { return e.inbound.Len() > 0 }

// TakeOutbound returns the next frame for the fabric, whose transmission begins at now;
// nil if there is none. The packet is the caller's.
func (e *Edge) TakeOutbound(now units.Time) *wire.Packet {
	p := e.queue.Dequeue(now)
	if p != nil {
		e.outgoing[p.DestinationHost()].Count(now, p)
	}
	return p
}

// TakeInbound returns the next frame for the programs; nil if there is none. The packet
// is the caller's.
func (e *Edge) TakeInbound() *wire.Packet { return e.inbound.Pop() }

// Queued returns how many packets and wire bytes wait for the fabric.
func (e *Edge) Queued() (packets, bytes int64) { return int64(e.queue.Len()), int64(e.queue.Bytes()) }

// Profile returns that of the edge's CSIG domain.
func (e *Edge) Profile() uint32 { return e.domain.Profile() }

// Close closes the windows of the flows and adds the totals to those of the machine.
// Drops that the machine counts under the same name are added up.
func (e *Edge) Close(t *metrics.NodeTotals) {
	for _, p := range e.cfg.Pairs {
		if int(p.Source) == e.cfg.Node {
			t.Senders = append(t.Senders, e.outgoing[int(p.Destination)].Totals)
			continue
		}
		i := e.incoming[int(p.Source)]
		i.signals.Close()
		t.Receivers = append(t.Receivers, i.Close())
	}
	for i, n := range e.drops {
		t.Drops = addCount(t.Drops, dropNames[i], n)
	}
	for i, n := range e.programs {
		t.Programs = append(t.Programs, metrics.Count{Name: programNames[i], Packets: n})
	}
	t.Tags = append(t.Tags, metrics.Count{Name: tagSeveral, Packets: e.several})
}

// addCount adds n packets to the count of a name, which it appends where there is none.
func addCount(counts []metrics.Count, name string, n int64) []metrics.Count {
	if i := slices.IndexFunc(counts, func(c metrics.Count) bool { return c.Name == name }); i >= 0 {
		counts[i].Packets += n
		return counts
	}
	return append(counts, metrics.Count{Name: name, Packets: n})
}
