package aqm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// red is Random Early Detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking
// 1993), and with weight 1 and without spread the congestion point of DCQCN (SIGCOMM 2015,
// §3.1). Departs from RED, which decides about arriving packets: a packet is marked as it
// leaves, by the queue behind it, as all policies here do. DCQCN's paper marks from 5 KB, 1 % at
// 200 KB and all above, at 40 Gb/s; the public HPCC simulator from 4 B per Mb/s of the link to 16,
// with 20 %.
var red = Algorithm{
	Spec: algorithm.Spec{
		Name: "red",
		Doc:  "ECN marks by the average queue: none up to low, with a probability that rises to max_p at high, every packet from there",
		Params: []algorithm.Param{
			{Name: "low", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseSize), Doc: "no packet is marked below; auto: links.ecn.low"},
			{Name: "high", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseSize), Doc: "every packet is marked from here; auto: links.ecn.high"},
			{Name: "max_p", Kind: algorithm.Number, Default: "0.1", Check: algorithm.Share, Doc: "probability of a mark just below high, 0 to 1"},
			{Name: "weight", Kind: algorithm.Number, Default: "0.002", Check: algorithm.Share, Doc: "of each packet's queue in the average; 1, with spread false: the congestion point of DCQCN"},
			{Name: "spread", Kind: algorithm.Bool, Default: "true", Doc: "space the marks evenly: count the packets since the last one (RED's method 2)"},
			{Name: "packet", Kind: algorithm.Size, Default: "1000B", Check: algorithm.Positive(units.ParseSize), Doc: "a typical packet: while the port is idle the average falls as if such packets found no queue"},
		},
	},
	Build: newRED,
}

type redState struct {
	low, high float64
	maxP      float64
	weight    float64
	spread    bool
	typical   units.Duration // of a packet on the line
	random    *rand.Rand

	average float64
	since   int        // packets since the last mark while the average was between the thresholds; -1: it was below
	idle    units.Time // since when the port has had no queue; Never: it has one
}

func newRED(p Port, r *algorithm.Reader) Policy {
	low := algorithm.OrAuto(r, "low", r.Size, p.ECN.Low)
	high := algorithm.OrAuto(r, "high", r.Size, p.ECN.High)
	s := &redState{
		low: float64(low), high: float64(high),
		maxP: r.Number("max_p"), weight: r.Number("weight"), spread: r.Bool("spread"),
		random: p.Random, since: -1, idle: 0,
	}
	if p.Rate > 0 {
		s.typical = p.Rate.Serialisation(r.Size("packet"))
	}
	if low < 0 || low > high {
		r.Fail("low", fmt.Errorf("%v is not from 0B to high, %v", low, high))
	}
	return s
}

func (s *redState) Mark(now units.Time, d Departure) bool {
	s.observe(now, d)
	switch {
	case s.average < s.low || s.average == 0:
		s.since = -1
		return false
	case s.average >= s.high:
		s.since = 0
		return true
	}
	s.since++
	p := s.maxP * (s.average - s.low) / (s.high - s.low)
	if s.spread {
		// p_a = p_b / (1 - count p_b)
		rest := 1 - float64(float64(s.since)*p)
		if rest <= p {
			p = 1
		} else {
			p /= rest
		}
	}
	if s.random.Float64() >= p {
		return false
	}
	s.since = 0
	return true
}

// observe moves the average: avg = (1 - w) avg + w q; after an idle time in which m typical
// packets could have been sent, avg = (1 - w)^m avg.
func (s *redState) observe(now units.Time, d Departure) {
	if s.idle != units.Never && d.Waited == 0 && s.typical > 0 && s.weight < 1 {
		s.average *= math.Pow(1-s.weight, float64(now.Sub(s.idle))/float64(s.typical))
	}
	s.average += float64(s.weight * (float64(d.Queue) - s.average))
	s.idle = units.Never
	if d.Queue == 0 {
		s.idle = now
	}
}
