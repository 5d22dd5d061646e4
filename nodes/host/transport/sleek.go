package transport

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// sleek is the state of a flow whose recovery is Sleek. Departs from the reference: RTO goes on as
// ever during recovery, and the target is the default one, whatever NSCC's is.
type sleek struct {
	recovering bool
	until      uint32     // recovery ends when every PSN below is acknowledged
	resent     uint32     // PSNs below have been sent again, or need not be
	probeAt    units.Time // of the next probe; units.Never: none
	probe      uint32     // number of the last probe
	probedAt   units.Time // when it was sent
}

// Constants of the reference.
const (
	lossWindows     = 1.5 // a hole is a loss with so many windows of packets beyond it,
	lossPackets     = 5   // or at least so many
	firstProbeRTTs  = 3   // base RTTs without an ACK until a probe
	nextProbeRTTs   = 5   // and after it, until the next
	lossProbe       = 1 << 31
	maxWindowBDP    = 1.5
	targetTrimming  = 0.75 // of the network RTT
	targetWithDrops = 1.0
)

// SleekTerms are what SLEEK knows of the network.
type SleekTerms struct {
	Rate   units.Rate     // of the sender's link
	Target units.Duration // queueing delay aimed for
}

// NewSleekTerms returns the terms of hosts with a link of the given rate.
func NewSleekTerms(rate units.Rate, rtt units.Duration, trim bool) *SleekTerms {
	share := targetWithDrops
	if trim {
		share = targetTrimming
	}
	return &SleekTerms{Rate: rate, Target: units.Duration(share * float64(rtt))}
}

// threshold returns how many packets beyond a hole make it a loss.
func (s *Sender) threshold() uint32 {
	mss := s.common.mss()
	most := units.Size(maxWindowBDP * float64(s.common.Sleek.Rate.Volume(s.cc.BaseRTT)))
	return uint32(max(min(units.Size(lossWindows*float64(s.cc.Window)), most), lossPackets*mss) / mss)
}

// recover follows an ACK, which says how many packets the receiver holds beyond a hole.
func (s *Sender) recover(now units.Time, outOfOrder uint16) {
	k := s.sleek
	k.probeAt = units.Never
	if s.Done() {
		k.recovering = false
		return
	}
	wait := firstProbeRTTs * s.cc.BaseRTT
	if s.next == s.packets {
		wait = s.cc.BaseRTT + s.common.Sleek.Target
	}
	k.probeAt = now.Add(wait)
	if k.recovering && s.cum >= k.until {
		k.recovering = false
	}
	if !k.recovering && (uint32(outOfOrder) < s.threshold() || s.rtx.Len() > 0) {
		return
	}
	if !k.recovering {
		k.recovering, k.until = true, s.next
	}
	s.resendMissing()
}

// resendMissing has the packets of a window from the first missing one on sent again, if
// recovery has not done so.
func (s *Sender) resendMissing() {
	k, mss := s.sleek, s.common.mss()
	end := min(k.until, s.cum+uint32(min(s.cc.Window/mss, units.Size(s.packets))))
	for psn := max(s.cum, k.resent); psn < end; psn++ {
		if s.slot(psn).state == outstanding {
			s.refuse(psn)
			k.resent = psn + 1
		}
	}
}

// lossProbeDue reports whether nothing has come back for so long that a probe has to find out
// why.
func (s *Sender) lossProbeDue(now units.Time) bool {
	return s.extra && s.sleek != nil && s.sleek.probeAt <= now
}

// sendLossProbe writes that probe into p. It has no tag.
func (s *Sender) sendLossProbe(now units.Time, p *wire.Packet) {
	k := s.sleek
	k.probe++
	k.probedAt, k.probeAt = now, now.Add(nextProbeRTTs*s.cc.BaseRTT)
	s.buildBare(p, wire.Probe, wire.ECT0, s.lastEV)
	p.SetData(s.flow, lossProbe|k.probe, 1)
	p.Size = s.common.Sizes.Of(p)
	s.totals.Probes++
}

// onLossProbe takes the answer: if the queues are short, what was sent before the probe and
// has not been acknowledged is lost.
func (s *Sender) onLossProbe(now units.Time, p *wire.Packet) {
	k := s.sleek
	if k == nil || p.PSN() != lossProbe|k.probe || p.NackCode() != 0 || !s.running() {
		return
	}
	if now.Sub(k.probedAt)-s.cc.BaseRTT < s.common.Sleek.Target {
		k.recovering, k.until, k.resent = true, s.next, s.cum
		s.resendMissing()
	}
}
