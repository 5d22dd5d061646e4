package dataplane

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Classes configures a switch with several data classes, a lossless one, or ports that
// share memory.
type Classes struct {
	List    []class.Class
	AQM     []algorithm.Choice // of aqm.Table, by class
	Quantum units.Size         // what a class of weight 1 may send in its turn: a full packet or more
	Memory  *buffer.MemoryConfig
	// Watchdog is after which time a paused class is reported as a metrics.Stall; 0: never.
	Watchdog units.Duration
}

// PortClass is one class at one port.
type PortClass struct {
	Limits  buffer.Limits // Data and Hard; not of lossless classes. NoLimit: Memory alone limits it
	Queue   units.Size    // that depths are compared with (meter.Occupancy)
	ECN     aqm.Thresholds
	Ingress buffer.IngressLimits // of lossless classes
}

// classes is the state of a switch with Config.Classes.
type classes struct {
	cfg      *Classes
	policies []aqm.Algorithm
	byDSCP   class.Map
	lossless uint8          // bit i: class i
	memory   *buffer.Memory // nil: the ports share nothing
	held     units.Size     // data packets in queues
	most     units.Size     // of held
	due      units.Time     // when a timer of flow control ends; Never
}

// classPort is what a port has besides with Config.Classes.
type classPort struct {
	queues buffer.Classes
	class  []classState
	shares []meter.Share // by class; nil with meter.Raw
	pfc    flowState
}

// classState is one class at one port.
type classState struct {
	PortClass
	aqm     aqm.Policy
	depth   meter.Depth
	record  metrics.ClassRecorder
	ingress buffer.Ingress
}

// prepareClasses checks Config.Classes.
func (s *Switch) prepareClasses() error {
	c := s.cfg.Classes
	if err := class.Check(c.List); err != nil {
		return err
	}
	if len(c.AQM) != len(c.List) {
		return fmt.Errorf("%d AQMs for %d classes", len(c.AQM), len(c.List))
	}
	s.classes = &classes{cfg: c, byDSCP: class.NewMap(c.List), lossless: class.Lossless(c.List), due: units.Never}
	for _, a := range c.AQM {
		policy, ok := aqm.Table.Lookup(a.Name)
		if !ok {
			return fmt.Errorf("unknown AQM %q", a.Name)
		}
		s.classes.policies = append(s.classes.policies, policy)
	}
	if c.Memory != nil {
		s.classes.memory = buffer.NewMemory(*c.Memory)
	}
	return nil
}

// configureClasses gives a port its classes.
func (s *Switch) configureClasses(i int) error {
	p, c := &s.ports[i], s.classes
	if len(p.Classes) != len(c.cfg.List) {
		return fmt.Errorf("port %d: %d classes of %d", i, len(p.Classes), len(c.cfg.List))
	}
	p.classPort = &classPort{
		queues: buffer.NewClasses(c.cfg.List, c.cfg.Quantum),
		class:  make([]classState, len(p.Classes)),
		pfc:    newFlowState(p.Rate),
	}
	for k, cfg := range p.Classes {
		policy, err := c.policies[k].New(aqm.Port{Rate: p.Rate, Queue: cfg.Queue, ECN: cfg.ECN, Random: p.random}, c.cfg.AQM[k].Params)
		if err != nil {
			return fmt.Errorf("class %s: aqm %w", c.cfg.List[k].Name, err)
		}
		p.class[k] = classState{
			PortClass: cfg,
			aqm:       policy,
			record:    metrics.NewClassRecorder(metrics.ClassTotals{Node: int32(s.cfg.Node), Port: int32(i), Class: int32(k), Name: c.cfg.List[k].Name}, s.cfg.Measure),
			ingress:   buffer.Ingress{Limits: cfg.Ingress},
		}
	}
	return nil
}

// classOf returns the class of a data packet.
func (s *Switch) classOf(p *wire.Packet) int { return int(s.classes.byDSCP[p.DSCP()&63]) }

// receiveClass takes a packet that came in at a switch with classes. It answers false if
// the packet is no longer there: a pause frame, or a packet without headroom.
func (s *Switch) receiveClass(now units.Time, ingress int, p *wire.Packet) bool {
	if p.Pauses() {
		s.receivePause(now, ingress, p)
		return false
	}
	if s.filter.Has(ingress) {
		s.passEdge(now, &s.ports[ingress], p)
	}
	return s.classes.lossless == 0 || s.admitLossless(now, ingress, p)
}

// enqueueClass puts a data packet in the queue of its class, or trims or drops what does
// not fit.
func (s *Switch) enqueueClass(now units.Time, out *port, p *wire.Packet) {
	k := s.classOf(p)
	if s.classes.lossless>>k&1 == 0 {
		if !s.fits(out, k, p, out.class[k].Limits.Data) {
			if p = s.overflowClass(now, out, k, p); p == nil {
				return
			}
		}
		if m := s.classes.memory; m != nil {
			m.Resize(out.queues.BytesOf(k), out.queues.BytesOf(k)+p.Size)
		}
	}
	out.queues.Push(k, p)
	s.classes.held += p.Size
	s.classes.most = max(s.classes.most, s.classes.held)
	s.recordDepth(now, out, k)
}

// recordDepth records the depth of a class's queue, and of all data queues of the port.
func (s *Switch) recordDepth(now units.Time, out *port, k int) {
	out.class[k].record.Depth(now, int64(out.queues.BytesOf(k)))
	out.record.Depth(now, int64(out.queues.Bytes()))
}

// fits reports whether the queue of a class that may lose packets has room for p.
func (s *Switch) fits(out *port, k int, p *wire.Packet, limit units.Size) bool {
	queue := out.queues.BytesOf(k)
	return queue+p.Size <= limit && (s.classes.memory == nil || s.classes.memory.Fits(queue, p.Size))
}

// overflowClass is overflow of a port with classes: it takes back a packet of the same
// class only.
func (s *Switch) overflowClass(now units.Time, out *port, k int, p *wire.Packet) *wire.Packet {
	if !s.cfg.Trim || p.Kind() == wire.Raw {
		if s.fits(out, k, p, out.class[k].Limits.Longest()) {
			return p
		}
		out.dropped(now, p)
		out.class[k].record.Drop(int64(p.Size))
		s.discard(dropDataFull, p)
		return nil
	}
	if aqm.TrimArriving(out.random) || out.queues.LenOf(k) == 0 || out.queues.BytesOf(k) > out.class[k].Limits.Longest() || out.queues.At(k, out.queues.LenOf(k)-1).Kind() == wire.Raw {
		s.trimClass(now, out, k, p)
		return nil
	}
	last := out.queues.PopTail(k)
	s.countDequeued(out, k, last)
	s.trimClass(now, out, k, last)
	if !s.fits(out, k, p, out.class[k].Limits.Data) { // what was trimmed was smaller
		s.recordDepth(now, out, k)
		s.trimClass(now, out, k, p)
		return nil
	}
	return p
}

func (s *Switch) trimClass(now units.Time, out *port, k int, p *wire.Packet) {
	out.class[k].record.Totals.TrimmedPackets++
	s.trim(now, out, p)
}

// countDequeued accounts a packet that has left the queue of its class.
func (s *Switch) countDequeued(out *port, k int, p *wire.Packet) {
	s.classes.held -= p.Size
	if m := s.classes.memory; m != nil && s.classes.lossless>>k&1 == 0 {
		m.Resize(out.queues.BytesOf(k)+p.Size, out.queues.BytesOf(k))
	}
}

// depthOf returns how full the queue of a packet's class is (meter.Depth). Packets of the
// control queue ask for that of the default class.
func (s *Switch) depthOf(out *port, p *wire.Packet) uint64 {
	k := s.classOf(p)
	return out.class[k].depth.PPM(out.queues.BytesOf(k))
}

// nextOfClasses returns what a port with classes sends next, and whether it marked the
// packet: pause frames first, then control packets, then the classes that the peer has not
// paused.
func (s *Switch) nextOfClasses(now units.Time, egress int) (p *wire.Packet, marked bool) {
	out := &s.ports[egress]
	if out.pfc.pending() != 0 {
		p = s.makePause(now, egress)
		out.record.Enqueue(int64(p.Size))
	} else if p = out.buffer.PopControl(); p == nil {
		p, marked = s.nextData(now, out)
	}
	if out.pfc.pending() == 0 && out.buffer.ControlLen() == 0 && out.queues.Backlog()&^out.pfc.gate.Closed() == 0 {
		s.ready.Remove(egress)
	}
	return p, marked
}

// nextData returns the next data packet of a port with classes; nil if it may send none.
func (s *Switch) nextData(now units.Time, out *port) (p *wire.Packet, marked bool) {
	p, k := out.queues.Pop(out.pfc.gate.Closed())
	if p == nil {
		return nil, false
	}
	s.countDequeued(out, k, p)
	s.recordDepth(now, out, k)
	c := &out.class[k]
	waited := s.waited(now, p)
	out.record.Wait(now, waited)
	if ecn := p.ECN(); ecn != wire.NotECT && c.aqm.Mark(now, aqm.Departure{Queue: out.queues.BytesOf(k), Waited: waited}) {
		marked = ecn != wire.CE
		p.MarkCE()
	}
	c.record.Transmit(now, int64(p.Size), waited, marked)
	s.releaseIngress(now, p)
	return p, marked
}

// closeClasses emits what the classes of all ports measured, and returns the totals of
// their memory.
func (s *Switch) closeClasses(end units.Time) metrics.MemoryTotals {
	c := s.classes
	for i := range s.ports {
		p := &s.ports[i]
		for k := range p.class {
			state := &p.class[k]
			p.pfc.count(end, k, &state.record.Totals)
			state.record.Totals.HeadroomMax = int64(state.ingress.MostHeadroom())
			state.record.Close(end, s.sink)
		}
	}
	m := metrics.MemoryTotals{BufferMax: int64(c.most)}
	if c.memory != nil {
		m.SharedMax, m.SharedSize = int64(c.memory.Peak()), int64(c.cfg.Memory.Shared)
	}
	return m
}
