package node_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

func TestPortSetAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, ports := range []int{1, 63, 64, 65, 300} {
		s, slow := node.NewPortSet(ports), map[int]bool{}
		without, slowWithout := node.NewPortSet(ports), map[int]bool{}
		for range 2000 {
			p := r.IntN(ports)
			if slowWithout[p] = r.IntN(3) == 0; slowWithout[p] {
				without.Add(p)
			} else {
				without.Remove(p)
			}
			if r.IntN(2) == 0 {
				s.Add(p)
				slow[p] = true
			} else {
				s.Remove(p)
				delete(slow, p)
			}
			from := r.IntN(ports + 1)
			want := -1
			for q := from; q < ports && want < 0; q++ {
				if slow[q] && !slowWithout[q] {
					want = q
				}
			}
			if got := s.NextWithout(without, from); got != want || s.Has(p) != slow[p] {
				t.Fatalf("seed %d, %d ports: NextWithout(%d) = %d, Has(%d) = %v, want %d, %v", seed, ports, from, got, p, s.Has(p), want, slow[p])
			}
		}
	}
}

// toy is a machine that logs its calls. It sends each packet out of the ports that
// the test has put in route.
type toy struct {
	*nodetest.Machine
	route []int
}

func newToy(ports int) *toy {
	m := &toy{Machine: nodetest.NewMachine(ports)}
	m.Takes, m.LogCalls, m.LogTransmits = 10, true, true
	m.Totals.Ports = []metrics.PortTotals{{Port: 2}, {Port: 0}}
	m.OnReceive = func(_ units.Time, _ int, p *wire.Packet) {
		for _, out := range m.route {
			m.Send(out, p)
		}
	}
	return m
}

func packet(size units.Size) *wire.Packet { return nodetest.Data(nil, 1, 2, 0, 0, size) }

// sent returns the ports of the last call's departures.
func sent(s *node.Stepper) (ports []int) {
	for _, d := range s.Departures {
		ports = append(ports, d.Port)
	}
	return ports
}

// The driver drains Transmit in ascending order of ports after every call.
func TestStepperDrainsAscending(t *testing.T) {
	m := newToy(130)
	s := node.NewStepper(m, 130, metrics.Discard)
	m.route = []int{129, 3, 64, 0}
	s.Receive(5, 1, packet(100))
	if want := []int{0, 3, 64, 129}; !slices.Equal(sent(s), want) || len(s.Frees) != 0 {
		t.Errorf("sent on ports %v, wants PortFree for %v, want %v and none", sent(s), s.Frees, want)
	}
	for _, d := range s.Departures {
		if d.Departs != 15 || s.FreeAt(d.Port) != 15 || d.Digest != node.Digest(d.Packet) {
			t.Errorf("departure %+v, free at %v, want 15", d, s.FreeAt(d.Port))
		}
	}
}

// A port that sends is left alone until it is free, and PortFree is asked for
// once.
func TestStepperWaitsForABusyPort(t *testing.T) {
	m := newToy(3)
	s := node.NewStepper(m, 3, metrics.Discard)
	m.route = []int{2}
	s.Receive(0, 0, packet(100)) // leaves at once, port 2 is busy until 10
	steps := []struct {
		name  string
		call  func()
		sent  []int
		frees []int
	}{
		{"second packet waits", func() { s.Receive(1, 0, packet(100)) }, nil, []int{2}},
		{"third asks for nothing more", func() { s.Receive(2, 1, packet(100)) }, nil, nil},
		{"a timeout neither", func() { s.Timeout(3) }, nil, nil},
		{"free: one leaves, another waits", func() { s.PortFree(10, 2) }, []int{2}, []int{2}},
		{"free: the last leaves", func() { s.PortFree(20, 2) }, []int{2}, nil},
		{"idle since 30: leaves at once", func() { s.Receive(30, 0, packet(100)) }, []int{2}, nil},
	}
	for _, step := range steps {
		step.call()
		if got := sent(s); !slices.Equal(got, step.sent) || !slices.Equal(s.Frees, step.frees) {
			t.Errorf("%s: sent %v, frees %v, want %v, %v", step.name, got, s.Frees, step.sent, step.frees)
		}
	}
	want := []string{
		"0 port 0 psn 0", "0 transmit 2 of 1", "1 port 0 psn 0", "2 port 1 psn 0", "3 timeout",
		"10 transmit 2 of 2", "20 transmit 2 of 1", "30 port 0 psn 0", "30 transmit 2 of 1",
	}
	if diff := cmp.Diff(m.Log, want); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// Of two ports that become free at one instant each is served at its own PortFree.
func TestStepperTwoPortsFreeAtOnce(t *testing.T) {
	m := newToy(2)
	s := node.NewStepper(m, 2, metrics.Discard)
	m.route = []int{0, 1}
	for now := range units.Time(3) {
		s.Receive(now, 0, packet(100))
	}
	s.PortFree(10, 0)
	if !slices.Equal(sent(s), []int{0}) || !slices.Equal(s.Frees, []int{0}) {
		t.Errorf("free 0: sent %v, frees %v, want [0], [0]", sent(s), s.Frees)
	}
	s.PortFree(10, 1)
	if !slices.Equal(sent(s), []int{1}) || !slices.Equal(s.Frees, []int{1}) {
		t.Errorf("free 1: sent %v, frees %v, want [1], [1]", sent(s), s.Frees)
	}
}

// A port without serialisation, such as a control port, sends all it has.
func TestStepperPortThatTakesNoTime(t *testing.T) {
	m := newToy(1)
	m.Takes, m.Lazy = 0, true
	s := node.NewStepper(m, 1, metrics.Discard)
	m.route = []int{0, 0, 0}
	s.Receive(7, 0, packet(100))
	if got := sent(s); !slices.Equal(got, []int{0, 0, 0}) || len(s.Frees) != 0 {
		t.Errorf("sent %v, frees %v, want three packets and none", got, s.Frees)
	}
}

// A tap sees what the trace sees, in its order, and changes nothing.
func TestStepperTap(t *testing.T) {
	run := func(tapped bool) (seen []string, sum [32]byte) {
		var records metrics.Batch
		m := newToy(3)
		m.Sink = &records
		s := node.NewStepper(m, 3, &records)
		if tapped {
			s.Tap = func(now units.Time, port int, event node.Event, p *wire.Packet) {
				seen = append(seen, fmt.Sprintf("%d port %d event %d of %d B", now, port, event, p.Size))
			}
		}
		m.route = []int{1}
		s.Receive(0, 0, packet(100))
		s.Receive(4, 0, packet(200))
		s.PortFree(10, 1)
		s.Close(20)
		return seen, records.NodeTotals().TraceHash
	}
	seen, tapped := run(true)
	want := []string{
		"0 port 0 event 1 of 100 B", "0 port 1 event 2 of 100 B", "4 port 0 event 1 of 200 B", "10 port 1 event 2 of 200 B",
	}
	if diff := cmp.Diff(seen, want); diff != "" {
		t.Errorf("seen (-got +want):\n%s", diff)
	}
	if _, sum := run(false); sum != tapped {
		t.Error("the trace hash depends on the tap")
	}
}

func TestStepperClose(t *testing.T) {
	var records metrics.Batch
	m := newToy(3)
	m.Sink = &records
	s := node.NewStepper(m, 3, &records)
	s.Receive(1, 0, packet(100))
	s.Receive(2, 2, packet(200))
	s.Receive(3, 2, packet(300))
	s.Close(10)
	r := records.NodeTotals()
	want := []metrics.PortTotals{{Port: 2, RxPackets: 2, RxBytes: 500}, {Port: 0, RxPackets: 1, RxBytes: 100}}
	if diff := cmp.Diff(r.Ports, want); diff != "" || r.Events != 3 {
		t.Errorf("%d events, ports (-got +want):\n%s", r.Events, diff)
	}
	if r.TraceHash == new(node.Trace).Sum() {
		t.Error("the trace hash is that of an empty trace")
	}
}

// Without hash the events are counted, and no packet is digested.
func TestStepperWithoutHash(t *testing.T) {
	var records metrics.Batch
	m := newToy(3)
	m.Sink = &records
	s := node.NewStepper(m, 3, &records)
	s.LeaveOutHash()
	m.route = []int{1}
	for now := range units.Time(100) {
		s.Receive(now*100, 0, packet(100))
		if s.Departures[0].Digest != 0 {
			t.Fatalf("digest %x, want none", s.Departures[0].Digest)
		}
	}
	s.Close(10_000)
	if r := records.NodeTotals(); r.Events != 200 || r.TraceHash != ([32]byte{}) {
		t.Errorf("%d events, hash %x, want 200 and none", r.Events, r.TraceHash)
	}
}

// The sum changes with the time, the port, the event, the order, and every bit
// of the header and size, and with nothing else.
func TestTrace(t *testing.T) {
	type event struct {
		now    units.Time
		port   int
		event  node.Event
		packet *wire.Packet
	}
	sum := func(events ...event) [32]byte {
		tr := new(node.Trace)
		for _, e := range events {
			tr.Add(e.now, e.port, e.event, node.Digest(e.packet), e.packet.Size)
		}
		if tr.Events() != int64(len(events)) {
			t.Errorf("Events() = %d, want %d", tr.Events(), len(events))
		}
		return tr.Sum()
	}
	base := func() []event {
		return []event{
			{1, 0, node.Received, packet(100)}, {1, 1, node.Sent, packet(200)}, {1 << 40, 1, node.Sent, packet(300)},
		}
	}
	want := sum(base()...)
	seen := map[[32]byte]string{want: "unchanged"}
	if again := sum(base()...); again != want {
		t.Fatal("the same events give two sums")
	}
	differs := func(name string, change func(e []event) []event) {
		got := sum(change(base())...)
		if other, ok := seen[got]; ok {
			t.Errorf("%s: the same sum as %s", name, other)
		}
		seen[got] = name
	}
	differs("time", func(e []event) []event { e[1].now++; return e })
	differs("far time", func(e []event) []event { e[2].now += 1 << 62; return e })
	differs("port", func(e []event) []event { e[1].port = 2; return e })
	differs("event", func(e []event) []event { e[1].event = node.Received; return e })
	differs("order", func(e []event) []event { e[0], e[1] = e[1], e[0]; return e })
	differs("one less", func(e []event) []event { return e[:2] })
	differs("one more", func(e []event) []event { return append(e, e[2]) })
	differs("size", func(e []event) []event { e[1].packet.Size++; return e })
	for i := range packet(100).Header() {
		differs(fmt.Sprintf("header byte %d", i), func(e []event) []event { e[1].packet.Header()[i] ^= 1; return e })
	}

	same := base()
	same[0].packet.EnqueuedAt = 99 // not on the wire
	same[0].packet.Payload = []byte{1}
	if got := sum(same...); got != want {
		t.Error("a field that is not on the wire changes the sum")
	}
	// Sums do not depend on when the buffer is flushed.
	tr := new(node.Trace)
	for i := range 200 {
		tr.Add(units.Time(i), 0, node.Sent, uint64(i), 64)
	}
	once := tr.Sum()
	tr = new(node.Trace)
	for i := range 200 {
		tr.Add(units.Time(i), 0, node.Sent, uint64(i), 64)
		if i%7 == 0 {
			tr.Sum()
		}
	}
	if got := tr.Sum(); got != once {
		t.Error("asking for the sum in between changes it")
	}
}

func TestTieKeyPermutes(t *testing.T) {
	// A seed orders the ports of a node differently at different instants and
	// nodes; over many instants every order of three ports comes up.
	orders := map[string]int{}
	const instants = 3000
	for i := range instants {
		ports := []int{0, 1, 2}
		slices.SortFunc(ports, func(a, b int) int {
			return int(int64(node.TieKey(7, 4, units.Time(i), a)) - int64(node.TieKey(7, 4, units.Time(i), b)))
		})
		orders[fmt.Sprint(ports)]++
	}
	for order, n := range orders {
		if n < instants/6*3/4 || n > instants/6*5/4 {
			t.Errorf("order %s came up %d times in %d, want about %d", order, n, instants, instants/6)
		}
	}
	if len(orders) != 6 {
		t.Errorf("%d orders of three ports came up, want 6", len(orders))
	}
	if node.TieKey(1, 0, 5, 0) == node.TieKey(2, 0, 5, 0) || node.TieKey(1, 0, 5, 0) == node.TieKey(1, 1, 5, 0) {
		t.Error("seed or node does not enter the key")
	}
}

func ExampleNewStepper() {
	m := newToy(2)
	s := node.NewStepper(m, 2, metrics.Discard)
	m.route = []int{1}
	s.Receive(0, 0, packet(100))
	s.Receive(4, 0, packet(100))
	fmt.Println("port 1 is busy until", int64(s.FreeAt(1)), "and then wants", s.Frees)
	s.PortFree(10, 1)
	fmt.Println(len(s.Departures), "departs at", int64(s.Departures[0].Departs))
	// Output:
	// port 1 is busy until 10 and then wants [1]
	// 1 departs at 20
}

func ExampleNewPortSet() {
	s := node.NewPortSet(100)
	s.Add(70)
	s.Add(3)
	without := node.NewPortSet(100)
	without.Add(70)
	fmt.Println(s.NextWithout(without, 0), s.NextWithout(without, 4))
	// Output: 3 -1
}

func ExampleTrace() {
	var a, b node.Trace
	a.Add(1, 0, node.Sent, node.Digest(packet(100)), 100)
	b.Add(2, 0, node.Sent, node.Digest(packet(100)), 100)
	fmt.Println(a.Events(), a.Sum() == b.Sum())
	// Output: 1 false
}
