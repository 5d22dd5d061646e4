package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// dctcp is Data Center TCP (SIGCOMM'10 paper; RFC 8257): the share of marked bytes in a
// window, smoothed, is how much of the window is cut, at most once per window. It grows
// by a packet per RTT, and by what is acknowledged before the first mark or loss.
//
// Departs from RFC 8257 in what counts as a window of data: the bytes in flight when it
// began, because packets take several paths and there is no sequence that ends it.
var dctcp = Algorithm{
	Spec: algorithm.Spec{
		Name: "dctcp",
		Doc:  "Data Center TCP: cuts by the share of marked bytes, once per window",
		Params: []algorithm.Param{
			{Name: "cwnd", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "first window; auto: 10 packets"},
			{Name: "mark_gain", Kind: algorithm.Number, Default: "0.0625", Check: algorithm.Share, Doc: "gain g of the average share of marked bytes, above 0, up to 1"},
			{Name: "slow_start", Kind: algorithm.Bool, Default: "true", Doc: "double the window each RTT until the first mark or loss"},
		},
	},
	Actions: []Action{
		dctcpHold:      {"hold", "hold", "hold"},
		dctcpSlowStart: {"slow_start", "slow start (SS)", "SS"},
		dctcpIncrease:  {"additive_increase", "additive increase (AI)", "AI"},
		dctcpDecrease:  {"multiplicative_decrease", "multiplicative decrease (MD)", "MD"},
	},
	Build: newDCTCP,
	Share: equalShares,
	Windows: func(p Path, _ *algorithm.Reader) Windows {
		return Windows{Min: p.MTU, Max: dctcpMaxWindow(p)}
	},
}

// Answers of dctcp to an ACK.
const (
	dctcpHold uint8 = iota // marked, and this window is cut already
	dctcpSlowStart
	dctcpIncrease
	dctcpDecrease
)

// Constants of dctcp.
const (
	dctcpFirst = 10 // packets (RFC 6928 §2, which RFC 8257 leaves as it is)
	// dctcpMostBDPs bounds the window, as a TCP socket's buffer would: more than the path
	// and a queue of two BDPs hold only makes loss.
	dctcpMostBDPs = 3
	dctcpLossCut  = 0.5 // RFC 8257 §3.5: loss is answered as by conventional TCP
)

func dctcpMaxWindow(p Path) units.Size {
	return max(dctcpMostBDPs*bdp(p.NetworkRTT, p.LinkRate), dctcpFirst*p.MTU)
}

type dctcpState struct {
	out  Output
	rtts rtts

	packet    float64
	most      float64
	gain      float64
	cwnd      float64 // bytes
	growth    float64 // of increases; see scaled
	slowStart bool

	alpha   float64    // smoothed share of marked bytes
	rest    units.Size // of the window of data, still to be acknowledged
	acked   float64    // in it
	marked  float64
	recover units.Size // to be acknowledged until the next cut may come
}

func newDCTCP(p Path, r *algorithm.Reader) Controller {
	c := &dctcpState{
		rtts: newRTTs(p), packet: float64(p.MTU), most: float64(dctcpMaxWindow(p)), growth: 1,
		gain: r.Number("mark_gain"), slowStart: r.Bool("slow_start"),
		alpha: 1, // RFC 8257 §3.3 (1): the first mark halves the window
	}
	first := algorithm.OrAuto(r, "cwnd", r.Size, dctcpFirst*p.MTU)
	if first < p.MTU || first > dctcpMaxWindow(p) {
		r.Fail("cwnd", fmt.Errorf("%v is not from one packet, %v, to the largest window, %v", first, p.MTU, dctcpMaxWindow(p)))
	}
	c.cwnd = float64(first)
	c.publish()
	return c
}

func (c *dctcpState) Output() *Output { return &c.out }

func (c *dctcpState) scaleIncrease(factor float64) { c.growth = factor }

func (c *dctcpState) OnAck(_ units.Time, a *Ack) {
	c.rtts.take(a)
	acked := float64(a.Acked)
	c.acked += acked
	if a.ECN {
		// Every marked packet has an ACK of its own: what else an ACK reports was not
		// marked (RFC 8257 §3.2 counts the same bytes by its state machine).
		c.marked += min(acked, c.packet)
	}
	c.recover -= a.Acked
	if c.rest -= a.Acked; c.rest <= 0 {
		c.endWindow(a.Inflight)
	}
	switch {
	case a.ECN && c.recover > 0:
		c.slowStart = false
		c.out.Action = dctcpHold
	case a.ECN:
		// RFC 8257 §3.3 (8): cwnd = cwnd * (1 - alpha/2), at most once per window of data.
		c.decrease(c.alpha/2, a.Inflight)
		c.out.Action = dctcpDecrease
	case c.slowStart:
		c.cwnd += float64(c.growth * acked)
		c.out.Action = dctcpSlowStart
	default:
		// RFC 5681 §3.1: a packet per window.
		c.cwnd += float64(c.growth*acked) * c.packet / c.cwnd
		c.out.Action = dctcpIncrease
	}
	c.out.Delay = c.rtts.queueing()
	c.publish()
}

// endWindow ends the window of data and begins the next, which ends when what is in
// flight now is acknowledged.
func (c *dctcpState) endWindow(inflight units.Size) {
	if c.acked > 0 {
		// RFC 8257 §3.3 (6): alpha = alpha * (1-g) + g * M.
		c.alpha = float64(c.alpha*(1-c.gain)) + float64(c.gain*(c.marked/c.acked))
	}
	c.acked, c.marked, c.rest = 0, 0, inflight
}

// decrease cuts the window by a share, once per window of data: what is in flight now was
// sent before the cut.
func (c *dctcpState) decrease(share float64, inflight units.Size) {
	c.slowStart = false
	if c.recover > 0 {
		return
	}
	c.cwnd *= 1 - share
	c.recover = inflight
}

func (c *dctcpState) OnNack(_ units.Time, n *Nack) {
	c.decrease(dctcpLossCut, n.Inflight)
	c.publish()
}

// OnTimeout begins anew from one packet (RFC 5681 §3.1, equation 4).
func (c *dctcpState) OnTimeout(units.Time, *Timeout) {
	c.slowStart = false
	c.cwnd = c.packet
	c.publish()
}

func (c *dctcpState) publish() {
	c.cwnd = max(c.packet, min(c.cwnd, c.most))
	c.out.Window = units.Size(c.cwnd)
	c.out.BaseRTT = c.rtts.base
}
