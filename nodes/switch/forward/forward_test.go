package forward_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// table has host 0 behind port 2, hosts 1 and 2 behind four uplinks, host 3
// behind three, and host 4 nowhere.
var table = forward.Config{
	Routes: topologies.NewRoutes([]uint16{2}, []uint16{4, 5, 6, 7}, []uint16{4, 5, 6, 7}, []uint16{4, 6, 9}, nil),
	Seed:   1,
}

func packet(src, dst int, sourcePort uint16) *wire.Packet {
	p := new(wire.Packet)
	p.Build(wire.Addresses{Source: wire.HostIP(src), Destination: wire.HostIP(dst), SourcePort: sourcePort}, wire.Data, 0, wire.ECT0, 0)
	return p
}

func TestLookup(t *testing.T) {
	tab := forward.NewECMP(table)
	for port := range uint16(100) {
		if got, ok := tab.Forward(packet(1, 0, port)); got != 2 || !ok {
			t.Fatalf("host 0: port %d, %v, want 2", got, ok)
		}
	}
	for _, dst := range []int{4, 5, 1000, 1<<24 - 2} {
		if got, ok := tab.Forward(packet(1, dst, 0)); ok {
			t.Errorf("host %d: port %d, want no route", dst, got)
		}
	}
	for _, ip := range []uint32{0, 10 << 24, 192<<24 + 1} {
		p := new(wire.Packet)
		p.Build(wire.Addresses{Destination: ip}, wire.Data, 0, 0, 0)
		if got, ok := tab.Forward(p); ok {
			t.Errorf("address %#x: port %d, want no route", ip, got)
		}
	}
}

// ECMP spreads flows evenly, keeps a flow where it is, and each switch decides
// for itself.
func TestSpread(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	cfg := table
	const flows = 12000
	for _, dst := range []int{1, 3} {
		paths := cfg.Routes.To(dst)
		index := map[int]int{}
		for i, p := range paths {
			index[int(p)] = i
		}
		n := len(paths)
		both := make([]int, n*n)
		cfg.Seed = r.Uint64()
		first := forward.NewECMP(cfg)
		cfg.Seed = r.Uint64()
		second := forward.NewECMP(cfg)
		for i := range flows {
			p := packet(i%16+8, dst, uint16(wire.EntropyBase+i))
			a, ok1 := first.Forward(p)
			b, ok2 := second.Forward(p)
			x, known1 := index[a]
			y, known2 := index[b]
			if !ok1 || !ok2 || !known1 || !known2 {
				t.Fatalf("seed %d: ports %d, %d for host %d, want among %v", seed, a, b, dst, paths)
			}
			if again, _ := first.Forward(p); again != a {
				t.Fatalf("seed %d: a flow moved from port %d to %d", seed, a, again)
			}
			both[x*n+y]++
		}
		want := float64(flows) / float64(n*n)
		for pair, got := range both {
			if math.Abs(float64(got)-want) > 6*math.Sqrt(want) {
				t.Errorf("seed %d: %d of %d flows took paths %d and %d, want about %.0f", seed, got, flows, pair/n, pair%n, want)
			}
		}
	}
}

// Raw frames go where their MAC address leads, spread over the paths by their
// ports, tagged or not.
func TestRawSpread(t *testing.T) {
	tab := forward.NewECMP(table)
	for _, tc := range []struct{ host, paths int }{{0, 1}, {1, 4}, {3, 3}, {4, 0}, {5, 0}} {
		seen := map[int]int{}
		for i := range 400 {
			inside := packet(7, 1, uint16(40000+i)) // the IP address is of no concern
			inside.SetMACs(wire.MAC(tc.host, 0), wire.MAC(7, 0))
			frame := inside.Header()
			frame[wire.EthernetLen+9] = 6
			var p wire.Packet
			if err := p.Parse(frame, wire.Format{Raw: true}); err != nil {
				t.Fatal(err)
			}
			port, ok := tab.Forward(&p)
			if ok != (tc.paths > 0) {
				t.Fatalf("host %d: port %d, %v", tc.host, port, ok)
			}
			seen[port]++
			p.InsertTag(8)
			if again, _ := tab.Forward(&p); again != port {
				t.Errorf("host %d: port %d, tagged %d", tc.host, port, again)
			}
		}
		if tc.paths > 0 && len(seen) != tc.paths {
			t.Errorf("host %d: ports %v, want %d", tc.host, seen, tc.paths)
		}
		for port, n := range seen {
			if tc.paths > 0 && n < 400/tc.paths/2 {
				t.Errorf("host %d: %d of 400 flows through port %d of %d", tc.host, n, port, tc.paths)
			}
		}
	}
}

func ExampleNewECMP() {
	t := forward.NewECMP(forward.Config{Routes: topologies.NewRoutes([]uint16{3}, nil)})
	fmt.Println(t.Forward(packet(1, 0, 50000)))
	fmt.Println(t.Forward(packet(0, 1, 50000)))
	// Output:
	// 3 true
	// 0 false
}

// BenchmarkLookup looks up routes of many switches in turn to many hosts, as a large
// fabric does: of 1280 switches to 8192 hosts.
func BenchmarkLookup(b *testing.B) {
	tree, err := topologies.KAryFatTree(32, 100*units.Gbps, units.Microsecond)
	if err != nil {
		b.Fatal(err)
	}
	graph, err := tree.Build()
	if err != nil {
		b.Fatal(err)
	}
	routes := topologies.NextHops(graph)[graph.Hosts():]
	tables := make([]forward.ECMP, len(routes))
	for i, r := range routes {
		tables[i] = forward.NewECMP(forward.Config{Routes: r, Seed: uint64(i)})
	}
	random := rand.New(rand.NewPCG(1, 0))
	packets := make([]*wire.Packet, 1<<12)
	for i := range packets {
		packets[i] = packet(random.IntN(graph.Hosts()), random.IntN(graph.Hosts()), uint16(i))
	}
	for i := 0; b.Loop(); i++ {
		if _, ok := tables[i*7919%len(tables)].Forward(packets[i*31%len(packets)]); !ok {
			b.Fatal("no route")
		}
	}
}
