// Package sim drives machines in virtual time: one goroutine, discrete events, no
// network. It gives the same calls in the same order as emu gives over real
// frames, so that both leave the same trace.
package sim

import (
	"fmt"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Station is a machine, its number of ports and the sink that takes its records. Tap,
// if not nil, sees its packets.
type Station struct {
	Machine node.Machine
	Ports   int
	Sink    metrics.Sink
	Tap     node.Tap
}

// Config is what a simulation is built from.
type Config struct {
	Nodes   []Station
	Links   []topologies.Link // with positive delays; their rates do not count, as machines know theirs
	TieSeed uint64            // permutes receives of one instant; 0: port order
	End     units.Time        // exclusive; units.Never: until nothing is due
	// Progress, if not nil, is called now and then with the model time and
	// ends the run when it answers false.
	Progress func(now units.Time) bool
}

// Sim is a simulation. It belongs to one goroutine.
type Sim struct {
	cfg    Config
	nodes  []simNode
	events eventHeap
	now    units.Time
	count  int64
}

type simNode struct {
	*node.Stepper
	out   []*direction // by port: towards the peer
	in    []*direction // by port: from the peer
	timer units.Time   // of the timeout event that is queued; Never without one
}

// direction is one direction of a link: packets in flight, in order.
type direction struct {
	to     topologies.End
	delay  units.Duration
	flight fifo.Queue[flying]
}

type flying struct {
	packet  *wire.Packet
	digest  uint64
	arrives units.Time
}

// New returns a simulation at the start of its run. It panics if a link names a
// port that does not exist or has no delay, which a validated plan never does.
func New(cfg Config) *Sim {
	s := &Sim{cfg: cfg, nodes: make([]simNode, len(cfg.Nodes))}
	for i, n := range cfg.Nodes {
		s.nodes[i] = simNode{
			Stepper: node.NewStepper(n.Machine, n.Ports, n.Sink),
			out:     make([]*direction, n.Ports),
			in:      make([]*direction, n.Ports),
			timer:   units.Never,
		}
		s.nodes[i].Tap = n.Tap
	}
	for _, l := range cfg.Links {
		if l.Delay <= 0 {
			panic(fmt.Sprintf("sim: link %v-%v has no delay", l.A, l.B))
		}
		s.connect(l.A, l.B, l.Delay)
		s.connect(l.B, l.A, l.Delay)
	}
	for i := range s.nodes {
		s.arm(int32(i))
	}
	return s
}

func (s *Sim) connect(from, to topologies.End, delay units.Duration) {
	d := &direction{to: to, delay: delay}
	s.nodes[from.Node].out[from.Port], s.nodes[to.Node].in[to.Port] = d, d
}

// progressEvery is the number of events between two calls of Progress.
const progressEvery = 1 << 16

// Run processes events until none is left or the end has come. It answers false
// when Progress stopped it.
func (s *Sim) Run() bool {
	for s.events.first() < s.cfg.End {
		s.step(s.events.take())
		s.count++
		if s.count%progressEvery == 0 && s.cfg.Progress != nil && !s.cfg.Progress(s.now) {
			return false
		}
	}
	return true
}

func (s *Sim) step(e event) {
	n := &s.nodes[e.node]
	class := e.order & (3 << 62)
	if class == classTimeout {
		if n.timer != e.at {
			return // another event took its place
		}
		n.timer = units.Never
		if n.NextTimeout() > e.at { // cancelled or moved: as if it had never been
			s.arm(e.node)
			return
		}
	}
	s.now = e.at
	switch class {
	case classFree:
		n.PortFree(e.at, int(e.port))
	case classReceive:
		s.receive(n, e)
	case classTimeout:
		n.Timeout(e.at)
	}
	for _, d := range n.Departures {
		s.depart(n, d)
	}
	for _, port := range n.Frees {
		s.events.push(event{at: n.FreeAt(port), order: classFree | uint64(port), node: e.node, port: int32(port)})
	}
	s.arm(e.node)
}

// receive delivers the head of the link that leads to the event's port.
func (s *Sim) receive(n *simNode, e event) {
	link := n.in[e.port]
	f, _ := link.flight.Pop()
	if next, ok := link.flight.Peek(); ok {
		s.arrive(link.to, next.arrives)
	}
	n.ReceiveSent(e.at, int(e.port), f.packet, f.digest)
}

func (s *Sim) depart(n *simNode, d node.Departure) {
	link := n.out[d.Port]
	arrives := d.Departs.Add(link.delay)
	if link.flight.Len() == 0 {
		s.arrive(link.to, arrives)
	}
	link.flight.Push(flying{d.Packet, d.Digest, arrives})
}

// arrive queues the arrival of the packet at the head of a link.
func (s *Sim) arrive(to topologies.End, at units.Time) {
	tie := node.TieKey(s.cfg.TieSeed, to.Node, at, to.Port)
	s.events.push(event{
		at:    at,
		order: classReceive | uint64(tie)<<30 | uint64(to.Port),
		node:  int32(to.Node), port: int32(to.Port),
	})
}

// arm queues the node's next timeout if it is earlier than the one queued. A
// deadline in the past is due now.
func (s *Sim) arm(id int32) {
	n := &s.nodes[id]
	if next := max(n.NextTimeout(), s.now); next < n.timer {
		n.timer = next
		s.events.push(event{at: next, order: classTimeout, node: id})
	}
}

// Now returns the time of the last event.
func (s *Sim) Now() units.Time { return s.now }

// Drained reports whether nothing is due any more, so that the run ended by
// itself.
func (s *Sim) Drained() bool {
	for _, e := range s.events.list() {
		if e.order&(3<<62) != classTimeout || s.nodes[e.node].NextTimeout() != units.Never {
			return false
		}
	}
	return true
}

// Events returns the number of events processed.
func (s *Sim) Events() int64 { return s.count }

// Close closes all windows, so that every node emits what it measured, in the order
// of the nodes. It is called once, after Run.
func (s *Sim) Close() {
	end := s.now
	if s.cfg.End != units.Never && !s.Drained() {
		end = s.cfg.End
	}
	for i := range s.nodes {
		s.nodes[i].Close(end)
	}
}
