package plan

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// checkRouting refuses a routing policy whose parameters make no sense, before a switch
// is built. routes are those of the switches.
func checkRouting(routes []topologies.Routes, a experiment.Algorithm) error {
	policy, ok := forward.Table.Lookup(a.Name)
	if !ok {
		return failure.At("routing", fmt.Errorf("unknown routing %q", a.Name))
	}
	ecmp := forward.NewECMP(forward.Config{Routes: routes[0]})
	at := forward.Switch{ECMP: &ecmp, Queued: func(int) units.Size { return 0 }, Random: rand.New(rand.NewPCG(0, 0))}
	if _, err := policy.New(at, a.Params); err != nil {
		return failure.AtParam("routing", err)
	}
	return nil
}
