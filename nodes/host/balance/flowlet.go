package balance

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// flowlet changes the EV when the flow has sent nothing for longer than a gap: packets
// before the gap have arrived then, and none is overtaken (Kandula et al., "Dynamic Load
// Balancing Without Packet Reordering", CCR 37(2), 2007; LetFlow, NSDI'17). The EV is
// drawn, as in LetFlow.
var flowlet = Algorithm{
	Spec: algorithm.Spec{Name: "flowlet", Doc: "one EV until the flow pauses, then another one", Params: []algorithm.Param{
		paths,
		{
			Name: "gap", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration),
			// The gap must exceed the difference of the paths' delays; an RTT of the
			// longest idle path does so where queues are short.
			Doc: "pause after which the EV changes; auto: the network RTT",
		},
	}},
	OnePath: true,
	Build: func(f Flow, r *algorithm.Reader) Balancer {
		return &flowletState{label: newLabel(f, r), gap: algorithm.OrAuto(r, "gap", r.Duration, f.NetworkRTT), last: units.Never}
	},
}

type flowletState struct {
	label
	gap  units.Duration
	last units.Time // a packet was sent; units.Never: none
}

func (s *flowletState) Next(now units.Time) uint16 {
	if s.last != units.Never && now.Sub(s.last) > s.gap {
		s.change()
	}
	s.last = now
	return s.ev
}

func (s *flowletState) OnFeedback(units.Time, *Feedback) {}
