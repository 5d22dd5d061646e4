package topologies_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
)

func dragonfly(t testing.TB, p, a, h, groups int) *topologies.Graph {
	t.Helper()
	g, err := topologies.Dragonfly(topologies.DragonflySpec{HostsPerRouter: p, Routers: a, Global: h, Groups: groups, Rate: units.Gbps, Delay: us, GlobalDelay: 3 * us})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

// hopsFrom returns the number of links from a node to every other by walking the
// graph.
func hopsFrom(g *topologies.Graph, from int) []int {
	adjacency := g.Adjacency()
	hops := make([]int, len(g.Nodes))
	seen := make([]bool, len(g.Nodes))
	seen[from] = true
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, a := range adjacency[queue[0]] {
			if next := a.Peer.Node; !seen[next] {
				seen[next], hops[next] = true, hops[queue[0]]+1
				queue = append(queue, next)
			}
		}
	}
	return hops
}

// minimal returns, by pair of nodes, the fewest global links of any path and the
// fewest links of a path with so many, as one number. It is Floyd and Warshall's
// method, slow and sure.
func minimal(g *topologies.Graph) [][]int {
	const far = 1 << 30
	n := len(g.Nodes)
	d := make([][]int, n)
	for i := range d {
		d[i] = slices.Repeat([]int{far}, n)
		d[i][i] = 0
	}
	for id, l := range g.Links {
		d[l.A.Node][l.B.Node] = 1
		if global(g, id) {
			d[l.A.Node][l.B.Node] += 1000
		}
		d[l.B.Node][l.A.Node] = d[l.A.Node][l.B.Node]
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// global reports whether a link joins two groups of a Dragonfly.
func global(g *topologies.Graph, link int) bool {
	a, b := g.Nodes[g.Links[link].A.Node], g.Nodes[g.Links[link].B.Node]
	return a.Pod >= 0 && b.Pod >= 0 && a.Pod != b.Pod
}

// A switch's next hops to a host are its ports on minimal paths, all of them and
// no other.
func TestNextHops(t *testing.T) {
	for _, g := range []*topologies.Graph{
		build(t, threeFlow()), build(t, bundled()), kary(t, 4),
		dragonfly(t, 1, 2, 1, 0), dragonfly(t, 2, 4, 2, 0), dragonfly(t, 1, 4, 2, 4), dragonfly(t, 1, 2, 4, 3),
	} {
		routes := topologies.NextHops(g)
		adjacency := g.Adjacency()
		distance := minimal(g)
		for h := range g.Hosts() {
			for n := g.Hosts(); n < len(g.Nodes); n++ {
				var want []uint16
				for port, a := range adjacency[n] {
					step := 1
					if global(g, a.Link) {
						step += 1000
					}
					if distance[a.Peer.Node][h]+step == distance[n][h] {
						want = append(want, uint16(port))
					}
				}
				if got := routes[n].To(h); !slices.Equal(got, want) {
					t.Errorf("%s: %s to h%d: ports %v, want %v", g.Name, g.Nodes[n].Name, h, got, want)
				}
			}
		}
	}
}

// A minimal path has at most one local, one global and one local link
// (docs/reference/references.md#dragonflies), whichever of its next hops each router takes. At
// full size there is one such path, although there may be others as short or
// shorter with two global links.
func TestDragonflyRoutesAreMinimal(t *testing.T) {
	for _, c := range []struct {
		graph            *topologies.Graph
		several, shorter bool // a pair has several minimal paths; fewer links with two global ones
	}{
		{dragonfly(t, 1, 2, 1, 0), false, false},
		{dragonfly(t, 2, 4, 2, 0), false, true},
		{dragonfly(t, 4, 8, 4, 0), false, true},
		{dragonfly(t, 1, 4, 2, 4), true, false}, // 2 links per pair of groups
		{dragonfly(t, 1, 2, 4, 3), true, false}, // 4, 2 of them parallel
	} {
		g := c.graph
		routes, adjacency, paths := topologies.NextHops(g), g.Adjacency(), topologies.NewPaths(g)
		several, shorter := false, false
		for src := 0; src < g.Hosts(); src += 3 {
			hops := hopsFrom(g, src)
			for dst := range g.Hosts() {
				if src == dst {
					continue
				}
				found := 0
				var walk func(at int, kinds string)
				walk = func(at int, kinds string) {
					if at == dst {
						found++
						if !slices.Contains([]string{"hh", "hlh", "hgh", "hlgh", "hglh", "hlglh"}, kinds) {
							t.Fatalf("%s: a path from h%d to h%d is %s, want at most hlglh", g.Name, src, dst, kinds)
						}
						if links, _ := paths.Between(src, dst); links != len(kinds) {
							t.Fatalf("%s: a path from h%d to h%d has %d links, Between says %d", g.Name, src, dst, len(kinds), links)
						}
						shorter = shorter || hops[dst] < len(kinds)
						return
					}
					for _, port := range routes[at].To(dst) {
						a := adjacency[at][port]
						kind := "l"
						switch {
						case g.Nodes[a.Peer.Node].Kind == topologies.Host:
							kind = "h"
						case global(g, a.Link):
							kind = "g"
						}
						walk(a.Peer.Node, kinds+kind)
					}
				}
				walk(adjacency[src][0].Peer.Node, "h")
				if found == 0 {
					t.Fatalf("%s: no path from h%d to h%d", g.Name, src, dst)
				}
				several = several || found > 1
			}
		}
		if several != c.several || shorter != c.shorter {
			t.Errorf("%s: several minimal paths %v, shorter ones that are not minimal %v; want %v, %v", g.Name, several, shorter, c.several, c.shorter)
		}
	}
}

// The longest path of a Dragonfly has a global link, even where paths without
// one have as many links.
func TestDragonflyLongestPath(t *testing.T) {
	if links, delay := topologies.LongestPath(dragonfly(t, 2, 4, 2, 0)); links != 5 || delay != (4+3)*us {
		t.Errorf("got %d links and %v, want 5 and 7us", links, delay)
	}
}

// Below full size each pair of groups has as many links as every group has ports
// for.
func TestDragonflyBelowFullSize(t *testing.T) {
	for _, c := range []struct{ a, h, groups, perPair int }{{4, 2, 8, 1}, {4, 2, 5, 2}, {4, 2, 4, 2}, {4, 2, 2, 8}, {2, 4, 3, 4}} {
		g := dragonfly(t, 1, c.a, c.h, c.groups)
		pairs := make(map[[2]int]int)
		for id, l := range g.Links {
			if global(g, id) {
				pairs[[2]int{g.Nodes[l.A.Node].Pod, g.Nodes[l.B.Node].Pod}]++
			}
		}
		if len(pairs) != c.groups*(c.groups-1)/2 {
			t.Errorf("%s: %d pairs of groups have links", g.Name, len(pairs))
		}
		for pair, n := range pairs {
			if n != c.perPair {
				t.Errorf("%s: groups %v share %d links, want %d", g.Name, pair, n, c.perPair)
			}
		}
	}
}

// Each group pair has one link, every global port is used once, the router
// diameter is 3 (docs/reference/references.md#dragonflies).
func TestDragonfly(t *testing.T) {
	for _, row := range []struct {
		p, a, h, groups, routers, hosts, radix, global, local int
		distances                                             []int // from all routers of group 0; nil: not published
	}{
		{1, 2, 1, 3, 6, 6, 3, 3, 3, nil},
		{2, 4, 2, 9, 36, 72, 7, 36, 54, []int{4, 20, 51, 69}},
		{3, 6, 3, 19, 114, 342, 11, 171, 285, nil},
		{4, 8, 4, 33, 264, 1056, 15, 528, 924, []int{8, 88, 469, 1547}},
		{8, 16, 8, 129, 2064, 16512, 31, 8256, 15480, nil},
	} {
		g, err := topologies.Dragonfly(topologies.DragonflySpec{HostsPerRouter: row.p, Routers: row.a, Global: row.h, Rate: units.Gbps, Delay: us})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		want := topologies.Counts{Hosts: row.hosts, Pods: row.groups, ToRs: row.routers, Links: topologies.LinkCounts{Host: row.hosts, TorTor: row.global + row.local}}
		if diff := cmp.Diff(g.Counts(), want); diff != "" {
			t.Errorf("%s: counts (got -, want +):\n%s", g.Name, diff)
		}
		pairs := make(map[[2]int]int)
		for _, l := range g.Links[row.hosts:] {
			if a, b := g.Nodes[l.A.Node].Pod, g.Nodes[l.B.Node].Pod; a != b {
				pairs[[2]int{min(a, b), max(a, b)}]++
			}
		}
		for pair, n := range pairs {
			if n != 1 {
				t.Errorf("%s: groups %v share %d links, want 1", g.Name, pair, n)
			}
		}
		if len(pairs) != row.global {
			t.Errorf("%s: %d pairs of groups have a link, want %d", g.Name, len(pairs), row.global)
		}
		adjacency := g.Adjacency()
		for n := row.hosts; n < len(g.Nodes); n++ {
			if len(adjacency[n]) != row.radix {
				t.Fatalf("%s: %s has %d ports, want %d", g.Name, g.Nodes[n].Name, len(adjacency[n]), row.radix)
			}
		}
		if row.hosts > 2000 {
			continue // all pairs of routers take seconds
		}
		if links, _ := topologies.LongestPath(g); links != 5 {
			t.Errorf("%s: longest path has %d links, want 5", g.Name, links)
		}
		if row.distances == nil {
			continue
		}
		got := make([]int, 4)
		for from := range row.a {
			for _, hops := range hopsFrom(g, row.hosts+from)[row.hosts:] {
				got[hops]++
			}
		}
		if !slices.Equal(got, row.distances) {
			t.Errorf("%s: routers at 0, 1, 2, 3 hops: %v, want %v", g.Name, got, row.distances)
		}
	}
	for _, s := range []topologies.DragonflySpec{
		{}, {HostsPerRouter: 1, Routers: 1000, Global: 1, Rate: 1, Delay: 1}, // 5e8 local links
		{HostsPerRouter: 1, Routers: 2, Global: 1, Groups: 1, Rate: 1, Delay: 1}, {HostsPerRouter: 1, Routers: 2, Global: 1, Groups: 4, Rate: 1, Delay: 1},
		{HostsPerRouter: 64, Routers: 128, Global: 64, Rate: 1, Delay: 1},
		{HostsPerRouter: 1, Routers: 2, Global: 1, Delay: 1}, {HostsPerRouter: 1, Routers: 2, Global: 1, Rate: 1},
	} {
		if _, err := topologies.Dragonfly(s); !errors.Is(err, topologies.ErrInvalid) || !errors.Is(sizeError(s), topologies.ErrInvalid) {
			t.Errorf("%+v: error %v, want ErrInvalid", s, err)
		}
	}
}

func ExampleDragonfly() {
	g, err := topologies.Dragonfly(topologies.DragonflySpec{HostsPerRouter: 2, Routers: 4, Global: 2, Rate: 100 * units.Gbps, Delay: units.Microsecond})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Counts().Pods, "groups,", g.Hosts(), "hosts")
	// Output: 9 groups, 72 hosts
}

func sizeError(s topologies.DragonflySpec) error {
	_, err := s.Size()
	return err
}
