package emu_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

func fabric(p *plan.Plan) emu.Fabric {
	f := backendtest.Fabric(p)
	f.Run, f.FrameTimeout = 99, 300*time.Millisecond
	return f
}

// run drives the plan over links in memory.
func run(t testing.TB, p *plan.Plan, f emu.Fabric, goroutines int) ([]backendtest.Result, *shared.Pool, error) {
	t.Helper()
	nodes, links, conns, records := backendtest.InMemory(t, p, f)
	configs, _ := f.Configs()
	for i, conn := range conns {
		conn.Keep(configs[i].Slots)
	}
	board, err := shared.NewPool(nodes, links, f.End)
	if err != nil {
		t.Fatal(err)
	}
	if err := board.Run(context.Background(), goroutines); err != nil {
		return nil, board, err
	}
	for _, n := range nodes {
		if err := n.CloseCapture(); err != nil {
			t.Error(err)
		}
		if n.Strays() != 0 {
			t.Errorf("%d stray frames", n.Strays())
		}
		n.Finish(board.End())
	}
	return records.Results(), board, nil
}

// TestParity: real nodes leave the trace of the sequential run, with payloads
// and without, on one goroutine and on several, under every tie seed.
func TestParity(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	for _, tie := range []uint64{0, 1, 2} {
		p.TieSeed = tie
		want := backendtest.Virtual(t, p, nil)
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
			backendtest.Same(t, got, want)
		}
	}
}

// TestParityWithOverhead: line overhead is in the lookahead as in the time of every
// packet, so that nodes that run ahead by it miss no frame.
func TestParityWithOverhead(t *testing.T) {
	text := strings.Replace(backendtest.Small, "{queue: 30kB}", "{queue: 30kB, overhead: 24B}", 1)
	plain, p := backendtest.Compile(t, backendtest.Small), backendtest.Compile(t, text)
	for i, links := range [][]lockstep.Channel{channels(plain), channels(p)} {
		want := units.Microsecond + units.Duration(64+24*i)*80
		for _, l := range links {
			if l.Lookahead != want {
				t.Fatalf("lookahead %v, want %v", l.Lookahead, want)
			}
		}
	}
	got, _, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Same(t, got, backendtest.Virtual(t, p, nil))
	if got[0].TraceHash == backendtest.Virtual(t, plain, nil)[0].TraceHash {
		t.Error("the trace with overhead is that without")
	}
}

func channels(p *plan.Plan) []lockstep.Channel {
	f := fabric(p)
	_, links := f.Configs()
	return links
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
	start, rest, _ := strings.Cut(backendtest.Small, "workload:")
	_, rest, _ = strings.Cut(rest, "csig:")
	p := backendtest.Compile(t, start+"workload: {file: "+file+"}\ncsig:"+rest)
	if len(p.Control()) == 0 {
		t.Fatal("the plan has no control links")
	}
	got, _, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Same(t, got, backendtest.Virtual(t, p, nil))
	if done := got[6].Receivers[0].Done; done == units.Never {
		t.Error("the last transfer did not complete")
	}
}

// TestFastLinks: at 800 Gb/s with small packets more frames fit between two turns
// of a receiver than it has room for; senders wait and nothing is lost.
func TestFastLinks(t *testing.T) {
	text := strings.ReplaceAll(backendtest.Small, "100Gbps", "800Gbps")
	text = strings.Replace(text, "{queue: 30kB}", "{queue: 30kB, mtu: 256B}", 1)
	p := backendtest.Compile(t, text)
	got, _, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Same(t, got, backendtest.Virtual(t, p, nil))
}

// holder counts the frames that it holds for its user: those of the last batch.
type holder struct {
	*netio.Memory
	held, sends int
	t           *testing.T
}

func (h *holder) Receive(batch []netio.Frame, wait time.Duration) (n int, err error) {
	n, err = h.Memory.Receive(batch, wait)
	h.held = n
	return n, err
}

func (h *holder) Send(batch []netio.Message) error {
	if h.sends++; h.held > 0 {
		h.t.Errorf("a node has read %d frames, still holds their slots, and sends", h.held)
		h.held = 0
	}
	return h.Memory.Send(batch)
}

// TestReadFramesLeaveTheirSlots: when a turn is reported, and senders may send as many
// frames as were read, the slots of these are free.
func TestReadFramesLeaveTheirSlots(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	f := fabric(p)
	configs, links := f.Configs()
	conns, nodes := make([]*holder, len(configs)), make([]*emu.Node, len(configs))
	records := backendtest.NewRecords(len(configs))
	for i, c := range configs {
		pool := new(wire.Pool)
		conns[i] = &holder{Memory: netio.NewMemory(len(c.Ports)), t: t}
		nodes[i] = emu.New(c, backendtest.Machine(t, p, i, pool, records.Sink(i)), pool, conns[i], records.Sink(i))
	}
	wires, _ := f.Wires()
	for _, w := range wires {
		netio.Join(conns[w[0].Node].Memory, w[0].Port, conns[w[1].Node].Memory, w[1].Port)
	}
	pool, err := shared.NewPool(nodes, links, f.End)
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Run(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if conns[0].sends == 0 {
		t.Error("the first host has sent nothing")
	}
}

// TestSlots: a node keeps the frames of four lookaheads, where these are more than the
// least and fewer than a Conn has slots by default, and its links share them.
func TestSlots(t *testing.T) {
	for _, c := range []struct {
		rate string
		mtu  units.Size
		want int // of a host, with one link
	}{
		{"100Gbps", 0, 160},
		{"100Gbps", 256, 64 + 16 + 196}, // 4 x 1.0052 us / 20.48 ns
		{"2500Gbps", 0, 64 + 16 + 301},  // 4 x 1.0002 us / 13.28 ns
		{"10Tbps", 0, 512},
	} {
		p := backendtest.Compile(t, strings.ReplaceAll(backendtest.Small, "100Gbps", c.rate))
		f := fabric(p)
		f.MTU = c.mtu
		configs, links := f.Configs()
		if got := configs[0].Slots; got != c.want {
			t.Errorf("%s, MTU %v: a host has %d slots, want %d", c.rate, c.mtu, got, c.want)
		}
		for i, l := range links {
			to := configs[l.To]
			if share := int64((to.Slots - 64) / len(to.Ports)); l.Capacity != share {
				t.Errorf("%s: link %d has a capacity of %d, want %d of the %d slots of %s", c.rate, i, l.Capacity, share, to.Slots, to.Name)
			}
		}
	}
}

// TestEnd: a run that ends in the middle ends at the same event.
func TestEnd(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small+"end: 40us\n")
	got, board, err := run(t, p, fabric(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Same(t, got, backendtest.Virtual(t, p, nil))
	if board.End() != p.End {
		t.Errorf("run ended at %v, want %v", board.End(), p.End)
	}
}

// TestDropNamesTheLink: a frame that is lost ends the run with its link's name.
func TestDropNamesTheLink(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
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
	p := backendtest.Compile(t, backendtest.Small)
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
	if got[tor].TraceHash == backendtest.Virtual(t, p, nil)[tor].TraceHash {
		t.Error("a flipped bit left the trace as it was")
	}
}

func TestParseInjectionRefuses(t *testing.T) {
	g := backendtest.Compile(t, backendtest.Small).Graph
	for _, text := range []string{"", "drop", "drop=h1-tor0", "lose=h1-tor0:1", "drop=h1-tor0:0", "drop=h1-tor0:x", "drop=h1-tor9:1"} {
		if _, err := emu.ParseInjection(text, g); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
