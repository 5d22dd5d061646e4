package forward_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/forward/forwardtest"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

func TestSuite(t *testing.T) {
	for _, a := range forward.Table {
		t.Run(a.Name, func(t *testing.T) { forwardtest.Run(t, a) })
	}
}

func TestTable(t *testing.T) { algorithmtest.Table(t, forward.Table) }

// newPolicy returns a policy of a switch with the routes of table, whose queues are
// those of the slice.
func newPolicy(t *testing.T, name string, params algorithm.Values, queues []units.Size) forward.Policy {
	t.Helper()
	a, ok := forward.Table.Lookup(name)
	if !ok {
		t.Fatalf("no routing %s", name)
	}
	ecmp := forward.NewECMP(table)
	policy, err := a.New(forward.Switch{ECMP: &ecmp, Queued: func(port int) units.Size { return queues[port] }, Random: forwardtest.Random(1)}, params)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// "adaptive (switch: least queue of the equal-cost ports)": uet-htsim, strategy ecmp_ar
// (docs/reference/references.md#load-balancing-in-switches).
func TestAdaptiveTakesTheShortestQueue(t *testing.T) {
	queues := make([]units.Size, 10)
	p := newPolicy(t, "adaptive", nil, queues)
	for _, c := range []struct {
		dst, shortest int
		queues        map[int]units.Size
	}{
		{1, 6, map[int]units.Size{4: 8300, 5: 4150, 6: 64, 7: 12450}},
		{1, 4, map[int]units.Size{4: 1, 5: 2, 6: 2, 7: 2}},
		{3, 9, map[int]units.Size{4: 1, 6: 1, 9: 0}},
		{0, 2, map[int]units.Size{2: 1 << 40}}, // there is no other
	} {
		clear(queues)
		for port, q := range c.queues {
			queues[port] = q
		}
		for entropy := range uint16(50) {
			if got, ok := p.Forward(packet(9, c.dst, entropy)); got != c.shortest || !ok {
				t.Fatalf("queues %v: a packet to host %d leaves through port %d, want %d", c.queues, c.dst, got, c.shortest)
			}
		}
	}
}

// Equal queues are a tie: by hash a flow keeps its port, in turn each port gets as many
// packets.
func TestAdaptiveTies(t *testing.T) {
	queues := make([]units.Size, 10)
	for i := range queues {
		queues[i] = 4150
	}
	ecmp := forward.NewECMP(table)
	hash, turns := newPolicy(t, "adaptive", nil, queues), newPolicy(t, "adaptive", algorithm.Values{"ties": "round-robin"}, queues)
	count := map[int]int{}
	for i := range 400 {
		p := packet(9, 1, uint16(i/10))
		got, _ := hash.Forward(p)
		if want, _ := ecmp.Forward(p); got != want {
			t.Fatalf("a tie by hash takes port %d, ecmp takes %d", got, want)
		}
		port, _ := turns.Forward(p)
		count[port]++
	}
	for port := 4; port < 8; port++ {
		if count[port] != 100 {
			t.Errorf("in turn, port %d gets %d of 400 packets, want 100", port, count[port])
		}
	}
}

// minimal spreads the packets of one flow over the links between two groups, or keeps
// them on one.
func TestMinimalPerPacketAndPerFlow(t *testing.T) {
	queues := make([]units.Size, 10)
	for per, ports := range map[string]int{"packet": 4, "flow": 1} {
		p := newPolicy(t, "minimal", algorithm.Values{"per": per}, queues)
		seen := map[int]int{}
		for range 400 {
			port, _ := p.Forward(packet(9, 1, 50000))
			seen[port]++
		}
		if len(seen) != ports {
			t.Errorf("per %s: a flow takes the ports %v, want %d of them", per, seen, ports)
		}
	}
}

// A policy is nil where ECMP alone decides, so that a switch calls nothing through an
// interface; an unknown name is refused.
func TestNew(t *testing.T) {
	ecmp := forward.NewECMP(forward.Config{Routes: topologies.NewRoutes([]uint16{3}, nil)})
	s := forward.Switch{ECMP: &ecmp, Random: forwardtest.Random(1)}
	for _, c := range []algorithm.Choice{{}, {Name: "ecmp"}, {Name: "minimal", Params: algorithm.Values{"per": "flow"}}} {
		if p, err := forward.New(c, s); p != nil || err != nil {
			t.Errorf("%v: %v, %v, want no policy", c, p, err)
		}
	}
	if p, err := forward.New(algorithm.Choice{Name: "adaptive"}, s); p == nil || err != nil {
		t.Errorf("adaptive: %v, %v, want a policy", p, err)
	}
	if _, err := forward.New(algorithm.Choice{Name: "adaptiv"}, s); err == nil {
		t.Error("an unknown name is taken")
	}
}
