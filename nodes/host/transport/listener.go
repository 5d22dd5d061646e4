package transport

import (
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// listener is what a controller wants beside the events of every controller. Fields that
// it does not want are nil.
type listener struct {
	timed  congestion.Timed
	sends  congestion.SendListener
	phases congestion.PhaseListener
	cnps   congestion.CNPListener
	// earliest is the soonest that the timer may fire: now after any event, and later than
	// it last fired, so that a controller that leaves a timer in the past does not stop the
	// time.
	earliest units.Time
}

// newListener returns nil for a controller that wants nothing more.
func newListener(c congestion.Controller) *listener {
	var l listener
	l.timed, _ = c.(congestion.Timed)
	l.sends, _ = c.(congestion.SendListener)
	l.phases, _ = c.(congestion.PhaseListener)
	l.cnps, _ = c.(congestion.CNPListener)
	if l == (listener{}) {
		return nil
	}
	return &l
}

// touch is called after each event, which may have set the timer.
func (l *listener) touch(now units.Time) { l.earliest = max(l.earliest, now) }

// onSend paces by a packet that begins to leave, takes the credit for it, and tells the
// controller of it. charged is its size without a tag.
func (s *Sender) onSend(now units.Time, p *wire.Packet, charged units.Size, again bool) {
	size := p.Size
	if s.pacer != nil || s.cc.PacingRate > 0 {
		s.pace(now, size)
	}
	if s.credit != nil {
		s.spend(now, charged, p)
	}
	if s.listener == nil {
		return
	}
	s.listener.touch(now)
	if s.listener.sends == nil {
		return
	}
	event := &s.common.sent
	*event = congestion.Send{Size: size, Inflight: s.Inflight(), Again: again}
	s.listener.sends.OnSend(now, event)
}

// onPhase tells the controller that the transfer begins or ends, or the phase of a
// connection.
func (s *Sender) onPhase(now units.Time, begin bool) {
	if s.listener == nil {
		return
	}
	s.listener.touch(now)
	if s.listener.phases == nil {
		return
	}
	event := &s.common.phase
	*event = congestion.Phase{Begin: begin, Total: s.size + units.Size(s.packets)*s.common.Sizes.Header}
	if s.connection != nil {
		event.Total = s.connection.phase.total
	}
	if !begin {
		event.Sent = event.Total
	}
	s.listener.phases.OnPhase(now, event)
}

// OnCNP takes a CNP of this flow.
func (s *Sender) OnCNP(now units.Time) {
	s.totals.CNPsReceived++
	if s.listener != nil && s.listener.cnps != nil && s.running() {
		s.listener.cnps.OnCNP(now)
	}
}

// Timed is called after an event and reports whether the flow has timers that the event
// may have set.
func (s *Sender) Timed(now units.Time) bool {
	if !s.extra {
		return false
	}
	if s.listener != nil && s.listener.timed != nil {
		s.listener.touch(now)
		return true
	}
	return s.credit != nil || s.sleek != nil
}

// running reports whether the flow has started and is not done.
func (s *Sender) running() bool { return s.ready && !s.Done() }

// extraTimeout returns when the controller wants OnTimer, or the flow asks for credit,
// probes for a loss or stops.
func (s *Sender) extraTimeout() units.Time {
	at := s.timer()
	if s.credit != nil {
		at = min(at, s.creditTimeout())
	}
	if s.sleek != nil {
		at = min(at, s.sleek.probeAt)
	}
	if s.stop < at && s.running() {
		at = s.stop
	}
	return at
}

// timer returns when the controller wants OnTimer.
func (s *Sender) timer() units.Time {
	if s.listener == nil || s.listener.timed == nil || !s.running() {
		return units.Never
	}
	return max(s.cc.Timer, s.listener.earliest)
}

// fireTimers calls the controller's timer if it is due, asks for credit if it is time, and stops
// the flow.
func (s *Sender) fireTimers(now units.Time) {
	if s.stop <= now && s.running() {
		s.endEarly()
	}
	if s.credit != nil {
		s.askAgain(now)
	}
	if s.timer() <= now {
		s.listener.timed.OnTimer(now)
		s.listener.earliest = now.Add(units.Picosecond)
	} else if s.listener != nil {
		s.listener.touch(now)
	}
}

// Notifies reports whether a CNP is to be sent, now that p has arrived.
func (r *Receiver) Notifies(now units.Time, p *wire.Packet) bool {
	return r.common.Needs.CNP > 0 && now >= r.nextCNP && p.ECN() == wire.CE
}

// Notify writes a CNP of the flow into p.
func (r *Receiver) Notify(now units.Time, p *wire.Packet) {
	r.nextCNP = now.Add(r.common.Needs.CNP)
	r.totals.CNPsSent++
	r.build(p, wire.CNP)
	p.SetNotification(r.flow)
}
