// Package congestion has, in this file, a congestion controller as somebody writes it
// who has not read what else it needs: no limit for its suite, and no words in docs/.
package congestion

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// halving has a window of one BDP, and of half a BDP after a loss.
var halving = Algorithm{
	Spec: algorithm.Spec{
		Name: "halving",
		Doc:  "one BDP, or half of it after a loss",
		Params: []algorithm.Param{{
			Name: "back_after", Kind: algorithm.Duration, Default: "1ms", Check: algorithm.Positive(units.ParseDuration), Doc: "time from a loss to the whole window",
		}},
	},
	Actions: []Action{{"stay", "stay", "stay"}},
	Build: func(p Path, r *algorithm.Reader) Controller {
		return &halvingState{path: p, after: r.Duration("back_after"), out: Output{Window: p.LinkRate.Volume(p.NetworkRTT), BaseRTT: p.NetworkRTT}}
	},
}

type halvingState struct {
	path  Path
	after units.Duration
	lost  units.Time
	out   Output
}

func (s *halvingState) Output() *Output { return &s.out }

func (s *halvingState) OnAck(now units.Time, _ *Ack) {
	if now.Sub(s.lost) > s.after {
		s.out.Window = s.path.LinkRate.Volume(s.path.NetworkRTT)
	}
}

func (s *halvingState) OnNack(now units.Time, _ *Nack)       { s.lose(now) }
func (s *halvingState) OnTimeout(now units.Time, _ *Timeout) { s.lose(now) }

func (s *halvingState) lose(now units.Time) {
	s.lost, s.out.Window = now, max(s.path.LinkRate.Volume(s.path.NetworkRTT)/2, s.path.MTU)
}
