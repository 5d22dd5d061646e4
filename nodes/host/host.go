// Package host is the host machine: a NIC, the transport's flows on it with
// their congestion control and load balancing, the player that starts them, and, on
// a host that runs programs too, the shim.Edge below these. It is driven through
// package node and touches no network itself.
package host

import (
	"fmt"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/host/collector"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// NIC is the port that leads to the fabric. After it comes shim.Application on a host
// with programs, and then the control ports.
const NIC = shim.NIC

// Config is all that a host is built from: plain data.
type Config struct {
	Node       int
	Name       string
	IP         uint32
	MAC        [6]byte
	NextHopMAC [6]byte
	Rate       units.Rate // of the NIC
	Control    int        // number of control ports
	// Fluid is the control port that leads to the fluid network, which carries the flows that
	// are not in Sends and Receives, and messages of those; 0: there is none.
	Fluid int

	MTU      units.Size
	Sizes    wire.Sizes
	RTO      units.Duration
	GiveUp   transport.GiveUp
	AckEvery units.Size
	Recovery transport.Recovery
	Credits  bool             // receivers grant credit, beside what the congestion control does
	CC       algorithm.Choice // of congestion.Table
	LB       algorithm.Choice // of balance.Table
	Path     congestion.Path

	CSIG     *csig.Config      // nil without CSIG
	Tagging  transport.Tagging // of the flows that have none of their own
	LastHops csig.LocatorSet   // locators that stand for ports to hosts alone
	Place    transport.TrimPlace

	Classes []class.Class // of data; nil: one, which may lose packets

	Sends     []Flow
	Receives  []End
	Player    player.Config
	Edge      *shim.EdgeConfig  // nil: the host runs no programs
	Collector *collector.Config // nil: the host is not the fabric's collector

	Seed    uint64
	Measure metrics.Span
	Records units.Duration
	Traced  metrics.Traced // events to record, of flows that this host sends
	Truth   metrics.TruthChoice
}

// Ports returns the number of the machine's ports.
func (c *Config) Ports() int { return c.firstControl() + c.Control }

// firstControl returns the first control port.
func (c *Config) firstControl() int {
	if c.Edge != nil {
		return shim.Application + 1
	}
	return NIC + 1
}

// End is one end of a transfer or connection: what its sender and its receiver know. Its id
// is the transfer's.
type End struct {
	ID   int
	Peer uint32 // address of the other end
	// Connection says that the player posts the messages of the flow one by one.
	Connection bool
	Class      uint8      // of the data that this host sends, in Config.Classes
	Size       units.Size // of a transfer; if it stops, the most that its sender sends
	// Stop is when the sender of a transfer stops; 0: when all is sent.
	Stop units.Time
}

// Flow is one transfer or connection that this host sends.
type Flow struct {
	End
	// Paths is what is known of the way of its packets; nil: nothing.
	Paths *transport.PathSignals
	// Tagging is the init policy of the flow; nil: Config.Tagging.
	Tagging *transport.Tagging
	// CC is the congestion control of the flow: Config.CC with other parameters, of the same
	// Needs; nil: Config.CC.
	CC *algorithm.Choice
	// Packets is which messages are packets, where Config.Fluid carries the others.
	Packets *fluid.Choice
}

// TaggingOf returns the init policy of a flow that this host sends.
func (c *Config) TaggingOf(f *Flow) transport.Tagging {
	if f.Tagging != nil {
		return *f.Tagging
	}
	return c.Tagging
}

// CCOf returns the congestion control of a flow that this host sends.
func (c *Config) CCOf(f *Flow) algorithm.Choice {
	if f.CC != nil {
		return *f.CC
	}
	return c.CC
}

// controlBurst is how many control packets may pass a waiting data packet before
// it is its turn (uet-htsim: 10 to 1).
const controlBurst = 10

// Host is the machine. What each packet needs comes first.
type Host struct {
	pool     *wire.Pool
	ready    node.PortSet
	edge     *shim.Edge // nil without programs
	ip       uint32
	burst    int32 // control packets sent while data waited
	stamps   bool  // ACKs take the time that they took the host
	more     bool  // there is a puller, or there are classes
	nic      units.Serialiser
	control  wire.Queue // ACKs and NACKs
	eligible fifo.Queue[*flow]

	timeout   units.Time            // never later than the earliest flow's
	start     units.Time            // of the player's next transfer
	senders   index                 // of flows
	flows     []flow                // as Config.Sends
	arrivals  index                 // of receivers
	receivers []*transport.Receiver // as Config.Receives; nil before the first packet
	delivered int64                 // payload bytes received

	port      metrics.PortRecorder
	sizes     wire.Sizes
	common    *transport.Common // nil before a flow starts
	player    *player.Player
	programs  *flow        // stands for the edge's queue in eligible
	messages  []wire.Queue // by control port, from firstControl
	maker     maker
	puller    *transport.Puller    // nil without receiver credits
	classes   *nicClasses          // in place of eligible; nil without classes
	domain    *csig.Domain         // nil without CSIG
	postcards *collector.Collector // nil at all hosts but the collector
	mixed     *mixed               // nil without a fluid beside the host's packets
	sink      metrics.Sink
	drops     [dropReasons]int64
	cfg       *Config
}

// flow is what takes turns at the NIC: a flow of the transport, or Host.programs.
type flow struct {
	*transport.Sender            // nil before the flow starts
	deadline          units.Time // the sender's next timeout
	at                int32      // in Host.flows
	queued            bool       // in Host.eligible
}

type dropReason uint8

const (
	dropUnknownFlow dropReason = iota
	dropMisdirected
	dropUnexpected
	dropBeyond
	dropReasons
)

var dropNames = [dropReasons]string{"unknown flow", "not my address", "unexpected kind", "beyond the flow's end"}

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. It keeps cfg, which must not change any more. An error names the part
// of the configuration that makes no sense.
func New(cfg *Config, pool *wire.Pool, sink metrics.Sink) (*Host, error) {
	if cfg.Rate <= 0 {
		return nil, fmt.Errorf("host %s: the NIC's rate is %d bit/s, want more than 0", cfg.Name, int64(cfg.Rate))
	}
	h := &Host{
		cfg:       cfg,
		ip:        cfg.IP,
		pool:      pool,
		sink:      sink,
		mixed:     newMixed(cfg),
		sizes:     cfg.Sizes,
		player:    player.New(cfg.Player, sink),
		flows:     make([]flow, len(cfg.Sends)),
		senders:   newIndex(len(cfg.Sends), func(i int) int { return cfg.Sends[i].ID }),
		receivers: make([]*transport.Receiver, len(cfg.Receives)),
		arrivals:  newIndex(len(cfg.Receives), func(i int) int { return cfg.Receives[i].ID }),
		ready:     node.NewPortSet(cfg.Ports()),
		nic:       units.NewSerialiser(cfg.Rate),
		messages:  make([]wire.Queue, cfg.Control),
		timeout:   units.Never,
		port:      metrics.NewPortRecorder(metrics.PortConfig{Node: cfg.Node, Port: NIC, Records: cfg.Records, Measure: cfg.Measure, Sink: sink}),
	}
	h.start = h.player.NextStart()
	var err error
	if h.classes, err = newNICClasses(cfg); err != nil {
		return nil, fmt.Errorf("host %s: %w", cfg.Name, err)
	}
	if cfg.CSIG != nil {
		if h.domain, err = newDomain(cfg); err != nil {
			return nil, fmt.Errorf("host %s: %w", cfg.Name, err)
		}
	}
	if cfg.Collector != nil {
		if h.postcards, err = collector.New(*cfg.Collector); err != nil {
			return nil, fmt.Errorf("host %s: %w", cfg.Name, err)
		}
	}
	if cfg.Edge != nil {
		if h.edge, err = shim.NewEdge(*cfg.Edge, &h.port, pool, sink); err != nil {
			return nil, fmt.Errorf("host %s: programs: %w", cfg.Name, err)
		}
		h.programs = &flow{}
	}
	var first *End
	switch {
	case len(cfg.Sends) > 0:
		first = &cfg.Sends[0].End
	case len(cfg.Receives) > 0:
		first = &cfg.Receives[0]
	}
	if first != nil {
		if err := h.maker.prepare(cfg); err != nil {
			return nil, fmt.Errorf("host %s: flow %d: %w", cfg.Name, first.ID, err)
		}
	}
	h.stamps = h.maker.needs.HostDelay
	if terms := h.terms(); terms != nil {
		h.puller = transport.NewPuller(terms)
	}
	h.more = h.puller != nil || h.classes != nil
	for i := range h.flows {
		h.flows[i] = flow{deadline: units.Never, at: int32(i)}
	}
	return h, nil
}

// Ready is the set of ports that may have something to send.
func (h *Host) Ready() node.PortSet { return h.ready }

// touchedFlows is the most flows each way of which a host reads ahead what they need: of
// more it is not likely that the next packets are of those.
const touchedFlows = 2

// Touch implements node.Toucher: it reads what the NIC needs, and the flows if they are
// few.
func (h *Host) Touch() int64 {
	sum := int64(h.burst) + int64(h.timeout) + h.delivered + h.port.Touch() + h.control.Touch()
	if len(h.flows) <= touchedFlows {
		for i := range h.flows {
			if s := h.flows[i].Sender; s != nil {
				sum += s.Touch()
			}
		}
	}
	if len(h.receivers) <= touchedFlows {
		for _, r := range h.receivers {
			if r != nil {
				sum += r.Touch()
			}
		}
	}
	return sum
}

// offer puts a flow that can send in the NIC's round-robin. One that pacing holds back is
// offered again at its time.
func (h *Host) offer(now units.Time, f *flow) {
	if f.queued || !f.CanSend() {
		return
	}
	if at := f.PacedUntil(); at > now {
		f.deadline = min(f.deadline, at)
		h.timeout = min(h.timeout, at)
		return
	}
	if h.classes != nil {
		h.enlist(f)
		return
	}
	f.queued = true
	h.eligible.Push(f)
	h.ready.Add(NIC)
}

// offerPrograms puts the queue of the programs' frames in the NIC's round-robin.
func (h *Host) offerPrograms() {
	if !h.programs.queued && h.edge.Outbound() {
		h.enlist(h.programs)
	}
}

// flush queues the player's control messages, after something that it was told.
func (h *Host) flush() {
	h.start = h.player.NextStart()
	for _, m := range h.player.Outbox() {
		h.sendControl(m.Port, m.Trigger, m.Code)
	}
}

// sendControl queues a control message.
func (h *Host) sendControl(port int, trigger, code uint32) {
	p := h.pool.Get()
	p.Build(wire.Addresses{Source: h.cfg.IP}, wire.Control, 0, wire.NotECT, 0)
	p.SetMACs([6]byte{}, h.cfg.MAC)
	p.SetControl(trigger, code)
	p.Size = h.cfg.Sizes.Of(p)
	h.messages[port-h.cfg.firstControl()].Push(p)
	h.ready.Add(port)
}

// Transmit returns the next packet of a port. On the NIC control packets pass
// data, at most controlBurst at a time, and flows take turns, packet by packet; the
// frames of all programs together take the turns of one flow. The other ports are not
// links of the fabric: their packets leave at once.
func (h *Host) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	if port != NIC {
		p, more := h.nextBeside(port)
		if !more {
			h.ready.Remove(port)
		}
		return p, now, p != nil
	}
	p := h.next(now)
	if p == nil {
		h.ready.Remove(NIC)
		return nil, 0, false
	}
	if h.stamps && p.Kind() == wire.Ack {
		p.SetHostDelay(now.Sub(p.EnqueuedAt))
	}
	departs := h.nic.Departure(now, h.sizes.OnLine(p))
	h.port.Transmit(now, departs, int64(p.Size), false)
	if h.mixed != nil && h.mixed.shares {
		h.port.Waited(now, departs.Add(-h.mixed.line.Takes(h.sizes.OnLine(p))), departs)
	}
	return p, departs, true
}

// nextBeside returns the next packet of a port other than the NIC, and whether more
// packets wait there.
func (h *Host) nextBeside(port int) (p *wire.Packet, more bool) {
	if h.edge != nil && port == shim.Application {
		return h.edge.TakeInbound(), h.edge.Inbound()
	}
	q := &h.messages[port-h.cfg.firstControl()]
	p = q.Pop()
	return p, q.Len() > 0
}

func (h *Host) next(now units.Time) *wire.Packet {
	if h.more && h.classes != nil {
		return h.nextClass(now)
	}
	if h.control.Len() > 0 && (h.eligible.Len() == 0 || h.burst < controlBurst) {
		if h.eligible.Len() > 0 {
			h.burst++
		}
		return h.control.Pop()
	}
	for {
		f, ok := h.eligible.Pop()
		if !ok {
			return h.control.Pop()
		}
		f.queued = false
		if f != h.programs && (!f.CanSend() || f.PacedUntil() > now) {
			h.offer(now, f)
			continue // the window closed, or the rate fell, while the flow waited
		}
		h.burst = 0
		return h.dequeue(now, f)
	}
}

// dequeue returns the next packet of what can send.
func (h *Host) dequeue(now units.Time, f *flow) *wire.Packet {
	if f == h.programs {
		p := h.edge.TakeOutbound(now)
		h.offerPrograms()
		return p
	}
	p := h.pool.Get()
	if h.more && h.puller != nil {
		h.common.Waiting = h.waiting() + 1
	}
	f.Send(now, p)
	h.port.Enqueue(int64(p.Size))
	h.arm(f)
	h.offer(now, f)
	return p
}

// arm takes the deadline of a flow that has sent or starts, or whose controller may have
// set its timer.
func (h *Host) arm(f *flow) {
	f.deadline = f.NextTimeout()
	h.timeout = min(h.timeout, f.deadline)
}

// NextTimeout is the machine's next deadline: a flow's timer, a credit to grant or the
// start of a transfer.
func (h *Host) NextTimeout() units.Time {
	at := min(h.timeout, h.start)
	if h.more {
		at = min(at, h.moreTimeouts())
	}
	return at
}

// moreTimeouts is NextTimeout of what few hosts have.
func (h *Host) moreTimeouts() units.Time {
	at := units.Never
	if h.classes != nil {
		at = h.classes.gate.Next()
	}
	if h.puller != nil {
		at = min(at, h.puller.Due())
	}
	return at
}

// HandleTimeout serves the timers that are due, in order of flow, and then
// starts the transfers that are due.
func (h *Host) HandleTimeout(now units.Time) {
	if h.puller != nil && now >= h.puller.Due() {
		if p := h.pool.Get(); h.puller.Pull(now, p) {
			h.queueControl(p)
		} else {
			h.pool.Put(p)
		}
	}
	if now >= h.timeout {
		for i := range h.flows {
			f := &h.flows[i]
			if now < f.deadline {
				continue
			}
			f.HandleTimeout(now)
			if f.ProbeDue(now) {
				p := h.pool.Get()
				f.Probe(now, p)
				h.queueControl(p)
			}
			if f.RequestDue(now) {
				p := h.pool.Get()
				f.Request(now, p)
				h.queueControl(p)
			}
			f.deadline = f.NextTimeout()
			h.offer(now, f)
		}
		h.timeout = h.earliest()
	}
	if h.classes != nil && h.classes.gate.Expire(now) {
		h.ready.Add(NIC)
	}
	if now < h.start {
		return
	}
	for {
		id, ok := h.player.Due(now)
		if !ok {
			break
		}
		h.startTransfer(now, uint32(id))
	}
	posts := h.player.Posts(now)
	for i := range posts {
		h.post(now, &posts[i])
	}
	h.flush()
}

// Profile returns that of the host's CSIG domain.
func (h *Host) Profile() uint32 { return h.domain.Profile() }

// Delivered returns the payload bytes received so far, for progress displays.
func (h *Host) Delivered() (bytes int64) { return h.delivered }

func (h *Host) earliest() units.Time {
	at := units.Never
	for i := range h.flows {
		at = min(at, h.flows[i].deadline)
	}
	return at
}

// Close closes all windows and emits the totals.
func (h *Host) Close(end units.Time) {
	packets, bytes := int64(h.control.Len()), int64(h.control.Bytes())
	if h.edge != nil {
		p, b := h.edge.Queued()
		packets, bytes = packets+p, bytes+b
	}
	if h.classes != nil {
		h.port.Totals.PausesReceived = h.classes.frames
		h.closeClasses(end)
	}
	h.port.Close(end, packets, bytes)
	t := metrics.NodeTotals{Node: int32(h.cfg.Node), Name: h.cfg.Name, Ports: []metrics.PortTotals{h.port.Totals}}
	for i := range h.flows {
		t.Senders = append(t.Senders, h.closeSender(i, end))
	}
	for i := range h.receivers {
		t.Receivers = append(t.Receivers, h.closeReceiver(i))
	}
	for i, n := range h.drops {
		t.Drops = append(t.Drops, metrics.Count{Name: dropNames[i], Packets: n})
	}
	if h.postcards != nil {
		t.Taken = h.postcards.Cards()
	}
	t.Jobs = h.player.Close()
	if h.edge != nil {
		h.edge.Close(&t)
	}
	h.sink.Emit(&t)
}
