package balance

import (
	"fmt"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// plb keeps one EV and changes it after several congested rounds in a row, sooner when
// nothing is in flight, and at once after a timeout (Qureshi et al., "PLB: Congestion
// Signals are Simple and Effective for Network Load Balancing", SIGCOMM'22; rules and
// defaults are those of Linux, net/ipv4/tcp_plb.c and
// Documentation/networking/ip-sysctl.rst).
//
// Departs from Linux: a trimmed packet counts as a marked one, because switches here trim;
// a new EV is never the old one.
var plb = Algorithm{
	Spec: algorithm.Spec{Name: "plb", Doc: "one EV until several rounds in a row were congested, then another one", Params: []algorithm.Param{
		paths,
		{Name: "signal", Kind: algorithm.Enum, Default: "ecn", Values: []string{"ecn", "delay"}, Doc: "what makes a packet a congested one: a mark, or an RTT above delay"},
		{
			Name: "delay", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration),
			// NSCC's target of 0.75 network RTT (docs/reference/references.md#network-constants) above an idle path.
			Doc: "with signal delay: RTT above which a packet is congested; auto: 1.75 of the network RTT",
		},
		{Name: "share", Kind: algorithm.Number, Default: "0.5", Check: algorithm.Share, Doc: "a round is congested from this share of congested bytes, above 0, up to 1"}, // tcp_plb_cong_thresh: 128 of 256
		{Name: "rounds", Kind: algorithm.Int, Default: "12", Check: atLeastOne, Doc: "congested rounds in a row after which the EV changes"},                              // tcp_plb_rehash_rounds
		{Name: "idle_rounds", Kind: algorithm.Int, Default: "3", Check: atLeastOne, Doc: "the same where nothing is in flight"},                                           // tcp_plb_idle_rehash_rounds
		{Name: "suspend", Kind: algorithm.Duration, Default: "60s", Check: algorithm.NotNegative(units.ParseDuration), // tcp_plb_suspend_rto_sec
			Doc: "after a timeout, which changes the EV at once, congestion changes nothing for a time drawn between this and twice this"},
	}},
	OnePath: true,
	Build:   newPLB,
}

// atLeastOne is a Check of an Int.
func atLeastOne(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 {
		return fmt.Errorf("%s is less than 1", text)
	}
	return nil
}

type plbState struct {
	label
	delay              units.Duration // 0: signal ecn
	share              float64
	rounds, idleRounds int
	suspend            units.Duration

	congested      int        // rounds in a row
	suspended      units.Time // until then congestion changes nothing
	round          units.Time // beginning of the round
	bad, delivered units.Size // of the round's feedback
}

func newPLB(f Flow, r *algorithm.Reader) Balancer {
	s := &plbState{
		label: newLabel(f, r), share: r.Number("share"), rounds: r.Int("rounds"), idleRounds: r.Int("idle_rounds"), suspend: r.Duration("suspend"),
	}
	delay := algorithm.OrAuto(r, "delay", r.Duration, f.NetworkRTT*7/4)
	if r.Text("signal") == "delay" {
		s.delay = delay
	}
	return s
}

func (s *plbState) Next(units.Time) uint16 { return s.ev }

func (s *plbState) OnFeedback(now units.Time, f *Feedback) {
	if f.Outcome == Lost {
		s.congested = 0
		s.suspended = now.Add(s.suspend)
		if s.suspend > 0 {
			s.suspended = s.suspended.Add(units.Duration(s.flow.Random.Int64N(int64(s.suspend))))
		}
		s.change()
		return
	}
	s.count(f)
	// A round ends when a packet comes back that was sent in it: then all that were sent
	// before have had their time.
	if f.Dated && now.Add(-f.Age) >= s.round {
		s.endRound(now)
	}
	idle := f.Inflight == 0 && s.congested >= s.idleRounds
	if now >= s.suspended && (idle || s.congested >= s.rounds) {
		s.congested = 0
		s.change()
	}
}

// count adds feedback to the round. Of the bytes that an ACK reports one packet at most
// is marked: the others were coalesced because they were not.
func (s *plbState) count(f *Feedback) {
	packet := min(f.Acked, s.flow.MTU)
	s.delivered += f.Acked
	switch {
	case f.Outcome == Trimmed:
		s.bad += s.flow.MTU
		s.delivered += s.flow.MTU
	case s.delay == 0 && f.Outcome == Marked:
		s.bad += packet
	case s.delay > 0 && f.Dated && f.Age > s.delay:
		s.bad += f.Acked
	}
}

func (s *plbState) endRound(now units.Time) {
	if s.delivered > 0 {
		if float64(s.bad) < float64(s.share*float64(s.delivered)) {
			s.congested = 0
		} else {
			s.congested = min(s.congested+1, s.rounds)
		}
	}
	s.round, s.bad, s.delivered = now, 0, 0
}
