package balance

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// ecmp keeps the EV that follows from the flow alone, as a hash of the 5-tuple: a flow
// has the same EV under every seed. Of several flows between two hosts each has its own.
var ecmp = Algorithm{
	Spec:    algorithm.Spec{Name: "ecmp", Doc: "one EV for the whole flow, a hash of the flow", Params: []algorithm.Param{paths}},
	OnePath: true,
	Build: func(f Flow, _ *algorithm.Reader) Balancer {
		const letters = 0x65636d70 // ecmp: a stream of its own
		return &singleState{uint16(wire.Mix(uint64(f.ID), letters) % wire.EntropyRange)}
	},
}

// single keeps one EV, which is drawn: under another seed it is another one. It takes
// paths, which it does not use, so that flows can be compared with one path and with
// several by the name alone. So does ecmp.
var single = Algorithm{
	Spec:    algorithm.Spec{Name: "single", Doc: "one EV for the whole flow", Params: []algorithm.Param{paths}},
	OnePath: true,
	Build: func(f Flow, _ *algorithm.Reader) Balancer {
		return &singleState{uint16(f.Random.IntN(wire.EntropyRange))}
	},
}

type singleState struct{ ev uint16 }

func (s *singleState) Next(units.Time) uint16           { return s.ev }
func (s *singleState) OnFeedback(units.Time, *Feedback) {}

// label is the one EV at a time of a balancer that moves a whole flow. Its upper bits are
// the flow's own, as those of walk.
type label struct {
	flow  Flow
	paths int
	ev    uint16
}

func newLabel(f Flow, r *algorithm.Reader) label {
	return label{flow: f, paths: r.Int("paths"), ev: uint16(f.Random.IntN(wire.EntropyRange))}
}

// change draws another EV, of which all are equally likely. With one path there is none.
func (l *label) change() {
	if l.paths > 1 {
		l.ev ^= uint16(1 + l.flow.Random.IntN(l.paths-1))
	}
}
