package check

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Faults that drop packets may have dropped pause frames, so that a switch had no headroom.
// They do not explain what is wrong at another switch behind it.
func TestLosslessLooksAtEverySwitch(t *testing.T) {
	p := &plan.Plan{Network: plan.Network{Faults: []plan.Fault{{Kind: experiment.LinkDown}}}}
	drops := []metrics.Count{{Name: dataplane.DropHeadroom, Packets: 3}}
	first := metrics.NodeTotals{Name: "tor0", Drops: drops}
	for _, second := range []struct {
		node metrics.NodeTotals
		ok   bool
		says string
	}{
		{metrics.NodeTotals{Name: "tor1", Drops: drops}, true, "tor0 dropped"},
		{metrics.NodeTotals{Name: "tor1", Memory: metrics.MemoryTotals{SharedSize: 100, SharedMax: 101}}, false, "tor1: 101 bytes in a shared memory of 100"},
	} {
		if c := Lossless(p, []metrics.NodeTotals{first, second.node}); c.OK != second.ok || !strings.Contains(c.Detail, second.says) {
			t.Errorf("got %v, %q; want %v, %q", c.OK, c.Detail, second.ok, second.says)
		}
	}
}

// What found no room at the port of a host with programs was never on its way, and
// accounts for nothing that is missing.
func TestConservationOfFlowsWithoutWhatWasNotSent(t *testing.T) {
	p := &plan.Plan{Network: plan.Network{Graph: &topologies.Graph{Nodes: make([]topologies.Node, 2)}, Nodes: make([]machine.Spec, 2)}, Traffic: plan.Traffic{Flows: []metrics.FlowInfo{{Name: "h0-h1 app"}}}}
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
		if problem := checkFlows(p, nodes, nil, 0); (problem == "") != tc.ok {
			t.Errorf("of 10 packets sent %d are delivered, %d dropped: %q", tc.delivered, tc.misdirected, problem)
		}
	}
}

// What a flow that is complete delivers is what it was to send: of a transfer its size, of
// one that has stopped and of a connection what was sent.
func TestConservationOfWhatWasSent(t *testing.T) {
	p := &plan.Plan{Network: plan.Network{Graph: &topologies.Graph{Nodes: make([]topologies.Node, 2)}, Nodes: make([]machine.Spec, 2)}}
	done := units.Time(units.Second)
	for _, tc := range []struct {
		name       string
		messages   int
		stopped    bool
		sent       units.Time // done, or units.Never
		bytes, got int64
		ok         bool
	}{
		{"transfer", 0, false, done, 1000, 1000, true},
		{"transfer", 0, false, units.Never, 1000, 1000, true},
		{"transfer, short of its size", 0, false, done, 900, 900, false},
		{"stopped", 0, true, done, 900, 900, true},
		{"stopped, short", 0, true, done, 900, 899, false},
		{"connection, between messages", 2, false, done, 900, 900, true},
		{"connection, of which the receiver does not know the next message", 2, false, units.Never, 900, 800, true},
		{"connection, short", 2, false, done, 900, 800, false},
	} {
		p.Flows = []metrics.FlowInfo{{Name: "0-1", Size: 1000, Packets: 1, Messages: tc.messages}}
		nodes := []metrics.NodeTotals{
			{
				Ports:   []metrics.PortTotals{{EnqueuedPackets: 1, TxPackets: 1}},
				Senders: []metrics.SenderTotals{{NewPackets: 1, PayloadBytes: tc.bytes, Stopped: tc.stopped, Done: tc.sent}},
			},
			{
				Ports:     []metrics.PortTotals{{RxPackets: 1}},
				Receivers: []metrics.ReceiverTotals{{Done: done, DeliveredWhole: 1, PayloadBytes: tc.got}},
			},
		}
		if problem := checkFlows(p, nodes, nil, 0); (problem == "") != tc.ok {
			t.Errorf("%s: %d of %d bytes: %q", tc.name, tc.got, tc.bytes, problem)
		}
	}
}
