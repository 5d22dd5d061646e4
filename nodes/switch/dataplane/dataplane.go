// Package dataplane is the switch machine: it forwards IPv4, queues per egress
// port, marks, trims and drops, and writes its signals into CSIG tags. Raw
// frames it forwards by their MAC address, unchanged but for tag and mark. It is
// driven through package node and touches no network itself.
//
// A packet's way: Receive -> (switch delay) -> forward -> data or control queue
// of the egress port -> Transmit, where ECN and CSIG are decided.
package dataplane

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Config is all that a switch is built from: plain data.
type Config struct {
	Node    int
	Name    string
	Delay   units.Duration // from the last bit in to the egress queue
	Ports   []Port
	Forward forward.Config
	Sizes   wire.Sizes
	AQM     algorithm.Choice // of aqm.Table, at every port
	Classes *Classes         // nil: one class that may lose packets, at ports that share no memory
	Trim    bool             // trim what does not fit; otherwise drop it
	CSIG    *CSIG
	// PortDown is what the senders hear of packets for a port that is down.
	PortDown PortDown
	Pairs    []metrics.Pair // of hosts with programs: the flows of raw frames
	Seed     uint64
	Measure  metrics.Span
	Records  units.Duration // telemetry interval
	Traced   metrics.Traced // events to record, where tags end here
	Truth    metrics.TruthChoice
	Resized  []PortSizes // that ports get in Resize and ResizeArrivals
	// Postcards says where samples go, besides into records, where tags end; nil: nowhere.
	Postcards *Postcards
}

// Port is one port.
type Port struct {
	MAC      [6]byte
	PeerMAC  [6]byte
	Locator  uint16
	Second   *SecondFormat      // of tags of the domain's second format; nil without
	LastHop  bool               // leads to a host
	Policies [csig.Types]Policy // of the tags that leave
	Rate     units.Rate
	Buffer   buffer.Limits
	ECN      aqm.Thresholds
	Ingress  Ingress     // of the tags that come in
	Classes  []PortClass // as Config.Classes.List; nil without
}

// SecondFormat is what a port does to tags of the second format of a domain.
type SecondFormat struct {
	Locator  uint16
	Policies [csig.Types]Policy
}

// CSIG is the switch's part in the domain; a switch without it passes tags on
// untouched.
type CSIG struct {
	Domain csig.Config
	Meter  meter.Mode
	Phase  meter.Phase
	Delay  DelayMode
	// Available is whose available bandwidth tags hold; other than meter.Raw it needs
	// Config.Classes.
	Available meter.Scope
	Depth     meter.DepthMode
	Tau       units.Duration // constant of meter.Drain
	// CountTrimmed has trimmed packets count as used bandwidth.
	CountTrimmed bool
}

// DelayMode is what the per-hop delay signal holds.
type DelayMode uint8

// Delay modes. Residence is first bit in to first bit out: serialisation at the
// rate at which the packet came in, the switch's own delay and waiting (a 4150 B packet that
// comes from a 100 Gb/s link through an idle switch: 332 ns). Wait is the time in
// the queue.
const (
	Residence DelayMode = iota
	Wait
)

// String returns the name.
func (m DelayMode) String() string { return delayModes[m] }

// UnmarshalText implements encoding.TextUnmarshaler: residence or wait.
func (m *DelayMode) UnmarshalText(text []byte) error {
	return spelling.Enum(m, "delay mode", text, delayModes)
}

var delayModes = []string{"residence", "wait"}

// Names returns the names, in the order of their values.
func (DelayMode) Names() []string { return slices.Clone(delayModes) }

// PortDown is what a switch does beside dropping a data packet for a port that is down.
type PortDown uint8

// What a switch does.
const (
	Silent PortDown = iota
	Notify          // return a NACK to the sender at once, with the port's locator
)

// String returns the name.
func (p PortDown) String() string { return portDowns[p] }

// UnmarshalText implements encoding.TextUnmarshaler: silent or notify.
func (p *PortDown) UnmarshalText(text []byte) error {
	return spelling.Enum(p, "way to treat packets for a port that is down", text, portDowns)
}

var portDowns = []string{Silent: "silent", Notify: "notify"}

// Names returns the names, in the order of their values.
func (PortDown) Names() []string { return slices.Clone(portDowns) }

type dropReason uint8

const (
	dropNoRoute dropReason = iota
	dropTTL
	dropDataFull
	dropControlFull
	dropHeadroom
	dropReasons
)

var dropNames = [dropReasons]string{"no route", "TTL exceeded", "data queue full", "control queue full", DropHeadroom}

// DropHeadroom is the reason of drops in lossless classes, of which there should be none.
const DropHeadroom = "headroom full"

// Switch is the machine.
type Switch struct {
	cfg      Config
	pool     *wire.Pool
	sink     metrics.Sink
	ecmp     forward.ECMP
	policy   forward.Policy   // nil: ecmp alone forwards
	weighted forward.Weighted // policy, if its weights may change
	domain   *csig.Domain
	tpids    csig.TPIDs
	ports    []port
	ready    node.PortSet
	filter   node.PortSet // ports at which tags that come in may be removed or put on

	classes  *classes  // nil without
	arrivals *arrivals // nil while no rate has changed
	resized  []int     // which sizes each port has, see Resize; nil: their own

	pipeline fifo.Queue[inPipeline] // packets within Delay, in order

	drops   [dropReasons]int64
	made    int64 // packets that the switch made and forwarded
	tags    [tagOutcomes]int64
	samples map[uint32]*samples // of Terminate, by flow
	inputs  csig.Inputs         // of the signal of a module that is asked for
	truth   *truth              // nil: it is not recorded
	pairs   map[[2]int]uint32   // flows of raw frames, by source and destination
	taken   int64               // packets for the switch itself

	postcards int64      // of made
	nextCard  units.Time // when the next one may be sent
}

// samples records the samples of one flow.
type samples struct {
	windows metrics.SignalRecorder
	events  *metrics.EventRecorder // nil: the flow is not traced
	next    [csig.Types]units.Time // when a postcard may be sent
}

type inPipeline struct {
	packet *wire.Packet
	due    units.Time
}

// port begins with what each packet needs, which Touch reads.
type port struct {
	buffer     buffer.Port
	aqm        aqm.Policy
	line       units.Serialiser
	random     *rand.Rand
	*classPort // nil without classes
	Port
	record metrics.PortRecorder
	abw    meter.Bandwidth
	depth  meter.Depth
	sums   *meter.Sums // nil: no module has registered a signal

	edge    bool         // some tags that come in are removed
	initial *csig.Domain // of the tags that are put on
	sampler csig.Sampler
	turn    int // index in Ingress.Signals of the next tag that is put on
}

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. An error names the part of the configuration that makes no
// sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Switch, error) {
	s := &Switch{
		cfg:     cfg,
		pool:    pool,
		sink:    sink,
		ports:   make([]port, len(cfg.Ports)),
		ready:   node.NewPortSet(len(cfg.Ports)),
		filter:  node.NewPortSet(len(cfg.Ports)),
		samples: map[uint32]*samples{},
		pairs:   make(map[[2]int]uint32, len(cfg.Pairs)),
	}
	for _, p := range cfg.Pairs {
		s.pairs[[2]int{int(p.Source), int(p.Destination)}] = uint32(p.Flow)
	}
	if err := s.configureForwarding(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	if cfg.Classes != nil {
		if err := s.prepareClasses(); err != nil {
			return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
		}
	}
	policy, ok := aqm.Table.Lookup(cfg.AQM.Name)
	if !ok {
		return nil, fmt.Errorf("switch %s: unknown AQM %q", cfg.Name, cfg.AQM.Name)
	}
	if cfg.CSIG != nil {
		var err error
		if s.domain, err = csig.NewDomain(cfg.CSIG.Domain); err != nil {
			return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
		}
		c := s.domain.Config()
		s.tpids = csig.TPIDs{Compact: c.TPIDCompact, Wide: c.TPIDWide}
	}
	for i, p := range cfg.Ports {
		random := node.Random(cfg.Seed, cfg.Node, node.RandomPort, i)
		marking, err := policy.New(aqm.Port{Rate: p.Rate, Queue: p.Buffer.Data, ECN: p.ECN, Random: random}, cfg.AQM.Params)
		if err != nil {
			return nil, fmt.Errorf("switch %s: aqm %w", cfg.Name, err)
		}
		var bandwidth metrics.Meter
		if s.domain != nil {
			bandwidth = &s.ports[i].abw
		}
		s.ports[i] = port{
			Port:   p,
			buffer: buffer.NewPort(p.Buffer),
			line:   units.NewSerialiser(p.Rate),
			random: random,
			aqm:    marking,
			record: metrics.NewPortRecorder(metrics.PortConfig{Node: cfg.Node, Port: i, Records: cfg.Records, Measure: cfg.Measure, Sink: sink, Meter: bandwidth}),
		}
		if cfg.Classes != nil {
			if err := s.configureClasses(i); err != nil {
				return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
			}
		}
		if s.domain != nil {
			s.ports[i].abw, s.ports[i].sums = s.newBandwidth(i), s.newSums(i)
			s.configureShares(i)
			s.ports[i].depth = meter.NewDepth(cfg.CSIG.Depth, p.Buffer.Data, p.Rate, cfg.CSIG.Tau)
			if err := s.configureIngress(i); err != nil {
				return nil, fmt.Errorf("switch %s: port %d: %w", cfg.Name, i, err)
			}
		}
	}
	s.truth = s.newTruth()
	return s, nil
}

// configureForwarding builds the routing policy.
func (s *Switch) configureForwarding() (err error) {
	s.ecmp = forward.NewECMP(s.cfg.Forward)
	s.policy, err = forward.New(s.cfg.Forward.Routing, forward.Switch{
		ECMP:   &s.ecmp,
		Queued: func(port int) units.Size { return s.ports[port].queued() },
		Random: node.Random(s.cfg.Seed, s.cfg.Node, node.RandomRouting, 0),

		FromHost: func(port int) bool { return s.ports[port].LastHop },
		Router:   s.cfg.Forward.Router,
		Groups:   s.cfg.Forward.Groups,
		Weights:  s.cfg.Forward.Weights,
	})
	s.weighted, _ = s.policy.(forward.Weighted)
	return err
}

// Ready is the set of ports that have something to send.
func (s *Switch) Ready() node.PortSet { return s.ready }

// Touch implements node.Toucher: it reads what the ports that send have at hand and the
// packets that they send next.
func (s *Switch) Touch() (sum int64) {
	for port := range s.ports {
		if !s.ready.Has(port) {
			continue
		}
		out := &s.ports[port]
		sum += int64(out.Locator) + out.record.Touch() + out.buffer.Touch()
		if out.classPort != nil {
			sum += out.queues.Touch()
		}
	}
	return sum
}

// Receive takes a packet from a port.
func (s *Switch) Receive(now units.Time, ingress int, p *wire.Packet) {
	p.EnqueuedAt, p.Ingress = now, uint16(ingress)
	if s.arrivals != nil {
		s.arrivals.receive(now, ingress, s.cfg.Sizes.OnLine(p))
	}
	if s.weighted != nil && p.Kind() == wire.Weights && s.takeWeights(p) {
		return
	}
	if s.classes != nil {
		if !s.receiveClass(now, ingress, p) {
			return
		}
	} else if s.filter.Has(ingress) {
		s.admit(now, &s.ports[ingress], p)
	}
	if s.cfg.Delay > 0 {
		s.pipeline.Push(inPipeline{p, now.Add(s.cfg.Delay)})
		return
	}
	s.forward(now, p)
}

// NextTimeout is when the first packet leaves the pipeline, or a timer of flow control
// ends.
func (s *Switch) NextTimeout() units.Time {
	if s.classes != nil {
		return min(s.delayed(), s.classes.due)
	}
	return s.delayed()
}

// delayed returns when the first packet leaves the pipeline.
func (s *Switch) delayed() units.Time {
	if first, ok := s.pipeline.Peek(); ok {
		return first.due
	}
	return units.Never
}

// HandleTimeout forwards the packets that leave the pipeline, and serves the timers of
// flow control.
func (s *Switch) HandleTimeout(now units.Time) {
	for s.delayed() <= now {
		first, _ := s.pipeline.Pop()
		s.forward(now, first.packet)
	}
	if s.classes != nil && now >= s.classes.due {
		s.flowControl(now)
	}
}

func (s *Switch) forward(now units.Time, p *wire.Packet) {
	var egress int
	var ok bool
	if s.policy == nil {
		egress, ok = s.ecmp.Forward(p)
	} else {
		egress, ok = s.policy.Forward(p)
	}
	if !ok {
		s.release(now, p)
		s.discard(dropNoRoute, p)
		return
	}
	out := &s.ports[egress]
	if p.Kind() != wire.Raw {
		if !p.DecrementTTL() {
			s.release(now, p)
			s.discard(dropTTL, p)
			return
		}
		p.SetMACs(out.PeerMAC, out.MAC)
	}
	out.record.Enqueue(int64(p.Size))
	s.ready.Add(egress)
	if !p.Queues() {
		s.enqueueControl(now, out, p)
		return
	}
	if s.classes != nil {
		s.enqueueClass(now, out, p)
		return
	}
	if !out.buffer.DataFits(p) {
		if p = s.overflow(now, out, p); p == nil {
			return
		}
	}
	out.buffer.PushData(p)
	out.record.Depth(now, int64(out.buffer.Data()))
}

func (s *Switch) enqueueControl(now units.Time, out *port, p *wire.Packet) {
	if !out.buffer.ControlFits(p) {
		out.dropped(now, p)
		s.discard(dropControlFull, p)
		return
	}
	out.buffer.PushControl(p)
}

// overflow frees space for p by trimming it or the packet enqueued last, or drops
// it. It returns the packet that is to enter the data queue, if any. Raw
// frames are not trimmed: nobody would know what is left of them.
func (s *Switch) overflow(now units.Time, out *port, p *wire.Packet) *wire.Packet {
	if !s.cfg.Trim || p.Kind() == wire.Raw {
		if out.buffer.HardFits(p) {
			return p
		}
		out.dropped(now, p)
		s.discard(dropDataFull, p)
		return nil
	}
	if aqm.TrimArriving(out.random) || out.buffer.Data() > out.Buffer.Longest() { // beyond it since Resize: what is queued stays
		s.trim(now, out, p)
		return nil
	}
	switch last := out.buffer.PopDataTail(); {
	case last == nil:
	case last.Kind() == wire.Raw:
		out.buffer.PushData(last)
		s.trim(now, out, p)
		return nil
	default:
		s.trim(now, out, last)
	}
	if !out.buffer.DataFits(p) { // what was trimmed was smaller
		out.record.Depth(now, int64(out.buffer.Data()))
		s.trim(now, out, p)
		return nil
	}
	return p
}

func (s *Switch) trim(now units.Time, out *port, p *wire.Packet) {
	if tag := p.Tag(); tag != nil && s.domain != nil {
		out.record.Advance(now) // before its meter
		domain, locator, policies := s.formatOf(out, tag)
		if t, _ := domain.Peek(tag); t.Known() && policies[t] == Update {
			// The packet would have left its queue when all before it had.
			bytes, packets := s.queueOf(out, p)
			drain := out.line.Takes(bytes + units.Size(packets)*s.cfg.Sizes.Overhead)
			domain.Trim(tag, s.signal(now, now.Add(drain), out, t, p), locator)
		}
	}
	before := p.Size
	p.Trim(s.cfg.Sizes, out.LastHop)
	out.record.Trim(now, int64(before-p.Size))
	if out.sums != nil {
		out.sums.Add(now, meter.Trimmed, before-p.Size)
	}
	s.enqueueControl(now, out, p)
}

// Transmit returns the next packet of a port.
func (s *Switch) Transmit(now units.Time, egress int) (*wire.Packet, units.Time, bool) {
	out := &s.ports[egress]
	var p *wire.Packet
	fromData, marked := false, false
	if s.classes == nil {
		p, fromData = out.buffer.Pop()
		if out.buffer.Len() == 0 {
			s.ready.Remove(egress)
		}
	} else if p, marked = s.nextOfClasses(now, egress); p != nil && p.Pauses() {
		departs := out.line.Departure(now, s.cfg.Sizes.OnLine(p))
		out.record.Transmit(now, departs, int64(p.Size), false)
		return p, departs, true
	}
	if p == nil {
		return nil, 0, false
	}
	if fromData {
		queue := out.buffer.Data()
		out.record.Depth(now, int64(queue))
		waited := s.waited(now, p)
		out.record.Wait(now, waited)
		if ecn := p.ECN(); ecn != wire.NotECT && out.aqm.Mark(now, aqm.Departure{Queue: queue, Waited: waited}) {
			marked = ecn != wire.CE
			p.MarkCE()
		}
	}
	// A tag that is removed is charged to this port for the last time.
	size := p.Size
	departs := out.line.Departure(now, s.cfg.Sizes.OnLine(p))
	out.record.Transmit(now, departs, int64(size), marked)
	if s.domain != nil {
		if tag := p.Tag(); tag != nil {
			if s.truth != nil {
				s.recordTruth(now, egress, p, tag)
			}
			s.handleTag(now, out, p, tag)
		}
		// "Dropped or truncated packets are not part of" available bandwidth
		// (docs/reference/references.md#available-bandwidth).
		if s.cfg.CSIG.CountTrimmed || !p.Trimmed() {
			out.abw.Transmit(now, departs, size)
			if out.classPort != nil && out.shares != nil {
				s.countShares(now, departs, out, p, size)
			}
			if s.truth != nil {
				s.truth.exact[egress].Transmit(now, departs, size)
			}
		}
		if out.sums != nil {
			out.countSent(now, p, size)
		}
	}
	return p, departs, true
}

func (s *Switch) discard(reason dropReason, p *wire.Packet) {
	s.drops[reason]++
	s.pool.Put(p)
}
