// Package emu drives one machine of a fabric of real nodes over real frames. A
// Node keeps the machine's events in canonical order and turns packets into
// frames and back. It calls the machine as package sim does, so that both leave
// the same trace. Fabric is the configuration of all nodes of a run.
//
// emu is no simulator: packets in flight are frames in the kernel, on a link
// between two interfaces. Nor does a Node know how far it may advance. Two
// packages drive Nodes and do:
//
//   - lockstep/shared: model time, each Node up to its safe horizon;
//   - wall: real time, which may be dilated.
//
// Package process is a process that drives one Node, in either way.
package emu

import (
	"errors"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Config describes one node of a fabric. It is plain data.
type Config struct {
	Node    int
	Name    string
	Host    bool   // the node fills in and checks payloads; a switch forwards them
	Ports   []Port // by port
	Format  wire.Format
	TieSeed uint64
	Run     uint32 // marks the run's frames
	Elide   bool   // frames end with the transport header
	Damage  []Damage
	Spool   *Spool // nil: no frame is captured from the start
	Live    Live
	Profile uint32 // of the run's CSIG domain, which machines with CSIG must have; 0: any
	// Slots is how many frames the node's Conn keeps until they are read, in lockstep;
	// 0 means netio.SlotsOf.
	Slots int
	// FrameTimeout is how long a frame that was sent may take to become
	// readable, in wall time. 0 means DefaultFrameTimeout.
	FrameTimeout time.Duration
}

// DefaultFrameTimeout is thousands of times what a frame took in the worst case measured:
// of 854,518 frames 5 were not readable when they were counted, for less than a millisecond.
const DefaultFrameTimeout = 3 * time.Second

// Port is one end of a link.
type Port struct {
	Link    string // name
	Peer    string // name of the node at the other end
	Delay   units.Duration
	In, Out int // the link's directions on the Board
	// Application says that the port is no link of the fabric but leads to the
	// interface of the host's programs. Frames there are raw: they have no trailer,
	// and arrive when they are read. It needs real time.
	Application bool
	// Foreign says that the node at the other end is none of csiglab's, such as a bridge of the
	// kernel. Frames there are raw as those of programs, and arrive when they have been read and
	// have crossed the two links between which the foreign node is. It needs real time.
	Foreign bool
	// Gateway is the MAC address of a foreign node that forwards by IP addresses: frames are sent
	// to it, and those that come have the addresses of their hosts again. Zero: it keeps addresses.
	Gateway [6]byte
	// Ways are those from each host, by host, through foreign nodes that pass frames on at once;
	// nil: a frame crosses two links.
	Ways []Way
	// Longest is the serialisation time of the longest frame that the link carries.
	Longest units.Duration
	// Room is how many frames may have been read from the link and wait for their time,
	// in real time. 0 means RawBacklog.
	Room int
}

// Damage is a fault injected into one frame that a node sends.
type Damage struct {
	Port   int
	Number int64 // which frame of the port, counted from 1
	Flip   bool  // flip a bit of the transport header; otherwise lose the frame
}

// LinkError reports a link that lost or damaged a frame.
type LinkError struct {
	Link     string // name, such as tor0-agg0
	From, To string // names of the sending and the receiving node
	Frame    int64  // which frame of that direction, counted from 1
	Reason   string
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("link %s: frame %d from %s to %s %s", e.Link, e.Frame, e.From, e.To, e.Reason)
}

// DriverError is an error of a node's driver other than a *LinkError.
type DriverError struct {
	Name string // of the node
	Err  error
}

func (e *DriverError) Error() string { return fmt.Sprintf("node %s: %v", e.Name, e.Err) }

// Unwrap returns Err.
func (e *DriverError) Unwrap() error { return e.Err }

// failed adds the node's name to an error, and the link's name to an error of one
// port, such as an interface that is gone.
func (n *Node) failed(err error) error {
	var port *netio.PortError
	if errors.As(err, &port) {
		err = fmt.Errorf("link %s: %w", n.cfg.Ports[port.Port].Link, port.Err)
	}
	return &DriverError{Name: n.cfg.Name, Err: err}
}

// Node drives one machine. It belongs to one goroutine at a time. In lockstep the
// calls are Start, then Grant and Turn repeatedly; in real time BeginRealTime, then
// Poll, Step and Flush repeatedly. Finish, CloseCapture and Close end either.
type Node struct {
	cfg     Config
	stepper *node.Stepper
	pool    *wire.Pool
	conn    netio.Conn
	records handsOn // nil: the sink holds nothing back
	ports   []portState
	events  queue
	now     units.Time
	report  lockstep.Report

	frames  []netio.Frame
	outbox  outbox
	buffers [][]byte // free payload buffers
	runts   int64    // frames of programs that are too short
	sent    int64
	taps    *taps // nil: no frame is captured
	timeout time.Duration

	// In real time frames may be lost and come late.
	realTime bool
	present  units.Time // when the frames that are accepted now were read
	// tolerance is how far a frame's time may be from what its link explains.
	tolerance units.Duration
	counts    LinkCounts
}

// LinkCounts are what a node has counted on links of the fabric since the start.
type LinkCounts struct {
	Sent     int64 // frames, those among them that an injection has lost
	Received int64 // frames of this run
	// Displaced counts the packets that the machine got after the moment at which
	// they had to arrive had passed for it, DisplacedMax is the longest such time.
	// Both need real time.
	Displaced    int64
	DisplacedMax units.Duration
}

type portState struct {
	Port
	sent     int64
	read     int64          // frames 1..read have been read, or, in real time, are lost
	missed   int64          // of these, in real time; of a program's frames those that found a backlog
	waiting  int            // frames that have been read and not been processed
	received int64          // frames that have been read and were sent for this port
	ahead    map[int64]bool // read out of order, beyond read, in lockstep
	seen     *window        // in real time
	strays   Strays
	expected int64    // frames that must have been read before the node advances
	credit   int64    // frames that may still be sent in this turn
	report   int      // place in report.Sent, -1 without one
	exchange Exchange // with a foreign node
	sends    uint32   // mark of the frames that leave
	receives uint32   // mark of the frames that come
}

// receiveBatch is how many frames a Node reads at a time.
const receiveBatch = 64

// New returns the driver of machine m, which draws its packets from pool and emits
// its records into sink, over conn. The port numbers of all three are the same.
func New(cfg Config, m node.Machine, pool *wire.Pool, conn netio.Conn, sink metrics.Sink) *Node {
	n := &Node{
		cfg:     cfg,
		stepper: node.NewStepper(m, len(cfg.Ports), sink),
		pool:    pool,
		conn:    conn,
		ports:   make([]portState, len(cfg.Ports)),
		frames:  make([]netio.Frame, receiveBatch),
		timeout: cfg.FrameTimeout,
	}
	n.records, _ = sink.(handsOn)
	if n.timeout == 0 {
		n.timeout = DefaultFrameTimeout
	}
	pool.Release = func(payload []byte) { n.buffers = append(n.buffers, payload[:0]) }
	pool.Notes = true // captures may begin at any time
	n.cfg.Format.Elided = cfg.Elide
	n.outbox.tunnel = cfg.Format.Tunnel
	if cfg.Spool != nil {
		n.taps = &taps{Spool: cfg.Spool}
	}
	for i, p := range cfg.Ports {
		if p.Room == 0 {
			p.Room = RawBacklog
		}
		n.ports[i] = portState{Port: p, report: -1, sends: Mark(cfg.Run, p.Out), receives: Mark(cfg.Run, p.In)}
	}
	return n
}

// handsOn is a Sink that holds records back until it has many.
type handsOn interface{ HandOn() }

// HandOn makes the sink of the node hand its records on, if it holds them back.
func (n *Node) HandOn() {
	if n.records != nil {
		n.records.HandOn()
	}
}

// ID returns the node's number in the fabric.
func (n *Node) ID() int { return n.cfg.Node }

// Ports returns the number of the node's ports.
func (n *Node) Ports() int { return len(n.ports) }

// Conn returns the Conn that New was given; it stays the node's.
func (n *Node) Conn() netio.Conn { return n.conn }

// Step processes the event that is due at Next and makes frames of the packets
// that leave. Some frames may stay with the node until Flush.
func (n *Node) Step() error {
	n.process()
	watchdog.Moved()
	for _, d := range n.stepper.Departures {
		if err := n.depart(d); err != nil {
			return err
		}
	}
	return nil
}

// Departures returns the packets that the last Step sent, in the order of
// sending, of which only the ports and times may be read: the packets themselves
// may be in use again. Valid until the next Step.
func (n *Node) Departures() []node.Departure { return n.stepper.Departures }

// process processes the next event: a port that becomes free, a packet that
// arrives, or, last at an instant, the machine's deadline.
func (n *Node) process() {
	if now, timer := n.events.next(), n.timer(); timer < now {
		n.now = timer
		n.stepper.Timeout(timer)
	} else {
		n.now = now
		e := n.events.pop()
		if e.packet == nil {
			n.stepper.PortFree(now, int(e.port))
		} else {
			n.ports[e.port].waiting--
			if n.taps != nil {
				n.spoolReceived(e)
			}
			n.stepper.Receive(now, int(e.port), e.packet)
		}
	}
	for _, port := range n.stepper.Frees {
		n.events.push(event{at: n.stepper.FreeAt(port), order: uint64(port), port: int32(port)})
	}
}

// timer is the machine's next deadline; one in the past is due now.
func (n *Node) timer() units.Time { return max(n.stepper.NextTimeout(), n.now) }

// Next returns when the node's next event is due, units.Never without one.
func (n *Node) Next() units.Time { return min(n.events.next(), n.timer()) }

// Now returns the model time of the last event that the node has processed.
func (n *Node) Now() units.Time { return n.now }

// LinkCounts returns what the node has counted on its links so far.
func (n *Node) LinkCounts() LinkCounts { return n.counts }

// Finish closes the machine, so that it emits what it measured until end, or until
// its last event if that is later: a run in real time may be given up at an earlier
// end.
func (n *Node) Finish(end units.Time) { n.stepper.Close(max(end, n.now)) }

// Sent returns how many frames the node has put on links of the fabric.
func (n *Node) Sent() int64 { return n.sent }

// Strays returns how many frames arrived that no node of the run has sent, and frames
// of programs that are too short to be frames.
func (n *Node) Strays() int64 {
	sum := n.runts
	for i := range n.ports {
		sum += n.ports[i].strays.Sum()
	}
	return sum
}

// Close closes the node's Conn.
func (n *Node) Close() error { return n.conn.Close() }

// accept takes in a frame: a packet and when it arrives.
func (n *Node) accept(f netio.Frame) error {
	port := &n.ports[f.Port]
	if port.raw() {
		n.acceptRaw(port, f)
		return nil
	}
	data, t, ok := readTrailer(f.Data)
	switch {
	case !ok:
		port.strays.Unmarked++
		return nil
	case t.Mark != port.receives:
		port.strays.Elsewhere++
		return nil
	case n.realTime:
		if reason := n.implausible(port, t); reason != nil {
			*reason++
			return nil
		}
	case t.Sequence < 1 || t.Sequence > port.read+windowLen:
		port.strays.Future++
		return nil
	case !port.take(t.Sequence):
		return n.blame(port, t.Sequence, "arrived twice")
	case t.Arrival < n.now:
		return n.blame(port, t.Sequence, fmt.Sprintf("arrived at %v, which has passed: no node has sent it", units.Duration(t.Arrival)))
	}
	p := n.pool.Get()
	if reason := n.parse(p, data); reason != "" {
		if !n.realTime {
			return n.blame(port, t.Sequence, reason)
		}
		p.Payload = nil // it is the Conn's
		n.pool.Put(p)
		port.strays.Damaged++
		return nil
	}
	n.counts.Received++
	port.received++
	if n.realTime {
		port.count(t.Sequence)
	}
	if t.Arrival < n.now {
		n.counts.Displaced++
		n.counts.DisplacedMax = max(n.counts.DisplacedMax, n.now.Sub(t.Arrival))
		t.Arrival = n.now
	}
	port.waiting++
	n.arrive(t.Arrival, f.Port, t.Sequence, p)
	return nil
}

// parse parses a frame into a packet and takes over its payload. It returns what is
// wrong with the frame, "" for a whole one.
func (n *Node) parse(p *wire.Packet, data []byte) (wrong string) {
	if err := p.Parse(data, n.cfg.Format); err != nil {
		return "arrived damaged: " + err.Error()
	}
	switch {
	case p.Payload == nil:
	case n.cfg.Host && p.Kind() != wire.Raw:
		if !samePayload(p) {
			return "arrived with a damaged payload"
		}
		p.Payload = nil
	default:
		p.Payload = append(n.buffer(), p.Payload...)
	}
	return ""
}

// blame returns the error of a link that has delivered a wrong frame.
func (n *Node) blame(port *portState, sequence int64, reason string) error {
	return &LinkError{Link: port.Link, From: port.Peer, To: n.cfg.Name, Frame: sequence, Reason: reason}
}

func (n *Node) arrive(at units.Time, port int, sequence int64, p *wire.Packet) {
	tie := node.TieKey(n.cfg.TieSeed, n.cfg.Node, at, port)
	n.events.push(event{
		at:       at,
		order:    receiveClass | uint64(tie)<<30 | uint64(port),
		sequence: sequence,
		port:     int32(port),
		packet:   p,
	})
}

// take records that a frame has been read, and reports whether it is new. Frames
// may come out of order when several processors send.
func (p *portState) take(sequence int64) bool {
	switch {
	case sequence == p.read+1:
		p.read++
		for p.ahead[p.read+1] {
			p.read++
			delete(p.ahead, p.read)
		}
	case sequence <= p.read || p.ahead[sequence]:
		return false
	default:
		if p.ahead == nil {
			p.ahead = make(map[int64]bool)
		}
		p.ahead[sequence] = true
	}
	return true
}

// buffer returns an empty payload buffer. The packet returns it when it has
// departed or the machine has dropped it; when the machine trims the packet, the
// buffer is left to the garbage collector.
func (n *Node) buffer() []byte {
	if last := len(n.buffers) - 1; last >= 0 {
		b := n.buffers[last]
		n.buffers = n.buffers[:last]
		return b
	}
	return make([]byte, 0, bufferSize)
}

// bufferSize is enough for the payload of a packet of the reference simulator's
// MTU; a longer payload makes its buffer grow.
const bufferSize = 4352

var errNoPayload = errors.New("the machine has lost a packet's payload")

// depart puts the frame of a packet that leaves into the outbox.
func (n *Node) depart(d node.Departure) error {
	port := &n.ports[d.Port]
	if port.raw() {
		return n.departRaw(port, d)
	}
	port.sent++
	n.counts.Sent++
	arrival := d.Departs.Add(port.Delay)
	if !n.realTime {
		n.account(d.Port, arrival)
	}

	payload, raw := d.Packet.Payload, d.Packet.Kind() == wire.Raw
	switch {
	case n.cfg.Elide && !raw || d.Packet.PayloadLen == 0:
		payload = nil
	case n.cfg.Host && !raw:
		payload = payloadOf(d.Packet)
	case n.cfg.Host && payload == nil: // the rest of a frame that the machine has made
		payload = zeros[:d.Packet.PayloadLen]
	case len(payload) != d.Packet.PayloadLen:
		return n.failed(fmt.Errorf("port %d: %v: %w", d.Port, d.Packet, errNoPayload))
	}
	drop, flip := false, false
	for _, i := range n.cfg.Damage {
		if i.Port == d.Port && i.Number == port.sent {
			drop, flip = drop || !i.Flip, flip || i.Flip
		}
	}
	n.outbox.add(port.sends, d, payload, arrival, port.sent, flip)
	if n.taps != nil {
		n.spoolSent(d)
	}
	if drop {
		n.outbox.withdraw()
	}
	if n.outbox.full() {
		return n.Flush()
	}
	return nil
}

// Flush puts the frames of the outbox on the wire and recycles their packets.
func (n *Node) Flush() error {
	if err := n.conn.Send(n.outbox.messages); err != nil {
		return n.failed(err)
	}
	n.sent += int64(len(n.outbox.messages) - n.outbox.raw)
	for _, p := range n.outbox.packets {
		n.pool.Put(p)
	}
	n.outbox.clear()
	return nil
}
