package wall_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// Issue 9, item 2: whatever somebody sends on a port of the fabric, the node drops it,
// counts it by the reason, keeps no more than Port.Room of it, and goes on. A frame that
// takes the place of a node's leaves a mismatch of the link.
func TestStraysByReason(t *testing.T) {
	const flood = 3 * emu.RawBacklog
	random := rand.New(rand.NewPCG(1, 2))
	raw := nodetest.RawFrame(0, 5, 200, random)
	const run, channel = 99, 0 // from h0 to tor0
	ours := emu.Mark(run, channel)
	made := func(mark uint32, arrival units.Time, sequence int64) []byte {
		return emu.AppendTrailer(append([]byte(nil), raw...), mark, arrival, sequence)
	}
	second := units.Time(units.Second)
	for name, c := range map[string]struct {
		frame func(i int64) []byte // the i-th, from 1
		want  func(n int64) emu.Strays
		// accepted is how many of them look like a node's.
		accepted func(n int64) int64
	}{
		"short":              {func(int64) []byte { return raw[:14] }, func(n int64) emu.Strays { return emu.Strays{Unmarked: n} }, nil},
		"without a trailer":  {func(int64) []byte { return raw }, func(n int64) emu.Strays { return emu.Strays{Unmarked: n} }, nil},
		"of another run":     {func(i int64) []byte { return made(emu.Mark(run+1, channel), 0, i) }, func(n int64) emu.Strays { return emu.Strays{Elsewhere: n} }, nil},
		"of another host":    {func(i int64) []byte { return made(emu.Mark(run, channel+2), 0, i) }, func(n int64) emu.Strays { return emu.Strays{Elsewhere: n} }, nil},
		"of the other way":   {func(i int64) []byte { return made(emu.Mark(run, channel^1), 0, i) }, func(n int64) emu.Strays { return emu.Strays{Elsewhere: n} }, nil},
		"damaged":            {func(i int64) []byte { return emu.AppendTrailer(raw[:9:9], ours, 0, i) }, func(n int64) emu.Strays { return emu.Strays{Damaged: n} }, nil},
		"future":             {func(i int64) []byte { return made(ours, 60*second, i) }, func(n int64) emu.Strays { return emu.Strays{Future: n} }, nil},
		"past":               {func(i int64) []byte { return made(ours, -60*second, i) }, func(n int64) emu.Strays { return emu.Strays{Past: n} }, nil},
		"sequence far ahead": {func(i int64) []byte { return made(ours, 0, 1<<40+i) }, func(n int64) emu.Strays { return emu.Strays{Future: n} }, nil},
		"sequence of none":   {func(i int64) []byte { return made(ours, 0, -i) }, func(n int64) emu.Strays { return emu.Strays{Future: n} }, nil},
		// These look like a node's frames, to one who knows the run.
		"replayed": {func(int64) []byte { return made(ours, 0, 1) }, func(n int64) emu.Strays { return emu.Strays{Repeated: n} }, func(int64) int64 { return 1 }},
		"near future": {func(i int64) []byte { return made(ours, 3500*units.Time(units.Millisecond), i) }, func(n int64) emu.Strays {
			if n > emu.RawBacklog { // the host's frame is one of those that find no room
				return emu.Strays{Excess: n - emu.RawBacklog + 1}
			}
			return emu.Strays{Repeated: 1}
		}, func(n int64) int64 { return min(n, emu.RawBacklog) }},
	} {
		for _, n := range []int64{1, flood} {
			synctest.Test(t, func(t *testing.T) {
				p := backendtest.Compile(t, programsText())
				f := emu.Fabric{Graph: p.Graph, Format: p.Format, TieSeed: p.TieSeed, End: p.End, Run: run, Applications: []int{0, 5}}
				nodes, links, conns, _ := backendtest.InMemory(t, p, f)
				var programs [2]*netio.Memory
				for i, h := range f.Applications {
					programs[i] = netio.NewMemory(1)
					netio.Join(programs[i], 0, conns[h], shim.Application)
				}
				var busy atomic.Bool
				busy.Store(true)
				go func() {
					defer busy.Store(false)
					for i := range n {
						send(t, conns[0], c.frame(i+1))
						if i%(netio.Slots/2) == 0 { // as many as tor0's ports keep until they are read
							time.Sleep(25 * time.Millisecond)
						}
					}
					send(t, programs[0], raw) // a frame of the host's, the first on its link
					time.Sleep(25 * time.Millisecond)
				}()
				timing, _, err := wall.PaceAsleepWhile(wall.Clock{Dilation: 1}, p.End, nodes, links, punctual, busy.Load)
				if err != nil {
					t.Fatalf("%s, %d frames: %v", name, n, err)
				}
				accepted := int64(0)
				if c.accepted != nil {
					accepted = c.accepted(n)
				}
				tor := p.Graph.Links[0].B
				got := nodes[tor.Node].PortCounts()[tor.Port]
				want := emu.PortCount{Node: tor.Node, Port: tor.Port, Sent: got.Sent, Received: 1, Strays: c.want(n)}
				if accepted > 0 { // one of them has the number of the host's frame
					want.Received = accepted
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %d frames: the port's counts (-want +got):\n%s", name, n, diff)
				}
				sent := nodes[0].PortCounts()[0].Sent
				if sent != 1 {
					t.Errorf("%s, %d frames: the host sent %d", name, n, sent)
				}
				if accepted == 0 && (timing.Sent != timing.Received || receive(t, programs[1], time.Second) == nil) {
					t.Errorf("%s, %d frames: the host's own frame did not arrive", name, n)
				}
				if accepted > 0 && got.Received+got.Strays.Repeated <= sent {
					t.Errorf("%s, %d frames: no mismatch shows what has been accepted: %+v of %d sent", name, n, got, sent)
				}
			})
		}
	}
}
