package netns_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// slow is a dilation that any machine keeps which grants a real-time priority:
// the wire has 20 ms for a frame.
const slow = 20000

// TestWall: real frames in real time. At such a dilation nothing comes too late,
// and then every node sees what it sees in virtual time.
func TestWall(t *testing.T) {
	needQuiet(t)
	if os.Geteuid() != 0 {
		t.Skip("needs a real-time priority")
	}
	p := backendtest.Compile(t, backendtest.Small)
	want := backendtest.Virtual(t, p, nil)
	for _, processes := range []string{"node", "one", "switches"} {
		t.Run(processes, func(t *testing.T) {
			f := newRun(t, p)
			f.Processes, f.Wall = backend.Processes(processes), &wall.Clock{Dilation: slow}
			out, err := run(t, f)
			if err != nil {
				t.Fatal(err)
			}
			timing := out.Timing
			t.Logf("wall %v, CPU %v; late %v (p50), %v (p99), %v at most; %d displaced", out.Wall, out.CPU,
				timing.Lateness.Quantile(0.5), timing.Lateness.Quantile(0.99), timing.Lateness.Max, timing.Displaced)
			if !timing.RealTime || timing.Sent != out.Frames || timing.Received != out.Frames || out.Frames == 0 || out.Behind != 0 || !out.Drained {
				t.Errorf("real time %v, %d frames, %d sent, %d received, behind %v, drained %v",
					timing.RealTime, out.Frames, timing.Sent, timing.Received, out.Behind, out.Drained)
			}
			if timing.Displaced == 0 {
				backendtest.Same(t, out.Nodes, want)
			} else if share := float64(timing.Displaced) / float64(out.Frames); share > 0.01 {
				t.Errorf("%.3f of the packets were displaced", share)
			}
			// A run takes at least its dilated model time.
			if least := f.Wall.At(out.End); out.Wall < least || out.Wall > least+5*time.Second {
				t.Errorf("the run took %v, its model time is %v dilated", out.Wall, least)
			}
			shaped(t, f, out)
		})
	}
}

// shaped checks that the kernel shaped every end of every link, at 1.1 times the
// link's rate in wall time and a little for what frames are longer than packets,
// and lost nothing.
func shaped(t *testing.T, f *testRun, out *ranRun) {
	t.Helper()
	links, frames := len(f.Plan.Graph.Links), out.Frames
	if f.Processes == backend.SwitchProcess { // veth only at hosts
		links, frames = f.Plan.Graph.Hosts(), out.Interfaces.TxPackets
	}
	if len(out.Shaped) != 2*links {
		t.Fatalf("%d interfaces are shaped, want both ends of %d links", len(out.Shaped), links)
	}
	var packets int64
	for _, s := range out.Shaped {
		packets += s.Packets
		if nominal := 100e9 / slow; float64(s.Rate) < 1.1*nominal || float64(s.Rate) > 1.15*nominal || s.Dropped != 0 {
			t.Errorf("shaper %+v, the link's rate is %v", s, nominal)
		}
	}
	if packets != frames || out.Interfaces.TxPackets != frames || frames == 0 {
		t.Errorf("the shapers passed %d frames of %d, the interfaces %d", packets, frames, out.Interfaces.TxPackets)
	}
}

// TestShapersAreSeen looks at a run's interfaces with tc while it is under way.
func TestShapersAreSeen(t *testing.T) {
	needQuiet(t)
	if os.Geteuid() != 0 {
		t.Skip("needs to enter the nodes' namespaces")
	}
	for _, program := range []string{"tc", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	f := newRun(t, backendtest.Compile(t, backendtest.Small))
	f.Wall = &wall.Clock{Dilation: slow}
	ports, output := 0, ""
	f.Ready = func(id string) {
		for _, n := range started(t, id).Nodes {
			text, err := exec.Command("nsenter", "--net="+n.Network, "tc", "-s", "qdisc", "show").Output()
			if err != nil {
				t.Error(err)
			}
			ports += strings.Count(string(text), "qdisc tbf 1: dev p")
			output = string(text)
		}
	}
	if _, err := run(t, f); err != nil {
		t.Error(err)
	}
	if ports != 2*len(f.Plan.Graph.Links) {
		t.Errorf("tc shows %d interfaces with tbf, want both ends of %d links; the last node's:\n%s", ports, len(f.Plan.Graph.Links), output)
	}
	t.Logf("one node's:\n%s", output)
}

// A node that dies in real time is named.
func TestWallNamesTheNodeThatDied(t *testing.T) {
	f := newRun(t, backendtest.Compile(t, backendtest.Small))
	f.Wall = &wall.Clock{Dilation: 100 * slow}
	f.Ready = func(id string) {
		run := started(t, id)
		node, err := run.Node("tor0")
		if err == nil {
			err = syscall.Kill(node.PID, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
	}
	_, err := run(t, f)
	var node *backend.NodeError
	if !errors.As(err, &node) || node.Name != "tor0" || !strings.Contains(node.Reason, "killed") {
		t.Errorf("error %v, want tor0, which was killed", err)
	}
}

// started returns a run from the list.
func started(t *testing.T, id string) runs.Run {
	t.Helper()
	list, err := runs.List(context.Background(), netns.Backend{})
	if err != nil {
		t.Error(err)
	}
	r, err := runs.Find(list, id)
	if err != nil {
		t.Error(err)
	}
	return r
}

func TestCalibrate(t *testing.T) {
	var c *wall.Calibration
	for try := 1; ; try++ {
		var err error
		if c, err = netns.Calibrate(t.Context(), 16); errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", *c)
		for _, l := range c.Loads {
			if l.Timers < 100 || l.Lateness < 100*time.Nanosecond || l.Share <= 0.01 || l.Share > 1 {
				t.Errorf("load %+v", l)
			}
		}
		if len(c.Loads) >= 2 && c.Loads[len(c.Loads)-1].Share >= 2*c.Loads[0].Share {
			break
		}
		if try == 3 { // other work of the machine disturbs one or two
			t.Errorf("loads %+v do not rise", c.Loads)
			break
		}
	}
	if c.FrameHop < time.Microsecond || c.FrameHop > time.Millisecond {
		t.Errorf("a frame-hop takes %v of CPU, want some microseconds", c.FrameHop)
	}
}

// needQuiet skips a test that keeps real time, which a machine that is busy with
// other packages' tests cannot.
func needQuiet(t *testing.T) {
	t.Helper()
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("needs a machine that does nothing else; set CSIGLAB_E2E=1 and go test -p 1")
	}
}
