package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// nscc is the network signal based congestion control of UET, by the rules of
// the public reference simulator (ultraethernet/uet-htsim @40ccb05, uec.cpp;
// constants also in UE specification §3.6.13, table 3-82). The specification wants fast
// increase at a delay of about zero and an average over the last base RTT; this is the
// simulator's 1 us and its gain.
//
// An ACK falls into one of four quadrants by its ECN echo and its queueing
// delay:
//
//	             | delay < target        | delay >= target
//	not marked   | proportional increase | fair increase
//	marked       | nothing               | multiplicative decrease
//
// With csig: max-delay the queueing delay is the largest per-hop delay that the
// packet's CSIG tag brought back, instead of RTT minus base RTT, less what an idle
// path has (csig_unloaded); the rules stay.
var nscc = Algorithm{
	Spec: algorithm.Spec{
		Name: "nscc",
		Doc:  "UET network signal based congestion control; csig: max-delay feeds it the CSIG per-hop delay",
		Params: []algorithm.Param{
			{Name: "csig", Kind: algorithm.Enum, Default: "none", Values: []string{"none", "max-delay"}, NeedsTag: true, Doc: "max-delay: the CSIG per-hop delay takes the place of RTT less base RTT; needs csig.format"},
			{Name: "csig_unloaded", Kind: algorithm.Enum, Default: "subtract", Values: []string{"subtract", "keep"}, Doc: "what a packet takes through the path's slowest hop when it is idle: not counted as queueing, or kept in the delay as the reference does"},
			{Name: "base_rtt_from_nack", Kind: algorithm.Bool, Default: "true", Doc: "let base RTT learn from NACKs of trimmed packets too, as the reference does"},
			{Name: "target_qdelay", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "queueing delay aimed for; auto: 0.75 network RTT with trimming, 1.0 without"},
			{Name: "cwnd", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "initial window; auto: the largest, 1.5 BDP"},
			{Name: "gamma", Kind: algorithm.Number, Default: "0.8", Check: algorithm.Share, Doc: "gain of the multiplicative decrease, above 0, up to 1"},
			{Name: "fair_increase", Kind: algorithm.Number, Default: "5", Check: algorithm.Between(0, 100), Doc: "gain of the fair increase, from 0 to 100: so many packets of window per round trip of ACKs that are not marked and above the target, at a BDP of 150 kB; 0: none"},
			{Name: "delay_alpha", Kind: algorithm.Number, Default: "0.0125", Check: algorithm.Share, Doc: "gain of the average delay, above 0, up to 1"},
			{Name: "quick_adapt", Kind: algorithm.Bool, Default: "true", Doc: "cut the window to what was acknowledged after heavy loss"},
		},
	},
	Actions: []Action{
		actionNone:         {"noop", "no-op", "no-op"},
		actionProportional: {"proportional_increase", "proportional increase (PI)", "PI"},
		actionFast:         {"fast_increase", "fast increase", "fast"},
		actionFair:         {"fair_increase", "fair increase (FI)", "FI"},
		actionDecrease:     {"multiplicative_decrease", "multiplicative decrease (MD)", "MD"},
		actionQuickAdapt:   {"quick_adapt", "quick adapt (QA)", "QA"},
	},
	Build:     newNSCC,
	Share:     equalShares,
	Constants: nsccConstants,
	Windows: func(p Path, _ *algorithm.Reader) Windows {
		return Windows{Min: p.MTU, Max: units.Size(nsccMaxWindow(p.NetworkRTT, p))}
	},
}

// Answers of nscc to an ACK.
const (
	actionNone uint8 = iota
	actionProportional
	actionFast
	actionFair
	actionDecrease
	actionQuickAdapt // or ignored because of it
)

// Constants of the reference.
const (
	refRate          = 100 * units.Gbps
	refRTT           = 12 * units.Microsecond
	refBDP           = 150_000.0 // bytes: refRate * refRTT
	targetTrimming   = 0.75      // of network RTT
	targetDropping   = 1.0
	alphaScale       = 4.0
	etaScale         = 0.15
	fastScale        = 0.25
	maxCut           = 0.5
	maxWindowBDP     = 1.5
	fastBelow        = units.Microsecond // "delay is about 0"
	damping          = 0.25              // of base RTT: what an unmarked sample above the target counts as
	quickAdaptGate   = 3                 // window >> gate: less than this acknowledged means heavy loss
	quickAdaptDelays = 4                 // targets: so much delay counts as loss
	adjustPackets    = 8                 // an adjustment at the latest after so many packets
)

type nsccState struct {
	out  Output
	path Path

	// Constants of the flow.
	useCSIG     bool
	keep        bool // the unloaded residence in the delay
	rttFromNack bool
	quickAdapt  bool
	target      units.Duration
	alpha       float64 // bytes per ps
	fair        float64 // bytes
	eta         int64
	fastGain    float64
	gamma       float64
	gain        float64 // of the average delay
	adjustBytes int64
	growth      float64 // of increases; see scaled

	cwnd      int64
	maxWindow int64
	baseRTT   units.Duration
	avgDelay  units.Duration

	increase   float64 // collected since the last adjustment, byte²; the reference's 32 bits overflow at 800 Gb/s
	received   int64   // bytes acknowledged since then
	lastAdjust units.Time
	lastCut    units.Time

	fastCount int64
	fastMode  bool

	qaEnd         units.Time // end of the quick adapt window; 0: none yet
	qaAchieved    int64
	qaTriggered   bool
	bytesToIgnore int64
	bytesIgnored  int64
}

func nsccTarget(p Path, r *algorithm.Reader) units.Duration {
	share := targetDropping
	if p.Trim {
		share = targetTrimming
	}
	return algorithm.OrAuto(r, "target_qdelay", r.Duration, units.Duration(share*float64(p.NetworkRTT)))
}

func nsccConstants(p Path, r *algorithm.Reader) []Constant {
	return []Constant{{
		Name: "target_qdelay_us", Value: nsccTarget(p, r).Microseconds(),
		Label: "target queueing delay", Unit: "µs", Chart: ChartDelays, Short: "target",
	}}
}

func newNSCC(p Path, r *algorithm.Reader) Controller {
	target := nsccTarget(p, r)
	mss := float64(p.MTU - p.Header)
	a := float64(bdp(p.NetworkRTT, p.LinkRate)) / refBDP
	b := float64(target) / float64(refRTT)
	c := &nsccState{
		path:        p,
		useCSIG:     r.Text("csig") == "max-delay",
		keep:        r.Text("csig_unloaded") == "keep",
		rttFromNack: r.Bool("base_rtt_from_nack"),
		quickAdapt:  r.Bool("quick_adapt"),
		gamma:       r.Number("gamma"),
		gain:        r.Number("delay_alpha"),
		target:      target,
		alpha:       alphaScale * mss * a * b / float64(target),
		fair:        r.Number("fair_increase") * mss * a,
		eta:         int64(etaScale * mss * a),
		fastGain:    fastScale * a,
		adjustBytes: adjustPackets * int64(p.MTU),
		growth:      1,
	}
	c.setBaseRTT(p.NetworkRTT)
	c.cwnd = int64(algorithm.OrAuto(r, "cwnd", r.Size, units.Size(c.maxWindow)))
	if c.cwnd < int64(p.MTU) || c.cwnd > c.maxWindow {
		r.Fail("cwnd", fmt.Errorf("%v is not from one packet, %v, to the largest window, %v",
			units.Size(c.cwnd), p.MTU, units.Size(c.maxWindow)))
	}
	if c.useCSIG {
		c.out.Wants = csig.Only(csig.Delay)
	}
	c.publish()
	return c
}

func bdp(rtt units.Duration, rate units.Rate) units.Size { return rate.Volume(rtt) }

func (c *nsccState) Output() *Output { return &c.out }

func (c *nsccState) scaleIncrease(factor float64) { c.growth = factor }

func (c *nsccState) OnAck(now units.Time, a *Ack) {
	acked := int64(a.Acked)
	c.qaAchieved += acked
	c.received += acked
	c.bytesIgnored += acked
	if a.Penalty != 255 {
		c.cwnd -= acked * int64(255-a.Penalty) / 255
		c.cwnd = max(c.cwnd, int64(c.path.MTU))
	}
	delay := c.delaySample(a)
	c.out.Delay = delay
	c.out.Action = c.update(now, a.ECN, delay, acked, a.Inflight)
	c.publish()
}

// delaySample returns the queueing delay that the ACK is judged by and feeds the
// average. Without a valid sample it is the average.
func (c *nsccState) delaySample(a *Ack) units.Duration {
	if a.HasRTT && a.RTT < c.baseRTT {
		c.setBaseRTT(a.RTT)
	}
	// A trimmed packet's value is forced; it says loss, not delay.
	if s := &a.CSIG[csig.Delay]; c.useCSIG && s.Valid && !s.Sample.DoNotUpdate {
		delay := s.Queueing()
		if c.keep {
			delay = units.Duration(s.Sample.Point) * units.Nanosecond
		}
		if s.Fresh {
			c.average(delay, a.ECN)
		}
		return delay
	}
	if !a.HasRTT {
		return c.avgDelay
	}
	delay := a.RTT - c.baseRTT
	c.average(delay, a.ECN)
	return delay
}

// average is the reference's exponential average with its damper: a sample above
// the target that no switch marked pulls the average towards a quarter of base
// RTT. (The reference's case for samples above five base RTTs differs from the
// ordinary one in its gain only, which is the same by default.)
func (c *nsccState) average(delay units.Duration, marked bool) {
	sample := float64(delay)
	if !marked && delay > c.target {
		sample = damping * float64(c.baseRTT)
	}
	c.avgDelay = units.Duration(float64((1-c.gain)*float64(c.avgDelay)) + float64(c.gain*sample))
}

func (c *nsccState) update(now units.Time, marked bool, delay units.Duration, acked int64, inflight units.Size) uint8 {
	if c.adapt(now, false, marked, delay, inflight) {
		return actionQuickAdapt
	}
	action := actionNone
	switch {
	case !marked && delay >= c.target:
		action = actionFair
		c.increase += float64(c.growth * c.fair * float64(acked))
	case !marked:
		action = actionProportional
		if c.fastIncrease(delay, acked) {
			action = actionFast
		} else {
			c.increase += float64(c.growth * c.alpha * float64(acked) * float64(c.target-delay))
		}
	case delay >= c.target:
		action = actionDecrease
		c.decrease(now)
	}
	c.bound()
	if c.received > c.adjustBytes || now.Sub(c.lastAdjust) > c.path.NetworkRTT {
		c.adjust(now)
	}
	c.bound()
	return action
}

// fastIncrease grows the window at once when the path has been idle for a whole
// window.
func (c *nsccState) fastIncrease(delay units.Duration, acked int64) bool {
	if delay >= fastBelow {
		c.fastCount, c.fastMode = 0, false
		return false
	}
	c.fastCount += acked
	if c.fastCount <= c.cwnd && !c.fastMode {
		return false
	}
	c.cwnd += int64(c.growth * float64(acked) * c.fastGain)
	c.fastMode = true
	return true
}

// decrease cuts by the average delay, at most once per base RTT.
func (c *nsccState) decrease(now units.Time) {
	c.fastCount, c.fastMode = 0, false
	if c.avgDelay <= c.target || now.Sub(c.lastCut) <= c.baseRTT {
		return
	}
	avg := float64(c.avgDelay)
	factor := max(1-float64(c.gamma*(avg-float64(c.target))/avg), maxCut)
	c.cwnd = max(int64(float64(c.cwnd)*factor), int64(c.path.MTU))
	c.lastCut = now
}

// adjust spends what the increases have collected.
func (c *nsccState) adjust(now units.Time) {
	c.cwnd += int64(c.increase / float64(c.cwnd))
	if now.Sub(c.lastAdjust) >= c.path.NetworkRTT {
		c.cwnd += int64(c.growth * float64(c.eta))
		c.lastAdjust = now
	}
	c.increase, c.received = 0, 0
}

// adapt is quick adapt: after heavy loss the window becomes what was
// acknowledged in the last base RTT plus target, and signals of the flight that
// was under way are ignored. It reports whether the event is dealt with.
func (c *nsccState) adapt(now units.Time, loss, marked bool, delay units.Duration, inflight units.Size) (done bool) {
	switch {
	case !c.quickAdapt:
		return false
	case c.bytesIgnored < c.bytesToIgnore && marked:
		done = true
	case now > c.qaEnd:
		if c.qaEnd != 0 && (c.qaTriggered || loss || delay > quickAdaptDelays*c.target) && c.qaAchieved < c.maxWindow>>quickAdaptGate {
			c.cwnd = max(c.qaAchieved, int64(c.path.MTU))
			c.bytesToIgnore, c.bytesIgnored = int64(inflight), 0
			c.qaTriggered = false
			done = true
		}
		c.qaAchieved = 0
		c.qaEnd = now.Add(c.baseRTT + c.target)
	}
	if done {
		c.increase, c.received = 0, 0
	}
	return done
}

// OnNack counts a trimmed packet. It was short on the rest of its way, so that the RTT of its NACK
// lies below base RTT: by 0.33 us for each serialisation at 100 Gb/s that it skipped.
func (c *nsccState) OnNack(now units.Time, n *Nack) {
	if c.rttFromNack && n.HasRTT && n.RTT < c.baseRTT {
		c.setBaseRTT(n.RTT)
	}
	c.bytesIgnored += int64(n.Size)
	c.average(c.path.NetworkRTT, true) // a trim counts as one network RTT of queue
	c.qaTriggered = true
	// With receiver credits the receiver answers for its own link: a trim there does not
	// cut the window.
	if !c.adapt(now, true, true, 0, n.Inflight) && !(c.path.Credits && n.LastHop) {
		c.cwnd -= int64(n.Size)
	}
	c.bound()
	c.publish()
}

func (c *nsccState) OnTimeout(_ units.Time, t *Timeout) {
	c.cwnd -= int64(t.Size)
	c.bound()
	c.publish()
}

func (c *nsccState) setBaseRTT(rtt units.Duration) {
	c.baseRTT = rtt
	c.maxWindow = nsccMaxWindow(rtt, c.path)
}

// nsccMaxWindow returns the largest window in bytes with a base RTT, which begins as the
// network RTT and only falls.
func nsccMaxWindow(rtt units.Duration, p Path) int64 {
	return max(int64(maxWindowBDP*float64(bdp(rtt, p.LinkRate))), int64(p.MTU))
}

func (c *nsccState) bound() {
	c.cwnd = max(min(c.cwnd, c.maxWindow), int64(c.path.MTU))
}

func (c *nsccState) publish() {
	c.out.Window = units.Size(c.cwnd)
	c.out.BaseRTT = c.baseRTT
}
