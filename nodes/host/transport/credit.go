package transport

import (
	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Receiver credits are UET's receiver congestion control, RCCC, by the rules of the
// reference simulator (docs/reference/references.md#receiver-credits). A sender begins with
// speculative credit, which ends with the first answer. Each data packet says how much the
// sender wants in all, its pull target; the receiving host's Puller grants that flow by
// flow, a little slower than its link, and says in credit packets how much it has granted
// in all. Both numbers are in quanta and only grow. Departs from the reference: a flow that is
// complete gets no more credit, and a host's credits are not slowed by marks and by trims elsewhere,
// which the reference does in oversubscribed fabrics.

// CreditTerms are the parameters of receiver credits.
type CreditTerms struct {
	Max   units.Size     // the most credit that a flow may hold: the reference's largest window
	Grant int64          // quanta of a credit packet
	Rate  units.Rate     // at which a host grants, in wire bytes
	Least units.Duration // between two requests of a flow for credit: the network RTT
}

// Constants of the reference.
const (
	quantum      = 256 // bytes
	grantPackets = 4   // of payload, in a credit packet
	pullShare    = 99  // per cent of the link's rate
	emptyGrant   = 4   // quanta: the time that a credit packet without credit takes
	maxCreditBDP = 1.5
	patience     = 8 // RTOs without an answer until a flow without credit asks again; ours
)

// NewCreditTerms returns the terms of hosts with a link of the given rate.
func NewCreditTerms(rate units.Rate, rtt units.Duration, mtu, header units.Size) *CreditTerms {
	return &CreditTerms{
		Max:   max(units.Size(maxCreditBDP*float64(rate.Volume(rtt))), mtu),
		Grant: max(1, int64(grantPackets*(mtu-header)/quantum)),
		Rate:  pullRate(rate),
		Least: rtt,
	}
}

// pullRate returns at which rate a host with a link of the given rate grants credit.
func pullRate(link units.Rate) units.Rate { return max(1, link/100*pullShare) }

// credit is what a sender knows of its credits.
type credit struct {
	left        units.Size // what may be sent; below 0 by a part of a packet at most
	granted     int64      // quanta that the receiver has granted in all
	speculating bool       // nothing has come back yet
	requested   units.Time // when the last request was sent; units.Never: none was
	wanted      bool       // a request is to be sent
	retry       units.Time // if nothing comes until then, a flow without credit asks again
}

// feedback ends the speculation: what has not been used of it is void.
func (c *credit) feedback(now units.Time, rto units.Duration) {
	c.retry = now.Add(patience * rto)
	if c.speculating {
		c.speculating = false
		c.left = min(c.left, 0)
	}
}

// pullTarget returns the pull target of the next packet, in quanta. The credit for the
// packet is spent already.
func (s *Sender) pullTarget() int64 {
	c, terms := s.credit, s.common.Credit
	all := s.size + units.Size(s.packets)*s.common.Sizes.Header
	want := min(all-s.known-s.outstanding, s.cc.Window+s.common.MTU, terms.Max) - c.left
	if c.speculating && s.next < s.packets {
		want = max(want, s.common.MTU)
	}
	if n := units.Size(s.common.Waiting); n > 1 {
		want /= n
	}
	return c.granted + int64((want+quantum-1)/quantum)
}

// spend takes the credit for a packet and writes the pull target into it.
func (s *Sender) spend(now units.Time, size units.Size, p *wire.Packet) {
	s.credit.left -= size
	s.credit.retry = now.Add(patience * s.common.RTO)
	p.SetPullTarget(s.pullTarget())
}

// OnCredit takes a credit packet of this flow.
func (s *Sender) OnCredit(now units.Time, p *wire.Packet) {
	c := s.credit
	if c == nil || !s.running() {
		return
	}
	s.totals.Credits++
	c.feedback(now, s.common.RTO)
	if more := int64(int32(p.PSN() - uint32(c.granted))); more > 0 {
		c.granted += more
		c.left = min(c.left+units.Size(more*quantum), s.common.Credit.Max)
	}
}

// creditStarved reports whether the flow has something to send, no credit for it, and nothing
// under way that could bring some.
func (s *Sender) creditStarved() bool {
	return s.running() && s.credit.left <= 0 && s.outstanding == 0
}

// creditTimeout returns when a flow asks for credit again.
func (s *Sender) creditTimeout() units.Time {
	if !s.creditStarved() {
		return units.Never
	}
	return s.credit.retry
}

// askAgain asks for credit if nothing has come for too long.
func (s *Sender) askAgain(now units.Time) {
	if s.creditTimeout() <= now {
		if s.hopeless(now) {
			s.giveUp()
			return
		}
		s.credit.retry = now.Add(patience * s.common.RTO)
		s.credit.wanted = true
	}
}

// needCredit is called when a packet was given up: if it cannot be sent now, the receiver
// may not know that the flow waits.
func (s *Sender) needCredit(now units.Time) {
	c := s.credit
	if s.rtx.Len() > 1 {
		c.feedback(now, s.common.RTO)
	}
	if s.rtx.Len() > 1 || !s.CanSend() {
		c.wanted = true
	}
}

// RequestDue reports whether a request for credit is to be sent, which is at most one in a
// network RTT.
func (s *Sender) RequestDue(now units.Time) bool {
	if !s.extra || s.credit == nil || !s.credit.wanted {
		return false
	}
	s.credit.wanted = false
	return s.running() && (s.credit.requested == units.Never || now.Sub(s.credit.requested) >= s.common.Credit.Least)
}

// Request writes a request for credit into p, a control packet with the flow's pull
// target.
func (s *Sender) Request(now units.Time, p *wire.Packet) {
	s.credit.requested = now
	s.totals.Requests++
	s.buildBare(p, wire.CreditRequest, wire.NotECT, s.lastEV)
	p.SetPull(s.flow, uint32(s.pullTarget()))
	p.Size = s.common.Sizes.Of(p)
}

// demand is what a receiver knows of its sender's wishes, in quanta.
type demand struct {
	target, granted int64
	active, idle    bool // in the Puller's queues
}

// missing returns what the sender wants and has not been granted.
func (d *demand) missing() int64 { return max(0, d.target-d.granted) }

// Puller grants the credits of a host: to the flows that want some in turn, and when none
// does, ahead of demand to those that had some ("slow pulls"), up to CreditTerms.Max each.
type Puller struct {
	terms        *CreditTerms
	line         units.Serialiser
	active, idle fifo.Queue[*Receiver]
	due          units.Time // of the next credit packet; units.Never: nobody wants one
}

// NewPuller returns a Puller without flows.
func NewPuller(terms *CreditTerms) *Puller {
	return &Puller{terms: terms, line: units.NewSerialiser(terms.Rate), due: units.Never}
}

// SetRate sets the rate at which data comes in from now on.
func (u *Puller) SetRate(rate units.Rate) { u.line = units.NewSerialiser(pullRate(rate)) }

// Due returns when Pull wants to be called.
func (u *Puller) Due() units.Time { return u.due }

// OnDemand takes the pull target of a data packet, trimmed or whole, or of a request for
// credit, of the flow that r receives.
func (u *Puller) OnDemand(now units.Time, r *Receiver, p *wire.Packet) {
	d := &r.demand
	var more int64
	if p.Kind() == wire.CreditRequest {
		more = int64(int32(p.PSN() - uint32(d.target)))
	} else {
		more = p.PullTargetBeyond(d.target)
	}
	d.target += max(0, more)
	// What was trimmed or given up is sent again: that takes credit, whatever the target.
	again := p.Kind() == wire.CreditRequest || p.Trimmed()
	if (more > 0 || again) && !d.active && !r.Done() {
		d.active = true
		u.active.Push(r)
		if u.due == units.Never {
			u.due = now
		}
	}
}

// Pull writes the credit packet that is due into p; false if there is none.
func (u *Puller) Pull(now units.Time, p *wire.Packet) bool {
	r, slow := u.next()
	if r == nil {
		u.due = units.Never
		return false
	}
	d := &r.demand
	grant := u.terms.Grant
	if !slow {
		grant = min(grant, d.missing())
	}
	d.granted += grant
	switch {
	case d.missing() > 0:
		d.active = true
		u.active.Push(r)
	case !d.idle && (!slow || d.granted-d.target < int64(u.terms.Max/quantum)):
		d.idle = true
		u.idle.Push(r)
	}
	r.totals.CreditsSent++
	r.build(p, wire.Credit)
	p.SetPull(r.flow, uint32(d.granted))
	if grant == 0 {
		grant = emptyGrant
	}
	u.due = u.line.Departure(now, units.Size(grant*quantum))
	return true
}

// next takes the flow whose turn it is from its queue, and reports whether it is one that
// wants nothing.
func (u *Puller) next() (r *Receiver, slow bool) {
	for {
		r, ok := u.active.Pop()
		if !ok {
			break
		}
		r.demand.active = false
		if !r.Done() {
			return r, false
		}
	}
	for {
		r, ok := u.idle.Pop()
		if !ok {
			return nil, false
		}
		r.demand.idle = false
		if !r.Done() {
			return r, true
		}
	}
}
