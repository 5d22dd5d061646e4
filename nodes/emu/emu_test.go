package emu_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// experimentText is a fat tree in which flows share links, a packet is trimmed
// now and then, and simultaneous arrivals are common.
const experimentText = `
schema: 1
name: t
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

func compile(t testing.TB, text string) *orchestrator.Plan {
	t.Helper()
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := orchestrator.Compile(set.Variants[0].Experiment, set.Variants[0].Experiment.Seeds[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func machine(t testing.TB, p *orchestrator.Plan, i int, pool *wire.Pool) (m node.Machine, ports int) {
	t.Helper()
	var err error
	if i < len(p.Hosts) {
		c := p.Machine(i)
		m, err = c.New(pool)
		ports = c.Ports()
	} else {
		c := p.Switches[i-len(p.Hosts)]
		m, err = dataplane.New(c, pool)
		ports = len(c.Ports)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, ports
}

func fabric(p *orchestrator.Plan) emu.Fabric {
	f := emu.Fabric{Graph: p.Graph, Format: p.Format, TieSeed: p.TieSeed, End: p.End, Run: 99, FrameTimeout: 300 * time.Millisecond}
	for _, c := range p.Control {
		f.Control = append(f.Control, emu.ControlLink(c))
	}
	return f
}

// virtual is the reference: the same machines under the sequential clock.
func virtual(t testing.TB, p *orchestrator.Plan) []metrics.NodeResult {
	t.Helper()
	var pool wire.Pool
	cfg := sim.Config{TieSeed: p.TieSeed, End: p.End}
	for i := range p.Graph.Nodes {
		m, ports := machine(t, p, i, &pool)
		cfg.Nodes = append(cfg.Nodes, sim.Node{Machine: m, Ports: ports})
	}
	for _, l := range p.Graph.Links {
		cfg.Links = append(cfg.Links, sim.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	for _, l := range p.Control {
		cfg.Links = append(cfg.Links, sim.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	s := sim.New(cfg)
	s.Run()
	return s.Results()
}

// drivers returns the drivers of a plan's nodes, over links in memory.
func drivers(t testing.TB, p *orchestrator.Plan, f emu.Fabric) ([]*emu.Node, []lockstep.Link) {
	t.Helper()
	return driversOver(t, p, f, map[int]*netio.Memory{})
}

// driversOver is drivers; it leaves the nodes' ports in conns.
func driversOver(t testing.TB, p *orchestrator.Plan, f emu.Fabric, conns map[int]*netio.Memory) ([]*emu.Node, []lockstep.Link) {
	t.Helper()
	configs, links := f.Configs()
	for i, c := range configs {
		conns[i] = netio.NewMemory(len(c.Ports))
	}
	wires, _ := f.Wires()
	for _, w := range wires {
		netio.Join(conns[w[0].Node], w[0].Port, conns[w[1].Node], w[1].Port)
	}
	nodes := make([]*emu.Node, len(configs))
	for i, c := range configs {
		pool := new(wire.Pool)
		m, ports := machine(t, p, i, pool)
		if ports != len(c.Ports) {
			t.Fatalf("node %s: machine has %d ports, fabric %d", c.Name, ports, len(c.Ports))
		}
		nodes[i] = emu.New(c, m, pool, conns[i])
	}
	return nodes, links
}

// run drives the plan over links in memory.
func run(t testing.TB, p *orchestrator.Plan, f emu.Fabric, goroutines int) ([]metrics.NodeResult, *emu.Pool, error) {
	t.Helper()
	nodes, links := drivers(t, p, f)
	board, err := emu.NewPool(nodes, links, f.End)
	if err != nil {
		t.Fatal(err)
	}
	if err := board.Run(context.Background(), goroutines); err != nil {
		return nil, board, err
	}
	var results []metrics.NodeResult
	for _, n := range nodes {
		if err := n.CloseCapture(); err != nil {
			t.Error(err)
		}
		if n.Foreign() != 0 {
			t.Errorf("%d foreign frames", n.Foreign())
		}
		results = append(results, n.Result(board.End()))
	}
	return results, board, nil
}

// same checks that every node saw the same events and measured the same.
func same(t *testing.T, got, want []metrics.NodeResult) {
	t.Helper()
	for i := range want {
		if got[i].TraceHash != want[i].TraceHash {
			t.Errorf("node %s: trace of %d events differs from the reference's %d", want[i].Name, got[i].Events, want[i].Events)
		} else if diff := cmp.Diff(got[i], want[i], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("node %s: same trace, other results (-got +want):\n%s", want[i].Name, diff)
		}
	}
}

// TestParity: real nodes leave the trace of the sequential run, with payloads
// and without, on one goroutine and on several, under every tie seed.
func TestParity(t *testing.T) {
	p := compile(t, experimentText)
	for _, tie := range []uint64{0, 1, 2} {
		p.TieSeed = tie
		want := virtual(t, p)
		if want[0].Events == 0 {
			t.Fatal("the reference run is empty")
		}
		for _, goroutines := range []int{1, 3} {
			f := fabric(p)
			f.Elide = goroutines == 1
			got, _, err := run(t, p, f, goroutines)
			if err != nil {
				t.Fatalf("tie seed %d, %d goroutines: %v", tie, goroutines, err)
			}
			same(t, got, want)
		}
	}
}

// dependencies is a workload whose transfers start one after another, at
// different hosts.
const dependencies = `Nodes 8
Connections 4
Triggers 2
1->5 id 1 start 0 size 100000 send_done_trigger 1
0->2 id 2 start 0 size 100000 send_done_trigger 1
3->7 id 3 trigger 1 size 100000 recv_done_trigger 2
4->6 id 4 trigger 2 size 100000
trigger id 1 barrier count 2
trigger id 2 oneshot
`

// TestControlLinks: dependencies between hosts travel on links of their own.
func TestControlLinks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dependencies.cm")
	if err := os.WriteFile(file, []byte(dependencies), 0o644); err != nil {
		t.Fatal(err)
	}
	start, rest, _ := strings.Cut(experimentText, "workload:")
	_, rest, _ = strings.Cut(rest, "csig:")
	p := compile(t, start+"workload: {file: "+file+"}\ncsig:"+rest)
	if len(p.Control) == 0 {
		t.Fatal("the plan has no control links")
	}
	got, _, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, virtual(t, p))
	if done := got[6].Receivers[0].Done; done == clock.Never {
		t.Error("the last transfer did not complete")
	}
}

// TestFastLinks: at 800 Gb/s with small packets more frames fit between two turns
// of a receiver than it has room for; senders wait and nothing is lost.
func TestFastLinks(t *testing.T) {
	text := strings.ReplaceAll(experimentText, "100Gbps", "800Gbps")
	text = strings.Replace(text, "{queue: 30kB}", "{queue: 30kB, mtu: 256B}", 1)
	p := compile(t, text)
	got, _, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, virtual(t, p))
}

// TestEnd: a run that ends in the middle ends at the same event.
func TestEnd(t *testing.T) {
	p := compile(t, experimentText+"end: 40us\n")
	got, board, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, virtual(t, p))
	if board.End() != p.End {
		t.Errorf("run ended at %v, want %v", board.End(), p.End)
	}
}

// TestDropNamesTheLink: a frame that is lost ends the run with its link's name.
func TestDropNamesTheLink(t *testing.T) {
	p := compile(t, experimentText)
	for text, want := range map[string]emu.LinkError{
		"drop=h1-tor0:5": {Link: "h1-tor0", From: "h1", To: "tor0", Frame: 5},
		"drop=tor2-h5:3": {Link: "h5-tor2", From: "tor2", To: "h5", Frame: 3},
	} {
		f := fabric(p)
		i, err := emu.ParseInjection(text, p.Graph)
		if err != nil {
			t.Fatal(err)
		}
		f.Inject = []emu.Injection{i}
		_, _, err = run(t, p, f, 2)
		var got *emu.LinkError
		if !errors.As(err, &got) {
			t.Errorf("%s: error %v, want a LinkError", text, err)
			continue
		}
		want.Reason = got.Reason
		if *got != want || !strings.Contains(got.Reason, "did not arrive") {
			t.Errorf("%s: got %v, want %v", text, got, &want)
		}
	}
}

// TestFlipBreaksParity: a bit that flips on a link shows in the trace of the
// node that received it.
func TestFlipBreaksParity(t *testing.T) {
	p := compile(t, experimentText)
	f := fabric(p)
	i, err := emu.ParseInjection("flip=h1-tor0:5", p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	f.Inject = []emu.Injection{i}
	got, _, err := run(t, p, f, 2)
	if err != nil {
		t.Fatal(err)
	}
	tor := p.Graph.Links[i.Link].B.Node
	if got[tor].TraceHash == virtual(t, p)[tor].TraceHash {
		t.Error("a flipped bit left the trace as it was")
	}
}

func TestParseInjectionRefuses(t *testing.T) {
	g := compile(t, experimentText).Graph
	for _, text := range []string{"", "drop", "drop=h1-tor0", "lose=h1-tor0:1", "drop=h1-tor0:0", "drop=h1-tor0:x", "drop=h1-tor9:1"} {
		if _, err := emu.ParseInjection(text, g); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
