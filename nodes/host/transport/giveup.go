package transport

import "github.com/csiglab/csiglab/units"

// GiveUp says when a flow gives up, so that one whose destination is gone for ever does
// not retransmit for ever. The zero value: never. A transport of real hosts gives up too:
// the retry counter of a reliable connection of InfiniBand (IBA 9.7.5.1.4), R2 of TCP
// (RFC 9293 3.8.3). Departs from these: a fault that has an end is waited for, however
// long it takes.
type GiveUp struct {
	From    units.Time     // when nothing changes in the fabric any more
	Silence units.Duration // without an ACK or NACK, from then on; 0: the flow never gives up
}

// silence is what a flow that may give up knows at its timeouts.
type silence struct {
	heard int64      // ACKs and NACKs
	since units.Time // the first timeout with that many
}

// hopeless reports, at a timeout, whether the flow gives up.
func (s *Sender) hopeless(now units.Time) bool {
	g := s.common.GiveUp
	if g.Silence == 0 {
		return false
	}
	heard := s.totals.AcksReceived + s.totals.NacksReceived
	if s.silence == nil || s.silence.heard != heard {
		s.silence = &silence{heard, now}
	}
	return now.Sub(max(s.silence.since, g.From)) >= g.Silence
}

// giveUp ends the flow: it is not running any more, and no timer is left.
func (s *Sender) giveUp() {
	s.totals.GaveUp = true
	s.ready = false
	s.timeout = units.Never
	if g := s.signalling; g != nil {
		g.nextProbe = units.Never
	}
	if s.sleek != nil {
		s.sleek.probeAt = units.Never
	}
}
