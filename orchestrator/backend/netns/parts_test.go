package netns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// partsRun is a run in several parts, each with a supervisor of its own on this machine.
type partsRun struct {
	*testRun
	Of       []int                                  // by node: its part
	Progress func(part int, now units.Time)         // may be nil
	Call     func(from, to int, at string) net.Conn // connects two parts; nil: net.Dial
	Note     func(part int, text string)            // may be nil
	Machines machines                               // one for each part, for real time; nil: this one has all
	Adjust   func(part int, c *backend.Control)     // may be nil
}

// partsID is the id of a run in parts, which no list has.
var partsID = fmt.Sprintf("%012x", os.Getpid())

// performParts runs a run in parts to its end, and returns the merged result and the errors
// of the parts.
func performParts(ctx context.Context, t testing.TB, f *partsRun) (*ranRun, []error) {
	t.Helper()
	n := 0
	for _, part := range f.Of {
		n = max(n, part+1)
	}
	authority, err := backend.NewAuthority(partsID)
	if err != nil {
		t.Fatal(err)
	}
	f.Records = backendtest.NewRecords(len(f.Plan.Nodes))
	var listeners []*net.TCPListener
	base := backend.Part{Of: f.Of}
	for i := range n {
		l, err := f.Machines.listen(i)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		listeners = append(listeners, l.(*net.TCPListener))
		base.Names, base.Addresses = append(base.Names, fmt.Sprintf("shard %d", i)), append(base.Addresses, l.Addr().String())
	}
	outs, errs := make([]*backend.Outcome, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		part, r := base, f.Run
		part.Index = i
		if part.Credentials, err = authority.Issue(i); err != nil {
			t.Fatal(err)
		}
		r.ID, r.Part = partsID, &part
		m := new(backend.Meeting)
		if m.Listener, err = listeners[i].File(); err != nil {
			t.Fatal(err)
		}
		for j := range i {
			m.Calls = append(m.Calls, callPart(t, f, i, j, base.Addresses[j]))
		}
		c := backend.Control{Records: f.Records, Meeting: m}
		f.Machines.tunnels(t, i, &r, m)
		if f.Adjust != nil {
			f.Adjust(i, &c)
		}
		if f.Progress != nil {
			c.Progress = func(now units.Time, _ float64) { f.Progress(i, now) }
		}
		if f.Note != nil {
			c.Note = func(text string) { f.Note(i, text) }
		}
		all.Go(func() { outs[i], errs[i] = testBackend.Run(ctx, &r, c) })
	}
	all.Wait()
	for _, err := range errs {
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errs
	}
	out, err := backend.Merge(&f.Run, f.Of, outs)
	if err != nil {
		t.Fatal(err)
	}
	return &ranRun{out, f.Records.Results()}, nil
}

// callPart connects a part to another, and returns the file of the connection.
func callPart(t testing.TB, f *partsRun, from, to int, at string) *os.File {
	t.Helper()
	var conn net.Conn
	if f.Call != nil {
		conn = f.Call(from, to, at)
	} else {
		var err error
		if conn, err = f.Machines.dial(from, at); err != nil {
			t.Fatal(err)
		}
	}
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// byPod puts the nodes of the pods into parts, the core switches into all in turn.
func byPod(p *plan.Plan, parts int) []int {
	of, pods := make([]int, len(p.Graph.Nodes)), 1
	for _, n := range p.Graph.Nodes {
		pods = max(pods, n.Pod+1)
	}
	for i, n := range p.Graph.Nodes {
		if n.Pod < 0 {
			of[i] = n.Index % parts
		} else {
			of[i] = n.Pod * parts / pods
		}
	}
	return of
}

// sameInParts runs a plan in parts and compares it with the virtual run.
func sameInParts(t *testing.T, p *plan.Plan, of []int) *ranRun {
	t.Helper()
	want := backendtest.Virtual(t, p, nil)
	out, errs := performParts(t.Context(), t, &partsRun{testRun: newRun(t, p), Of: of})
	if errs != nil {
		t.Fatal(errs)
	}
	backendtest.Same(t, out.Nodes, want)
	crossing := crossingFrames(p, of, out)
	if c := out.Interfaces; out.Frames == 0 || c.TxPackets != out.Frames || c.RxPackets != out.Frames || c.Dropped != 0 || out.Strays != 0 {
		t.Errorf("nodes sent %d frames and saw %d foreign ones; interfaces counted %+v", out.Frames, out.Strays, c)
	}
	t.Logf("%d frames, %d of them cross %d directions of cut links, %d grants, %d exchanges of %d B, setup %v, wall %v, CPU %v",
		out.Frames, crossing, len(out.Cut.Links), out.Grants, out.Cut.Exchanges, out.Cut.Bytes, out.Setup, out.Wall, out.CPU)
	return out
}

// crossingFrames returns how many frames the nodes have sent from one part to another.
func crossingFrames(p *plan.Plan, of []int, out *ranRun) (frames int64) {
	peers := map[topologies.End]int{}
	for _, l := range p.Links {
		peers[l.A], peers[l.B] = l.B.Node, l.A.Node
	}
	for _, c := range out.Ports {
		if of[c.Node] != of[peers[topologies.End{Node: c.Node, Port: c.Port}]] {
			frames += c.Sent
		}
	}
	return frames
}

// Issue 16, item 2: a fabric in two parts, and in three, leaves the trace of the virtual run.
// The frames of each cut link are counted by its sender, at both stubs, by both gateways and
// by its receiver.
func TestParts(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	for parts := 2; parts <= 3; parts++ {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			of := byPod(p, parts)
			if parts == 3 { // the core switches are a part
				for i, n := range p.Graph.Nodes {
					if of[i] = n.Pod; n.Pod < 0 {
						of[i] = 2
					}
				}
			}
			out := sameInParts(t, p, of)
			ports := map[topologies.End]emu.PortCount{}
			for _, c := range out.Ports {
				ports[topologies.End{Node: c.Node, Port: c.Port}] = c
			}
			var got, want []backend.CutLink
			for _, l := range p.Links {
				if of[l.A.Node] == of[l.B.Node] {
					continue
				}
				for _, d := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
					sent := ports[d[0]].Sent
					want = append(want, backend.CutLink{
						Link: l.Name, From: fmt.Sprintf("shard %d", of[d[0].Node]), To: fmt.Sprintf("shard %d", of[d[1].Node]), Sender: d[0], Receiver: d[1],
						Entered: sent, Left: ports[d[1]].Received, Taken: sent, Put: sent,
					})
					for _, c := range out.Cut.Links {
						if c.Sender == d[0] && c.Receiver == d[1] {
							got = append(got, c)
						}
					}
				}
			}
			if len(out.Cut.Links) != len(want) {
				t.Errorf("%d directions are counted, want %d", len(out.Cut.Links), len(want))
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("cut links (-got +want)\n%s", diff)
			}
			if out.Cut.Exchanges == 0 || out.Cut.Bytes == 0 {
				t.Errorf("%d exchanges of %d B", out.Cut.Exchanges, out.Cut.Bytes)
			}
		})
	}
}

// Issue 16, item 2: three-flow in two parts leaves the trace of the virtual run.
func TestThreeFlowInParts(t *testing.T) {
	checkout.SkipSlowRace(t)
	p := backendtest.ShortThreeFlow(t)
	sameInParts(t, p, byPod(p, 2))
}

// Issue 16, item 4: a foreign connection is refused and named, and the run goes on.
func TestForeignConnectionDuringRun(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	var mu sync.Mutex
	var notes []string
	f := &partsRun{testRun: newRun(t, p), Of: byPod(p, 2), Note: func(part int, text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, fmt.Sprintf("%d: %s", part, text))
	}}
	want := ""
	f.Call = func(_, _ int, at string) net.Conn {
		foreign, err := net.Dial("tcp", at) // before the part that is expected
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { foreign.Close() })
		if _, err := foreign.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		want = fmt.Sprintf("0: shard 0 refused a connection from %v: tls: first record does not look like a TLS handshake", foreign.LocalAddr())
		call, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		return call
	}
	out, errs := performParts(t.Context(), t, f)
	if errs != nil {
		t.Fatal(errs)
	}
	backendtest.Same(t, out.Nodes, backendtest.Virtual(t, p, nil))
	if len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// whileItRuns calls f once when a run in parts is under way, from the progress of part 0.
func whileItRuns(f func()) func(int, units.Time) {
	var once sync.Once
	return func(part int, _ units.Time) {
		if part == 0 {
			once.Do(f)
		}
	}
}

// killPart sends SIGKILL to the first process of the parts that has an argument or a variable,
// and returns how many processes have it.
func killPart(t *testing.T, text string) (n int) {
	for _, pid := range runs.Processes()[partsID] {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if !bytes.Contains(append(line, environment...), []byte(text+"\x00")) {
			continue
		}
		if n++; n == 1 {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Errorf("kill %d: %v", pid, err)
			}
		}
	}
	return n
}

// endedParts checks that a run in two parts has failed, and that nothing is left of it.
func endedParts(t *testing.T, errs []error) {
	t.Helper()
	if len(errs) != 2 || errs[0] == nil || errs[1] == nil {
		t.Fatalf("errors %v, want one of each part", errs)
	}
	if left := runs.Processes()[partsID]; len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// A part that is killed is named by the other part, with the links to it.
func TestKilledPart(t *testing.T) {
	p := backendtest.Compile(t, longText)
	_, errs := performParts(t.Context(), t, &partsRun{testRun: newRun(t, p), Of: byPod(p, 2), Progress: whileItRuns(func() {
		if n := killPart(t, "netns-supervisor"); n != 2 {
			t.Errorf("%d supervisors, want 2", n)
		}
	})})
	endedParts(t, errs)
	killed := 0
	var node *backend.NodeError
	if !errors.As(errs[0], &node) {
		killed = 1
	}
	if !errors.As(errs[killed], &node) || node.Name != "supervisor" {
		t.Errorf("part %d: error %v, want a supervisor that ended early", killed, errs[killed])
	}
	var part *gateway.PartError
	if !errors.As(errs[1-killed], &part) || part.Part != fmt.Sprintf("shard %d", killed) || part.Reason != "the connection was closed" || !strings.Contains(part.Link, "agg1-core1, agg1-core3") {
		t.Errorf("part %d: error %v, want shard %d, its links, and a connection that was closed", 1-killed, errs[1-killed], killed)
	}
}

// A node that is killed is named by its part, and by the other part too.
func TestKilledNodeOfPart(t *testing.T) {
	p := backendtest.Compile(t, longText)
	of := byPod(p, 2)
	_, errs := performParts(t.Context(), t, &partsRun{testRun: newRun(t, p), Of: of, Progress: whileItRuns(func() {
		if n := killPart(t, "CSIGLAB_NODE=agg1"); n != 1 {
			t.Errorf("%d processes of agg1, want 1", n)
		}
	})})
	endedParts(t, errs)
	at := of[slices.IndexFunc(p.Graph.Nodes, func(n topologies.Node) bool { return n.Name == "agg1" })]
	const reason = "node agg1: was killed by signal 9 (killed)"
	var node *backend.NodeError
	if !errors.As(errs[at], &node) || node.Error() != reason {
		t.Errorf("part %d: error %v, want %s", at, errs[at], reason)
	}
	var part *gateway.PartError
	if want := fmt.Sprintf("shard %d: has given up: %s", at, reason); !errors.As(errs[1-at], &part) || part.Error() != want {
		t.Errorf("part %d: error %v, want %s", 1-at, errs[1-at], want)
	}
}

// A connection that breaks in the middle of a run is named by both parts.
func TestCutConnection(t *testing.T) {
	p := backendtest.Compile(t, longText)
	var ends []*net.TCPConn
	f := &partsRun{testRun: newRun(t, p), Of: byPod(p, 2)}
	var carrying sync.WaitGroup
	f.Call = func(_, _ int, at string) net.Conn {
		proxy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		call, err := net.Dial("tcp", proxy.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		near, err := proxy.Accept()
		if err != nil {
			t.Fatal(err)
		}
		far, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, near.(*net.TCPConn), far.(*net.TCPConn))
		carrying.Go(func() { io.Copy(near, far) }) //nolint:errcheck // until it is cut
		carrying.Go(func() { io.Copy(far, near) }) //nolint:errcheck // until it is cut
		return call
	}
	f.Progress = whileItRuns(func() {
		for _, end := range ends {
			end.Close()
		}
	})
	_, errs := performParts(t.Context(), t, f)
	carrying.Wait()
	endedParts(t, errs)
	for i, err := range errs {
		var part *gateway.PartError
		if !errors.As(err, &part) || part.Part != fmt.Sprintf("shard %d", 1-i) || part.Reason != "the connection was closed" || !strings.Contains(part.Link, "agg1-core1, agg1-core3") {
			t.Errorf("part %d: error %v, want one of shard %d and its links", i, err, 1-i)
		}
	}
}

// A frame that is lost on a cut link is missed at its stub, and the link is named by both
// parts.
func TestDropOnCutLink(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	of := byPod(p, 2)
	cut := slices.IndexFunc(p.Links, func(l plan.Link) bool { return of[l.A.Node] == 0 && of[l.B.Node] == 1 })
	f := newRun(t, p)
	f.Inject, f.FrameTimeout = []emu.Injection{{Link: cut, Number: 3}}, time.Second
	_, errs := performParts(t.Context(), t, &partsRun{testRun: f, Of: of})
	endedParts(t, errs)
	var link *emu.LinkError
	if !errors.As(errs[0], &link) || link.Link != p.Links[cut].Name || link.Frame != 3 {
		t.Errorf("part 0: error %v, want frame 3 of link %s", errs[0], p.Links[cut].Name)
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "shard 0") || !strings.Contains(errs[1].Error(), p.Links[cut].Name) {
		t.Errorf("part 1: error %v, want shard 0 and link %s", errs[1], p.Links[cut].Name)
	}
}

// A run in parts that is cancelled leaves nothing.
func TestCancelParts(t *testing.T) {
	p := backendtest.Compile(t, longText)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, errs := performParts(ctx, t, &partsRun{testRun: newRun(t, p), Of: byPod(p, 2), Progress: whileItRuns(func() { cancel(os.ErrProcessDone) })})
	endedParts(t, errs)
	for i, err := range errs {
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("part %d: error %v, want the cause", i, err)
		}
	}
}
