package sim_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

const serialisation = 100

// newMachine returns a machine that logs what it gets and whose packets take 100 ps.
func newMachine(ports int) *nodetest.Machine {
	m := nodetest.NewMachine(ports)
	m.Takes, m.LogCalls = serialisation, true
	m.Totals.Ports = []metrics.PortTotals{{}}
	return m
}

func packet(psn uint32) *wire.Packet { return nodetest.Data(nil, 0, 1, 0, psn, 64) }

func link(a, aPort, b, bPort int, delay units.Duration) topologies.Link {
	return topologies.Link{A: topologies.End{Node: a, Port: aPort}, B: topologies.End{Node: b, Port: bPort}, Delay: delay}
}

// pingPong is two nodes that send a packet back and forth, from time 1000.
func pingPong(delay units.Duration) (a, b *nodetest.Machine, cfg sim.Config) {
	a, b = newMachine(1), newMachine(1)
	a.Deadline = 1000
	a.OnTimeout = func(units.Time) { a.Send(0, packet(0)) }
	for _, m := range []*nodetest.Machine{a, b} {
		m.OnReceive = func(_ units.Time, port int, p *wire.Packet) {
			p.SetData(0, p.PSN()+1, 1)
			m.Send(port, p)
		}
	}
	return a, b, sim.Config{
		Nodes: []sim.Station{{Machine: a, Ports: 1, Sink: a.Sink}, {Machine: b, Ports: 1, Sink: b.Sink}},
		Links: []topologies.Link{link(0, 0, 1, 0, delay)},
		End:   units.Never,
	}
}

// A packet arrives the link's delay after departs: a hop takes 100 ps of
// serialisation and 900 of delay.
func TestPingPong(t *testing.T) {
	a, b, cfg := pingPong(900)
	cfg.End = 6000
	s := sim.New(cfg)
	if !s.Run() {
		t.Error("Run = false without Progress")
	}
	wantA := []string{"1000 timeout", "3000 port 0 psn 1", "5000 port 0 psn 3"}
	wantB := []string{"2000 port 0 psn 0", "4000 port 0 psn 2"} // "exclusive": not the one at 6000
	if diff := cmp.Diff([][]string{a.Log, b.Log}, [][]string{wantA, wantB}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
	if s.Now() != 5000 || s.Drained() || s.Events() != 5 {
		t.Errorf("now %d, drained %v, %d events, want 5000, false, 5", s.Now(), s.Drained(), s.Events())
	}
	s.Close()
	r := []metrics.NodeTotals{a.Records.NodeTotals(), b.Records.NodeTotals()}
	if a.End != 6000 || b.End != 6000 {
		t.Errorf("windows closed at %d and %d, want the end of the run, 6000", a.End, b.End)
	}
	if r[0].Events != 5 || r[0].Ports[0].RxPackets != 2 || r[1].Ports[0].RxBytes != 128 {
		t.Errorf("results %+v", r)
	}
}

// A run without an end stops when nothing is due, and its windows close then.
func TestDrains(t *testing.T) {
	a, b, cfg := pingPong(900)
	b.OnReceive = nil
	for _, end := range []units.Time{units.Never, 100_000} {
		a.Deadline, cfg.End = 1000, end
		s := sim.New(cfg)
		if !s.Run() || !s.Drained() || s.Now() != 2000 {
			t.Errorf("end %v: drained %v at %d, want true at 2000", end, s.Drained(), s.Now())
		}
		if s.Close(); a.End != 2000 {
			t.Errorf("end %v: windows closed at %d, want 2000", end, a.End)
		}
	}
}

func TestProgress(t *testing.T) {
	cfg := echoes(3)
	var calls []units.Time
	cfg.Progress = func(_ int, now units.Time) bool {
		calls = append(calls, now)
		return len(calls) < 3
	}
	s := sim.New(cfg)
	if s.Run() {
		t.Error("Run = true although Progress ended it")
	}
	if len(calls) != 3 || !slices.IsSorted(calls) || s.Now() != calls[2] || s.Drained() {
		t.Errorf("calls at %v, now %v, drained %v, want three and a stop at the last", calls, s.Now(), s.Drained())
	}
	events := s.Events()
	calls = nil
	if s.Run(); s.Events()/100 != 2*events/100 { // it goes on where it stopped, give or take a window
		t.Errorf("%d events after a second run, want %d", s.Events(), 2*events)
	}
}

// Progress ends a run within a window, whatever happens in it, at any worker.
func TestProgressWithinAWindow(t *testing.T) {
	for _, shards := range append([]int{1}, slices.Repeat([]int{2}, 50)...) {
		cfg := echoes(3)
		// The link, and so the window, is a million times as long.
		cfg.Links[0].Delay = 1_000_000 * cfg.Links[0].Delay
		for i := range cfg.Nodes {
			m := cfg.Nodes[i].Machine.(*nodetest.Machine)
			m.OnTimeout = func(now units.Time) { m.Deadline = now + 1 } // never idle
			m.Deadline = 1
			cfg.Nodes[i].Shard = i % shards
		}
		cfg.WorthSharing = 1 // both workers run
		var mu sync.Mutex
		calls := make([]int, shards)
		cfg.Progress = func(shard int, now units.Time) bool {
			mu.Lock()
			defer mu.Unlock()
			calls[shard]++
			return calls[shards-1] < 3
		}
		s := sim.New(cfg)
		if s.Run() {
			t.Errorf("%d shards: Run = true although Progress ended it", shards)
		}
		if got := s.Events(); s.Now() > 700_000_000 || got > 1<<20 && shards == 1 {
			t.Errorf("%d shards: stopped after %d events at %d, want within the first window, of 700,000,000", shards, got, s.Now())
		}
	}
}

// A run without trace hash is the same run: the same events, counted, and no hash.
func TestNoTraceHash(t *testing.T) {
	run := func(without bool) (log []string, r metrics.NodeTotals) {
		a, _, cfg := pingPong(900)
		cfg.End, cfg.NoTraceHash = 100_000, without
		s := sim.New(cfg)
		s.Run()
		s.Close()
		return a.Log, a.Records.NodeTotals()
	}
	log, with := run(false)
	without, r := run(true)
	if diff := cmp.Diff(without, log); diff != "" {
		t.Errorf("calls without trace hash (-without +with):\n%s", diff)
	}
	if with.TraceHash == ([32]byte{}) || r.TraceHash != ([32]byte{}) || r.Events != with.Events || r.Events == 0 {
		t.Errorf("%d events and hash %x without, %d and %x with; want as many events and no hash", r.Events, r.TraceHash, with.Events, with.TraceHash)
	}
}

// star is a hub with the given number of leaves that all send two packets at
// time 0, so that they arrive at the hub in pairs at two instants.
func star(leaves int, tieSeed uint64) (hub *nodetest.Machine, cfg sim.Config) {
	hub = newMachine(leaves)
	cfg = sim.Config{Nodes: []sim.Station{{Machine: hub, Ports: leaves, Sink: hub.Sink}}, TieSeed: tieSeed, End: units.Never}
	// Leaves are linked in an order that is not that of the hub's ports.
	for i := range leaves {
		m := newMachine(1)
		m.Deadline = 0
		m.OnTimeout = func(units.Time) {
			m.Send(0, packet(0))
			m.Send(0, packet(1))
		}
		cfg.Nodes = append(cfg.Nodes, sim.Station{Machine: m, Ports: 1, Sink: m.Sink})
		cfg.Links = append(cfg.Links, link(i+1, 0, 0, (i*7+3)%leaves, 900))
	}
	return hub, cfg
}

func runStar(leaves int, tieSeed uint64) []string {
	hub, cfg := star(leaves, tieSeed)
	sim.New(cfg).Run()
	return hub.Log
}

// Receives at one instant are in ascending order of port and link sequence.
func TestSimultaneousArrivals(t *testing.T) {
	const leaves = 20
	var want []string
	for psn, at := range []int{1000, 1100} {
		for port := range leaves {
			want = append(want, fmt.Sprintf("%d port %d psn %d", at, port, psn))
		}
	}
	if diff := cmp.Diff(runStar(leaves, 0), want); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
	permuted := runStar(leaves, 1)
	if slices.Equal(permuted, want) {
		t.Error("a tie seed leaves the order of ports")
	}
	if diff := cmp.Diff(runStar(leaves, 1), permuted); diff != "" {
		t.Errorf("the same tie seed gives two orders:\n%s", diff)
	}
	if slices.Equal(runStar(leaves, 2), permuted) {
		t.Error("two tie seeds give the same order")
	}
	sorted := slices.Sorted(slices.Values(permuted))
	if !slices.Equal(sorted, slices.Sorted(slices.Values(want))) {
		t.Errorf("a tie seed changes more than the order: %v", permuted)
	}
	for i, line := range permuted[:leaves] {
		if line[:4] != "1000" {
			t.Errorf("call %d is %q: a tie seed moved a packet in time", i, line)
		}
	}
}

// Packets that leave a port at the same instant, as control messages do, arrive
// in the order they left, before those of a later port.
func TestLinkSequence(t *testing.T) {
	hub := newMachine(2)
	cfg := sim.Config{Nodes: []sim.Station{{Machine: hub, Ports: 2, Sink: hub.Sink}}, End: units.Never}
	for i := range 2 {
		m := newMachine(1)
		m.Takes = 0 // its packets leave at the same instant
		m.Deadline = 0
		m.OnTimeout = func(units.Time) {
			for psn := range uint32(3) {
				m.Send(0, packet(psn))
			}
		}
		cfg.Nodes = append(cfg.Nodes, sim.Station{Machine: m, Ports: 1, Sink: m.Sink})
		cfg.Links = append(cfg.Links, link(i+1, 0, 0, i, 50))
	}
	sim.New(cfg).Run()
	want := []string{
		"50 port 0 psn 0", "50 port 0 psn 1", "50 port 0 psn 2",
		"50 port 1 psn 0", "50 port 1 psn 1", "50 port 1 psn 2",
	}
	if diff := cmp.Diff(hub.Log, want); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// At one instant: ports that become free, receives, then timers.
func TestOrderOfClasses(t *testing.T) {
	a, b, cfg := pingPong(900)
	b.OnReceive = nil
	b.Deadline = 2000 // when the packet arrives
	sim.New(cfg).Run()
	if want := []string{"2000 port 0 psn 0", "2000 timeout"}; !slices.Equal(b.Log, want) {
		t.Errorf("calls %v, want %v", b.Log, want)
	}
	if len(a.Log) != 1 {
		t.Errorf("calls %v, want the timeout only", a.Log)
	}
}

// A deadline that moves or goes away before it comes is no event; one in the
// past is due at once.
func TestStaleTimers(t *testing.T) {
	a, b, cfg := pingPong(900)
	b.Deadline = 5000
	b.OnReceive = func(now units.Time, _ int, p *wire.Packet) {
		switch p.PSN() {
		case 0: // at 2000: later, then again earlier
			b.Deadline = 7000
		case 1: // at 2100
			b.Deadline = 3000
		case 2: // at 2200: cancelled
			b.Deadline = units.Never
		case 3: // at 2300: overdue
			b.Deadline = 100
		case 4: // at 2400: the last one, cancelled by the end
			b.Deadline = 9000
		case 5: // at 2500
			b.Deadline = units.Never
		}
	}
	a.OnTimeout = func(units.Time) {
		for psn := range uint32(6) {
			a.Send(0, packet(psn))
		}
	}
	s := sim.New(cfg)
	s.Run()
	want := []string{
		"2000 port 0 psn 0", "2100 port 0 psn 1", "2200 port 0 psn 2", "2300 port 0 psn 3", "2300 timeout",
		"2400 port 0 psn 4", "2500 port 0 psn 5",
	}
	if diff := cmp.Diff(b.Log, want); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
	if s.Now() != 2500 || !s.Drained() {
		t.Errorf("the run ended at %d, drained %v, want 2500, when the last packet arrived", s.Now(), s.Drained())
	}
}

// A cancelled deadline beyond the end does not make a run look cut off.
func TestDrainedWithAStaleTimer(t *testing.T) {
	_, b, cfg := pingPong(900)
	cfg.End = 8000
	b.Deadline = 9000
	b.OnReceive = func(units.Time, int, *wire.Packet) { b.Deadline = units.Never }
	s := sim.New(cfg)
	s.Run()
	drained := s.Drained()
	if s.Close(); !drained || b.End != 2000 {
		t.Errorf("drained %v, windows closed at %d, want true, 2000", s.Drained(), b.End)
	}
}

func TestNewPanicsWithoutDelay(t *testing.T) {
	_, _, cfg := pingPong(0)
	defer func() {
		if recover() == nil {
			t.Error("a link without delay did not panic")
		}
	}()
	sim.New(cfg)
}

// Steps of a run allocate nothing once it is warm.
func TestNothingAllocatesPerHop(t *testing.T) {
	calls, cfg := 0, echoes(50)
	cfg.Progress = func(int, units.Time) bool { calls++; return calls%32 != 0 }
	s := sim.New(cfg)
	s.Run() // warm
	if allocs := testing.AllocsPerRun(2, func() { s.Run() }); allocs != 0 || calls < 96 {
		t.Errorf("%v allocations in 65536 events (%d runs)", allocs, calls)
	}
}

// echoes is two nodes that throw the given number of packets at each other for
// ever.
func echoes(packets int) sim.Config {
	cfg := sim.Config{Links: []topologies.Link{link(0, 0, 1, 0, 700)}, End: units.Never}
	for i := range 2 {
		m := nodetest.NewMachine(1)
		m.Takes = serialisation
		m.OnReceive = func(_ units.Time, port int, p *wire.Packet) { m.Send(port, p) }
		if i == 0 {
			m.Deadline = 1
			for range packets {
				m.Send(0, packet(0))
			}
		}
		cfg.Nodes = append(cfg.Nodes, sim.Station{Machine: m, Ports: 1, Sink: m.Sink})
	}
	return cfg
}

func ExampleNew() {
	a, b, cfg := pingPong(900)
	cfg.End = 4000
	s := sim.New(cfg)
	fmt.Println(s.Run(), s.Now())
	fmt.Println(a.Log, b.Log)
	// Output:
	// true 3ns
	// [1000 timeout 3000 port 0 psn 1] [2000 port 0 psn 0]
}
