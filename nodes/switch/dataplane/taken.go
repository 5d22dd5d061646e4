package dataplane

import (
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// receiveTaken takes what the fluid network says of a port: how much of its rate goes to flows
// that are no packets.
func (s *Switch) receiveTaken(now units.Time, p *wire.Packet) {
	if port, rate, ok := fluid.ReadTaken(p); ok && port < len(s.ports) {
		s.take(now, port, rate)
	}
	s.pool.Put(p)
}

// take leaves packets the rest of a port's rate from now on, as available bandwidth too. The
// packet that is being sent keeps its time. Peers take packets to come in at the port's own rate:
// what they wait for on the line is the fluid between them.
func (s *Switch) take(now units.Time, egress int, rate units.Rate) {
	s.arrivalsOf() // which the port's line says no longer
	out := &s.ports[egress]
	out.taken = rate
	out.record.Beside(now, s.cfg.Fluid.Beside(out.Rate, rate))
	out.line = units.NewSerialiser(out.left())
	if s.domain != nil {
		out.abw.Take(now, out.Rate-out.left())
		if s.truth != nil {
			s.truth.exact[egress].Take(out.Rate - out.left())
		}
		s.newDepths(out)
	}
}

// left returns what packets have of the rate of the port.
func (out *port) left() units.Rate { return fluid.Left(out.Rate, out.taken) }
