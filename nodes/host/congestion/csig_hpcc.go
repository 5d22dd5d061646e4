package congestion

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// csigHPCC is ours: the law of HPCC (SIGCOMM'19 paper, algorithm 1) on what CSIG can tell
// of the path. HPCC itself reads the sent bytes, the queue and the time of every hop from
// inband telemetry, and is not this algorithm.
//
// HPCC's utilisation of a hop is txRate/C + queue/(C T). Here the first is 1 less
// min(ABW/C), the second max(nQD), which is that with csig.nqd: drain. The two come with
// different packets, in proportion to abwc_weight and nqd_weight, and may be of
// different hops: their sum is never less than the utilisation of the worst one.
//
//	U = 1 - min(ABW/C) + max(nQD)
//	U >= eta, or max_stage steps without a cut:  W = Wc eta/U + W_AI
//	otherwise:                                   W = Wc + W_AI
//
// ABW/C is measured over csig.interval, so that a sample says nothing of a change of the
// window that is younger. So Wc becomes W, and W changes, only with samples of packets that
// were sent an interval after the last change; HPCC has that rule with one RTT.
var csigHPCC = Algorithm{
	Spec: algorithm.Spec{
		Name:     "csig-hpcc",
		Doc:      "ours, not HPCC: HPCC's window law on CSIG min(ABW/C) and max(nQD), two signals multiplexed by weight",
		NeedsTag: true,
		Params: []algorithm.Param{
			{Name: "eta", Kind: algorithm.Number, Default: "0.95", Check: algorithm.Share, Doc: "utilisation aimed for, above 0, up to 1"},
			{Name: "max_stage", Kind: algorithm.Int, Default: "5", Check: positiveNumber, Doc: "additive steps before a multiplicative one"},
			{Name: "window_ai", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "W_AI, the additive step; auto: 1/10 of (1-eta) BDP, as for ten flows"},
			{Name: "abwc_weight", Kind: algorithm.Int, Default: "1", Check: algorithm.Between(1, 255), Doc: "share of the tags that ask for ABW/C, 1 to 255"},
			{Name: "nqd_weight", Kind: algorithm.Int, Default: "1", Check: algorithm.Between(1, 255), Doc: "share of the tags that ask for nQD, 1 to 255"},
		},
	},
	Actions: []Action{
		hpccHold:           {"hold", "hold", "hold"},
		hpccAdditive:       {"additive_increase", "additive increase (AI)", "AI"},
		hpccMultiplicative: {"multiplicative_change", "multiplicative change", "MC"},
	},
	Build: newCSIGHPCC,
	Share: equalShares,
	Windows: func(p Path, _ *algorithm.Reader) Windows {
		return Windows{Min: p.MTU, Max: hpccMax(p)}
	},
}

// Answers of csig-hpcc to an ACK.
const (
	hpccHold           uint8 = iota // no samples that are younger than the last change
	hpccAdditive                    // below eta
	hpccMultiplicative              // by eta/U
)

const (
	hpccFlows   = 10 // for which the automatic W_AI is: HPCC paper, W_AI = W_init (1-eta)/N
	hpccLossCut = 0.5
	// hpccQuick bounds a multiplicative change upwards, where U is close to 0.
	hpccQuick = 2
)

// hpccMax is the first window and the largest: HPCC paper §3.2, W_init = 1 BDP.
func hpccMax(p Path) units.Size { return max(bdp(p.NetworkRTT, p.LinkRate), p.MTU) }

type csigHPCCState struct {
	out  Output
	rtts rtts

	line     units.Rate
	packet   float64
	most     float64
	eta      float64
	maxStage int
	step     float64        // W_AI
	interval units.Duration // of ABW/C

	window float64 // Wc, in bytes
	stage  int
	change units.Time // of the window
	abwc   hpccSample
	nqd    hpccSample
}

// hpccSample is the newest value of a signal, as a share.
type hpccSample struct {
	value  float64
	sentAt units.Time
	valid  bool
}

func (h *hpccSample) take(s *Signal) {
	if s.Valid && s.Fresh && !s.Sample.DoNotUpdate {
		*h = hpccSample{min(float64(s.Sample.Point)/fullShare, 1), s.SentAt, true}
	}
}

func newCSIGHPCC(p Path, r *algorithm.Reader) Controller {
	c := &csigHPCCState{
		rtts: newRTTs(p), line: p.LinkRate, packet: float64(p.MTU), most: float64(hpccMax(p)),
		eta: r.Number("eta"), maxStage: r.Int("max_stage"), interval: p.SignalInterval,
	}
	c.window = c.most
	auto := units.Size(max(1, (1-c.eta)*c.most/hpccFlows))
	c.step = float64(algorithm.OrAuto(r, "window_ai", r.Size, auto))
	c.out.Wants[csig.ABWC] = uint8(r.Int("abwc_weight"))
	c.out.Wants[csig.NQD] = uint8(r.Int("nqd_weight"))
	c.publish()
	return c
}

func (c *csigHPCCState) Output() *Output { return &c.out }

func (c *csigHPCCState) OnAck(now units.Time, a *Ack) {
	c.rtts.take(a)
	c.abwc.take(&a.CSIG[csig.ABWC])
	c.nqd.take(&a.CSIG[csig.NQD])
	c.out.Delay = c.rtts.queueing()
	c.out.Action = hpccHold
	if c.visible() {
		c.out.Action = c.update(1 - c.abwc.value + c.nqd.value)
		c.change = now
		c.abwc.valid, c.nqd.valid = false, false
	}
	c.publish()
}

// visible reports whether the last change of the window shows in both signals: that of
// nQD is of the packet's moment, that of ABW/C of an interval before it.
func (c *csigHPCCState) visible() bool {
	return c.abwc.valid && c.nqd.valid && c.nqd.sentAt >= c.change && c.abwc.sentAt >= c.change.Add(c.interval)
}

// update is the step of HPCC's algorithm 1.
func (c *csigHPCCState) update(utilisation float64) uint8 {
	if utilisation < c.eta && c.stage < c.maxStage {
		c.stage++
		c.window += c.step
		return hpccAdditive
	}
	c.stage = 0
	ratio := hpccQuick + 0.0
	if utilisation > 0 {
		ratio = min(c.eta/utilisation, hpccQuick)
	}
	c.window = float64(c.window*ratio) + c.step
	return hpccMultiplicative
}

// OnNack takes half the window, once per RTT: HPCC's network is lossless.
func (c *csigHPCCState) OnNack(now units.Time, _ *Nack) { c.lose(now) }

func (c *csigHPCCState) OnTimeout(now units.Time, _ *Timeout) { c.lose(now) }

func (c *csigHPCCState) lose(now units.Time) {
	if now.Sub(c.change) >= c.rtts.last {
		c.window *= 1 - hpccLossCut
		c.stage, c.change = 0, now
	}
	c.publish()
}

// publish paces the window over base RTT (HPCC paper: R = W/T).
func (c *csigHPCCState) publish() {
	c.window = max(c.packet, min(c.window, c.most))
	c.out.Window = units.Size(c.window)
	c.out.PacingRate = 0
	if rate := units.Rate(min(c.window*8/units.Duration(max(c.rtts.base, 1)).Seconds(), float64(maxRate))); rate < c.line {
		c.out.PacingRate = max(rate, 1)
	}
	c.out.BaseRTT = c.rtts.base
}
