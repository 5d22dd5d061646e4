package aqm

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// linear marks departing packets with a probability that is 0 up to low, rises
// linearly and is 1 from high on (uet-htsim compositequeue: decide_ECN). The
// queue is taken after the departing packet has left it.
var linear = Algorithm{
	Spec: algorithm.Spec{
		Name: "linear",
		Doc:  "ECN marks by the queue left behind: none up to low, every packet from high, linear between",
		Params: []algorithm.Param{
			{Name: "low", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseSize), Doc: "no packet is marked up to here; auto: links.ecn.low"},
			{Name: "high", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.NotNegative(units.ParseSize), Doc: "every packet is marked from here; auto: links.ecn.high"},
		},
	},
	Build: newLinear,
}

type linearState struct {
	low, high units.Size
	random    *rand.Rand
}

func newLinear(p Port, r *algorithm.Reader) Policy {
	l := &linearState{
		low:    algorithm.OrAuto(r, "low", r.Size, p.ECN.Low),
		high:   algorithm.OrAuto(r, "high", r.Size, p.ECN.High),
		random: p.Random,
	}
	if l.low < 0 || l.low > l.high {
		r.Fail("low", fmt.Errorf("%v is not from 0B to high, %v", l.low, l.high))
	}
	return l
}

// Mark draws only between the thresholds.
func (l *linearState) Mark(_ units.Time, d Departure) bool {
	switch {
	case d.Queue <= l.low && d.Queue < l.high:
		return false
	case d.Queue >= l.high:
		return true
	}
	return units.Size(l.random.Uint64N(uint64(l.high-l.low))) < d.Queue-l.low
}
