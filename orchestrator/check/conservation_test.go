package check

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// What found no room at the port of a host with programs was never on its way, and
// accounts for nothing that is missing.
func TestConservationOfFlowsWithoutWhatWasNotSent(t *testing.T) {
	p := &plan.Plan{Graph: &topologies.Graph{Nodes: make([]topologies.Node, 2)}, Nodes: make([]machine.Spec, 2), Flows: []metrics.FlowInfo{{Name: "h0-h1 app"}}}
	for _, tc := range []struct {
		delivered, misdirected int64
		ok                     bool
	}{{10, 0, true}, {8, 0, false}, {8, 2, true}, {8, 1, false}} {
		nodes := []metrics.NodeTotals{
			{
				Ports:   []metrics.PortTotals{{EnqueuedPackets: 15, TxPackets: 10, DroppedPackets: 5}},
				Senders: []metrics.SenderTotals{{NewPackets: 10}},
				Drops:   []metrics.Count{{Name: "NIC queue full", Packets: 5}},
			},
			{
				Ports:     []metrics.PortTotals{{RxPackets: 10}},
				Receivers: []metrics.ReceiverTotals{{Done: units.Never, DeliveredWhole: tc.delivered}},
				Drops:     []metrics.Count{{Name: "not my address", Packets: tc.misdirected}},
			},
		}
		if problem := checkFlows(p, nodes, 0); (problem == "") != tc.ok {
			t.Errorf("of 10 packets sent %d are delivered, %d dropped: %q", tc.delivered, tc.misdirected, problem)
		}
	}
}
