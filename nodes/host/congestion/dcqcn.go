package congestion

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// dcqcn is DCQCN's reaction point (SIGCOMM'15 paper, §3.1 and figure 7): a rate that
// congestion notification packets cut, and that timer and byte counter let grow again in
// three stages. The notification point is the transport's receiver, the congestion point
// the AQM of the switches' ports (links.aqm: red).
//
//	              CNP
//	   ┌───────────────────────────┐
//	   v                           │
//	fast recovery ──> additive ──> hyper increase
//	 max(T,BC) < F                  min(T,BC) > F
//
// The paper's values are of 40 Gbps. Times stay: T, K and N. What is a rate or bytes at a
// rate is scaled with the link: B, R_AI, R_HAI and the least rate.
//
// It has no window. A flow is limited by its rate, and on a lossless class by PFC.
//
// Modes of the HotNets'22 paper on congestion control in machine learning clusters: timer
// is its static unfairness, where a job with a smaller one is more aggressive, and
// adaptive scales R_AI by 1 + sent/total of the communication phase.
//
// With rules: connectx the reaction point is that of connectX.
var dcqcn = Algorithm{
	Spec: algorithm.Spec{
		Name: "dcqcn",
		Doc:  "DCQCN: a rate cut by congestion notification packets; adaptive scales its increase by the progress of the phase",
		Params: []algorithm.Param{
			{Name: "timer", Kind: algorithm.Duration, Default: "55us", Check: timerCheck, Doc: "T, the time between increases; less is more aggressive"},
			{Name: "byte_counter", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), With: &algorithm.Condition{Param: "rules", Values: []string{dcqcnPaper}}, Doc: "B, the bytes sent between increases; auto: 10 MB at 40 Gbps, in proportion to the link; only with rules paper"},
			{Name: "fast_recovery", Kind: algorithm.Int, Default: "5", Check: positiveNumber, Doc: "F, the increases of each kind until fast recovery ends"},
			{Name: "alpha_gain", Kind: algorithm.Number, Default: "0.00390625", Check: algorithm.Share, Doc: "g, the gain of alpha: 1/256"},
			{Name: "alpha_timer", Kind: algorithm.Duration, Default: "55us", Check: timerCheck, Doc: "K, the time without a CNP after which alpha falls"},
			{Name: "cnp_interval", Kind: algorithm.Duration, Default: "50us", Check: algorithm.Positive(units.ParseDuration), Doc: "N, the least time between two CNPs of a flow"},
			{Name: "rate_ai", Kind: algorithm.Rate, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseRate), Doc: "R_AI, the additive increase; auto: 40 Mbps at 40 Gbps, in proportion to the link"},
			{Name: "rate_hai", Kind: algorithm.Rate, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseRate), Doc: "R_HAI, the hyper increase; auto: 10 times rate_ai"},
			{Name: "min_rate", Kind: algorithm.Rate, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseRate), Doc: "the least rate; auto: 1/1000 of the link, 100 Mbps at 100 Gbps"},
			{Name: "adaptive", Kind: algorithm.Bool, Default: "false", Doc: "R_AI times 1 + sent/total of the communication phase; with rules connectx R_HAI, too"},
			{Name: "rules", Kind: algorithm.Enum, Default: dcqcnPaper, Values: []string{dcqcnPaper, dcqcnConnectX}, Doc: "paper: as published; connectx: as a public model of ConnectX NICs, in which the timer alone leads to hyper increase and a cut keeps a target that has not been reached"},
			{Name: "cut_interval", Kind: algorithm.Duration, Default: "4us", Check: algorithm.Positive(units.ParseDuration), With: &algorithm.Condition{Param: "rules", Values: []string{dcqcnConnectX}}, Doc: "the least time between two cuts; further CNPs count in alpha alone"},
		},
	},
	Actions: []Action{
		dcqcnHold:     {"hold", "hold", "hold"},
		dcqcnDecrease: {"rate_decrease", "rate decrease", "decrease"},
		dcqcnFast:     {"fast_recovery", "fast recovery (FR)", "FR"},
		dcqcnAdditive: {"additive_increase", "additive increase (AI)", "AI"},
		dcqcnHyper:    {"hyper_increase", "hyper increase (HI)", "HI"},
	},
	Build: newDCQCN,
	Share: dcqcnShare,
	Needs: func(r *algorithm.Reader) Needs { return Needs{CNP: r.Duration("cnp_interval")} },
	Windows: func(p Path, _ *algorithm.Reader) Windows {
		return Windows{Min: unlimited(p), Max: unlimited(p)}
	},
}

// Rules of dcqcn.
const (
	dcqcnPaper    = "paper"
	dcqcnConnectX = "connectx"
)

// Stages of dcqcn, which an ACK reports as its action.
const (
	dcqcnHold     uint8 = iota // line rate, no CNP so far
	dcqcnDecrease              // since the last CNP no increase
	dcqcnFast
	dcqcnAdditive
	dcqcnHyper
)

// The paper's figures at its line rate, and the proportions of the public HPCC simulator
// (alibaba-edu) for what the paper does not give.
const (
	dcqcnPaperRate  = 40 * units.Gbps
	dcqcnPaperBytes = 10 * units.MB
	dcqcnPaperAI    = 40 * units.Mbps
	dcqcnHyperAI    = 10   // R_HAI / R_AI
	dcqcnLeast      = 1000 // line rate / least rate: there 100 Mbps at 100 Gbps
)

// timerCheck is a Check of a Duration: from 1 us. Flows have their timers served one by one.
func timerCheck(text string) error {
	if d, err := units.ParseDuration(text); err != nil || d < units.Microsecond {
		return fmt.Errorf("%s is less than 1us", text)
	}
	return nil
}

// reaction is what the rules of dcqcn have in common. It answers neither a NACK nor a timeout:
// the paper's losses are PFC's matter, and the transport sends again.
type reaction struct {
	passive
	line     float64 // bit/s, as all rates here
	least    float64
	ai, hai  float64
	gain     float64
	timer    units.Duration
	fast     int
	alphaGap units.Duration
	adaptive bool
	growth   float64 // of increases; see scaled

	current float64 // R_C
	target  float64 // R_T
	alpha   float64
	limited bool // there was a CNP: the reaction point exists

	times   int // T
	timerAt units.Time
	alphaAt units.Time

	phase progress
}

// dcqcnState has the rules of the paper.
type dcqcnState struct {
	reaction
	bytes     units.Size
	counts    int        // BC
	sentSince units.Size // since the last byte counter event
}

// progress is how much of the communication phase of an application has been sent.
type progress struct{ sent, total units.Size }

// begin takes the begin or the end of a phase.
func (g *progress) begin(p *Phase) {
	*g = progress{total: p.Total}
	if !p.Begin {
		g.sent = p.Sent
	}
}

// send counts a packet that leaves, once.
func (g *progress) send(s *Send) {
	if !s.Again {
		g.sent += s.Size
	}
}

// ratio returns sent/total, from 0 to 1, and 0 outside phases.
func (g *progress) ratio() float64 {
	if g.total <= 0 {
		return 0
	}
	return min(float64(g.sent)/float64(g.total), 1)
}

// inProportion returns what the paper has at its line rate, at this one.
func inProportion(v int64, line units.Rate) int64 {
	return max(1, int64(float64(v)*(float64(line)/float64(dcqcnPaperRate))))
}

func newDCQCN(p Path, r *algorithm.Reader) Controller {
	ai := algorithm.OrAuto(r, "rate_ai", r.Rate, units.Rate(inProportion(int64(dcqcnPaperAI), p.LinkRate)))
	least := algorithm.OrAuto(r, "min_rate", r.Rate, max(1, p.LinkRate/dcqcnLeast))
	if least > p.LinkRate {
		r.Fail("min_rate", fmt.Errorf("%v is more than the link's %v", least, p.LinkRate))
	}
	point := reaction{
		passive: newPassive(p), line: float64(p.LinkRate), least: float64(least), ai: float64(ai),
		hai:  float64(algorithm.OrAuto(r, "rate_hai", r.Rate, dcqcnHyperAI*ai)),
		gain: r.Number("alpha_gain"), timer: r.Duration("timer"),
		fast: r.Int("fast_recovery"), alphaGap: r.Duration("alpha_timer"), adaptive: r.Bool("adaptive"), growth: 1,
		current: float64(p.LinkRate), target: float64(p.LinkRate), alpha: 1,
		timerAt: units.Never, alphaAt: units.Never,
	}
	point.out.Window = unlimited(p)
	point.publish()
	bytes := algorithm.OrAuto(r, "byte_counter", r.Size, units.Size(inProportion(int64(dcqcnPaperBytes), p.LinkRate)))
	if r.Text("rules") == dcqcnConnectX {
		return &connectX{reaction: point, cutGap: r.Duration("cut_interval")}
	}
	return &dcqcnState{reaction: point, bytes: bytes}
}

func (c *reaction) scaleIncrease(factor float64) { c.growth = factor }

// OnCNP is the cut (paper §3.1, equation 1): R_T = R_C; R_C = R_C (1 - alpha/2); alpha =
// (1-g) alpha + g. Timer and byte counter begin anew.
func (c *dcqcnState) OnCNP(now units.Time) {
	c.limited = true
	c.target = c.current
	c.current *= 1 - c.alpha/2
	c.alpha = float64((1-c.gain)*c.alpha) + c.gain
	c.times, c.counts, c.sentSince = 0, 0, 0
	c.timerAt, c.alphaAt = now.Add(c.timer), now.Add(c.alphaGap)
	c.out.Action = dcqcnDecrease
	c.publish()
}

// OnTimer serves the timers that are due: alpha = (1-g) alpha after each K without a CNP
// (equation 2), and an increase each T.
func (c *dcqcnState) OnTimer(now units.Time) {
	for c.alphaAt <= now {
		c.alpha *= 1 - c.gain
		c.alphaAt = c.alphaAt.Add(c.alphaGap)
	}
	for c.timerAt <= now {
		c.times++
		c.increase()
		c.timerAt = c.timerAt.Add(c.timer)
	}
	c.publish()
}

// OnSend counts bytes: each B of them are an increase.
func (c *dcqcnState) OnSend(_ units.Time, s *Send) {
	c.phase.send(s)
	if !c.limited {
		return
	}
	c.sentSince += s.Size
	if c.sentSince < c.bytes {
		return
	}
	c.sentSince -= c.bytes
	c.counts++
	c.increase()
	c.publish()
}

// increase is a step of the rate (paper §3.1, figure 7, equations 3 and 4).
func (c *dcqcnState) increase() {
	most, least := max(c.times, c.counts), min(c.times, c.counts)
	switch {
	case most < c.fast:
		c.out.Action = dcqcnFast
	case least > c.fast:
		c.target += float64(float64(least-c.fast) * c.hai * c.growth)
		c.out.Action = dcqcnHyper
	default:
		c.target += float64(c.ai * c.share() * c.growth)
		c.out.Action = dcqcnAdditive
	}
	c.approach()
}

// share returns the factor of adaptive unfairness (HotNets'22: R_AI (1 + sent/total)).
func (c *reaction) share() float64 {
	if !c.adaptive {
		return 1
	}
	return 1 + c.phase.ratio()
}

// approach takes the rate half way to the target.
func (c *reaction) approach() {
	c.target = min(c.target, c.line)
	c.current = (c.target + c.current) / 2
}

func (c *reaction) OnPhase(_ units.Time, p *Phase) { c.phase.begin(p) }

func (c *reaction) publish() {
	c.current = max(c.least, min(c.current, c.line))
	c.out.PacingRate = 0
	if c.current < c.line {
		c.out.PacingRate = units.Rate(c.current)
	}
	c.out.BaseRTT = c.rtts.base
	c.out.Timer = min(c.timerAt, c.alphaAt)
}

// dcqcnShare: a rate grows by R_AI each T. By the rules of connectx a smaller T also fits one
// increase more between two cuts, and 1/T² is nearer to what packets show (docs/explanation/jobs.md).
func dcqcnShare(r *algorithm.Reader) Share {
	s := Share{Weight: 1 / r.Duration("timer").Microseconds(), Intercept: 1, By: "1/T", Own: []string{"timer"}, Words: "fair"}
	if r.Text("rules") == dcqcnConnectX {
		s.Weight, s.By = s.Weight*s.Weight, "1/T²"
	}
	if r.Bool("adaptive") {
		s.Slope, s.Words = 1, "adaptive: weights 1 + sent/total"
	}
	return s
}
