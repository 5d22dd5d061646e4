package netns_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// TestMain lets the test binary be the supervisor and the nodes' programs.
func TestMain(m *testing.M) {
	netns.Supervise()
	if rights := os.Getenv(environmentRights); rights != "" {
		if err := asInPod(rights); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(checkout.Main(m, map[string]func([]string) int{
		"test-node": func([]string) int { return process.Main() },
		"test-run":  func([]string) int { return runUntilKilled() },
	}))
}

// testRun is a run whose nodes' programs are this test binary.
type testRun struct {
	backend.Run
	Hold  chan struct{}   // closed to end the run; it is held if this is not nil
	Ready func(id string) // called when a run in real time starts; may be nil

	Records *backendtest.Records // of its nodes, once it runs
}

// ranRun is what such a run left.
type ranRun struct {
	*backend.Outcome
	Nodes []backendtest.Result
}

// testBackend is the runtime of such runs.
var testBackend = backend.Runtime{Runtime: netns.Runtime.Runtime, Backend: netns.Backend{
	HostProgram:   []string{"/proc/self/exe", "test-node"},
	SwitchProgram: []string{"/proc/self/exe", "test-node"},
}}

func newRun(t testing.TB, p *plan.Plan) *testRun {
	t.Helper()
	return &testRun{Run: backend.Run{Name: t.Name(), Plan: p}}
}

// processes returns which nodes have a process of their own.
func processes(one bool) backend.Processes {
	if one {
		return backend.OneProcess
	}
	return backend.ProcessPerNode
}

// perform runs a run to its end. progress may be nil.
func perform(ctx context.Context, f *testRun, progress func(units.Time)) (*ranRun, error) {
	f.Records = backendtest.NewRecords(len(f.Plan.Nodes))
	c := backend.Control{Records: f.Records, Hold: f.Hold, Started: func() {
		if f.Ready != nil {
			f.Ready(f.ID)
		}
	}}
	if progress != nil {
		c.Progress = func(now units.Time, _ float64) { progress(now) }
	}
	f.Held = f.Hold != nil
	out, err := backend.Perform(ctx, testBackend, &f.Run, c)
	return &ranRun{out, f.Records.Results()}, err
}

func run(t testing.TB, f *testRun) (*ranRun, error) {
	t.Helper()
	out, err := perform(context.Background(), f, nil)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	return out, err
}

// TestParity: real frames between real namespaces leave the trace of the
// sequential run, and the interfaces have counted every frame.
func TestParity(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	want := backendtest.Virtual(t, p, nil)
	for _, one := range []bool{false, true} {
		for _, elide := range []bool{false, true} {
			t.Run(fmt.Sprintf("one=%v,elide=%v", one, elide), func(t *testing.T) {
				f := newRun(t, p)
				f.Processes, f.Elide = processes(one), elide
				out, err := run(t, f)
				if err != nil {
					t.Fatal(err)
				}
				backendtest.Same(t, out.Nodes, want)
				if c := out.Interfaces; out.Frames == 0 || c.TxPackets != out.Frames || c.RxPackets != out.Frames || c.Dropped != 0 || out.Strays != 0 {
					t.Errorf("nodes sent %d frames and saw %d foreign ones; interfaces counted %+v", out.Frames, out.Strays, c)
				}
				t.Logf("%d frames, %d grants, setup %v, wall %v, CPU %v", out.Frames, out.Grants, out.Setup, out.Wall, out.CPU)
			})
		}
	}
}

// BenchmarkThreeFlow runs a variant of the embedded experiment in both modes.
func BenchmarkThreeFlow(b *testing.B) {
	p := backendtest.Embedded(b, "three-flow", 1)
	want := backendtest.Virtual(b, p, nil)
	for _, one := range []bool{false, true} {
		for _, elide := range []bool{false, true} {
			b.Run(fmt.Sprintf("one=%v,elide=%v", one, elide), func(b *testing.B) {
				for range b.N {
					f := newRun(b, p)
					f.Processes, f.Elide = processes(one), elide
					out, err := run(b, f)
					if err != nil {
						b.Fatal(err)
					}
					backendtest.Same(b, out.Nodes, want)
					b.ReportMetric(out.Wall.Seconds(), "wall-s")
					b.ReportMetric(out.CPU.Seconds(), "cpu-s")
					b.ReportMetric(float64(out.Grants)/out.Wall.Seconds(), "grants/s")
					b.ReportMetric(float64(out.Frames), "frames")
				}
			})
		}
	}
}

// TestInterfaceAddresses: under lockstep no interface has the address of its port, to
// which frames are sent, so that the kernel does not take them for its own.
func TestInterfaceAddresses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to enter the nodes' namespaces")
	}
	f := newRun(t, backendtest.Compile(t, backendtest.Small))
	f.Records = backendtest.NewRecords(len(f.Plan.Nodes))
	seen := 0
	check := func(n runs.Node) error {
		space, err := os.Open(n.Network)
		if err != nil {
			return err
		}
		defer space.Close()
		return application.Within(space, func() error {
			for _, i := range n.Interfaces {
				device, err := net.InterfaceByName(i.Name)
				if err != nil {
					return err
				}
				if got := device.HardwareAddr.String(); got == i.MAC || got[:2] != "06" {
					t.Errorf("%s %s has the address %s, and frames go to %s", n.Name, i.Name, got, i.MAC)
				}
				seen++
			}
			return nil
		})
	}
	_, err := backend.Perform(context.Background(), testBackend, &f.Run, backend.Control{
		Records: f.Records,
		Deployed: func(nodes []runs.Node, _ []runs.Link) error {
			if seen > 0 {
				return nil
			}
			for _, n := range nodes {
				if err := check(n); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(f.Plan.Links); seen != want {
		t.Errorf("%d interfaces, want %d", seen, want)
	}
}
