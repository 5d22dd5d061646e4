package topologies_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
)

// arranged returns a Dragonfly, and the far end of each global port by group and port,
// {-1, -1} where there is none.
func arranged(t testing.TB, p, a, h, groups int, arrangement topologies.Arrangement) (g *topologies.Graph, far [][][2]int) {
	t.Helper()
	g, err := topologies.Dragonfly(topologies.DragonflySpec{
		HostsPerRouter: p, Routers: a, Global: h, Groups: groups, Arrangement: arrangement, Rate: units.Gbps, Delay: us,
	})
	if err != nil {
		t.Fatal(err)
	}
	hosts := g.Hosts()
	group := func(node int) int { return (node - hosts) / a }
	port := func(e topologies.End) int { return (e.Node-hosts)%a*h + e.Port - p - a + 1 }
	far = make([][][2]int, (len(g.Nodes)-hosts)/a)
	for i := range far {
		far[i] = slices.Repeat([][2]int{{-1, -1}}, a*h)
	}
	for _, l := range g.Links[hosts:] {
		if group(l.A.Node) == group(l.B.Node) {
			continue
		}
		for _, ends := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			at := &far[group(ends[0].Node)][port(ends[0])]
			if at[0] >= 0 {
				t.Fatalf("%s: global port %d of group %d has two links", g.Name, port(ends[0]), group(ends[0].Node))
			}
			*at = [2]int{group(ends[1].Node), port(ends[1])}
		}
	}
	return g, far
}

// "each group pair has exactly one link; every global port used once; router diameter
// 3", and the table of distances (docs/reference/references.md#dragonflies), for every arrangement.
func TestArrangements(t *testing.T) {
	for _, c := range []struct {
		p, a, h, groups int
		distances       [3][]int // by arrangement; nil: the reference has none
	}{
		{1, 2, 1, 3, [3][]int{}},
		{2, 4, 2, 9, [3][]int{{4, 20, 51, 69}, {4, 20, 52, 68}, {4, 20, 54, 66}}},
		{3, 6, 3, 19, [3][]int{}},
		{4, 8, 4, 33, [3][]int{{8, 88, 469, 1547}, {8, 88, 484, 1532}, {8, 88, 504, 1512}}},
		{1, 3, 4, 13, [3][]int{}}, // an odd number of routers
		{1, 1, 6, 7, [3][]int{}},  // groups of one router
	} {
		for i, name := range topologies.Arrangement(0).Names() {
			arrangement := topologies.Arrangement(i)
			if arrangement == topologies.Circulant && c.h%2 != 0 {
				continue
			}
			g, far := arranged(t, c.p, c.a, c.h, 0, arrangement)
			if err := g.Validate(); err != nil {
				t.Fatal(err)
			}
			if len(far) != c.groups {
				t.Fatalf("%s: %d groups, want %d", g.Name, len(far), c.groups)
			}
			for group, ports := range far {
				peers := map[int]int{}
				for _, end := range ports {
					peers[end[0]]++
				}
				if len(peers) != c.groups-1 || peers[-1] != 0 || peers[group] != 0 {
					t.Errorf("%s: the global ports of group %d lead to %v, want each of the others once", g.Name, group, ports)
				}
			}
			hosts, got := g.Hosts(), make([]int, 4)
			for from := range len(g.Nodes) - hosts {
				for _, hops := range hopsFrom(g, hosts+from)[hosts:] {
					if hops > 3 {
						t.Fatalf("%s: two routers are %d hops apart, want at most 3", g.Name, hops)
					}
					if from < c.a {
						got[hops]++
					}
				}
				if len(g.Nodes) > 1000 && from >= c.a {
					break // all pairs take seconds, and all groups are alike
				}
			}
			counts, err := topologies.DragonflySpec{HostsPerRouter: c.p, Routers: c.a, Global: c.h, Arrangement: arrangement, Rate: 1, Delay: 1}.Counts()
			if err != nil {
				t.Fatal(err)
			}
			for k, n := range counts.Distances {
				if int(n) != got[k] {
					t.Errorf("%s: Counts has distances %v, the graph %v", g.Name, counts.Distances, got)
				}
			}
			if want := c.distances[i]; want != nil && !slices.Equal(got, want) {
				t.Errorf("%s %s: routers at 0, 1, 2, 3 hops: %v, want %v", g.Name, name, got, want)
			}
		}
	}
}

// The rules of the arrangements, as the reference has them (docs/reference/references.md#dragonflies).
func TestArrangementRules(t *testing.T) {
	const p, a, h = 1, 4, 2
	const groups = a*h + 1
	for i, name := range topologies.Arrangement(0).Names() {
		_, far := arranged(t, p, a, h, 0, topologies.Arrangement(i))
		for group := range groups {
			for j := range a * h {
				var want [2]int
				switch name {
				case "absolute": // "peer group j if j < G else j+1; peer's port G if G < peer else G-1"
					want[0] = j
					if j >= group {
						want[0] = j + 1
					}
					want[1] = group
					if group > want[0] {
						want[1] = group - 1
					}
				case "relative": // "peer (G+j+1) mod g; peer's port a*h-1-j"
					want = [2]int{(group + j + 1) % groups, a*h - 1 - j}
				case "circulant": // "router r, k-th pair offset o = r*h/2 + k+1: links to G+o and G-o mod g, landing on the same router index; port pairing 2k<->2k+1"
					r, k := j/h, j%h/2
					o := r*h/2 + k + 1
					want = [2]int{(group + o) % groups, r*h + 2*k + 1}
					if j%2 == 1 {
						want = [2]int{(group - o + groups) % groups, r*h + 2*k}
					}
				}
				if far[group][j] != want {
					t.Errorf("%s: port %d of group %d leads to %v, want %v", name, j, group, far[group][j], want)
				}
			}
		}
	}
}

// Below full size each pair of groups has as many links as every group has ports for, in
// every arrangement.
func TestArrangementsBelowFullSize(t *testing.T) {
	for _, c := range []struct{ a, h, groups, perPair int }{{4, 2, 8, 1}, {4, 2, 5, 2}, {4, 2, 4, 2}, {4, 2, 2, 8}, {2, 4, 3, 4}, {4, 4, 7, 2}, {4, 2, 3, 4}} {
		for i := range topologies.Arrangement(0).Names() {
			arrangement := topologies.Arrangement(i)
			if arrangement.Check(c.h, c.groups) != nil {
				continue
			}
			g, far := arranged(t, 1, c.a, c.h, c.groups, arrangement)
			if err := g.Validate(); err != nil {
				t.Error(err)
			}
			counts, err := topologies.DragonflySpec{HostsPerRouter: 1, Routers: c.a, Global: c.h, Groups: c.groups, Arrangement: arrangement, Rate: 1, Delay: 1}.Counts()
			if err != nil || counts.PerPair != c.perPair || counts.LocalLinks+counts.GlobalLinks != int64(len(g.Links)-g.Hosts()) {
				t.Errorf("%s: counts %+v, %v; the graph has %d links between routers", g.Name, counts, err, len(g.Links)-g.Hosts())
			}
			for from, got := 0, make([]int64, len(counts.Distances)); from < c.a; from++ {
				for _, hops := range hopsFrom(g, g.Hosts()+from)[g.Hosts():] {
					got[hops]++
				}
				if from == c.a-1 && !slices.Equal(got, counts.Distances) {
					t.Errorf("%s: Counts has distances %v, the graph %v", g.Name, counts.Distances, got)
				}
			}
			for group, ports := range far {
				pairs := map[int]int{}
				for _, end := range ports {
					pairs[end[0]]++
				}
				delete(pairs, -1)
				for peer := range c.groups {
					if want := c.perPair; peer != group && pairs[peer] != want || peer == group && pairs[peer] != 0 {
						t.Errorf("%s: groups %d and %d share %d links, want %d", g.Name, group, peer, pairs[peer], want)
					}
				}
			}
		}
	}
}

// Counts of the largest Dragonfly of the reference's table, as a graph without traffic.
func TestLargestDragonfly(t *testing.T) {
	for i := range topologies.Arrangement(0).Names() {
		spec := topologies.DragonflySpec{HostsPerRouter: 16, Routers: 32, Global: 16, Arrangement: topologies.Arrangement(i), Rate: units.Gbps, Delay: us}
		size, err := spec.Size()
		if err != nil {
			t.Fatal(err)
		}
		counted, err := spec.Counts()
		if err != nil || counted.Groups != 513 || counted.Radix != 63 || counted.GlobalLinks != 131328 || counted.LocalLinks != 254448 || counted.PerPair != 1 || len(counted.Distances) != 4 {
			t.Errorf("counts %+v, %v", counted, err)
		}
		want := topologies.Size{Hosts: 262656, Switches: 16416, Racks: 16416, HostLinks: 262656, SwitchLinks: 131328 + 254448, PodLinks: true}
		if diff := cmp.Diff(size, want); diff != "" {
			t.Errorf("size (got -, want +):\n%s", diff)
		}
		if i > 0 && checkout.Long(t) {
			continue
		}
		g, far := arranged(t, 16, 32, 16, 0, topologies.Arrangement(i))
		counts := topologies.Counts{Hosts: 262656, Pods: 513, ToRs: 16416, Links: topologies.LinkCounts{Host: 262656, TorTor: 131328 + 254448}}
		if diff := cmp.Diff(g.Counts(), counts); diff != "" {
			t.Errorf("%s: counts (got -, want +):\n%s", g.Name, diff)
		}
		for group, ports := range far {
			seen := make([]bool, len(far))
			for _, end := range ports {
				if end[0] < 0 || end[0] == group || seen[end[0]] {
					t.Fatalf("%s: the global ports of group %d lead to %v", g.Name, group, ports)
				}
				seen[end[0]] = true
			}
		}
	}
}

// An arrangement that does not fit is refused with its reason.
func TestArrangementRefused(t *testing.T) {
	spec := topologies.DragonflySpec{HostsPerRouter: 1, Routers: 2, Global: 2, Rate: 1, Delay: 1, Arrangement: topologies.Circulant}
	for _, c := range []struct {
		change func(*topologies.DragonflySpec)
		want   string
	}{
		{func(s *topologies.DragonflySpec) { s.Global = 3 }, "needs an even h"},
		{func(s *topologies.DragonflySpec) { s.Groups = 4 }, "needs an odd number of groups"},
		{func(s *topologies.DragonflySpec) { s.Arrangement = 3 }, "arrangement3"},
		{func(s *topologies.DragonflySpec) { s.LocalRate = -1 }, "rates"},
		{func(s *topologies.DragonflySpec) { s.LocalDelay = -1 }, "delays"},
	} {
		s := spec
		c.change(&s)
		if err := sizeError(s); !errors.Is(err, topologies.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", s, err, c.want)
		}
	}
	if err := sizeError(spec); err != nil {
		t.Error(err)
	}
}

// Links of hosts, within groups and between them may differ in rate and delay.
func TestDragonflyMixedLinks(t *testing.T) {
	g, err := topologies.Dragonfly(topologies.DragonflySpec{
		HostsPerRouter: 1, Routers: 2, Global: 1, Rate: 1 * units.Gbps, LocalRate: 2 * units.Gbps, GlobalRate: 3 * units.Gbps,
		Delay: 1 * us, LocalDelay: 2 * us, GlobalDelay: 30 * us,
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, l := range g.Links {
		rate, delay := 2*units.Gbps, 2*us
		switch {
		case g.Nodes[l.A.Node].Kind == topologies.Host:
			rate, delay = units.Gbps, us
		case global(g, id):
			rate, delay = 3*units.Gbps, 30*us
		}
		if l.Rate != rate || l.Delay != delay {
			t.Errorf("%s has %v and %v, want %v and %v", g.LinkName(id), l.Rate, l.Delay, rate, delay)
		}
	}
	if links, delay := topologies.LongestPath(g); links != 5 || delay != (1+2+30+2+1)*us {
		t.Errorf("the longest path has %d links and %v, want 5 and 36us", links, delay)
	}
}
