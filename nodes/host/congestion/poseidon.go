package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// poseidon is Poseidon (NSDI'23 paper; its public simulator Clark5/Poseidon): the greatest
// per-hop delay MPD of the path, which CSIG's max(Delay) is, against a target MPT that is
// higher for slower flows. So the flows of a bottleneck agree on a delay at one rate, and
// a flow follows its slowest hop alone:
//
//	MPT(rate) = p (ln Rmax - ln rate) / (ln Rmax - ln Rmin) + k
//	U = exp((MPT - MPD) / p * (ln Rmax - ln Rmin) * m), from 0.4 to 2.5
//	rate *= 1 + (U-1)/cwnd for each packet acknowledged
//
// The public simulator has p and k in bytes of queue, 525 kB and 25 kB at 100 Gbps. These
// are 42 us and 2 us, about 3 and 1/7 of the network RTT of a 3-tier fat tree at that
// rate, and so they are scaled here.
//
// Departs from it in three places. A held sample changes nothing: the packets that were
// acknowledged since the last fresh one count with the next. A loss, which its lossless
// network has not, takes half the window, once per RTT. Rmin is a share of the link.
var poseidon = Algorithm{
	Spec: algorithm.Spec{
		Name:     "poseidon",
		Doc:      "Poseidon: window by CSIG max(Delay) against a target that falls with the flow's rate; max-min fair over several bottlenecks",
		NeedsTag: true,
		Params: []algorithm.Param{
			{Name: "delay_p", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "p, what the target has more at min_share of the link than at all of it; auto: 3 network RTTs"},
			{Name: "delay_k", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseDuration), Doc: "k, the target at the link's rate; auto: 1/7 network RTT"},
			{Name: "step", Kind: algorithm.Number, Default: "0.25", Check: algorithm.Share, Doc: "m, the size of a step, above 0, up to 1"},
			{Name: "min_share", Kind: algorithm.Number, Default: "0.001", Check: belowOneShare, Doc: "Rmin as a share of the link, above 0, below 1; 0.001 is 100 Mbps at 100 Gbps"},
			{Name: "cwnd", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "first window; auto: 1 BDP of the network RTT"},
			{Name: "min_cwnd", Kind: algorithm.Number, Default: "0.01", Check: positiveNumber, Doc: "least window in packets; below one packet the flow is paced"},
			{Name: "max_cwnd", Kind: algorithm.Number, Default: algorithm.Auto, Check: positiveNumber, Doc: "largest window in packets; auto: 2 BDP of the network RTT"},
		},
	},
	Actions: []Action{
		poseidonHold:     {"hold", "hold", "hold"},
		poseidonIncrease: {"multiplicative_increase", "multiplicative increase (MI)", "MI"},
		poseidonDecrease: {"multiplicative_decrease", "multiplicative decrease (MD)", "MD"},
	},
	Build: newPoseidon,
	Share: equalShares,
	Constants: func(p Path, r *algorithm.Reader) []Constant {
		_, k := poseidonDelays(p, r)
		return []Constant{{
			Name: "line_rate_target_us", Value: k.Microseconds(),
			Label: "target of a flow at line rate", Unit: "µs", Chart: ChartDelays, Short: "target at line rate",
		}}
	},
	Windows: packetBounds,
}

// Answers of poseidon to an ACK.
const (
	poseidonHold uint8 = iota // no fresh sample
	poseidonIncrease
	poseidonDecrease
)

const (
	poseidonLeast = 0.4 // of U
	poseidonMost  = 2.5
	// What U is at most and at least as an exponent: ln 2.5 is 0.92, and exp is exact
	// enough up to 2.
	poseidonExponent = 2
	poseidonP        = 3 // network RTTs
	poseidonK        = 7 // of them are a network RTT
	poseidonLossCut  = 0.5
)

// belowOneShare is a Check of a Number: above 0, below 1.
func belowOneShare(text string) error {
	if err := algorithm.Share(text); err != nil || text == "1" {
		return fmt.Errorf("%s is not in (0, 1)", text)
	}
	return nil
}

func poseidonDelays(p Path, r *algorithm.Reader) (most, least units.Duration) {
	return algorithm.OrAuto(r, "delay_p", r.Duration, poseidonP*p.NetworkRTT), algorithm.OrAuto(r, "delay_k", r.Duration, p.NetworkRTT/poseidonK)
}

type poseidonState struct {
	out  Output
	rtts rtts

	packet float64
	line   float64 // bit/s
	spread float64 // ln Rmax - ln Rmin
	p, k   float64 // ps
	m      float64
	least  float64 // packets, as cwnd
	most   float64

	cwnd    float64
	acked   float64 // packets acknowledged since the last fresh sample
	lastCut units.Time
	cut     bool // there was a cut for loss, at lastCut
}

func newPoseidon(p Path, r *algorithm.Reader) Controller {
	most, least := poseidonDelays(p, r)
	c := &poseidonState{
		rtts: newRTTs(p), packet: float64(p.MTU), line: float64(p.LinkRate),
		spread: -ln(r.Number("min_share")), p: float64(most), k: float64(least), m: r.Number("step"),
	}
	c.least, c.most = packetWindows(p, r)
	c.cwnd = firstCwnd(p, r, c.least, c.most)
	c.out.Wants = csig.Only(csig.Delay)
	c.publish()
	return c
}

func (c *poseidonState) Output() *Output { return &c.out }

// target is MPT in ps at the flow's rate.
func (c *poseidonState) target() float64 {
	rate := c.cwnd * c.packet * 8 / units.Duration(max(c.rtts.last, 1)).Seconds()
	share := ln(max(c.line/rate, 1)) / c.spread
	return float64(c.p*min(share, 1)) + c.k
}

func (c *poseidonState) OnAck(_ units.Time, a *Ack) {
	c.rtts.take(a)
	c.acked += float64(a.Acked) / c.packet
	c.out.Action = poseidonHold
	if s := &a.CSIG[csig.Delay]; s.Valid && s.Fresh && !s.Sample.DoNotUpdate {
		c.step(s.Queueing())
	}
	c.publish()
}

// step applies a sample to the packets acknowledged since the last one, of which no more
// than the window count: U is for one RTT.
func (c *poseidonState) step(delay units.Duration) {
	c.out.Delay = delay
	exponent := (c.target() - float64(delay)) / c.p * c.spread * c.m
	ratio := expReduced(max(-poseidonExponent, min(exponent, poseidonExponent)))
	ratio = max(poseidonLeast, min(ratio, poseidonMost))
	part := min(c.acked/c.cwnd, 1)
	c.acked = 0
	change := float64((ratio - 1) * part)
	c.out.Action = poseidonDecrease
	if change >= 0 {
		c.out.Action = poseidonIncrease
	}
	c.cwnd *= 1 + change
}

// OnNack takes half the window, once per RTT.
func (c *poseidonState) OnNack(now units.Time, _ *Nack) {
	c.lose(now)
}

func (c *poseidonState) OnTimeout(now units.Time, _ *Timeout) {
	c.lose(now)
}

func (c *poseidonState) lose(now units.Time) {
	if !c.cut || now.Sub(c.lastCut) >= c.rtts.last {
		c.cwnd *= 1 - poseidonLossCut
		c.cut, c.lastCut = true, now
	}
	c.publish()
}

func (c *poseidonState) publish() {
	c.cwnd = max(c.least, min(c.cwnd, c.most))
	c.out.Window = units.Size(c.cwnd * c.packet)
	c.out.PacingRate = paceBelow(c.out.Window, units.Size(c.packet), c.rtts.last)
	c.out.BaseRTT = c.rtts.base
}
