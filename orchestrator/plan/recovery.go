package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// valuesAsked is how many entropy values are asked for to find out whether a load balancer
// spreads a flow over paths.
const valuesAsked = 64

// credits reports whether receivers grant credit.
func credits(e *experiment.Experiment) bool {
	cc, _ := congestion.Table.Lookup(e.Hosts.CC.Name)
	return e.Hosts.Credits || cc.Check(e.Hosts.CC.Params) == nil && cc.NeedsOf(e.Hosts.CC.Params).Credits
}

// recoveryNotes remarks on packets of one flow that overtake each other where the
// transport takes packets in order alone.
func (s *Shape) recoveryNotes(p *Plan) []string {
	if s.experiment.Hosts.Recovery != transport.GoBackN || !s.manyPaths() {
		return nil
	}
	lb, _ := balance.Table.Lookup(s.experiment.Hosts.LB.Name)
	b, err := lb.New(sampleFlow(p.Path, p.CSIG), s.experiment.Hosts.LB.Params)
	if err != nil {
		return nil // checkLB says so
	}
	first := b.Next(0)
	for i := range valuesAsked {
		if b.Next(units.Time(i)) != first {
			return []string{fmt.Sprintf("hosts.recovery: go_back_n takes packets in order alone, and hosts.lb %s sends those of one flow on several paths: every packet that overtakes another counts as a loss; hosts.lb: single keeps them in order", lb.Name)}
		}
	}
	return nil
}

// manyPaths reports whether a switch has more than one port for a host.
func (s *Shape) manyPaths() bool {
	for node := s.graph.Hosts(); node < len(s.graph.Nodes); node++ {
		for h := range s.graph.Hosts() {
			if len(s.routes[node].To(h)) > 1 {
				return true
			}
		}
	}
	return false
}
