package forward

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
)

// valiant sends every packet to another group over a random third one
// (docs/reference/references.md#dragonflies). BookSim draws a node. Deadlock needs no virtual channels
// here: full queues trim or drop.
var valiant = Algorithm{
	Spec: algorithm.Spec{
		Name:   "valiant",
		Doc:    "Dragonfly: over a random group, which spreads any traffic and doubles its way",
		Params: []algorithm.Param{per, via},
	},
	NeedsGroups: true,
	Detours:     true,
	Build:       func(s Switch, r *algorithm.Reader) Policy { return &valiantState{newDetours(s, r)} },
}

type valiantState struct{ detours }

// Forward implements Policy.
func (v *valiantState) Forward(p *wire.Packet) (port int, ok bool) {
	if v.first(p) {
		if at, _, ok := v.random(p); ok {
			if port, ok = v.along(p, v.towards(at)); ok {
				p.SetVia(at.way)
				return port, true
			}
		}
	}
	return v.onward(p)
}
