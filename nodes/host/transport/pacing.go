package transport

import "github.com/csiglab/csiglab/units"

// pacer keeps the packets of a flow apart, by the rate that its controller wants: each
// is followed by the time that it takes at that rate, exact to the picosecond. What a
// picosecond cannot hold is carried to the next packet while the flow sends as soon as it
// may. Time that goes by unused is lost: packets never make up for it.
type pacer struct {
	rate units.Rate
	line units.Serialiser // of that rate
	sent units.Time       // when the last packet began to leave
	size units.Size       // its wire size
	due  units.Time       // the next packet may leave
}

// at returns when the next packet may leave at a rate, which counts for the gap after the
// last one too.
func (p *pacer) at(rate units.Rate) units.Time {
	if rate != p.rate {
		p.rate, p.line = rate, units.NewSerialiser(rate)
		p.due = p.line.Departure(p.sent, p.size)
	}
	return p.due
}

// schedule says when a packet may follow one that begins to leave.
func (p *pacer) schedule(now units.Time, rate units.Rate, size units.Size) {
	p.sent, p.size = now, size
	if rate <= 0 {
		p.rate = 0 // the next rate starts anew
		return
	}
	if rate != p.rate {
		p.rate, p.line = rate, units.NewSerialiser(rate)
	}
	p.due = p.line.Departure(now, size)
}

// PacedUntil returns when the controller's pacing lets the next packet out: a time that
// has passed if it does so now.
func (s *Sender) PacedUntil() units.Time {
	if s.cc.PacingRate <= 0 || !s.extra || s.pacer == nil {
		return 0
	}
	return s.pacer.at(s.cc.PacingRate)
}

// pace counts a packet that begins to leave, of a flow that is or was paced.
func (s *Sender) pace(now units.Time, size units.Size) {
	if s.pacer == nil {
		s.pacer, s.extra = new(pacer), true
	}
	s.pacer.schedule(now, s.cc.PacingRate, size)
}
