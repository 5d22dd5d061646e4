package transport

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Recovery is what a flow does about packets that are lost or refused.
type Recovery uint8

// Recoveries. Every kind sends again what a NACK refuses and what has been out for RTO.
const (
	// Selective takes packets in any order and sends again those alone that are missing.
	Selective Recovery = iota
	// GoBackN takes packets in order alone, as NICs of RoCE do (InfiniBand architecture
	// specification, volume 1, §9.7.5.1.2 and §9.9): the first packet behind a hole is refused
	// by a NACK that names the one expected, those after it silently, and the sender sends
	// everything again from there. It suits classes that lose nothing and flows that keep to
	// one path, because reordering costs as much as a loss.
	GoBackN
	// Sleek is Selective, and sends again before RTO what the ACKs show to be missing, as
	// UET's optional loss recovery does in the reference simulator
	// (docs/reference/references.md#loss-recovery). It is for networks that drop.
	Sleek
)

var recoveries = []string{Selective: "selective", GoBackN: "go_back_n", Sleek: "sleek"}

// Names returns the names of all kinds, in the order of their values.
func (Recovery) Names() []string { return slices.Clone(recoveries) }

// String returns the name.
func (r Recovery) String() string { return recoveries[r] }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Recoveries.
func (r *Recovery) UnmarshalText(text []byte) error {
	return spelling.Enum(r, "recovery", text, recoveries)
}

// OnNack takes a NACK of this flow: a switch trimmed the packet, or the receiver takes
// packets in order alone. A NACK for a transmission that is not the last is stale.
func (s *Sender) OnNack(now units.Time, p *wire.Packet) {
	s.totals.NacksReceived++
	psn := p.PSN()
	if s.connection != nil {
		s.setLabel(psn)
	}
	if psn < s.cum || psn >= s.next {
		return
	}
	sl := s.slot(psn)
	missing := p.NackCode() == wire.NackSequence // and nobody knows since when
	if sl.state != outstanding || !missing && sl.transmissions != p.Transmission() {
		return
	}
	if p.NackCode() == wire.NackPortDown {
		s.takeBack(now, p, psn)
		return
	}
	event := &s.common.nack
	*event = congestion.Nack{
		Size: s.sizeOf(psn),
		EV:   sl.ev,
	}
	if !missing {
		event.RTT, event.HasRTT = now.Sub(sl.sentAt), true // the NACK names the transmission
	}
	var sample held
	if s.signalling != nil && !missing {
		sample = s.sampleOf(now, p, psn, event.EV, true)
	}
	event.LastHop = !missing && s.atLastHop(p.NackCode(), &sample)
	if t := sample.sample.Type; sample.valid && s.cc.Wants[t] > 0 {
		event.CSIG[t] = congestion.Signal{
			Valid: true, Fresh: true, EV: event.EV, Sample: sample.sample,
			SentAt: sample.sentAt, Age: now.Sub(sample.sentAt), Unloaded: sample.unloaded,
		}
	}
	// A trim at the last hop says nothing about the path (UE specification
	// §3.6.12): it counts as good, or as marked when it was.
	outcome := balance.Trimmed
	if event.LastHop {
		outcome = balance.Good
		if p.Flags()&wire.ECNEcho != 0 {
			outcome = balance.Marked
		}
	}
	if s.credit != nil {
		s.credit.feedback(now, s.common.RTO)
	}
	s.lose(psn)
	told := &s.common.outcome
	*told = balance.Feedback{EV: event.EV, Outcome: outcome, Age: event.RTT, Dated: event.HasRTT}
	s.feedback(now, told, &sample)
	event.Inflight = s.Inflight()
	s.controller.OnNack(now, event)
	s.traceReaction(false)
}

// mostReturns is how many transmissions of a packet are sent again at once when a switch
// returns them. What keeps coming back waits for RTO, so that a flow that has no other way
// does not send as fast as its packets return.
const mostReturns = 3

// takeBack has a packet sent again that a switch returned, because the port that it was for
// is down. The balancer learns which EV led there and which port it is. The controller
// learns nothing: nothing was congested.
func (s *Sender) takeBack(now units.Time, p *wire.Packet, psn uint32) {
	s.totals.Returned++
	sl := s.slot(psn)
	if sl.transmissions > mostReturns {
		return
	}
	s.lose(psn)
	told := &s.common.outcome
	*told = balance.Feedback{
		EV: sl.ev, Outcome: balance.Lost, Returned: true, Locator: p.Locator(),
		Age: now.Sub(sl.sentAt), Dated: true, Inflight: s.Inflight(),
	}
	s.lb.OnFeedback(now, told)
	if s.credit != nil {
		s.needCredit(now)
	}
}

// lose has a packet that is outstanding sent again, and with GoBackN all that follow.
func (s *Sender) lose(psn uint32) {
	if s.common.Recovery == GoBackN {
		s.goBack(psn)
		return
	}
	s.refuse(psn)
}

// NextTimeout is when HandleTimeout or Probe wants to be called. Pacing does not count
// (PacedUntil).
func (s *Sender) NextTimeout() units.Time {
	at := s.timeout
	if g := s.signalling; g != nil {
		at = min(at, g.nextProbe)
	}
	if s.extra {
		at = min(at, s.extraTimeout())
	}
	return at
}

// HandleTimeout calls the controller's timer if it is due, and gives up the oldest
// outstanding packet if it has been out for RTO. The latter timer is lazy: it is set for a
// packet and found stale when that one is acknowledged.
func (s *Sender) HandleTimeout(now units.Time) {
	if s.extra {
		s.fireTimers(now)
	}
	if now < s.timeout {
		return
	}
	s.timeout = units.Never
	oldest, psn := s.oldest()
	if oldest == units.Never {
		return
	}
	if due := oldest.Add(s.common.RTO); due > now {
		s.timeout = due
		return
	}
	s.totals.Timeouts++
	if s.hopeless(now) {
		s.giveUp()
		return
	}
	s.lose(psn)
	told := &s.common.outcome
	*told = balance.Feedback{Outcome: balance.Lost, EV: s.slot(psn).ev, Age: now.Sub(oldest), Dated: true, Inflight: s.Inflight()}
	s.lb.OnFeedback(now, told)
	event := &s.common.late
	*event = congestion.Timeout{Size: s.sizeOf(psn), Inflight: s.Inflight()}
	s.controller.OnTimeout(now, event)
	if s.credit != nil {
		s.needCredit(now)
	}
	if oldest, _ = s.oldest(); oldest != units.Never {
		s.timeout = max(oldest.Add(s.common.RTO), now)
	}
}
