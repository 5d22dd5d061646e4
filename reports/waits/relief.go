package waits

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// message is a message as it was recorded.
type message struct {
	previous          *Op     // of its stream, which it waited for; nil: none
	fromUS, arrivalUS float64 // since it could be sent, until its last byte arrived
	bytes             int64
	flow              int32
	last              *takes
}

// takes is how long a message takes, by what it met.
type takes struct {
	unloadedUS float64
	hops       []hopMet
}

// message returns what was recorded of a message, by its send.
func (t *times) message(s *Step, send *Op) *message {
	if m := t.messages[send]; m != nil {
		return m
	}
	m := &message{fromUS: send.ReadyUS, arrivalUS: send.EndUS, bytes: send.bytes, flow: send.flow}
	t.messages[send] = m
	if m.flow >= 0 && int(m.flow) < len(t.run.rtts) {
		m.arrivalUS -= t.run.rtts[m.flow] / 2
	}
	recv := s.recv(send.Rank, send.peer, send.channel, send.message)
	switch {
	case recv == nil:
	case recv.EndUS > recv.ReadyUS:
		m.arrivalUS = recv.EndUS
	default: // it had arrived when the receiver wanted it
		m.arrivalUS = min(m.arrivalUS, recv.EndUS)
	}
	previous, arrival := s.send(send.Rank, send.peer, send.channel, send.message-1), s.recv(send.Rank, send.peer, send.channel, send.message-1)
	if previous != nil && arrival != nil && arrival.EndUS > send.ReadyUS && arrival.EndUS < m.arrivalUS && arrival.EndUS > arrival.ReadyUS {
		m.previous, m.fromUS = previous, arrival.EndUS
	}
	m.arrivalUS = max(m.arrivalUS, m.fromUS)
	return m
}

// hopMet is a hop of a message: the ports that it could take there.
type hopMet struct {
	ports []portMet
	queue float64 // us: the longest wait at one of them
}

// portMet is a port in the time of a message.
type portMet struct {
	port *runfolder.Port
	wait float64 // us: what a packet waited on average
	busy float64 // share of the time
}

// meets returns what a message met on its way.
func (m *message) meets(run *replayedRun, r *Route, interval float64) *takes {
	if m.last != nil {
		return m.last
	}
	most := int32(0)
	for _, h := range r.Hops {
		most = max(most, h)
	}
	t := &takes{hops: make([]hopMet, most+1), unloadedUS: serial(m.bytes, r, r.rate)}
	if m.previous == nil {
		t.unloadedUS += r.rttUS / 2
	}
	for i, port := range r.Ports {
		p := portMet{port: port}
		p.wait, p.busy = run.ports[reading.PortID{Node: port.Node, Port: port.Port}].during(m.fromUS, m.arrivalUS, interval)
		h := &t.hops[r.Hops[i]]
		h.ports = append(h.ports, p)
		h.queue = max(h.queue, p.wait)
	}
	m.last = t
	return t
}

// serial returns how long the bytes of a message take at a rate.
func serial(bytes int64, r *Route, rate float64) float64 {
	if !(rate > 0) {
		return 0
	}
	return float64(bytes) * r.header * 8e6 / rate
}

// during returns the mean wait at a port in a time, and which share of it the port was sending.
func (w *portWindows) during(from, to, interval float64) (wait, busy float64) {
	if w == nil || !(to > from) {
		return 0, 0
	}
	for i := int(math.Floor(from / interval)); float64(i)*interval < to; i++ {
		share := (min(to, float64(i+1)*interval) - max(from, float64(i)*interval)) / (to - from)
		wait += w.queue[i] * share
		busy += w.busy[i] * share
	}
	return wait, busy
}

// takes returns how long a message takes with a change. What it took beyond the unloaded time is
// divided among the hops as the queues there were. At a port of another rate the time to pass,
// queue included, becomes longer or shorter as the rate; a message takes at least what its
// bytes take at the narrowest place, and what the busiest port needs for all that it sent in
// this time.
func (m *message) takes(run *replayedRun, c *Change, interval float64) float64 {
	took := m.arrivalUS - m.fromUS
	r := run.hops.routes[m.flow]
	if len(c.Rates) == 0 || m.flow < 0 || r == nil || !(r.rate > 0) || !(took > 0) {
		return took
	}
	touched := false
	for _, port := range r.Ports {
		_, ok := c.Rates[port.Link]
		touched = touched || ok
	}
	if !touched {
		return took
	}
	t := m.meets(run, r, interval)
	pass := serial(m.bytes, r, r.rate)
	slowest := 0.0 // what the bytes take at the narrowest hop with the change
	for i := range t.hops {
		slowest = max(slowest, t.hops[i].pass(m, r, c))
	}
	unloaded := t.unloadedUS - pass + slowest
	waited, queues := max(0, took-t.unloadedUS), 0.0
	for i := range t.hops {
		queues += t.hops[i].queue
	}
	after, least := unloaded+min(0, took-t.unloadedUS), 0.0
	for i := range t.hops {
		h, wait := &t.hops[i], 0.0
		for _, p := range h.ports {
			own := 0.0
			switch {
			case queues > 0:
				own = waited * p.wait / queues
			case i == 0: // at the sender's NIC
				own = waited
			}
			factor := c.factor(p.port)
			if own > 0 {
				wait = max(wait, (pass+own)/factor-slowest)
			}
			least = max(least, took*p.busy/factor)
		}
		after += wait
	}
	return max(after, min(least, max(took, unloaded)), unloaded)
}

// factor returns by what the change multiplies the rate of a port.
func (c *Change) factor(p *runfolder.Port) float64 {
	if f, ok := c.Rates[p.Link]; ok && f > 0 {
		return f
	}
	return 1
}

// pass returns what the bytes of a message take at a hop with the change: what a port's part of them
// takes at the slowest one, and of a flow with one path at a time all of them at the fastest one.
func (h *hopMet) pass(m *message, r *Route, c *Change) float64 {
	fastest, slowest := 0.0, math.Inf(1)
	for _, p := range h.ports {
		rate := float64(p.port.RateBPS) * c.factor(p.port)
		fastest, slowest = max(fastest, rate), min(slowest, rate)
	}
	part := serial(m.bytes, r, slowest) / float64(max(1, len(h.ports)))
	if r.one {
		return max(serial(m.bytes, r, fastest), part)
	}
	return part
}

// behind returns when a message arrives that would arrive at a time if it had the links of the two
// hosts alone: one whose rate has changed sends one message after the other.
func (t *times) behind(m *message, from, at float64) float64 {
	r := t.run.hops.routes[m.flow]
	if len(t.change.Rates) == 0 || m.flow < 0 || r == nil || !(r.rate > 0) {
		return at
	}
	last := slices.Max(r.Hops)
	var ids []reading.PortID
	for i, port := range r.Ports {
		factor, ok := t.change.Rates[port.Link]
		if !ok || r.Hops[i] != 0 && r.Hops[i] != last {
			continue
		}
		id := reading.PortID{Node: port.Node, Port: port.Port}
		ids = append(ids, id)
		other, ok := t.crossed[id]
		if !ok || other.fromUS > from || other.arrivalUS <= from {
			continue
		}
		pass := serial(m.bytes, r, float64(port.RateBPS)*factor)
		if other.bytes <= 2*m.bytes {
			at = max(at, other.arrivalUS+pass)
		} else { // the two share the link
			at = max(at, from+pass+min(pass, other.arrivalUS-from))
		}
	}
	for _, id := range ids {
		if other, ok := t.crossed[id]; !ok || at > other.arrivalUS {
			t.crossed[id] = crossing{from, at, m.bytes}
		}
	}
	return at
}
