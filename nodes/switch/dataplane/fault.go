package dataplane

import (
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// SetRate gives a port another rate, at most that of its configuration, from now on. The
// port knows its rate: available bandwidth is measured against it. The limits of its
// buffer and the thresholds and parameters of its AQM stay.
func (s *Switch) SetRate(now units.Time, egress int, rate units.Rate) {
	out := &s.ports[egress]
	out.Rate = rate
	out.line = units.NewSerialiser(rate)
	if s.domain != nil {
		out.abw.SetRate(now, rate)
		out.depth = meter.NewDepth(s.cfg.CSIG.Depth, out.Buffer.Data, rate, s.cfg.CSIG.Tau)
	}
}

// Discard drops what is queued for a port and returns how much it was.
func (s *Switch) Discard(now units.Time, egress int) (packets, bytes int64) {
	out := &s.ports[egress]
	for p, _ := out.buffer.Pop(); p != nil; p, _ = out.buffer.Pop() {
		packets++
		bytes += int64(p.Size)
		out.record.Drop(now, int64(p.Size))
		s.pool.Put(p)
	}
	out.record.Depth(now, 0)
	s.ready.Remove(egress)
	return packets, bytes
}

// Restart drops what is queued for all ports and what has not reached a queue yet, and
// returns how much it was. Meters and AQM policies begin anew, as those of a new switch.
func (s *Switch) Restart(now units.Time) (packets, bytes int64) {
	for first, ok := s.pipeline.Pop(); ok; first, ok = s.pipeline.Pop() {
		packets++
		bytes += int64(first.packet.Size)
		s.pool.Put(first.packet)
	}
	for i := range s.ports {
		p, b := s.Discard(now, i)
		packets, bytes = packets+p, bytes+b
		out := &s.ports[i]
		out.aqm = s.newPolicy(i)
		if s.domain != nil {
			out.abw = s.newBandwidth(i)
			out.abw.SetRate(now, out.Rate)
			out.turn = 0
		}
	}
	return packets, bytes
}

// newPolicy returns the AQM policy of a port, whose parameters have been checked.
func (s *Switch) newPolicy(egress int) aqm.Policy {
	out := &s.ports[egress]
	policy, _ := aqm.Table.Lookup(s.cfg.AQM.Name)
	p, err := policy.New(aqm.Port{Rate: out.Rate, Queue: out.Buffer.Data, ECN: out.ECN, Random: out.random}, s.cfg.AQM.Params)
	if err != nil {
		panic("dataplane: " + err.Error())
	}
	return p
}

// SetRoutes replaces the routes. The hash that spreads flows stays.
func (s *Switch) SetRoutes(routes topologies.Routes) {
	c := s.cfg.Forward
	c.Routes = routes
	s.ecmp = forward.NewECMP(c) // where the policy looks too
}
