package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/units"
)

// valuesAsked is how many entropy values are asked for to find out whether a load balancer
// spreads a flow over paths.
const valuesAsked = 64

// recoveryNotes remarks on packets of one flow that overtake each other where the
// transport takes packets in order alone.
func recoveryNotes(r *run) []string {
	if r.experiment.Hosts.Recovery != transport.GoBackN || !r.fabric.manyPaths() {
		return nil
	}
	lb, _ := balance.Table.Lookup(r.experiment.Hosts.LB.Name)
	b, err := lb.New(sampleFlow(r.buffers.path(r.fabric.rate(0)), r.signals.domain()), r.experiment.Hosts.LB.Params)
	if err != nil {
		return nil // checkAlgorithms says so
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
func (f *fabric) manyPaths() bool {
	for node := f.graph.Hosts(); node < len(f.graph.Nodes); node++ {
		for h := range f.graph.Hosts() {
			if len(f.routes[node].To(h)) > 1 {
				return true
			}
		}
	}
	return false
}
