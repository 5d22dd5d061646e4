package netns_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

// TestMain lets the test binary be the supervisor and the nodes' programs.
func TestMain(m *testing.M) {
	netns.Supervise()
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "test-host":
			os.Exit(emu.Main(netns.Host))
		case "test-switch":
			os.Exit(emu.Main(netns.Switch))
		case "test-run":
			os.Exit(runUntilKilled())
		}
	}
	os.Exit(m.Run())
}

// experimentText is a fat tree in which flows share links and some packets are
// trimmed.
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

func parse(t testing.TB, text string) *orchestrator.Plan {
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

func encode(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fabric returns the run of a plan, whose nodes' programs are this test binary.
func fabric(t testing.TB, p *orchestrator.Plan) netns.Fabric {
	t.Helper()
	f := netns.Fabric{
		Fabric:        emu.Fabric{Graph: p.Graph, Format: p.Format, TieSeed: p.TieSeed, End: p.End},
		Name:          t.Name(),
		MaxPayload:    p.Path.MTU - p.Path.Header,
		HostProgram:   []string{"/proc/self/exe", "test-host"},
		SwitchProgram: []string{"/proc/self/exe", "test-switch"},
	}
	for _, c := range p.Control {
		f.Control = append(f.Control, emu.ControlLink(c))
	}
	for i := range p.Hosts {
		f.Nodes = append(f.Nodes, netns.NodeSpec{Host: encode(t, host.Machine{Transport: &p.Hosts[i]})})
	}
	for _, c := range p.Switches {
		f.Nodes = append(f.Nodes, netns.NodeSpec{Switch: encode(t, c)})
	}
	return f
}

// virtual is the reference: the same machines under the sequential clock.
func virtual(t testing.TB, p *orchestrator.Plan) []metrics.NodeResult {
	t.Helper()
	var pool wire.Pool
	cfg := sim.Config{TieSeed: p.TieSeed, End: p.End}
	add := func(m node.Machine, ports int, err error) {
		if err != nil {
			t.Fatal(err)
		}
		cfg.Nodes = append(cfg.Nodes, sim.Node{Machine: m, Ports: ports})
	}
	for _, c := range p.Hosts {
		m, err := host.New(c, &pool)
		add(m, 1+c.Control, err)
	}
	for _, c := range p.Switches {
		m, err := dataplane.New(c, &pool)
		add(m, len(c.Ports), err)
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

func run(t testing.TB, f netns.Fabric) (*netns.Outcome, error) {
	t.Helper()
	out, err := netns.Run(context.Background(), f, nil)
	if errors.Is(err, netns.ErrUnavailable) {
		t.Skip(err)
	}
	return out, err
}

// same checks that every node saw the same events and measured the same.
func same(t testing.TB, got, want []metrics.NodeResult) {
	t.Helper()
	for i := range want {
		if got[i].TraceHash != want[i].TraceHash {
			t.Errorf("node %s: trace of %d events differs from the reference's %d", want[i].Name, got[i].Events, want[i].Events)
		} else if diff := cmp.Diff(got[i], want[i], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("node %s: same trace, other results (-got +want):\n%s", want[i].Name, diff)
		}
	}
}

// TestParity: real frames between real namespaces leave the trace of the
// sequential run, and the interfaces have counted every frame.
func TestParity(t *testing.T) {
	p := parse(t, experimentText)
	want := virtual(t, p)
	for _, one := range []bool{false, true} {
		for _, elide := range []bool{false, true} {
			t.Run(fmt.Sprintf("one=%v,elide=%v", one, elide), func(t *testing.T) {
				f := fabric(t, p)
				f.OneProcess, f.Elide = one, elide
				out, err := run(t, f)
				if err != nil {
					t.Fatal(err)
				}
				same(t, out.Results, want)
				if c := out.Counters; out.Frames == 0 || c.TxPackets != out.Frames || c.RxPackets != out.Frames || c.Dropped != 0 || out.Foreign != 0 {
					t.Errorf("nodes sent %d frames and saw %d foreign ones; interfaces counted %+v", out.Frames, out.Foreign, c)
				}
				t.Logf("%d frames, %d grants, setup %v, wall %v, CPU %v", out.Frames, out.Grants, out.Setup, out.Wall, out.CPU)
			})
		}
	}
}

// BenchmarkThreeFlow runs a variant of the embedded experiment in both modes.
func BenchmarkThreeFlow(b *testing.B) {
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		b.Fatal(err)
	}
	p, err := orchestrator.Compile(set.Variants[1].Experiment, 1)
	if err != nil {
		b.Fatal(err)
	}
	want := virtual(b, p)
	for _, one := range []bool{false, true} {
		for _, elide := range []bool{false, true} {
			b.Run(fmt.Sprintf("one=%v,elide=%v", one, elide), func(b *testing.B) {
				for range b.N {
					f := fabric(b, p)
					f.OneProcess, f.Elide = one, elide
					out, err := run(b, f)
					if err != nil {
						b.Fatal(err)
					}
					same(b, out.Results, want)
					b.ReportMetric(out.Wall.Seconds(), "wall-s")
					b.ReportMetric(out.CPU.Seconds(), "cpu-s")
					b.ReportMetric(float64(out.Grants)/out.Wall.Seconds(), "grants/s")
					b.ReportMetric(float64(out.Frames), "frames")
				}
			})
		}
	}
}
