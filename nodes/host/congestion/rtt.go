package congestion

import "github.com/csiglab/csiglab/units"

// rtts keeps the RTT samples of a flow.
type rtts struct {
	base units.Duration // running minimum; the network RTT at first
	last units.Duration // the newest sample; base before the first
}

func newRTTs(p Path) rtts { return rtts{p.NetworkRTT, p.NetworkRTT} }

// take takes the sample of an ACK, if it has one.
func (r *rtts) take(a *Ack) {
	if a.HasRTT {
		r.last = a.RTT
		r.base = min(r.base, a.RTT)
	}
}

// queueing returns the newest sample less base RTT.
func (r *rtts) queueing() units.Duration { return r.last - r.base }

// passive is a controller that answers nothing: it follows the RTT, for the records.
type passive struct {
	out  Output
	rtts rtts
}

func newPassive(p Path) passive {
	c := passive{rtts: newRTTs(p)}
	c.out.BaseRTT = c.rtts.base
	return c
}

func (c *passive) Output() *Output { return &c.out }

func (c *passive) OnAck(_ units.Time, a *Ack) {
	c.rtts.take(a)
	c.out.Delay, c.out.BaseRTT = c.rtts.queueing(), c.rtts.base
}

func (c *passive) OnNack(units.Time, *Nack) {}

func (c *passive) OnTimeout(units.Time, *Timeout) {}

// unlimitedBDPs is so many BDPs of the network that a window of these limits no flow that
// paces: what is in flight is then what the path holds.
const unlimitedBDPs = 100

// unlimited returns the window of a flow that is limited by its rate alone.
func unlimited(p Path) units.Size {
	return max(unlimitedBDPs*bdp(p.NetworkRTT, p.LinkRate), p.MTU)
}

// paceBelow returns the rate that stands for a window below one packet, which is that
// window per RTT, and 0 for larger windows.
func paceBelow(window, packet units.Size, rtt units.Duration) units.Rate {
	if window >= packet {
		return 0
	}
	perSecond := float64(window) * 8 * float64(units.Second) / float64(max(rtt, 1))
	return units.Rate(max(1, min(perSecond, float64(maxRate))))
}

// maxRate bounds rates that are computed: faster than any link.
const maxRate = 1_000_000 * units.Gbps
