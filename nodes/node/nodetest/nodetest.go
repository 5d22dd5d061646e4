// Package nodetest drives machines in tests as drivers do (packages sim and emu):
// in model time, in the order that the contract of package node asks for, over
// links with a delay that may lose, change, repeat or reorder packets. A Rig is
// such a driver; Machine is a machine whose behaviour a test writes down. While a
// Rig drives machines it checks that they keep the contract.
package nodetest

import (
	"cmp"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Rig drives machines in model time. Build it with New, and give it machines with
// Add and links with Join before the first event.
type Rig struct {
	Now   units.Time // of the latest event
	Nodes []*Node    // in the order of Add
	// Sent are the packets that left through ports without a link, in order. They
	// are the test's, unless Out takes them.
	Sent []Departure
	// Out, if not nil, takes the packets that leave through ports without a link
	// from Sent.
	Out func(d Departure)
	// Fault, if not nil, decides what becomes of a packet that a node puts on a link.
	// It may change the packet, and returns by how much later than the link's delay
	// each copy of it arrives: none for a packet that is lost. See Intact.
	Fault func(now units.Time, from int, p *wire.Packet) []units.Duration
	// Before, if not nil, is called before the events of an instant.
	Before func(now units.Time)
	// Limit fails the test when an event is due later. New sets an hour.
	Limit units.Time

	t        testing.TB
	flights  []flight // by time, node, port and order of leaving
	sequence int64
}

// Intact is what Fault returns for a packet that arrives once and in time.
var Intact = []units.Duration{0}

// Node is a machine of a Rig.
type Node struct {
	Stepper *node.Stepper
	Pool    *wire.Pool    // of the machine's packets
	Records metrics.Batch // that the machine and the Stepper have emitted
	ports   []port
}

type port struct {
	armed bool // a PortFree is due
	peer  *end // nil: without a link
}

// end is where a link leads to.
type end struct {
	node, port int
	delay      units.Duration
}

// Departure is a packet that left a node.
type Departure struct {
	Node, Port  int
	At, Departs units.Time // when its first bit left, and its last
	Packet      *wire.Packet
}

type flight struct {
	at         units.Time
	node, port int
	sequence   int64
	packet     *wire.Packet
}

// New returns a Rig without machines.
func New(t testing.TB) *Rig { return &Rig{t: t, Limit: units.Time(units.Hour)} }

// Add builds a machine with so many ports and gives it to the Rig; its number is
// its place in r.Nodes. build is the machine's constructor.
func Add[C any, M node.Machine](r *Rig, ports int, build func(C, *wire.Pool, metrics.Sink) (M, error), config C) M {
	r.t.Helper()
	n := &Node{Pool: new(wire.Pool), Records: metrics.Batch{Node: int32(len(r.Nodes))}, ports: make([]port, ports)}
	m, err := build(config, n.Pool, &n.Records)
	if err != nil {
		r.t.Fatal(err)
	}
	n.Stepper = node.NewStepper(m, ports, &n.Records)
	r.Nodes = append(r.Nodes, n)
	return m
}

// Join links two ports, each of which has no link yet, in both directions.
func (r *Rig) Join(a, aPort, b, bPort int, delay units.Duration) {
	if delay <= 0 {
		r.t.Fatalf("a link from node %d to %d with delay %v", a, b, delay)
	}
	r.Nodes[a].ports[aPort].peer = &end{b, bPort, delay}
	r.Nodes[b].ports[bPort].peer = &end{a, aPort, delay}
}

// Receive lets packets arrive on a port of a node at now, after everything that is
// due before, and after ports that become free then.
func (r *Rig) Receive(now units.Time, to, port int, packets ...*wire.Packet) {
	r.t.Helper()
	r.Run(now - 1)
	r.Now = now
	r.free()
	for _, p := range packets {
		r.Nodes[to].Stepper.Receive(now, port, p)
		r.collect(to)
	}
}

// Run processes everything that is due up to and including until; units.Never:
// until nothing is due.
func (r *Rig) Run(until units.Time) {
	r.t.Helper()
	for {
		next := r.next()
		if next > until || next == units.Never {
			return
		}
		if next < r.Now || next > r.Limit {
			r.t.Fatalf("the next event is due at %v, now is %v, the limit %v", next, r.Now, r.Limit)
		}
		if r.Before != nil {
			r.Before(next)
		}
		r.Now = next
		r.free()
		for len(r.flights) > 0 && r.flights[0].at <= r.Now {
			f := r.flights[0]
			r.flights = r.flights[1:]
			r.Nodes[f.node].Stepper.Receive(r.Now, f.port, f.packet)
			r.collect(f.node)
		}
		for i, n := range r.Nodes {
			if n.Stepper.NextTimeout() <= r.Now {
				n.Stepper.Timeout(r.Now)
				r.collect(i)
			}
		}
	}
}

// next returns when the next event is due.
func (r *Rig) next() units.Time {
	next := units.Never
	if len(r.flights) > 0 {
		next = r.flights[0].at
	}
	for _, n := range r.Nodes {
		next = min(next, n.Stepper.NextTimeout())
		for i := range n.ports {
			if n.ports[i].armed {
				next = min(next, n.Stepper.FreeAt(i))
			}
		}
	}
	return next
}

// free lets the ports send that become free now.
func (r *Rig) free() {
	for i, n := range r.Nodes {
		for k := range n.ports {
			if p := &n.ports[k]; p.armed && n.Stepper.FreeAt(k) <= r.Now {
				p.armed = false
				n.Stepper.PortFree(r.Now, k)
				r.collect(i)
			}
		}
	}
}

// collect takes what the last call of a node's machine has sent, and checks the
// contract.
func (r *Rig) collect(from int) {
	r.t.Helper()
	n := r.Nodes[from]
	for _, port := range n.Stepper.Frees {
		n.ports[port].armed = true
	}
	for _, d := range n.Stepper.Departures {
		if d.Departs < r.Now {
			r.t.Fatalf("node %d port %d: %v departs at %v, now is %v", from, d.Port, d.Packet, d.Departs, r.Now)
		}
		out := Departure{Node: from, Port: d.Port, At: r.Now, Departs: d.Departs, Packet: d.Packet}
		switch {
		case n.ports[d.Port].peer != nil:
			r.launch(out)
		case r.Out != nil:
			r.Out(out)
		default:
			r.Sent = append(r.Sent, out)
		}
	}
	// "ok is false when the port has nothing to send now, and the port is then no
	// longer in Ready" (node.Machine); and one that is not in Ready has nothing.
	for port := range n.ports {
		if n.Stepper.FreeAt(port) > r.Now || n.ports[port].armed {
			continue
		}
		if p, _, ok := n.Stepper.Machine.Transmit(r.Now, port); ok {
			r.t.Fatalf("node %d: port %d was not ready but has %v", from, port, p)
		}
		if n.Stepper.Machine.Ready().Has(port) {
			r.t.Fatalf("node %d: port %d has nothing to send and is ready", from, port)
		}
	}
}

// launch moves a packet into the pool of the node at the far end of its link, once
// for each copy.
func (r *Rig) launch(d Departure) {
	from, peer := r.Nodes[d.Node], r.Nodes[d.Node].ports[d.Port].peer
	copies := Intact
	if r.Fault != nil {
		copies = r.Fault(d.At, d.Node, d.Packet)
	}
	for _, extra := range copies {
		p := r.Nodes[peer.node].Pool.Get()
		*p = *d.Packet
		r.sequence++
		f := flight{d.Departs.Add(peer.delay + extra), peer.node, peer.port, r.sequence, p}
		i, _ := slices.BinarySearchFunc(r.flights, f, flight.compare)
		r.flights = slices.Insert(r.flights, i, f)
	}
	from.Pool.Put(d.Packet)
}

func (f flight) compare(o flight) int {
	return cmp.Or(cmp.Compare(f.at, o.at), cmp.Compare(f.node, o.node), cmp.Compare(f.port, o.port), cmp.Compare(f.sequence, o.sequence))
}

// Totals closes the node's machine at end and returns what it measured; its
// windows are in Records. A test may ask again later, as no real driver does.
func (n *Node) Totals(end units.Time) metrics.NodeTotals {
	n.Records.Totals, n.Records.Traces = nil, nil
	n.Stepper.Close(end)
	return n.Records.NodeTotals()
}
