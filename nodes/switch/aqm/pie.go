package aqm

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// pie is Proportional Integral controller Enhanced (RFC 8033) for the times of a data
// centre: a probability that follows the delay of packets, and not the length of the
// queue. Departs from RFC 8033: packets are marked and never dropped (§5.1 drops beyond a
// probability of 0.1), as they leave, by the time that they waited (§5.2), and alpha and
// beta, which it gives for a target of 15 ms, are those of the same relative error at any
// target.
var pie = Algorithm{
	Spec: algorithm.Spec{
		Name: "pie",
		Doc:  "ECN marks with a probability that follows the waiting time: PIE of RFC 8033",
		Params: []algorithm.Param{
			{Name: "target", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "waiting time aimed for; auto: that of a queue of links.ecn.low"},
			{Name: "update", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "time between updates of the probability; auto: target"},
			{Name: "alpha", Kind: algorithm.Number, Default: "0.125", Check: gain, Doc: "gain of the distance from the target, for a target of 15 ms as RFC 8033 gives it; other targets have the same relative gain"},
			{Name: "beta", Kind: algorithm.Number, Default: "1.25", Check: gain, Doc: "gain of the change since the last update, likewise"},
			{Name: "burst", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseDuration), Doc: "time without marks after an idle port; auto: 10 targets"},
		},
	},
	Build: newPIE,
}

// gain refuses negative gains.
func gain(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err != nil || v < 0 || v > 1000 {
		return fmt.Errorf("%s is no gain; want 0 to 1000", text)
	}
	return nil
}

type pieState struct {
	target, update, burst units.Duration
	alpha, beta           float64 // per target
	random                *rand.Rand

	p        float64
	old      units.Duration // waiting time at the last update
	next     units.Time     // update
	allowed  units.Duration // of burst that is left
	measured units.Duration // waiting time of the last packet
}

func newPIE(p Port, r *algorithm.Reader) Policy {
	low := units.Duration(0)
	if p.Rate > 0 {
		low = p.Rate.Serialisation(p.ECN.Low)
	}
	s := &pieState{target: algorithm.OrAuto(r, "target", r.Duration, low), random: p.Random}
	s.target = max(s.target, units.Picosecond)
	s.update = algorithm.OrAuto(r, "update", r.Duration, s.target)
	s.burst = algorithm.OrAuto(r, "burst", r.Duration, 10*s.target)
	const reference = 0.015 // s
	s.alpha, s.beta = r.Number("alpha")*reference, r.Number("beta")*reference
	s.allowed = s.burst
	return s
}

func (s *pieState) Mark(now units.Time, d Departure) bool {
	s.advance(now, d.Waited)
	s.measured = d.Waited
	// RFC 8033 §4.1: safeguards, and §4.4: bursts.
	if s.allowed > 0 || s.old < s.target/2 && s.p < 0.2 || d.Queue == 0 || s.p <= 0 {
		return false
	}
	return s.random.Float64() < s.p
}

// advance makes the updates that are due. Between packets the port was idle, but for the
// time that this packet waited.
func (s *pieState) advance(now units.Time, waited units.Duration) {
	if s.next == 0 {
		s.next = now.Add(s.update)
		return
	}
	for now >= s.next {
		delay := s.measured
		if s.next < now.Add(-waited) {
			delay = 0
		}
		s.step(delay)
		s.next = s.next.Add(s.update)
		if s.p == 0 && s.old == 0 && s.allowed == s.burst && now > s.next {
			s.next = now.Add(s.update) // nothing changes any more
		}
	}
}

// step is RFC 8033 §4.2 with a delay.
func (s *pieState) step(delay units.Duration) {
	target := float64(s.target)
	change := float64(s.alpha*(float64(delay)-target)/target) + float64(s.beta*(float64(delay)-float64(s.old))/target)
	switch { // the smaller the probability, the smaller the steps
	case s.p < 0.000001:
		change /= 2048
	case s.p < 0.00001:
		change /= 512
	case s.p < 0.0001:
		change /= 128
	case s.p < 0.001:
		change /= 32
	case s.p < 0.01:
		change /= 8
	case s.p < 0.1:
		change /= 2
	}
	if s.p >= 0.1 && change > 0.02 { // cap the increase
		change = 0.02
	}
	s.p += change
	if delay == 0 && s.old == 0 {
		s.p *= 0.98
	}
	s.p = min(max(s.p, 0), 1)
	if s.p < 1e-12 {
		s.p = 0
	}
	s.allowed = max(0, s.allowed-s.update)
	if s.p == 0 && delay < s.target/2 && s.old < s.target/2 {
		s.allowed = s.burst
	}
	s.old = delay
}
