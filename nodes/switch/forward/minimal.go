package forward

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
)

// minimal keeps to the minimal paths of a Dragonfly: local, global, local, with one
// global link (Kim et al., ISCA 2008; docs/reference/references.md#dragonflies). topologies.NextHops
// finds them, so that ecmp keeps to them too. Of several links between two groups it
// takes one per flow, as ecmp, or one per packet.
var minimal = Algorithm{
	Spec: algorithm.Spec{
		Name:   "minimal",
		Doc:    "Dragonfly: local, global, local; any fabric: shortest paths",
		Params: []algorithm.Param{per},
	},
	Build: func(s Switch, r *algorithm.Reader) Policy {
		if r.Text("per") == "flow" {
			return s.ECMP
		}
		return &minimalState{s}
	},
}

// per is the parameter of policies that choose for each packet or for each flow.
var per = algorithm.Param{
	Name: "per", Kind: algorithm.Enum, Values: []string{"packet", "flow"}, Default: "packet",
	Doc: "packet: each data packet has its own choice; flow: all packets of a flow with one entropy value share it",
}

type minimalState struct{ Switch }

// Forward implements Policy.
func (m *minimalState) Forward(p *wire.Packet) (port int, ok bool) {
	if !Free(p) {
		return m.ECMP.Forward(p)
	}
	ports := m.ECMP.Ports(p)
	if len(ports) < 2 {
		return m.ECMP.Forward(p)
	}
	return int(ports[among(m.Random.Uint64(), len(ports))]), true
}
