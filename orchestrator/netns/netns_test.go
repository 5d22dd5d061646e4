package netns_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/orchestrator/orchestratortest"
	"github.com/csiglab/csiglab/units"
)

// TestMain lets the test binary be the supervisor and the nodes' programs.
func TestMain(m *testing.M) {
	netns.Supervise()
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "test-host", "test-switch":
			os.Exit(process.Main())
		case "test-run":
			os.Exit(runUntilKilled())
		}
	}
	os.Exit(m.Run())
}

// fabric returns the run of a plan, whose nodes' programs are this test binary.
func fabric(t testing.TB, p *orchestrator.Plan) netns.Fabric {
	t.Helper()
	f := netns.Fabric{
		Fabric:        orchestratortest.Fabric(p),
		Name:          t.Name(),
		MaxPayload:    p.Path.MTU - p.Path.Header,
		HostProgram:   []string{"/proc/self/exe", "test-host"},
		SwitchProgram: []string{"/proc/self/exe", "test-switch"},
	}
	for i := range p.Graph.Nodes {
		f.Nodes = append(f.Nodes, p.Machine(i))
	}
	return f
}

// outcome is what a run left, with the records of its nodes.
type outcome struct {
	*netns.Outcome
	Results []orchestratortest.Result
}

func run(t testing.TB, f netns.Fabric) (outcome, error) {
	t.Helper()
	return runWith(t, f, nil)
}

func runWith(t testing.TB, f netns.Fabric, progress func(units.Time)) (outcome, error) {
	t.Helper()
	records := orchestratortest.NewRecords(len(f.Graph.Nodes))
	f.Records = records.Consume
	out, err := netns.Run(context.Background(), f, progress)
	if errors.Is(err, netns.ErrUnavailable) {
		t.Skip(err)
	}
	return outcome{out, records.Results()}, err
}

// TestParity: real frames between real namespaces leave the trace of the
// sequential run, and the interfaces have counted every frame.
func TestParity(t *testing.T) {
	p := orchestratortest.Compile(t, orchestratortest.Small)
	want := orchestratortest.Virtual(t, p, nil)
	for _, one := range []bool{false, true} {
		for _, elide := range []bool{false, true} {
			t.Run(fmt.Sprintf("one=%v,elide=%v", one, elide), func(t *testing.T) {
				f := fabric(t, p)
				f.OneProcess, f.Elide = one, elide
				out, err := run(t, f)
				if err != nil {
					t.Fatal(err)
				}
				orchestratortest.Same(t, out.Results, want)
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
	want := orchestratortest.Virtual(b, p, nil)
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
					orchestratortest.Same(b, out.Results, want)
					b.ReportMetric(out.Wall.Seconds(), "wall-s")
					b.ReportMetric(out.CPU.Seconds(), "cpu-s")
					b.ReportMetric(float64(out.Grants)/out.Wall.Seconds(), "grants/s")
					b.ReportMetric(float64(out.Frames), "frames")
				}
			})
		}
	}
}
