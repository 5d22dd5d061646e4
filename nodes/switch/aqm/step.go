package aqm

import (
	"errors"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// step marks every packet that leaves a long queue behind: the threshold K of DCTCP
// (SIGCOMM 2010, §3.1), and the step that UEC names beside the linear policy
// (docs/reference/references.md#switch-queue).
var step = Algorithm{
	Spec: algorithm.Spec{
		Name: "step",
		Doc:  "ECN marks every packet that leaves a queue of threshold or more behind",
		Params: []algorithm.Param{
			{Name: "threshold", Kind: algorithm.Size, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseSize), Doc: "every packet that leaves so much behind is marked; auto: the middle of links.ecn.low and links.ecn.high, 0.5 BDP when they are auto"},
		},
	},
	Build: newStep,
}

type stepState struct{ threshold units.Size }

func newStep(p Port, r *algorithm.Reader) Policy {
	s := stepState{algorithm.OrAuto(r, "threshold", r.Size, (p.ECN.Low+p.ECN.High)/2)}
	if s.threshold <= 0 {
		r.Fail("threshold", errors.New("0B would mark every packet"))
	}
	return s
}

func (s stepState) Mark(_ units.Time, d Departure) bool { return d.Queue >= s.threshold }
