package netns_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/parts"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/check"
)

// machines are network namespaces on one bridge, which stand for machines. Supervisors run in
// namespaces of their own, and have no way to each other but the tunnels. nil: there is one
// machine, this one.
type machines []*os.File

// newMachines returns n machines whose network has packets of 1500 bytes.
func newMachines(t *testing.T, n int) (all machines) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces that share an underlay")
	}
	switchboard := newSpace(t)
	h := handleOf(t, switchboard)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "br0"
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := errors.Join(h.LinkAdd(bridge), h.LinkSetUp(bridge)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		space := newSpace(t)
		name := fmt.Sprintf("m%d", i)
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.Namespace = "eth0", netlink.NsFd(space.Fd())
		veth := &netlink.Veth{LinkAttrs: attrs, PeerName: name, PeerNamespace: netlink.NsFd(switchboard.Fd())}
		if err := netlink.LinkAdd(veth); err != nil {
			t.Fatal(err)
		}
		port, err := h.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.LinkSetMaster(port, bridge), h.LinkSetUp(port)); err != nil {
			t.Fatal(err)
		}
		at := handleOf(t, space)
		eth0, err := at.LinkByName("eth0")
		if err != nil {
			t.Fatal(err)
		}
		address, err := netlink.ParseAddr(fmt.Sprintf("10.9.0.%d/24", i+1))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(at.AddrAdd(eth0, address), at.LinkSetUp(eth0)); err != nil {
			t.Fatal(err)
		}
		all = append(all, space)
	}
	return all
}

// newSpace returns a network namespace as machines have it, with IPv6.
func newSpace(t *testing.T) (space *os.File) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			space, err = os.Open("/proc/thread-self/ns/net")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	return space
}

func handleOf(t *testing.T, space *os.File) *netlink.Handle {
	t.Helper()
	h, err := netlink.NewHandleAt(netns.NsHandle(space.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func (m machines) listen(i int) (l net.Listener, err error) {
	if m == nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	err = application.Within(m[i], func() (err error) {
		l, err = net.Listen("tcp", fmt.Sprintf("10.9.0.%d:0", i+1))
		return err
	})
	return l, err
}

func (m machines) dial(i int, to string) (c net.Conn, err error) {
	if m == nil {
		return net.Dial("tcp", to)
	}
	err = application.Within(m[i], func() (err error) {
		// Another goroutine of Dial would run in this process's own namespace.
		address, err := net.ResolveTCPAddr("tcp", to)
		if err == nil {
			c, err = net.DialTCP("tcp", nil, address)
		}
		return err
	})
	return c, err
}

// tunnels makes the tunnels of a part, if it has a machine.
func (m machines) tunnels(t testing.TB, i int, r *backend.Run, meeting *backend.Meeting) {
	t.Helper()
	if m == nil {
		return
	}
	var set *parts.Tunnels
	err := application.Within(m[i], func() (err error) {
		set, err = parts.MakeTunnels(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	r.Part.Tunnels, meeting.Move = set.List(), set.Move
}

// budget is that of experiments.
var budget = experiment.Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05, Underlay: 0.5}

// TestPartsInRealTime: a fabric in real time on two machines and on three. At such a dilation
// nothing comes too late, and then every node sees what it sees in virtual time. The frames of
// cut links are counted at both ends; what lies between the machines is measured.
func TestPartsInRealTime(t *testing.T) {
	needQuiet(t)
	p := backendtest.Compile(t, backendtest.Small)
	want := backendtest.Virtual(t, p, nil)
	for _, c := range []struct {
		parts     int
		processes backend.Processes
	}{{2, backend.ProcessPerNode}, {3, backend.SwitchProcess}, {2, backend.OneProcess}} {
		t.Run(fmt.Sprint(c.parts, c.processes), func(t *testing.T) {
			f := &partsRun{testRun: newRun(t, p), Of: byPod(p, c.parts), Machines: newMachines(t, c.parts)}
			if c.parts == 3 { // the core switches are a part
				for i, n := range p.Graph.Nodes {
					if f.Of[i] = n.Pod; n.Pod < 0 {
						f.Of[i] = 2
					}
				}
			}
			f.Processes, f.Wall = c.processes, &wall.Clock{Dilation: slow}
			out, errs := performParts(t.Context(), t, f)
			if errs != nil {
				t.Fatal(errs)
			}
			timing := out.Timing
			t.Logf("wall %v; late %v (p50), %v (p99), %v at most; %d displaced", out.Wall,
				timing.Lateness.Quantile(0.5), timing.Lateness.Quantile(0.99), timing.Lateness.Max, timing.Displaced)
			if timing.Sent != out.Frames || timing.Received != out.Frames || out.Frames == 0 || out.Behind != 0 || !out.Drained {
				t.Errorf("%d frames, %d sent, %d received, behind %v, drained %v", out.Frames, timing.Sent, timing.Received, out.Behind, out.Drained)
			}
			if timing.Displaced == 0 {
				backendtest.Same(t, out.Nodes, want)
			} else if share := float64(timing.Displaced) / float64(out.Frames); share > 0.01 {
				t.Errorf("%.3f of the packets were displaced", share)
			}
			checkCounts(t, f, out)
			if pairs := c.parts * (c.parts - 1) / 2; len(out.Cut.RoundTrips) != pairs {
				t.Errorf("%d ways between machines are measured, want %d", len(out.Cut.RoundTrips), pairs)
			}
			for _, trip := range out.Cut.RoundTrips {
				t.Logf("%+v", trip)
				// All machines of this test have one clock.
				if trip.Least <= 0 || trip.Least > 10*time.Millisecond || trip.ClockOffset.Abs() > trip.ClockError+100*time.Microsecond {
					t.Errorf("%+v", trip)
				}
			}
			fidelity := check.Measure(p, slow, out.Outcome)
			got := check.Fidelity(p, fidelity, budget)
			t.Log(got.Detail)
			for _, u := range fidelity.Underlay {
				if u.Share > 0.5 || u.Share <= 0 != (u.Link == "") {
					t.Errorf("underlay %+v", u)
				}
			}
		})
	}
}

// checkCounts checks that each direction of a cut link has as many frames at both ends as its
// sender's node has sent.
func checkCounts(t *testing.T, f *partsRun, out *ranRun) {
	t.Helper()
	var counted int64
	for _, l := range out.Cut.Links {
		if l.Entered != l.Left || l.From == l.To {
			t.Errorf("%+v: want as many at both ends", l)
		}
		counted += l.Entered
	}
	if crossing := crossingFrames(f.Plan, f.Of, out); counted != crossing || crossing == 0 {
		t.Errorf("%d frames were counted on cut links, the nodes have sent %d", counted, crossing)
	}
}

// A network between the machines that is slower than what the delay of the cut links hides
// makes the run invalid: the check names the parts and says which dilation would do.
func TestSlowUnderlay(t *testing.T) {
	checkout.SkipSlowRace(t) // it keeps no real time
	p := backendtest.Compile(t, backendtest.Small)
	f := &partsRun{testRun: newRun(t, p), Of: byPod(p, 2), Machines: newMachines(t, 2)}
	// No network gets packets there and back in 10 us, half of a link's delay twice.
	const dilation = 10
	f.Wall, f.Patience, f.Processes = &wall.Clock{Dilation: dilation}, 20*time.Second, backend.OneProcess
	out, errs := performParts(t.Context(), t, f)
	if errs != nil {
		t.Fatal(errs)
	}
	fidelity := check.Measure(p, dilation, out.Outcome)
	fidelity.Lost, fidelity.Surplus, fidelity.Behind = 0, 0, 0 // they tell of a busy machine, not of the underlay
	generous := experiment.Budget{Lateness: 1e9, Displaced: 1e9, Rate: 1e9, Underlay: budget.Underlay}
	got := check.Fidelity(p, fidelity, generous)
	t.Log(got.Detail)
	for _, want := range []string{"shard 0 and shard 1 are ", "which takes a dilation of at least "} {
		if got.OK || !strings.Contains(got.Detail, want) {
			t.Errorf("ok %v: %q; want %q", got.OK, got.Detail, want)
		}
	}
	generous.Underlay = 1e9
	if got := check.Fidelity(p, fidelity, generous); !got.OK {
		t.Errorf("with any underlay: %s", got.Detail)
	}
}

// A program's TCP connection crosses the cut, with the run held until one part releases it;
// the output is that of the part which has the program.
func TestProgramsInParts(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("needs iperf3: ", err)
	}
	p := backendtest.Compile(t, `
schema: 1
name: parts-programs
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}}
links: {queue: 120kB}
runtime: netns
clock: wall
wall: {dilation: 1}
csig: {format: wide, interval: 100ms}
applications:
  hosts: [0, 1]
  programs:
    - {host: 1, run: iperf3 -s, background: true}
    - {host: 0, run: iperf3 -c 10.0.0.2 -t 2, start: 200ms}
measure: {from: 0s, to: auto}
`)
	f := &partsRun{testRun: newRun(t, p), Of: bySide(p), Machines: newMachines(t, 2)}
	f.Wall, f.Folder = &wall.Clock{Dilation: 1}, t.TempDir()
	for i := range p.Programs {
		f.Outputs = append(f.Outputs, filepath.Join(f.Folder, fmt.Sprintf("program-%d.txt", i)))
	}
	out, errs := performParts(t.Context(), t, f)
	if errs != nil {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(f.Outputs[1])
	if err != nil || len(out.Programs) != 2 || out.Programs[1].Code != 0 || !strings.Contains(string(text), "receiver") {
		t.Errorf("%v; programs ended %+v; iperf3 says:\n%s", err, out.Programs, text)
	}
	t.Logf("%s", text)
	checkCounts(t, f, out)
	if out.Timing.Unread != 0 {
		t.Errorf("%d frames of programs were not read", out.Timing.Unread)
	}
}

// bySide puts the second leaf and its host into part 1.
func bySide(p *plan.Plan) []int {
	of := make([]int, len(p.Graph.Nodes))
	for i, n := range p.Graph.Nodes {
		if strings.HasSuffix(n.Name, "1") {
			of[i] = 1
		}
	}
	return of
}

// A run that is held in parts goes on until one of them is released, and then ends at one
// model time in all.
func TestHeldInParts(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	for released := range 2 {
		f := &partsRun{testRun: newRun(t, p), Of: byPod(p, 2), Machines: newMachines(t, 2)}
		f.Wall, f.Held, f.Processes = &wall.Clock{Dilation: slow}, true, backend.OneProcess
		hold := make(chan struct{})
		f.Adjust = func(part int, c *backend.Control) {
			if c.Hold = make(chan struct{}); part == released {
				c.Hold = hold
			}
			if part == 0 {
				c.Started = func() { time.AfterFunc(500*time.Millisecond, func() { close(hold) }) }
			}
		}
		out, errs := performParts(t.Context(), t, f)
		if errs != nil {
			t.Fatal(errs) // also when the parts have not ended at one time
		}
		if least := f.Wall.Model(500 * time.Millisecond); out.End < least || out.End > f.Wall.Model(5*time.Second) || out.Behind != 0 {
			t.Errorf("part %d was released at %v, the run ended at %v, behind %v", released, least, out.End, out.Behind)
		}
	}
}

// A part that is killed ends the run in the others, which name it.
func TestPartThatDiesInRealTime(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	f := &partsRun{testRun: newRun(t, p), Of: byPod(p, 2), Machines: newMachines(t, 2)}
	f.Wall, f.Processes = &wall.Clock{Dilation: slow}, backend.OneProcess
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	supervisors := make(chan int, 4)
	f.Adjust = func(part int, c *backend.Control) {
		if part != 1 {
			return
		}
		c.Deployed = func(nodes []runs.Node, _ []runs.Link) error { supervisors <- nodes[0].PID; return nil }
		c.Started = func() { unix.Kill(<-supervisors, unix.SIGKILL) }
	}
	_, errs := performParts(ctx, t, f)
	var gone *gateway.PartError
	if len(errs) != 2 || !errors.As(errs[0], &gone) || gone.Part != "shard 1" || gone.Reason != "the connection was closed" {
		t.Errorf("errors %v, want that of shard 1 at part 0", errs)
	}
}
