package congestion

import (
	"fmt"
	"math"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// swift is Swift (SIGCOMM'20 paper, §3; the same rules with names of their own in
// Falcon 0.9, §10.3): two windows, one steered by the delay in the fabric and one by the
// delay in the receiving host, of which the smaller holds. Below its target a window
// grows by ai packets per RTT; above it the window is cut in proportion to the excess, at
// most once per RTT. The fabric's target grows with the hops and falls with the window.
//
// With fru above 0 the fabric window also grows by a share of itself, fru times the
// smallest min(ABW/C) of the path (SIGCOMM'25 tutorial, "fast ramp-up").
//
// Departs from both sources in the retransmission timeout, which is the transport's and
// the same for all algorithms.
var swift = Algorithm{
	Spec: algorithm.Spec{
		Name: "swift",
		Doc:  "Swift: windows by fabric and host delay against targets, paced below one packet; fru adds growth by CSIG min(ABW/C)",
		Params: []algorithm.Param{
			{Name: "base_target", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "fabric delay aimed for with no hop and a large window, propagation included; auto: what the links of the two hosts take on an idle path, and 2 packets"},
			{Name: "hop_target", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseDuration), Doc: "more of it for each switch on the path; auto: what a switch and a link more take on an idle path, and 1 packet"},
			{Name: "flow_range", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseDuration), Doc: "the most that flow scaling adds; auto: 2 network RTTs"},
			{Name: "flow_min_cwnd", Kind: algorithm.Number, Default: "0.1", Check: positiveNumber, Doc: "window in packets at which flow scaling adds the most"},
			{Name: "flow_max_cwnd", Kind: algorithm.Number, Default: "100", Check: positiveNumber, Doc: "window in packets from which it adds nothing"},
			{Name: "host_target", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "delay in the receiving host aimed for; auto: 1.25 network RTT"},
			{Name: "ai", Kind: algorithm.Number, Default: "1", Check: positiveNumber, Doc: "packets per RTT below the target"},
			{Name: "beta", Kind: algorithm.Number, Default: "0.8", Check: algorithm.Share, Doc: "gain of the decrease, above 0, up to 1"},
			{Name: "max_mdf", Kind: algorithm.Number, Default: "0.5", Check: algorithm.Share, Doc: "the most of the window that one decrease takes, as a share"},
			{Name: "smoothing", Kind: algorithm.Number, Default: "0", Check: belowOne, Doc: "weight of the past in the smoothed delays and RTT, from 0, the newest sample alone, to below 1"},
			{Name: "retx_reset", Kind: algorithm.Int, Default: "5", Check: positiveNumber, Doc: "timeouts in a row after which the window is min_cwnd"},
			{Name: "cwnd", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "first window; auto: 1 BDP of the network RTT"},
			{Name: "min_cwnd", Kind: algorithm.Number, Default: "0.01", Check: positiveNumber, Doc: "least window in packets; below one packet the flow is paced"},
			{Name: "max_cwnd", Kind: algorithm.Number, Default: algorithm.Auto, Check: positiveNumber, Doc: "largest window in packets; auto: 2 BDP of the network RTT"},
			{Name: "fru", Kind: algorithm.Number, Default: "0", Check: belowOne, NeedsTag: true, Doc: "share of the window, times min(ABW/C), that a fresh CSIG sample adds below the target, at most once per RTT and csig.interval; from 0, none, to below 1; needs csig.format"},
		},
	},
	Actions: []Action{
		swiftHold:     {"hold", "hold", "hold"},
		swiftIncrease: {"additive_increase", "additive increase (AI)", "AI"},
		swiftHeadroom: {"headroom_increase", "increase by headroom (FRU)", "FRU"},
		swiftDecrease: {"multiplicative_decrease", "multiplicative decrease (MD)", "MD"},
	},
	Build: newSwift,
	Share: equalShares,
	Needs: func(*algorithm.Reader) Needs { return Needs{HostDelay: true, Hops: true} },
	Constants: func(p Path, r *algorithm.Reader) []Constant {
		return []Constant{{
			Name: "base_target_us", Value: swiftBase(p, r).Microseconds(),
			Label: "base target delay", Unit: "µs", Chart: ChartDelays, Short: "base target",
		}}
	},
	Windows: packetBounds,
}

// Answers of swift to an ACK.
const (
	swiftHold     uint8 = iota // above the target, within an RTT of the last decrease
	swiftIncrease              // of the fabric window
	swiftHeadroom              // and by FRU
	swiftDecrease
)

// Swift's automatic targets. The base target is "the minimum target delay required to
// provide 100% utilization in a one hop network with a small number of flows", and the
// fabric's links add to it hop by hop (Swift paper §3.5); the paper gives no values. So
// both are the delay of idle links and some packets of queue: with fewer, links stand
// idle where several paths meet; with more, a flow of two bottlenecks, which has the
// allowance once, loses to the flows of each. Measured at 100 Gb/s with one seed: with 2 packets and
// 1 a hop a permutation of 2 MB has a median of 231 us, and short flows over the long one of three
// bottlenecks have 23:1; with 16 and none 213 us and 93:1. Each hop adds the same, whatever its
// links: a path with a longer link has less room. Of the other parameters ai 1, beta 0.8, max_mdf
// 0.5, fs_min 0.1, fs_max 100 and the threshold 5 are public (Falcon, Isekai); Isekai has a base of
// 25 us, 1 us a hop and a range of 100 us.
const (
	swiftBasePackets = 2
	swiftHopPackets  = 1
	// The target of a flow with a window of a packet is then 0.6 network RTTs higher, which
	// the default queue of a BDP still holds.
	swiftRangeRTTs = 2
	swiftHostRTTs  = 1.25
	swiftMaxBDPs   = 2
)

// positiveNumber is a Check of a Number or Int: above 0.
func positiveNumber(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err != nil || v <= 0 || v > math.MaxInt32 {
		return fmt.Errorf("%s is not positive, up to %d", text, math.MaxInt32)
	}
	return nil
}

// belowOne is a Check of a Number: from 0, below 1.
func belowOne(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err != nil || v < 0 || v >= 1 {
		return fmt.Errorf("%s is not in [0, 1)", text)
	}
	return nil
}

// packetWindows returns the bounds of a window in packets, parameters min_cwnd and
// max_cwnd.
func packetWindows(p Path, r *algorithm.Reader) (least, most float64) {
	least = r.Number("min_cwnd")
	auto := max(swiftMaxBDPs*float64(bdp(p.NetworkRTT, p.LinkRate))/float64(p.MTU), 1, least)
	most = algorithm.OrAuto(r, "max_cwnd", r.Number, auto)
	if least*float64(p.MTU) < 1 {
		r.Fail("min_cwnd", fmt.Errorf("%v packets of %v are less than a byte", least, p.MTU))
	}
	if most < least {
		r.Fail("max_cwnd", fmt.Errorf("%v packets are less than min_cwnd, %v", most, least))
	}
	return least, most
}

// packetBounds is Algorithm.Windows of algorithms with these parameters.
func packetBounds(p Path, r *algorithm.Reader) Windows {
	least, most := packetWindows(p, r)
	return Windows{Min: units.Size(least * float64(p.MTU)), Max: units.Size(most * float64(p.MTU))}
}

// firstCwnd returns the first window in packets, parameter cwnd: 1 BDP unless it is set.
func firstCwnd(p Path, r *algorithm.Reader, least, most float64) float64 {
	auto := min(max(bdp(p.NetworkRTT, p.LinkRate), p.MTU), units.Size(most*float64(p.MTU)))
	first := algorithm.OrAuto(r, "cwnd", r.Size, auto)
	cwnd := float64(first) / float64(p.MTU)
	if cwnd < least || cwnd > most {
		r.Fail("cwnd", fmt.Errorf("%v is not from %v to %v packets of %v", first, least, most, p.MTU))
	}
	return cwnd
}

func swiftBase(p Path, r *algorithm.Reader) units.Duration {
	return algorithm.OrAuto(r, "base_target", r.Duration, p.HostRTT+swiftBasePackets*p.SlowestRate.Serialisation(p.MTU))
}

func swiftHop(p Path, r *algorithm.Reader) units.Duration {
	return algorithm.OrAuto(r, "hop_target", r.Duration, p.HopRTT+swiftHopPackets*p.SlowestRate.Serialisation(p.MTU))
}

type swiftState struct {
	out  Output
	rtts rtts

	packet     units.Size
	base, hop  units.Duration
	flowAlpha  float64 // ps
	flowBeta   float64 // ps
	flowRange  float64 // ps
	hostTarget units.Duration
	ai         float64
	beta       float64
	maxMDF     float64
	past       float64 // weight of the past in smoothed values
	retxReset  int
	least      float64
	most       float64
	growth     float64 // of increases; see scaled

	fru      float64
	interval units.Duration // over which min(ABW/C) is measured
	lastFRU  units.Time
	everFRU  bool

	fabric, host swiftWindow
	rtt          float64 // smoothed, ps
	retransmits  int
}

// swiftWindow is one of the two windows, with the delay that steers it.
type swiftWindow struct {
	cwnd    float64 // packets
	delay   float64 // smoothed, ps
	known   bool    // there is a delay
	lastCut units.Time
	cut     bool // there was a decrease, at lastCut
}

func newSwift(p Path, r *algorithm.Reader) Controller {
	least, most := packetWindows(p, r)
	c := &swiftState{
		rtts: newRTTs(p), packet: p.MTU, base: swiftBase(p, r), growth: 1,
		hop:        swiftHop(p, r),
		flowRange:  float64(algorithm.OrAuto(r, "flow_range", r.Duration, swiftRangeRTTs*p.NetworkRTT)),
		hostTarget: algorithm.OrAuto(r, "host_target", r.Duration, units.Duration(swiftHostRTTs*float64(p.NetworkRTT))),
		ai:         r.Number("ai"), beta: r.Number("beta"), maxMDF: r.Number("max_mdf"), past: r.Number("smoothing"),
		retxReset: r.Int("retx_reset"), least: least, most: most,
		fru: r.Number("fru"), interval: p.SignalInterval, rtt: float64(p.NetworkRTT),
	}
	low, high := r.Number("flow_min_cwnd"), r.Number("flow_max_cwnd")
	if low >= high {
		r.Fail("flow_min_cwnd", fmt.Errorf("%v is not below flow_max_cwnd, %v", low, high))
	}
	// Swift paper §3.5, with 1/sqrt as Falcon's prose has it; its formula prints sqrt.
	c.flowAlpha = c.flowRange / (1/math.Sqrt(low) - 1/math.Sqrt(high))
	c.flowBeta = -c.flowAlpha / math.Sqrt(high)
	c.fabric.cwnd = firstCwnd(p, r, least, most)
	c.host.cwnd = most
	if c.fru > 0 {
		c.out.Wants = csig.Only(csig.ABWC)
	}
	c.publish()
	return c
}

func (c *swiftState) Output() *Output { return &c.out }

func (c *swiftState) scaleIncrease(factor float64) { c.growth = factor }

// target returns the fabric delay aimed for (Swift paper §3.5: base target, topology-based
// scaling, flow-based scaling).
func (c *swiftState) target(hops uint8) float64 {
	scaling := float64(c.flowAlpha/math.Sqrt(c.fabric.cwnd)) + c.flowBeta
	return float64(c.base+units.Duration(hops)*c.hop) + max(0, min(scaling, c.flowRange))
}

func (c *swiftState) OnAck(now units.Time, a *Ack) {
	c.rtts.take(a)
	c.retransmits = 0
	if a.HasRTT {
		c.rtt = c.smooth(c.rtt, float64(a.RTT))
		host := units.Duration(0)
		if a.HasHostDelay {
			host = min(a.HostDelay, a.RTT)
		}
		// Swift paper §3.1: what is not in the remote host is in the fabric.
		c.fabric.take(c, float64(a.RTT-host))
		c.host.take(c, float64(host))
	}
	acked := float64(a.Acked) / float64(c.packet)
	target := c.target(a.Hops)
	c.out.Action = c.fabric.step(c, now, acked, target)
	c.host.step(c, now, acked, float64(c.hostTarget))
	if s := &a.CSIG[csig.ABWC]; c.out.Action == swiftIncrease && c.headroom(now, s) {
		c.out.Action = swiftHeadroom
	}
	c.out.Delay = units.Duration(c.fabric.delay)
	c.publish()
}

// smooth returns the average of a value with its newest sample (Falcon 0.9 §10.3).
func (c *swiftState) smooth(before, sample float64) float64 {
	return float64(c.past*before) + float64((1-c.past)*sample)
}

func (w *swiftWindow) take(c *swiftState, sample float64) {
	if w.known {
		sample = c.smooth(w.delay, sample)
	}
	w.delay, w.known = sample, true
}

// step is algorithm 1 of the Swift paper for an ACK.
func (w *swiftWindow) step(c *swiftState, now units.Time, acked, target float64) uint8 {
	switch {
	case !w.known:
		return swiftHold
	case w.delay <= target:
		grow := float64(c.growth * c.ai * acked)
		if w.cwnd >= 1 {
			grow /= w.cwnd
		}
		w.set(c, now, w.cwnd+grow)
		return swiftIncrease
	case w.mayCut(c, now):
		w.set(c, now, w.cwnd*max(1-float64(c.beta*(w.delay-target)/w.delay), 1-c.maxMDF))
		return swiftDecrease
	}
	return swiftHold
}

// mayCut reports whether an RTT has passed since the last decrease.
func (w *swiftWindow) mayCut(c *swiftState, now units.Time) bool {
	return !w.cut || now.Sub(w.lastCut) >= units.Duration(c.rtt)
}

// set bounds the new window and remembers a decrease.
func (w *swiftWindow) set(c *swiftState, now units.Time, cwnd float64) {
	cwnd = max(c.least, min(cwnd, c.most))
	if cwnd < w.cwnd {
		w.cut, w.lastCut = true, now
	}
	w.cwnd = cwnd
}

// headroom adds fru*cwnd*min(ABW/C) (SIGCOMM'25 tutorial). The sample is as old as its
// interval and one RTT: if each ACK of that time added its share, the window would
// multiply. So a sample counts once, and only after the last addition can show in it.
func (c *swiftState) headroom(now units.Time, s *Signal) bool {
	if c.fru == 0 || !s.Valid || !s.Fresh || s.Sample.DoNotUpdate {
		return false
	}
	if c.everFRU && now.Sub(c.lastFRU) < max(units.Duration(c.rtt), c.interval) {
		return false
	}
	c.lastFRU, c.everFRU = now, true
	share := min(float64(s.Sample.Point)/fullShare, 1)
	c.fabric.set(c, now, c.fabric.cwnd*(1+float64(c.growth*c.fru*share)))
	return true
}

// fullShare is the point of ABW/C and nQD that stands for 1.
const fullShare = 1_000_000

// OnNack is a loss that the receiver reports: as the paper's fast recovery.
func (c *swiftState) OnNack(now units.Time, _ *Nack) {
	c.retransmits = 0
	c.cut(now)
	c.publish()
}

// cut takes max_mdf of the fabric window, once per RTT.
func (c *swiftState) cut(now units.Time) {
	if c.fabric.mayCut(c, now) {
		c.fabric.set(c, now, c.fabric.cwnd*(1-c.maxMDF))
	}
}

func (c *swiftState) OnTimeout(now units.Time, _ *Timeout) {
	c.retransmits++
	if c.retransmits >= c.retxReset {
		c.fabric.set(c, now, c.least)
	} else {
		c.cut(now)
	}
	c.publish()
}

func (c *swiftState) publish() {
	window := min(c.fabric.cwnd, c.host.cwnd)
	c.out.Window = units.Size(window * float64(c.packet))
	c.out.PacingRate = paceBelow(c.out.Window, c.packet, units.Duration(c.rtt))
	c.out.BaseRTT = c.rtts.base
}
