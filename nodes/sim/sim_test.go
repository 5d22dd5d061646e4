package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// machine is a node whose behaviour a test writes down: what it does with a
// packet and at a deadline. Its ports send what is queued, each packet taking
// 100 ps.
type machine struct {
	onReceive func(now units.Time, port int, p *wire.Packet)
	onTimeout func(now units.Time)
	deadline  units.Time
	log       []string
	ready     node.PortSet
	queues    [][]*wire.Packet
	end       units.Time
	records   metrics.Batch
}

const serialisation = 100

func newMachine(ports int) *machine {
	return &machine{deadline: units.Never, ready: node.NewPortSet(ports), queues: make([][]*wire.Packet, ports)}
}

func (m *machine) send(port int, p *wire.Packet) {
	m.queues[port] = append(m.queues[port], p)
	m.ready.Add(port)
}

func (m *machine) Receive(now units.Time, port int, p *wire.Packet) {
	m.log = append(m.log, fmt.Sprintf("%d port %d psn %d", now, port, p.PSN()))
	if m.onReceive != nil {
		m.onReceive(now, port, p)
	}
}

func (m *machine) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	q := m.queues[port]
	if len(q) == 0 {
		m.ready.Remove(port)
		return nil, 0, false
	}
	m.queues[port] = q[1:]
	if len(q) == 1 {
		m.ready.Remove(port)
	}
	return q[0], now + serialisation, true
}

func (m *machine) HandleTimeout(now units.Time) {
	m.log = append(m.log, fmt.Sprintf("%d timeout", now))
	m.deadline = units.Never
	if m.onTimeout != nil {
		m.onTimeout(now)
	}
}

func (m *machine) NextTimeout() units.Time { return m.deadline }
func (m *machine) Ready() node.PortSet     { return m.ready }
func (m *machine) Profile() uint32         { return 0 }
func (m *machine) Close(end units.Time) {
	m.end = end
	m.records.Emit(&metrics.NodeTotals{Ports: []metrics.PortTotals{{}}})
}

func packet(psn uint32) *wire.Packet {
	p := new(wire.Packet)
	p.Build(wire.Addresses{}, wire.Data, 0, wire.ECT0, 0)
	p.SetMACs([6]byte{}, [6]byte{})
	p.SetData(0, psn, 1)
	p.Size = 64
	return p
}

func link(a, aPort, b, bPort int, delay units.Duration) sim.Link {
	return sim.Link{A: topologies.End{Node: a, Port: aPort}, B: topologies.End{Node: b, Port: bPort}, Delay: delay}
}

// pingPong is two nodes that send a packet back and forth, from time 1000.
func pingPong(delay units.Duration) (a, b *machine, cfg sim.Config) {
	a, b = newMachine(1), newMachine(1)
	a.deadline = 1000
	a.onTimeout = func(units.Time) { a.send(0, packet(0)) }
	for _, m := range []*machine{a, b} {
		m.onReceive = func(_ units.Time, port int, p *wire.Packet) {
			p.SetData(0, p.PSN()+1, 1)
			m.send(port, p)
		}
	}
	return a, b, sim.Config{
		Nodes: []sim.Node{{Machine: a, Ports: 1, Sink: &a.records}, {Machine: b, Ports: 1, Sink: &b.records}},
		Links: []sim.Link{link(0, 0, 1, 0, delay)},
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
	if diff := cmp.Diff([][]string{a.log, b.log}, [][]string{wantA, wantB}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
	if s.Now() != 5000 || s.Drained() || s.Events() != 5 {
		t.Errorf("now %d, drained %v, %d events, want 5000, false, 5", s.Now(), s.Drained(), s.Events())
	}
	s.Close()
	r := []metrics.NodeTotals{a.records.NodeTotals(), b.records.NodeTotals()}
	if a.end != 6000 || b.end != 6000 {
		t.Errorf("windows closed at %d and %d, want the end of the run, 6000", a.end, b.end)
	}
	if r[0].Events != 5 || r[0].Ports[0].RxPackets != 2 || r[1].Ports[0].RxBytes != 128 {
		t.Errorf("results %+v", r)
	}
}

// A run without an end stops when nothing is due, and its windows close then.
func TestDrains(t *testing.T) {
	a, b, cfg := pingPong(900)
	b.onReceive = nil
	for _, end := range []units.Time{units.Never, 100_000} {
		a.deadline, cfg.End = 1000, end
		s := sim.New(cfg)
		if !s.Run() || !s.Drained() || s.Now() != 2000 {
			t.Errorf("end %v: drained %v at %d, want true at 2000", end, s.Drained(), s.Now())
		}
		if s.Close(); a.end != 2000 {
			t.Errorf("end %v: windows closed at %d, want 2000", end, a.end)
		}
	}
}

func TestProgress(t *testing.T) {
	cfg := echoes(3)
	var calls []units.Time
	cfg.Progress = func(now units.Time) bool {
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
	if s.Run(); s.Events() != 2*events { // it goes on where it stopped
		t.Errorf("%d events after a second run, want %d", s.Events(), 2*events)
	}
}

// star is a hub with the given number of leaves that all send two packets at
// time 0, so that they arrive at the hub in pairs at two instants.
func star(leaves int, tieSeed uint64) (hub *machine, cfg sim.Config) {
	hub = newMachine(leaves)
	cfg = sim.Config{Nodes: []sim.Node{{Machine: hub, Ports: leaves, Sink: &hub.records}}, TieSeed: tieSeed, End: units.Never}
	// Leaves are linked in an order that is not that of the hub's ports.
	for i := range leaves {
		m := newMachine(1)
		m.deadline = 0
		m.onTimeout = func(units.Time) {
			m.send(0, packet(0))
			m.send(0, packet(1))
		}
		cfg.Nodes = append(cfg.Nodes, sim.Node{Machine: m, Ports: 1, Sink: &m.records})
		cfg.Links = append(cfg.Links, link(i+1, 0, 0, (i*7+3)%leaves, 900))
	}
	return hub, cfg
}

func runStar(leaves int, tieSeed uint64) []string {
	hub, cfg := star(leaves, tieSeed)
	sim.New(cfg).Run()
	return hub.log
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
	cfg := sim.Config{Nodes: []sim.Node{{Machine: hub, Ports: 2, Sink: &hub.records}}, End: units.Never}
	for i := range 2 {
		m := &instant{newMachine(1)}
		m.deadline = 0
		m.onTimeout = func(units.Time) {
			for psn := range uint32(3) {
				m.send(0, packet(psn))
			}
		}
		cfg.Nodes = append(cfg.Nodes, sim.Node{Machine: m, Ports: 1, Sink: &m.records})
		cfg.Links = append(cfg.Links, link(i+1, 0, 0, i, 50))
	}
	sim.New(cfg).Run()
	want := []string{
		"50 port 0 psn 0", "50 port 0 psn 1", "50 port 0 psn 2",
		"50 port 1 psn 0", "50 port 1 psn 1", "50 port 1 psn 2",
	}
	if diff := cmp.Diff(hub.log, want); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// instant is a machine whose packets take no time on the wire.
type instant struct{ *machine }

func (m *instant) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	p, _, ok := m.machine.Transmit(now, port)
	return p, now, ok
}

// At one instant: ports that become free, receives, then timers.
func TestOrderOfClasses(t *testing.T) {
	a, b, cfg := pingPong(900)
	b.onReceive = nil
	b.deadline = 2000 // when the packet arrives
	sim.New(cfg).Run()
	if want := []string{"2000 port 0 psn 0", "2000 timeout"}; !slices.Equal(b.log, want) {
		t.Errorf("calls %v, want %v", b.log, want)
	}
	if len(a.log) != 1 {
		t.Errorf("calls %v, want the timeout only", a.log)
	}
}

// A deadline that moves or goes away before it comes is no event; one in the
// past is due at once.
func TestStaleTimers(t *testing.T) {
	a, b, cfg := pingPong(900)
	b.deadline = 5000
	b.onReceive = func(now units.Time, _ int, p *wire.Packet) {
		switch p.PSN() {
		case 0: // at 2000: later, then again earlier
			b.deadline = 7000
		case 1: // at 2100
			b.deadline = 3000
		case 2: // at 2200: cancelled
			b.deadline = units.Never
		case 3: // at 2300: overdue
			b.deadline = 100
		case 4: // at 2400: the last one, cancelled by the end
			b.deadline = 9000
		case 5: // at 2500
			b.deadline = units.Never
		}
	}
	a.onTimeout = func(units.Time) {
		for psn := range uint32(6) {
			a.send(0, packet(psn))
		}
	}
	s := sim.New(cfg)
	s.Run()
	want := []string{
		"2000 port 0 psn 0", "2100 port 0 psn 1", "2200 port 0 psn 2", "2300 port 0 psn 3", "2300 timeout",
		"2400 port 0 psn 4", "2500 port 0 psn 5",
	}
	if diff := cmp.Diff(b.log, want); diff != "" {
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
	b.deadline = 9000
	b.onReceive = func(units.Time, int, *wire.Packet) { b.deadline = units.Never }
	s := sim.New(cfg)
	s.Run()
	if s.Close(); !s.Drained() || b.end != 2000 {
		t.Errorf("drained %v, windows closed at %d, want true, 2000", s.Drained(), b.end)
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
	cfg.Progress = func(units.Time) bool { calls++; return false }
	s := sim.New(cfg)
	s.Run() // warm
	if allocs := testing.AllocsPerRun(2, func() { s.Run() }); allocs != 0 || calls < 3 {
		t.Errorf("%v allocations in 65536 events (%d runs)", allocs, calls)
	}
}

// echoes is two nodes that throw the given number of packets at each other for
// ever.
func echoes(packets int) sim.Config {
	a, b := &echo{ready: node.NewPortSet(1)}, &echo{ready: node.NewPortSet(1)}
	for range packets {
		a.queue.Push(packet(0))
	}
	a.ready.Add(0)
	a.start = 1
	return sim.Config{
		Nodes: []sim.Node{{Machine: a, Ports: 1, Sink: metrics.Discard}, {Machine: b, Ports: 1, Sink: metrics.Discard}},
		Links: []sim.Link{link(0, 0, 1, 0, 700)},
		End:   units.Never,
	}
}

// echo sends back what it gets.
type echo struct {
	ready node.PortSet
	queue wire.Queue
	start units.Time
}

func (m *echo) Receive(_ units.Time, port int, p *wire.Packet) {
	m.queue.Push(p)
	m.ready.Add(port)
}

func (m *echo) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	p := m.queue.Pop()
	if m.queue.Len() == 0 {
		m.ready.Remove(port)
	}
	return p, now + serialisation, p != nil
}

func (m *echo) HandleTimeout(units.Time) { m.start = 0 }

func (m *echo) NextTimeout() units.Time {
	if m.start == 0 {
		return units.Never
	}
	return m.start
}

func (m *echo) Ready() node.PortSet { return m.ready }
func (m *echo) Profile() uint32     { return 0 }
func (m *echo) Close(units.Time)    {}

func ExampleNew() {
	a, b, cfg := pingPong(900)
	cfg.End = 4000
	s := sim.New(cfg)
	fmt.Println(s.Run(), s.Now())
	fmt.Println(a.log, b.log)
	// Output:
	// true 3ns
	// [1000 timeout 3000 port 0 psn 1] [2000 port 0 psn 0]
}
