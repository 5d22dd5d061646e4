package topologies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

func TestRing(t *testing.T) {
	spec := topologies.RingSpec{Switches: 5, Hosts: 2, Rate: 100 * units.Gbps, RingRate: 400 * units.Gbps, Delay: us, RingDelay: 3 * us, Ports: 4}
	g, err := topologies.Ring(spec)
	built(t, g, err, spec.Size)
	for dst, want := range map[int]string{1: "h0-s0 h1-s0", 2: "h0-s0 s0-s1 h2-s1", 5: "h0-s0 s0-s1 s1-s2 h5-s2", 6: "h0-s0 s4-s0 s3-s4 h6-s3", 9: "h0-s0 s4-s0 h9-s4"} {
		if got := names(g, 0, dst); got != want {
			t.Errorf("path to %d: %s, want %s", dst, got, want)
		}
	}
	if longest := topologies.NewPaths(g).Longest(); longest.Links != 4 || longest.Most != 4 || longest.Delay != 8*us {
		t.Errorf("longest: %+v, want 4 links and 8us", longest)
	}
	// With an even number, the opposite switch is reached both ways.
	spec.Switches = 4
	g, err = topologies.Ring(spec)
	built(t, g, err, spec.Size)
	routes := topologies.NextHops(g)
	if ports := routes[8].To(4); len(ports) != 2 {
		t.Errorf("s0 reaches h4 by ports %v, want both", ports)
	}
}

// Clockwise, every packet goes on to the next switch until it is there, and every next hop
// is the one that a walk around the ring takes.
func TestClockwise(t *testing.T) {
	for _, switches := range []int{3, 4, 7, 65} {
		spec := topologies.RingSpec{Switches: switches, Hosts: 1, Rate: units.Gbps, Delay: us, Routes: topologies.Clockwise}
		g, err := topologies.Ring(spec)
		built(t, g, err, spec.Size)
		routes, adjacency, paths := topologies.NextHops(g), g.Adjacency(), topologies.NewPaths(g)
		for src := range switches {
			for dst := range switches {
				if src == dst {
					continue
				}
				hops := (dst - src + switches) % switches
				at, walked := switches+src, 0
				for at != dst {
					ports := routes[at].To(dst)
					if len(ports) != 1 {
						t.Fatalf("%d switches: s%d reaches h%d by ports %v, want one", switches, at-switches, dst, ports)
					}
					at = adjacency[at][ports[0]].Peer.Node
					walked++
				}
				links, delay := paths.Between(src, dst)
				if walked != hops+1 || links != hops+2 || delay != units.Duration(links)*us || len(paths.Links(src, dst)) != links {
					t.Fatalf("%d switches, from %d to %d: %d switches, %d links, %v; want %d, %d", switches, src, dst, walked, links, delay, hops+1, hops+2)
				}
			}
		}
		if longest := paths.Longest(); longest.Links != switches+1 || longest.Most != switches+1 {
			t.Errorf("%d switches: longest %+v, want %d links", switches, longest, switches+1)
		}
		// There and back is the whole ring, whatever the pair, and four links of hosts.
		if rtt, want := slices.Max(topologies.LongestRoundTrips(g, g)), units.Duration(switches+4)*us; rtt != want {
			t.Errorf("%d switches: round trip %v, want %v", switches, rtt, want)
		}
	}
}

// A node that links lead to but not from is found.
func TestOneWayIntoADeadEnd(t *testing.T) {
	g, err := topologies.Dumbbell(topologies.DumbbellSpec{Left: 1, Right: 1, Rate: 1, Delay: 1})
	if err != nil {
		t.Fatal(err)
	}
	g.Links[2].OneWay = true
	if err := g.Validate(); fmt.Sprint(err) != "invalid topology: node h0 is not reachable from h1" {
		t.Errorf("got %v", err)
	}
	g.Links[2].A, g.Links[2].B = g.Links[2].B, g.Links[2].A
	if err := g.Validate(); fmt.Sprint(err) != "invalid topology: node h1 is not reachable from h0" {
		t.Errorf("got %v", err)
	}
}

// Rail r of a group has NIC r of each of its servers; other rails are reached by spines.
func TestRail(t *testing.T) {
	spec := topologies.RailSpec{
		Servers: 4, NICs: 3, Group: 2, Spines: 2, Bundle: 2, Rate: 400 * units.Gbps, SpineRate: 800 * units.Gbps,
		Delay: us, SpineDelay: 5 * us, SwitchDelay: us / 2, Ports: 12,
	}
	g, err := topologies.Rail(spec)
	built(t, g, err, spec.Size)
	adjacency, racks := g.Adjacency(), map[string]bool{}
	for h := range g.Hosts() {
		server, nic := h/3, h%3
		name, rack := fmt.Sprintf("s%d.r%d", server, nic), fmt.Sprintf("g%d.rail%d", server/2, nic)
		racks[rack] = true
		if n := g.Nodes[h]; n.Name != name || n.Pod != server/2 || g.Nodes[adjacency[h][0].Peer.Node].Name != rack || g.Server(h) != server {
			t.Errorf("host %d is %s of pod %d and server %d, on %s; want %s on %s", h, n.Name, n.Pod, g.Server(h), g.Nodes[adjacency[h][0].Peer.Node].Name, name, rack)
		}
	}
	if len(racks) != 6 {
		t.Errorf("%d rail switches have NICs, want 6", len(racks))
	}
	paths, routes := topologies.NewPaths(g), topologies.NextHops(g)
	for _, c := range []struct{ src, dst, links, ways int }{
		{0, 3, 2, 1}, // NIC 0 of servers 0 and 1: one rail switch
		{0, 1, 4, 4}, // NICs 0 and 1 of server 0: over a spine, by two bundles of two
		{0, 6, 4, 4}, // NIC 0 of servers 0 and 2, of other groups
	} {
		links, delay := paths.Between(c.src, c.dst)
		ways := len(routes[adjacency[c.src][0].Peer.Node].To(c.dst))
		want := 2*us + us/2
		if c.links == 4 {
			want = 12*us + 3*us/2
		}
		if links != c.links || delay != want || ways != c.ways {
			t.Errorf("from %d to %d: %d links, %v, %d ways; want %d, %v, %d", c.src, c.dst, links, delay, ways, c.links, want, c.ways)
		}
	}
	for _, c := range []struct {
		change func(*topologies.RailSpec)
		want   string
	}{
		{func(s *topologies.RailSpec) { s.Servers = 5 }, "invalid topology: rail: 5 servers are not whole groups of 2"},
		{func(s *topologies.RailSpec) { s.Spines = 0 }, "invalid topology: rail: without spines nothing joins the 2 groups"},
		{func(s *topologies.RailSpec) { s.Ports = 5 }, "switch g0.rail0 needs 6 ports and has 5"},
		{func(s *topologies.RailSpec) { s.Ports = 8 }, "switch spine0 needs 12 ports and has 8"},
		{func(s *topologies.RailSpec) { s.Servers, s.NICs, s.Group = 4096, 4096, 0 }, "invalid topology: rail: 16777216 NICs in all, the limit is 1048576"},
	} {
		wrong := spec
		wrong.Ports = 0
		c.change(&wrong)
		if _, err := topologies.Rail(wrong); fmt.Sprint(err) != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	alone := topologies.RailSpec{Servers: 8, NICs: 1, Rate: units.Gbps, Delay: us}
	g, err = topologies.Rail(alone)
	built(t, g, err, alone.Size)
}
