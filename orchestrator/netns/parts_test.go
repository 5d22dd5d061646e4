package netns_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
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

	ids []string // of the parts' processes, once it runs
}

// performParts runs a run in parts to its end, and returns the merged result and the errors
// of the parts.
func performParts(ctx context.Context, t testing.TB, f *partsRun) (*ranRun, []error) {
	t.Helper()
	n := 0
	for _, part := range f.Of {
		n = max(n, part+1)
	}
	const id = "0123456789ab"
	authority, err := backend.NewAuthority(id)
	if err != nil {
		t.Fatal(err)
	}
	f.Records = backendtest.NewRecords(len(f.Plan.Nodes))
	var listeners []*net.TCPListener
	base := backend.Part{Of: f.Of}
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
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
		r.ID, r.Part = id, &part
		m := new(backend.Meeting)
		if m.Listener, err = listeners[i].File(); err != nil {
			t.Fatal(err)
		}
		for j := range i {
			m.Calls = append(m.Calls, callPart(t, f, i, j, base.Addresses[j]))
		}
		c := backend.Control{Records: f.Records, Meeting: m}
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
		if conn, err = net.Dial("tcp", at); err != nil {
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

var _ = time.Second
