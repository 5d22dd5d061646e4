package dataplane

import (
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// SetRate gives a port another rate, at most that of its configuration, from now on. The
// port knows its rate: available bandwidth is measured against it. The limits of its
// buffer and the thresholds and parameters of its AQM stay, until Resize.
func (s *Switch) SetRate(now units.Time, egress int, rate units.Rate) {
	s.arrivalsOf() // which the port's own rate says no longer
	out := &s.ports[egress]
	out.Rate = rate
	out.line = units.NewSerialiser(rate)
	if s.domain != nil {
		out.record.Advance(now)
		out.abw.SetRate(now, rate)
		if s.truth != nil {
			s.truth.exact[egress].SetRate(rate)
		}
		s.newDepths(out)
		if out.classPort != nil {
			for k := range out.shares {
				out.shares[k].SetRate(now, rate)
			}
		}
	}
}

// Discard drops what is queued for a port, pause frames too, and returns how much it was.
// With PortDown Notify those who sent it hear of it.
func (s *Switch) Discard(now units.Time, egress int) (packets, bytes int64) {
	packets, bytes, returns := s.discardQueued(now, egress, s.cfg.PortDown == Notify)
	for _, p := range returns {
		s.made++
		p.EnqueuedAt = now
		s.forward(now, p)
	}
	return packets, bytes
}

// discardQueued drops what is queued for a port. It returns the notices for those who
// sent it, if they are to hear of it.
func (s *Switch) discardQueued(now units.Time, egress int, notify bool) (packets, bytes int64, returns []*wire.Packet) {
	out := &s.ports[egress]
	drop := func(p *wire.Packet) {
		packets++
		bytes += int64(p.Size)
		out.record.Drop(now, int64(p.Size))
		if notify && p.Returns() {
			q := s.pool.Get()
			q.BuildReturn(p, s.locatorFor(out, p), s.cfg.Sizes)
			q.Ingress = p.Ingress
			returns = append(returns, q)
		}
		s.pool.Put(p)
	}
	if out.classPort != nil {
		s.discardClasses(now, egress, drop)
		return packets, bytes, returns
	}
	for p, _ := out.buffer.Pop(); p != nil; p, _ = out.buffer.Pop() {
		drop(p)
	}
	out.record.Depth(now, 0)
	s.ready.Remove(egress)
	return packets, bytes, returns
}

// locatorFor returns the locator of a port for the sender of a packet. In a fabric of two
// formats it is that of the packet's format, and none for a packet without a tag: the switch
// does not know how the sender numbers ports.
func (s *Switch) locatorFor(out *port, p *wire.Packet) uint16 {
	if s.domain == nil || s.domain.Second() == nil {
		return out.Locator
	}
	tag := p.Tag()
	if tag == nil {
		return 0
	}
	_, locator, _ := s.formatOf(out, tag)
	return locator
}

// discardClasses is Discard of a port with classes. The peer hears of what it was to be
// told when the next pause frame is due.
func (s *Switch) discardClasses(now units.Time, egress int, drop func(*wire.Packet)) {
	out := &s.ports[egress]
	if out.pfc.pending() != 0 {
		p := s.pause(now, egress)
		out.record.Enqueue(int64(p.Size))
		drop(p)
	}
	for p := out.buffer.PopControl(); p != nil; p = out.buffer.PopControl() {
		drop(p)
	}
	for p, k := out.queues.Pop(0); p != nil; p, k = out.queues.Pop(0) {
		s.left(out, k, p)
		out.class[k].record.Drop(int64(p.Size))
		s.recordDepth(now, out, k)
		s.release(now, p)
		drop(p)
	}
	if out.pfc.pending() == 0 {
		s.ready.Remove(egress)
	}
}

// Restart drops what is queued for all ports and what has not reached a queue yet, and
// returns how much it was. Meters and AQM policies begin anew, as those of a new switch.
func (s *Switch) Restart(now units.Time) (packets, bytes int64) {
	for first, ok := s.pipeline.Pop(); ok; first, ok = s.pipeline.Pop() {
		packets++
		bytes += int64(first.packet.Size)
		s.release(now, first.packet)
		s.pool.Put(first.packet)
	}
	for i := range s.ports {
		p, b, _ := s.discardQueued(now, i, false) // a switch that restarts says nothing
		packets, bytes = packets+p, bytes+b
		out := &s.ports[i]
		s.newPolicies(i)
		if s.domain != nil {
			out.record.Advance(now)
			out.abw, out.sums = out.abw.Restart(now, s.newBandwidth(i)), s.newSums(i)
			if out.classPort != nil {
				for k := range out.shares {
					out.shares[k].Restart(now, s.newBandwidth(i))
				}
			}
			if s.truth != nil {
				s.truth.exact[i].Restart()
			}
			out.turn = 0
		}
	}
	return packets, bytes
}

// SetRoutes replaces the routes. The hash that spreads flows stays.
func (s *Switch) SetRoutes(routes topologies.Routes) {
	c := s.cfg.Forward
	c.Routes = routes
	s.ecmp = forward.NewECMP(c) // where the policy looks too
}
