package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// lab is a fabric in parts, all in this process. Links inside of a part, and stubs, are
// in memory; parts are joined by TCP.
type lab struct {
	t       *testing.T
	fabric  emu.Fabric
	links   []lockstep.Channel
	of      []int // by node
	nodes   []*emu.Node
	records *backendtest.Records
	boards  []*shared.Board // by part: the gateway's
	gates   []gateway.Config
	stubs   []*netio.Memory // by part
}

// newLab builds the lab of a plan; of says the part of each node.
func newLab(t *testing.T, p *plan.Plan, of []int, change func(*emu.Fabric)) *lab {
	t.Helper()
	f := backendtest.Fabric(p)
	f.Run, f.FrameTimeout = 99, 300*time.Millisecond
	if change != nil {
		change(&f)
	}
	l := &lab{t: t, fabric: f, of: of}
	var configs []emu.Config
	configs, l.links = f.Configs()
	conns := make([]*netio.Memory, len(configs))
	for i, c := range configs {
		conns[i] = netio.NewMemory(len(c.Ports))
		conns[i].Keep(c.Slots)
	}
	parts := slices.Max(of) + 1
	wires, names := f.Wires()
	type end struct {
		stub gateway.Stub
		at   topologies.End
	}
	ends := make([][]end, parts)
	for id, w := range wires {
		a, b := w[0], w[1]
		p, q := of[a.Node], of[b.Node]
		if p == q {
			netio.Join(conns[a.Node], a.Port, conns[b.Node], b.Port)
			continue
		}
		near, far := configs[a.Node].Name, configs[b.Node].Name
		ends[p] = append(ends[p], end{gateway.Stub{Link: names[id], Near: near, Far: far, Out: 2 * id, In: 2*id + 1, Peer: q}, a})
		ends[q] = append(ends[q], end{gateway.Stub{Link: names[id], Near: far, Far: near, Out: 2*id + 1, In: 2 * id, Peer: p}, b})
	}
	for p, stubs := range ends {
		board, err := shared.New(len(configs), l.links, f.End)
		if err != nil {
			t.Fatal(err)
		}
		if err := board.Partition(lockstep.Partition{Part: p, Of: of}, true); err != nil {
			t.Fatal(err)
		}
		l.boards = append(l.boards, board)
		c := gateway.Config{
			Part: p, Board: board, Run: f.Run, MaxFrame: 10_000, FrameTimeout: f.FrameTimeout, Peers: make([]net.Conn, parts), Silence: 2 * time.Second,
		}
		for q := range parts {
			c.Names = append(c.Names, fmt.Sprintf("shard %d", q))
		}
		memory := netio.NewMemory(len(stubs))
		for i, e := range stubs {
			c.Stubs = append(c.Stubs, e.stub)
			netio.Join(memory, i, conns[e.at.Node], e.at.Port)
		}
		memory.Keep(gateway.Slots(l.links, c.Stubs))
		c.Conn = memory
		l.gates, l.stubs = append(l.gates, c), append(l.stubs, memory)
	}
	for p := range parts {
		for q := range p {
			l.gates[p].Peers[q], l.gates[q].Peers[p] = tcp(t)
		}
	}
	l.records = backendtest.NewRecords(len(configs))
	for i, c := range configs {
		pool := new(wire.Pool)
		l.nodes = append(l.nodes, emu.New(c, backendtest.Machine(t, p, i, pool, l.records.Sink(i)), pool, conns[i], l.records.Sink(i)))
	}
	return l
}

// tcp returns both ends of a connection over the loopback interface.
func tcp(t *testing.T) (a, b net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if a, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// threads lets each node of a fabric wait in a system call that the scheduler does not
// see, as nodes in processes of their own do.
func threads(t testing.TB, nodes int) {
	before := runtime.GOMAXPROCS(nodes + 4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// start starts the nodes of the given parts. wait returns when they are done, with the
// first error. Nodes of a run that fails wait until the test binary ends.
func (l *lab) start(parts ...int) (wait func() error) {
	errs := make(chan error, len(l.nodes))
	running := 0
	for i, n := range l.nodes {
		if !slices.Contains(parts, l.of[i]) {
			continue
		}
		own := l.boards[l.of[i]]
		board, err := shared.Open(own.File, len(l.nodes), l.links, l.fabric.End)
		if err != nil {
			l.t.Fatal(err)
		}
		if err := board.Partition(lockstep.Partition{Part: l.of[i], Of: l.of}, false); err != nil {
			l.t.Fatal(err)
		}
		running++
		go func() {
			end, err := board.Run(n)
			if err == nil {
				err = errors.Join(n.Drain(), n.CloseCapture())
				n.Finish(end)
			}
			errs <- err
		}()
	}
	return func() error {
		for range running {
			if err := <-errs; err != nil {
				return err
			}
		}
		return nil
	}
}

// run runs the lab and returns the ends and results of all gateways.
func (l *lab) run(ctx context.Context) (ends []units.Time, results []gateway.Result, errs []error) {
	parts := len(l.gates)
	ends, results, errs = make([]units.Time, parts), make([]gateway.Result, parts), make([]error, parts)
	var all sync.WaitGroup
	for p := range l.gates {
		all.Go(func() { ends[p], results[p], errs[p] = gateway.Run(ctx, l.gates[p]) })
	}
	all.Wait()
	return ends, results, errs
}

// byPod cuts a fabric at its core: each pod is a part of its own, the core switches are
// in part 0.
func byPod(p *plan.Plan, parts int) []int {
	of := make([]int, len(p.Nodes))
	f := backendtest.Fabric(p)
	for i, n := range f.Graph.Nodes {
		if n.Pod >= 0 {
			of[i] = n.Pod % parts
		}
	}
	return of
}

// TestParity: a fabric in two and in three parts leaves the trace of the virtual run, and
// every frame on a cut link is counted at both of its stubs.
func TestParity(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	want := backendtest.Virtual(t, p, nil)
	threads(t, len(p.Nodes))
	scattered := make([]int, len(p.Nodes)) // hosts apart from their switches
	for i := range scattered {
		scattered[i] = i % 3
	}
	for _, test := range []struct {
		name string
		of   []int
	}{{"two pods", byPod(p, 2)}, {"three parts", scattered}} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, p, test.of, nil)
			wait := l.start(0, 1, 2)
			ends, results, errs := l.run(t.Context())
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			backendtest.Same(t, l.records.Results(), want)
			if slices.Min(ends) != slices.Max(ends) {
				t.Errorf("the parts end at %v", ends)
			}
			type way struct {
				link string
				to   int
			}
			out, in := make(map[way]int64), make(map[way]int64)
			frames := int64(0)
			for part, r := range results {
				t.Logf("part %d: %d exchanges, %d bytes, %d turns", part, r.Exchanges, r.Bytes, l.boards[part].Grants())
				for i, s := range l.gates[part].Stubs {
					out[way{s.Link, s.Peer}] = r.Stubs[i].Out
					in[way{s.Link, part}] = r.Stubs[i].In
					frames += r.Stubs[i].Out
				}
			}
			if diff := cmp.Diff(out, in); diff != "" {
				t.Errorf("frames that left differ from those that came (-out +in):\n%s", diff)
			}
			if frames < 100 {
				t.Errorf("%d frames crossed the cuts, want many", frames)
			}
		})
	}
}
