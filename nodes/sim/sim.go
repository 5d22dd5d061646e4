// Package sim drives machines in virtual time: discrete events, no network. It gives
// the same calls in the same order as emu gives over real frames, so that both leave
// the same trace.
//
// Time goes on in windows that are as long as the shortest link delay. What a node
// sends in a window arrives after it, so that within a window every node can run for
// itself: node after node, each with its own events in order, which keeps the memory
// of one node in the processor's cache while it runs. Nodes may be split into shards,
// with a worker each; what crosses shards is handed over when a window ends. Neither
// the order of the nodes in a window nor the number of shards changes a trace.
package sim

import (
	"fmt"
	"sync"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Station is a machine, its number of ports and the sink that takes its records. Tap,
// if not nil, sees its packets. Machines of different shards must not share memory.
type Station struct {
	Machine node.Machine
	Ports   int
	Sink    metrics.Sink
	Tap     node.Tap
	Shard   int // of the worker that runs the node, from 0
}

// Config is what a simulation is built from.
type Config struct {
	Nodes   []Station
	Links   []topologies.Link // with positive delays; their rates do not count, as machines know theirs
	TieSeed uint64            // permutes receives of one instant; 0: port order
	End     units.Time        // exclusive; units.Never: until nothing is due
	// NoTraceHash leaves the hashes of the nodes' traces out; their events are counted.
	NoTraceHash bool
	// Ordered makes one shard process the events of all nodes in order of time, as
	// taps that write one file need it.
	Ordered bool
	// Between, if not nil, is called between windows, when no worker runs; only if
	// there are several shards.
	Between func()
	// WorthSharing is how many nodes of a window other workers must take off the one that
	// has most of them; windows with less are run by one worker alone, as waiting for the
	// others would take longer. 0: 24.
	WorthSharing int
	// Worker, if not nil, calls run, which runs a shard, in the goroutine of the
	// shard's worker.
	Worker func(run func())
	// Progress, if not nil, is called for each shard once in about 2000 of its events, in
	// the goroutine of its worker, with the shard's model time. The run ends when it
	// answers false.
	Progress func(shard int, now units.Time) bool
	// Released, if not nil, is called by Close before it closes nodes, when it has given up what
	// events alone need, with all packets on their way.
	Released func()
	// Closed, if not nil, is called by Close for each node that it has closed.
	Closed func(node int)
}

// defaultWorthSharing is Config.WorthSharing where it is 0. A node's turn takes a
// microsecond or two, waking a worker ten.
const defaultWorthSharing = 24

// Sim is a simulation. It belongs to one goroutine.
type Sim struct {
	cfg     Config
	nodes   []simNode
	booked  []units.Time // by node: start of the window in which it runs next
	inboxes [][]arrival  // by node: what arrives after the window, and not far ahead
	shards  []*shard
}

// simNode is a node and what is due at it.
type simNode struct {
	node.Stepper
	touch node.Toucher // the machine, if it is one
	id    int32
	timer units.Time // the machine's next deadline, not before now
	frees frees
	out   []outbound // by port
	turn  *turn      // the shard's, which nodes use one after the other; Ordered: its own
	later units.Time // when the first of what stays in the inbox arrives
	far   *farHeap   // nil before the first
}

// outbound is the other end of a port's link.
type outbound struct {
	node, port int32
	shard      int32
	delay      units.Duration
}

// New returns a simulation at the start of its run. It panics if a link names a
// port that does not exist or has no delay, which a validated plan never does.
func New(cfg Config) *Sim {
	s := &Sim{
		cfg:     cfg,
		nodes:   make([]simNode, len(cfg.Nodes)),
		booked:  make([]units.Time, len(cfg.Nodes)),
		inboxes: make([][]arrival, len(cfg.Nodes)),
	}
	if cfg.WorthSharing == 0 {
		s.cfg.WorthSharing = defaultWorthSharing
	}
	width := maxWidth
	shards := 1
	for i, n := range cfg.Nodes {
		s.nodes[i] = simNode{
			Stepper: *node.NewStepper(n.Machine, n.Ports, n.Sink),
			id:      int32(i),
			out:     make([]outbound, n.Ports),
			later:   units.Never,
		}
		s.nodes[i].Tap = n.Tap
		s.nodes[i].touch, _ = n.Machine.(node.Toucher)
		if cfg.NoTraceHash {
			s.nodes[i].LeaveOutHash()
		}
		if cfg.Ordered {
			s.nodes[i].turn = &turn{next: units.Never}
		}
		shards = max(shards, n.Shard+1)
	}
	for _, l := range cfg.Links {
		if l.Delay <= 0 {
			panic(fmt.Sprintf("sim: link %v-%v has no delay", l.A, l.B))
		}
		s.connect(l.A, l.B, l.Delay)
		s.connect(l.B, l.A, l.Delay)
		width = min(width, l.Delay)
	}
	for id := range shards {
		s.shards = append(s.shards, &shard{sim: s, id: int32(id), due: progressEvery, calendar: newCalendar(width), mail: make([][]letter, shards), turn: turn{next: units.Never}})
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		if !cfg.Ordered {
			n.turn = &s.shards[cfg.Nodes[i].Shard].turn
		}
		n.timer = max(n.NextTimeout(), 0)
		s.booked[i] = units.Never
		if n.timer != units.Never {
			s.booked[i] = s.shards[cfg.Nodes[i].Shard].calendar.book(int32(i), n.timer)
		}
	}
	return s
}

func (s *Sim) connect(from, to topologies.End, delay units.Duration) {
	s.nodes[from.Node].out[from.Port] = outbound{
		node: int32(to.Node), port: int32(to.Port), shard: int32(s.cfg.Nodes[to.Node].Shard), delay: delay,
	}
	_ = s.nodes[to.Node].out[to.Port]
}

// Run processes events until none is left or the end has come. It answers false
// when Progress stopped it; if there is one shard, a second call goes on from there.
func (s *Sim) Run() bool {
	if len(s.shards) == 1 && s.cfg.Worker == nil {
		return s.shards[0].runAlone()
	}
	return s.runWorkers()
}

// runWorkers runs each shard in a worker of its own.
func (s *Sim) runWorkers() bool {
	worker := s.cfg.Worker
	if worker == nil {
		worker = func(run func()) { run() }
	}
	b := newBarrier(len(s.shards))
	var wg sync.WaitGroup
	ended := make([]bool, len(s.shards))
	for i, sh := range s.shards {
		wg.Go(func() {
			worker(func() {
				if len(s.shards) == 1 {
					ended[i] = sh.runAlone()
				} else {
					ended[i] = sh.runTogether(b)
				}
			})
		})
	}
	wg.Wait()
	return ended[0]
}

// Now returns the time of the last event.
func (s *Sim) Now() (now units.Time) {
	for _, sh := range s.shards {
		now = max(now, sh.now)
	}
	return now
}

// End returns when a run that is over ended: its end if something is still due, the last
// event otherwise.
func (s *Sim) End() units.Time {
	if s.cfg.End != units.Never && !s.Drained() {
		return s.cfg.End
	}
	return s.Now()
}

// Drained reports whether nothing is due any more, so that the run ended by
// itself.
func (s *Sim) Drained() bool {
	for i := range s.nodes {
		n := &s.nodes[i]
		if min(n.frees.first(), n.turn.next, n.far.first(), n.NextTimeout()) != units.Never || len(s.inboxes[i]) > 0 {
			return false
		}
	}
	for _, sh := range s.shards {
		for _, letters := range sh.mail {
			if len(letters) > 0 {
				return false
			}
		}
	}
	return true
}

// Close closes all windows, so that every node emits what it measured, in the order
// of the nodes. It is called once, after Run. It answers false when Progress, which is
// called once in many nodes, has stopped it. It gives up the nodes, whose memory is what a
// large simulation takes: no method may be called after it.
func (s *Sim) Close() bool {
	end := s.End()
	s.release()
	for i := range s.nodes {
		if i%closedNodes == closedNodes-1 && s.cfg.Progress != nil && !s.cfg.Progress(0, end) {
			return false
		}
		s.nodes[i].Close(end)
		s.nodes[i] = simNode{}
		if s.cfg.Closed != nil {
			s.cfg.Closed(i)
		}
	}
	return true
}

// release gives up what events alone need.
func (s *Sim) release() {
	s.inboxes, s.booked, s.shards = nil, nil, nil
	for i := range s.nodes {
		n := &s.nodes[i]
		n.Departures, n.frees, n.out, n.turn, n.far = nil, frees{}, nil, nil, nil
	}
	if s.cfg.Released != nil {
		s.cfg.Released()
	}
}

// closedNodes is the number of nodes that are closed between two calls of Progress.
const closedNodes = 64
