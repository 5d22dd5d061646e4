package forward_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/forward/forwardtest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Of the Dragonfly of these tests: 9 groups of 4 routers with 2 hosts, 2 global links each.
const (
	perRouter, perGroup = 2, 8
	groupCount          = 9
)

func dragonfly(t testing.TB) *topologies.Graph {
	t.Helper()
	g, err := topologies.Dragonfly(topologies.DragonflySpec{HostsPerRouter: perRouter, Routers: 4, Global: 2, Rate: units.Gbps, Delay: units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fabric returns a Dragonfly of routers with a policy.
func fabric(t testing.TB, name string, params algorithm.Values) (*forwardtest.Fabric, *topologies.Graph) {
	t.Helper()
	a, ok := forward.Table.Lookup(name)
	if !ok {
		t.Fatalf("no routing %s", name)
	}
	g := dragonfly(t)
	return forwardtest.New(t, a, params, g), g
}

// walk sends a packet and returns the groups that it passes, one entry for each time it
// enters one, and how many links between routers it takes.
func walk(t testing.TB, f *forwardtest.Fabric, g *topologies.Graph, p *wire.Packet, src, dst int) (groups []int, links int) {
	t.Helper()
	path, err := f.Send(src, dst, p)
	if err != nil {
		t.Fatalf("host %d to host %d: %v", src, dst, err)
	}
	for _, end := range path {
		if pod := g.Nodes[end.Node].Pod; len(groups) == 0 || groups[len(groups)-1] != pod {
			groups = append(groups, pod)
		}
	}
	return groups, len(path) - 1
}

// "VAL = minimal to a random intermediate group (or router) then minimal"
// (docs/reference/references.md#dragonflies): every packet to another group passes one third
// group, all third groups alike, and at most l g l g l, or l g l l g l over a router.
func TestValiant(t *testing.T) {
	for way, most := range map[string]int{"group": 5, "router": 6} {
		f, g := fabric(t, "valiant", algorithm.Values{"via": way})
		seen := map[int]int{}
		const packets = 7000
		longest := 0
		for i := range packets {
			src, dst := i%perGroup, 3*perGroup+i%7
			p := packet(src, dst, 50000)
			groups, links := walk(t, f, g, p, src, dst)
			if len(groups) != 3 || groups[0] != 0 || groups[2] != 3 || groups[1] == 0 || groups[1] == 3 {
				t.Fatalf("by way of a %s a packet from group 0 to group 3 passes the groups %v, want one third group", way, groups)
			}
			if p.Via() != 0 {
				t.Fatalf("a packet arrives with the way %d, want none", p.Via())
			}
			longest = max(longest, links)
			seen[groups[1]]++
		}
		if longest != most {
			t.Errorf("by way of a %s the longest path has %d links, want %d", way, longest, most)
		}
		for group := 1; group < groupCount; group++ {
			if n, want := seen[group], packets/(groupCount-2); group != 3 && (n < want*8/10 || n > want*12/10) {
				t.Errorf("by way of a %s %d packets pass group %d, want about %d", way, n, group, want)
			}
		}
		// "dest are in the same group, only use minimum routing" (BookSim).
		if groups, links := walk(t, f, g, packet(0, 7, 1), 0, 7); len(groups) != 1 || links != 1 {
			t.Errorf("a packet within its group passes the groups %v over %d links, want one link", groups, links)
		}
	}
}

// Per flow, all packets of a flow with one entropy value share their way; another value
// has another way.
func TestDetourPerFlow(t *testing.T) {
	for _, name := range []string{"valiant", "ugal"} {
		params := algorithm.Values{"per": "flow"}
		if name == "ugal" {
			params["threshold"] = "0B"
		}
		f, g := fabric(t, name, params)
		const src, dst = 0, 3 * perGroup
		for _, ports := range f.Queues {
			for i := range ports {
				if ports[i] = 50_000; i > perRouter {
					ports[i] = units.Size(1000 * i) // port 2 leads to group 3
				}
			}
		}
		seen := map[string]bool{}
		for entropy := range uint16(40) {
			want, _ := walk(t, f, g, packet(src, dst, entropy), src, dst)
			for range 20 {
				f.Queues[0][0]++ // what is decided stays so
				if got, _ := walk(t, f, g, packet(src, dst, entropy), src, dst); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%s: a packet of a flow passes the groups %v, the first one passed %v", name, got, want)
				}
			}
			seen[fmt.Sprint(want)] = true
		}
		if len(seen) < 3 {
			t.Errorf("%s: 40 flows pass %v", name, seen)
		}
	}
}

// "UGAL-L: take minimal if q_min*H_min <= q_non*H_non + threshold"
// (docs/reference/references.md#dragonflies), with the hops of the paths and the queues of the two
// first ports.
func TestUGALRule(t *testing.T) {
	const src, dst = 0, 3*perGroup + perRouter // router 0 to the second router of group 3
	for _, c := range []struct {
		params algorithm.Values
		// minimal and non are what waits at the port of the minimal path, and at all others.
		minimal, non units.Size
		weights      bool // by hops: the bounds depend on the third group
		share        func(minimal, all int) bool
		want         string
	}{
		{algorithm.Values{"threshold": "10kB"}, 0, 0, true, all, "all: nothing waits"},
		{algorithm.Values{"threshold": "10kB"}, 3333, 0, true, all, "all: 3333 B over 3 hops are within 10 kB"},
		{algorithm.Values{"threshold": "10kB"}, 3334, 0, true, none, "none: 3334 B over 3 hops are more than 10 kB"},
		{algorithm.Values{"threshold": "0B"}, 1000, 1000, true, all, "all: the minimal path is shorter"},
		{algorithm.Values{"threshold": "0B"}, 4000, 1000, true, none, "none: 12000 is more than 5 hops of 1000"},
		// "1*q_min <= 2*q_non + 30", BookSim.
		{algorithm.Values{"threshold": "30B", "weights": "booksim"}, 2030, 1000, true, all, "all: 2030 is 2*1000 + 30"},
		{algorithm.Values{"threshold": "30B", "weights": "booksim"}, 2031, 1000, true, none, "none: 2031 is more than 2*1000 + 30"},
	} {
		for _, way := range []string{"group", "router"} {
			c.params["via"] = way
			f, g := fabric(t, "ugal", c.params)
			first, err := f.Send(src, dst, packet(src, dst, 1)) // with empty queues
			if err != nil || len(first) != 4 {
				t.Fatalf("the minimal path is %v, %v; want one of local, global, local", first, err)
			}
			port := first[0].Port
			for i := range f.Queues[0] {
				f.Queues[0][i] = c.non
			}
			f.Queues[0][port] = c.minimal
			minimal, others, same := 0, 0, 0
			for range 400 {
				groups, _ := walk(t, f, g, packet(src, dst, 1), src, dst)
				switch {
				case len(groups) == 2:
					minimal++
				case len(groups) == 3:
					others++
				default:
					t.Fatalf("a packet passes the groups %v", groups)
				}
			}
			// A third group may be reached by the minimal path's own port, where both
			// queues are the same one: then the shorter path wins.
			same = 400 * 2 / 7
			if c.want[0] == 'n' {
				if others == 0 || minimal > same*3/2 {
					t.Errorf("%v, queues %v and %v: %d of 400 packets go minimally, want %s", c.params, c.minimal, c.non, minimal, c.want)
				}
				continue
			}
			if !c.share(minimal, 400) {
				t.Errorf("%v, queues %v and %v: %d of 400 packets go minimally, want %s", c.params, c.minimal, c.non, minimal, c.want)
			}
		}
	}
}

func all(minimal, of int) bool { return minimal == of }
func none(minimal, _ int) bool { return minimal == 0 }

// The decision is the first router's: a packet that is on its way goes on, however long
// the queues of the others are. A way that a host has written into its packet is ignored.
func TestOnlyTheFirstRouterDecides(t *testing.T) {
	const src, dst = 0, 3 * perGroup
	f, g := fabric(t, "ugal", nil)
	for router, ports := range f.Queues {
		for i := range ports {
			if router != 0 {
				ports[i] = units.Size(i) * 100_000
			}
		}
	}
	for range 100 {
		p := packet(src, dst, 1)
		p.SetVia(6)
		if groups, _ := walk(t, f, g, p, src, dst); len(groups) != 2 {
			t.Fatalf("a packet passes the groups %v although nothing waits at its first router", groups)
		}
	}
}

// A packet whose way leads nowhere any more, because routes have changed, goes minimally.
func TestDetourWithoutRoute(t *testing.T) {
	g := dragonfly(t)
	groups, err := topologies.NewGroups(g)
	if err != nil {
		t.Fatal(err)
	}
	routes := topologies.NextHops(g)[g.Hosts()]
	routes.Pods = make([]topologies.Route, groupCount)
	for i := range routes.Pods {
		routes.Pods[i] = topologies.NoRoute
	}
	for _, name := range []string{"valiant", "ugal"} {
		a, _ := forward.Table.Lookup(name)
		s := forwardtest.NewSwitch(routes, 0)
		s.Groups = groups
		policy, err := a.New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := packet(0, 30, 1)
		want, _ := s.ECMP.Forward(p)
		p.SetVia(6)
		if got, ok := policy.Forward(p); got != want || !ok || p.Via() != 0 {
			t.Errorf("%s: port %d, %v with the way %d left; want port %d and none", name, got, ok, p.Via(), want)
		}
	}
}
