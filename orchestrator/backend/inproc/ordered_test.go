package inproc

import (
	"container/heap"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// runOrdered is a slow and simple driver, which package sim is compared with: one heap of all
// events of all nodes, in order of time. It runs a simulation to its end, closes its nodes and
// returns the time of the last event. It calls neither Progress nor the hooks of shards.
func runOrdered(cfg sim.Config) units.Time {
	o := &ordered{cfg: cfg, peers: make([]map[int]peer, len(cfg.Nodes))}
	for i, n := range cfg.Nodes {
		o.nodes = append(o.nodes, node.NewStepper(n.Machine, n.Ports, n.Sink))
		o.peers[i] = map[int]peer{}
	}
	for _, l := range cfg.Links {
		o.peers[l.A.Node][l.A.Port] = peer{l.B, l.Delay}
		o.peers[l.B.Node][l.B.Port] = peer{l.A, l.Delay}
	}
	for i := range o.nodes {
		o.arm(i, 0)
	}
	var now units.Time
	drained := true
	for o.events.Len() > 0 {
		e := heap.Pop(&o.events).(event)
		if e.at >= cfg.End {
			// A cancelled timeout is no event that the end has cut off.
			drained = drained && e.class == timeout && o.nodes[e.node].NextTimeout() == units.Never
			continue
		}
		if o.step(e) {
			now = e.at
		}
	}
	end := now
	if cfg.End != units.Never && !drained {
		end = cfg.End
	}
	for _, n := range o.nodes {
		n.Close(end)
	}
	return now
}

type ordered struct {
	cfg    sim.Config
	nodes  []*node.Stepper
	peers  []map[int]peer // by node and port
	events events
	count  int
}

type peer struct {
	topologies.End
	delay units.Duration
}

// Classes of event, in canonical order.
const (
	free = iota
	receive
	timeout
)

type event struct {
	at          units.Time
	class       int
	tie         uint32
	port, count int // count: in order of insertion, which is that of a link's packets
	node        int
	departure   node.Departure
}

// step processes an event and reports whether it was one.
func (o *ordered) step(e event) bool {
	n := o.nodes[e.node]
	switch e.class {
	case free:
		n.PortFree(e.at, e.port)
	case receive:
		n.Receive(e.at, e.port, e.departure.Packet)
	case timeout:
		if n.NextTimeout() > e.at { // cancelled, or moved and queued again then
			return false
		}
		n.Timeout(e.at)
	}
	for _, d := range n.Departures {
		to := o.peers[e.node][d.Port]
		at := d.Departs.Add(to.delay)
		o.push(event{at: at, class: receive, tie: node.TieKey(o.cfg.TieSeed, to.Node, at, to.Port), port: to.Port, node: to.Node, departure: d})
	}
	for _, port := range n.Frees {
		o.push(event{at: n.FreeAt(port), class: free, port: port, node: e.node})
	}
	o.arm(e.node, e.at)
	return true
}

func (o *ordered) arm(id int, now units.Time) {
	if next := o.nodes[id].NextTimeout(); next != units.Never {
		o.push(event{at: max(next, now), class: timeout, node: id})
	}
}

func (o *ordered) push(e event) {
	o.count++
	e.count = o.count
	heap.Push(&o.events, e)
}

type events []event

func (h events) Len() int      { return len(h) }
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

func (h events) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.class != b.class:
		return a.class < b.class
	case a.tie != b.tie:
		return a.tie < b.tie
	case a.port != b.port:
		return a.port < b.port
	}
	return a.count < b.count
}
