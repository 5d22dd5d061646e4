package dataplane

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Priority flow control (IEEE 802.1Q §36). Each lossless class has at each ingress port an
// account of the bytes that came in there and are still in the switch (buffer.Ingress).
// When they pass XOFF, the port sends a pause frame to its peer, ahead of everything but
// the packet that is leaving, and again before the peer's timer ends; at XON, one with
// timer 0. What a pause frame asks of this switch, the port's gate keeps (class.Gate).

// flowState is the flow control of one port.
type flowState struct {
	gate class.Gate // what the peer has paused

	// Sets of classes, bit i for class i.
	off     uint8 // whose ingress account is beyond XOFF
	told    uint8 // that the peer knows to be off
	again   uint8 // whose pause the peer is to be reminded of
	stalled uint8 // of the gate, reported as Stall

	refresh units.Time            // when the peer is to be reminded; Never
	stall   [class.Max]units.Time // when a paused class is reported, or looked at again
	sent    [class.Max]int64      // pause frames that named the class
	half    units.Duration        // of the longest pause
	frames  int64                 // pause frames received, and sent below
	sends   int64
}

func newFlowState(rate units.Rate) flowState {
	return flowState{gate: class.NewGate(rate), refresh: units.Never, half: wire.MaxPause / 2 * class.Quantum(rate)}
}

// pending returns the classes that the next pause frame names; without any there is none.
func (f *flowState) pending() uint8 { return f.off ^ f.told | f.again&f.off }

// count adds what flow control counted of a class to its totals.
func (f *flowState) count(end units.Time, k int, t *metrics.ClassTotals) {
	t.PausesReceived, t.PausesSent, t.Paused = f.gate.Frames(k), f.sent[k], f.gate.Paused(end, k)
}

// admitLossless accounts a packet that came in, if it is one of a lossless class. It drops
// the packet and answers false if there is no headroom for it.
func (s *Switch) admitLossless(now units.Time, ingress int, p *wire.Packet) bool {
	if !p.Queues() {
		return true
	}
	k := s.classOf(p)
	if s.classes.lossless>>k&1 == 0 {
		return true
	}
	in := &s.ports[ingress]
	fits, paused := in.class[k].ingress.Admit(s.classes.memory, p.Size)
	if paused {
		in.pfc.off |= 1 << k
		s.ready.Add(ingress)
	}
	if !fits {
		in.class[k].record.Totals.HeadroomDropped++
		s.discard(dropHeadroom, p)
	}
	return fits
}

// releaseIngress accounts a data packet that leaves the switch or is dropped. In a port's turn to
// transmit, ports before it had theirs: the switch then asks for another turn at once.
func (s *Switch) releaseIngress(now units.Time, p *wire.Packet) {
	if s.classes == nil || s.classes.lossless == 0 || !p.Queues() {
		return
	}
	k := s.classOf(p)
	if s.classes.lossless>>k&1 == 0 {
		return
	}
	in := &s.ports[p.Ingress]
	if in.class[k].ingress.Release(s.classes.memory, p.Size) {
		in.pfc.off &^= 1 << k
		s.ready.Add(int(p.Ingress))
		s.classes.due = now
	}
}

// makePause returns the pause frame that a port sends next.
func (s *Switch) makePause(now units.Time, egress int) *wire.Packet {
	f := &s.ports[egress].pfc
	fields := wire.PauseFields{Vector: f.pending()}
	for k := range class.Max {
		if fields.Vector>>k&1 != 0 {
			f.sent[k]++
			if f.off>>k&1 != 0 {
				fields.Timers[k] = wire.MaxPause
			}
		}
	}
	f.told, f.again, f.refresh = f.off, 0, units.Never
	if f.off != 0 {
		f.refresh = now.Add(f.half)
	}
	f.sends++
	s.schedule()
	p := s.pool.Get()
	p.BuildPause(s.ports[egress].MAC, fields, s.cfg.Sizes)
	return p
}

// receivePause takes a pause frame from the peer of a port.
func (s *Switch) receivePause(now units.Time, port int, p *wire.Packet) {
	f := &s.ports[port].pfc
	before := f.gate.Closed()
	f.frames++
	f.gate.Receive(now, p.Pause())
	s.pool.Put(p)
	for k := range class.Max {
		if (f.gate.Closed()&^before)>>k&1 != 0 {
			f.stall[k] = now.Add(s.classes.cfg.Watchdog)
		}
	}
	s.handleGate(now, port, before)
	s.schedule()
}

// handleGate acts on what the gate of a port has closed and opened since it was as before.
func (s *Switch) handleGate(now units.Time, port int, before uint8) {
	f := &s.ports[port].pfc
	s.ports[port].gateChanged(now, before)
	opened := before &^ f.gate.Closed()
	if opened == 0 {
		return
	}
	s.ready.Add(port)
	for k := range class.Max {
		if (opened&f.stalled)>>k&1 != 0 {
			s.sink.Emit(&metrics.Stall{Node: int32(s.cfg.Node), Port: int32(port), Class: int32(k), Over: true, At: now})
		}
	}
	f.stalled &^= opened
}

// flowControl serves the timers that are due.
func (s *Switch) flowControl(now units.Time) {
	for i := range s.ports {
		f := &s.ports[i].pfc
		before := f.gate.Closed()
		if f.gate.Expire(now) {
			s.handleGate(now, i, before)
		}
		if f.refresh <= now {
			f.again, f.refresh = f.off, units.Never
			s.ready.Add(i)
		}
		if s.classes.cfg.Watchdog > 0 {
			s.reportStalls(now, i)
		}
	}
	s.schedule()
}

// reportStalls reports the classes of a port that have been paused for long and have packets,
// again and again: what waits may become more.
func (s *Switch) reportStalls(now units.Time, port int) {
	out := &s.ports[port]
	f := &out.pfc
	waiting := f.gate.Closed()
	for k := range class.Max {
		if waiting>>k&1 == 0 || f.stall[k] > now {
			continue
		}
		f.stall[k] = now.Add(s.classes.cfg.Watchdog)
		if out.queues.LenOf(k) == 0 {
			continue
		}
		f.stalled |= 1 << k
		s.sink.Emit(&metrics.Stall{
			Node: int32(s.cfg.Node), Port: int32(port), Class: int32(k), Since: f.gate.Since(k), At: now, Held: s.heldBy(out, k),
		})
	}
}

// heldBy returns what waits in the queue of a class at a port, by the ingress ports that
// pause their peers.
func (s *Switch) heldBy(out *port, k int) []metrics.Held {
	bytes := make([]int64, len(s.ports))
	for i := range out.queues.LenOf(k) {
		p := out.queues.At(k, i)
		bytes[p.Ingress] += int64(p.Size)
	}
	var held []metrics.Held
	for i, n := range bytes {
		if in := &s.ports[i]; n > 0 && in.pfc.off>>k&1 != 0 {
			held = append(held, metrics.Held{Port: int32(i), Bytes: n, Resume: int64(in.class[k].ingress.Resume(s.classes.memory))})
		}
	}
	return held
}

// schedule computes when the next timer of flow control ends.
func (s *Switch) schedule() {
	due := units.Never
	for i := range s.ports {
		f := &s.ports[i].pfc
		due = min(due, f.refresh, f.gate.Next())
		if waiting := f.gate.Closed(); waiting != 0 && s.classes.cfg.Watchdog > 0 {
			for k := range class.Max {
				if waiting>>k&1 != 0 {
					due = min(due, f.stall[k])
				}
			}
		}
	}
	s.classes.due = due
}
