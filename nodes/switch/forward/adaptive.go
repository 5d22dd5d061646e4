package forward

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
)

// adaptive takes the port with the shortest queue of those on shortest paths, packet by
// packet (uet-htsim strategy ecmp_ar; docs/reference/references.md#load-balancing-in-switches). Every
// wire byte that waits at the port counts. Control packets keep to ecmp.
var adaptive = Algorithm{
	Spec: algorithm.Spec{
		Name: "adaptive",
		Doc:  "shortest paths; each data packet takes the port with the shortest queue",
		Params: []algorithm.Param{
			{Name: "ties", Kind: algorithm.Enum, Values: []string{"hash", "round-robin"}, Default: "hash",
				Doc: "between equal queues: hash: as ecmp, so that an idle fabric reorders nothing; round-robin: the switch takes the ports in turn"},
		},
	},
	Build: func(s Switch, r *algorithm.Reader) Policy {
		return &adaptiveState{Switch: s, turns: r.Text("ties") == "round-robin"}
	},
}

type adaptiveState struct {
	Switch
	turns bool
	turn  uint64
}

// Forward implements Policy.
func (a *adaptiveState) Forward(p *wire.Packet) (port int, ok bool) {
	if !Free(p) {
		return a.ECMP.Forward(p)
	}
	ports := a.ECMP.Ports(p)
	if len(ports) < 2 {
		return a.ECMP.Forward(p)
	}
	var first int
	if a.turns {
		first = int(a.turn % uint64(len(ports)))
		a.turn++
	} else {
		first = among(p.Hash(a.ECMP.seed), len(ports))
	}
	best := int(ports[first])
	least := a.Queued(best)
	for i := 1; i < len(ports) && least > 0; i++ {
		if first++; first == len(ports) {
			first = 0
		}
		if q := a.Queued(int(ports[first])); q < least {
			best, least = int(ports[first]), q
		}
	}
	return best, true
}
