package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// detour is what the data of a run may do beside taking a minimal path.
type detour struct {
	taken  bool // it may go over a third group
	router bool // to a router of it, not only into it
}

// detour returns that of the routing policy.
func (s *Shape) detour() detour {
	return detour{taken: s.dragonfly != nil, router: s.dragonfly != nil && s.experiment.Routing.Params["via"] == "router"}
}

// newRouting refuses a routing policy that the fabric cannot have, or whose parameters
// make no sense, before a switch is built. It returns the groups of the fabric if the
// policy needs them, else nil.
func newRouting(g *topologies.Graph, a experiment.Algorithm) (groups *topologies.Groups, err error) {
	policy, ok := forward.Table.Lookup(a.Name)
	if !ok {
		return nil, failure.At("routing", fmt.Errorf("unknown routing %q", a.Name))
	}
	if policy.NeedsGroups {
		if groups, err = topologies.NewGroups(g); err != nil {
			reason := strings.TrimPrefix(err.Error(), topologies.ErrInvalid.Error()+": ")
			return nil, failure.At("routing.name", fmt.Errorf("%s leaves minimal paths: %s", a.Name, reason))
		}
		if len(groups.OfRouter) >= math.MaxUint16 { // numbers in wire.Packet.Via, where 0 is none
			return nil, failure.At("routing.name", errors.New("there are more routers than packets can name"))
		}
	}
	ecmp := forward.NewECMP(forward.Config{})
	at := forward.Switch{
		ECMP: &ecmp, Queued: func(int) units.Size { return 0 }, Random: rand.New(rand.NewPCG(0, 0)),
		FromHost: func(int) bool { return false }, Groups: groups,
	}
	if _, err := policy.New(at, a.Params); err != nil {
		return nil, failure.AtParam("routing", err)
	}
	return groups, nil
}
