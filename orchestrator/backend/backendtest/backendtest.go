// Package backendtest lets tests of what runs a plan compile one, build its
// machines and drivers, and compare what they did with a run in virtual time.
package backendtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Small is an experiment in a fat tree of 8 hosts and 12 switches in which flows
// share links, a packet is trimmed now and then, and simultaneous arrivals are
// common.
const Small = `
schema: 1
name: small-test
topology:
  fat_tree:
    hosts: 8
    pod: 4
    tiers:
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 2, rate: 100Gbps, delay: 1us}
links: {queue: 30kB}
workload:
  transfers:
    - 1 -> 5 300kB
    - 0 -> 5 300kB
    - 3 -> 5 300kB
    - 5 -> 2 300kB
    - 4 -> 7 200kB
csig: {format: compact}
hosts:
  cc: {name: nscc, csig: max-delay}
seeds: [7]
`

// Compile returns the plan of the first variant of an experiment and its first
// seed.
func Compile(t testing.TB, text string) *plan.Plan {
	t.Helper()
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, set.Variants[0].Experiment.Seeds[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Embedded returns the plan of a variant of an embedded experiment with seed 1. sets
// change the experiment.
func Embedded(t testing.TB, name string, variant int, sets ...experiment.Override) *plan.Plan {
	t.Helper()
	set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables(), Override: sets})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[variant].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ShortThreeFlow returns the plan of the csig variant of three-flow with 20 MB flows.
func ShortThreeFlow(t testing.TB) *plan.Plan {
	t.Helper()
	return Embedded(t, "three-flow", 1,
		experiment.Override{Path: "workload.transfers", Value: `["1 -> 10 20MB", "0 -> 2 20MB", "9 -> 10 20MB"]`},
		experiment.Override{Path: "measure", Value: "{from: 0us, to: 2ms}"})
}

// Fabric returns what the drivers of a plan's nodes need to know.
func Fabric(p *plan.Plan) emu.Fabric {
	f := (&backend.Run{Plan: p}).Fabric("")
	f.Run = 0
	return f
}

// Machine builds the machine of a node, which draws its packets from pool and emits
// its records into sink.
func Machine(t testing.TB, p *plan.Plan, i int, pool *wire.Pool, sink metrics.Sink) node.Machine {
	t.Helper()
	m, err := p.Nodes[i].New(pool, sink)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// InMemory returns the drivers of a plan's nodes over links in memory, the directions
// of these links, each node's end of them, and the records of all nodes.
func InMemory(t testing.TB, p *plan.Plan, f emu.Fabric) ([]*emu.Node, []lockstep.Channel, []*netio.Memory, *Records) {
	t.Helper()
	configs, links := f.Configs()
	conns := make([]*netio.Memory, len(configs))
	for i, c := range configs {
		conns[i] = netio.NewMemory(len(c.Ports))
	}
	wires, _ := f.Wires()
	for _, w := range wires {
		netio.Join(conns[w[0].Node], w[0].Port, conns[w[1].Node], w[1].Port)
	}
	nodes, records := make([]*emu.Node, len(configs)), NewRecords(len(configs))
	for i, c := range configs {
		pool := new(wire.Pool)
		if ports := p.Nodes[i].Ports(); ports != len(c.Ports) {
			t.Fatalf("node %s: machine has %d ports, fabric %d", c.Name, ports, len(c.Ports))
		}
		nodes[i] = emu.New(c, Machine(t, p, i, pool, records.Sink(i)), pool, conns[i], records.Sink(i))
	}
	return nodes, links, conns, records
}

// Virtual runs a plan in virtual time. tap, which may be nil, returns the Tap of
// each node.
func Virtual(t testing.TB, p *plan.Plan, tap func(node int) node.Tap) []Result {
	t.Helper()
	records := NewRecords(len(p.Nodes))
	if _, err := (inproc.Backend{}).Run(t.Context(), &backend.Run{Plan: p}, backend.Control{Tap: tap, Records: records}); err != nil {
		t.Fatal(err)
	}
	return records.Results()
}

// Same checks that every node saw the same events and measured the same.
func Same(t testing.TB, got, want []Result) {
	t.Helper()
	for i := range want {
		if got[i].TraceHash != want[i].TraceHash {
			t.Errorf("node %s: trace of %d events differs from the reference's %d", want[i].Name, got[i].Events, want[i].Events)
		} else if diff := cmp.Diff(got[i], want[i], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("node %s: same trace, other results (-got +want):\n%s", want[i].Name, diff)
		}
	}
}
