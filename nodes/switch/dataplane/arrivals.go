package dataplane

import "github.com/csiglab/csiglab/units"

// arrivals knows at which rates the packets of each port came in, in a switch whose links
// change their rates. Without it packets come in at the port's own rate.
type arrivals struct {
	ports []arrivalPort
}

// arrivalPort is what comes in at one port.
type arrivalPort struct {
	line units.Serialiser // of the peer's rate now
	from units.Time       // packets whose first bit came in from then on came at the rate of line
	last units.Time       // when the last packet came in
	past []pastRate       // rates before, oldest first
}

// pastRate is a rate at which packets came in.
type pastRate struct {
	line  units.Serialiser
	next  units.Time // packets whose first bit came in before then came at this rate or one before
	until units.Time // packets that came in up to then, likewise
}

// arrivalsOf returns the arrivals of the switch, from the first change of a rate on.
func (s *Switch) arrivalsOf() *arrivals {
	if s.arrivals == nil {
		s.arrivals = &arrivals{ports: make([]arrivalPort, len(s.ports))}
		for i := range s.arrivals.ports {
			s.arrivals.ports[i].line = units.NewSerialiser(s.cfg.Ports[i].Rate)
		}
	}
	return s.arrivals
}

// SetArrivalRate says that the peer of a port sends at another rate: packets whose first
// bit comes in from now on come at this rate. The packet that was under way keeps its own.
func (s *Switch) SetArrivalRate(now units.Time, ingress int, rate units.Rate) {
	in := &s.arrivalsOf().ports[ingress]
	in.past = append(in.past, pastRate{line: in.line, next: now, until: now})
	in.line, in.from = units.NewSerialiser(rate), now
}

// receive takes note of a packet that came in at now. Until a packet has come in after a
// change, the next one may have been under way at the change: it was if its first bit, at
// the rate before, came in before the change and after the packet before. A packet that
// leaves an idle peer within the time of a packet at the old rate after the end of a slow
// time may look so too; it is the only one.
func (a *arrivals) receive(now units.Time, ingress int, size units.Size) {
	in := &a.ports[ingress]
	if in.last < in.from {
		in.decide(now, size)
	}
	in.last = now
}

// decide finds at which rate the first packet after a change came in.
func (in *arrivalPort) decide(now units.Time, size units.Size) {
	after := in.last
	for i := range in.past {
		p := &in.past[i]
		// The first bit came in at this time, or a picosecond earlier (units.Serialiser).
		if first := now.Add(-p.line.Takes(size)); first >= after && first <= p.next {
			for k := i; k < len(in.past); k++ {
				in.past[k].until = max(in.past[k].until, now)
			}
			return
		}
		after = max(after, p.next)
	}
}

// takes returns how long a packet that came in at a time took to come in.
func (a *arrivals) takes(at units.Time, ingress int, size units.Size) units.Duration {
	in := &a.ports[ingress]
	line := &in.line
	for i := len(in.past) - 1; i >= 0 && at <= in.past[i].until; i-- {
		line = &in.past[i].line
	}
	return line.Takes(size)
}
