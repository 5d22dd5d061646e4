package topologies_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// randomGraph returns a connected graph of random switches, links, pods and delays.
// Hosts are behind random switches, in an order without pattern half of the time.
func randomGraph(r *rand.Rand) *topologies.Graph {
	g := &topologies.Graph{Name: "random"}
	hosts, switches, pods := 1+r.IntN(300), 1+r.IntN(40), 1+r.IntN(4)
	for i := range hosts {
		g.Nodes = append(g.Nodes, topologies.Node{Name: fmt.Sprintf("h%d", i), Pod: -1})
	}
	for i := range switches {
		pod := -1
		if pods > 1 {
			pod = r.IntN(pods+1) - 1
		}
		g.Nodes = append(g.Nodes, topologies.Node{Name: fmt.Sprintf("s%d", i), Kind: topologies.Switch, Tier: topologies.TierToR, Pod: pod})
	}
	alike := r.IntN(2) == 0
	delay := func() units.Duration {
		if alike {
			return us
		}
		return units.Duration(1+r.IntN(3)) * us
	}
	for i := 1; i < switches; i++ {
		g.Connect(hosts+r.IntN(i), hosts+i, units.Gbps, delay())
	}
	for range r.IntN(3 * switches) {
		if a, b := r.IntN(switches), r.IntN(switches); a != b { // some are parallel
			g.Connect(hosts+a, hosts+b, units.Gbps, delay())
		}
	}
	inOrder, racks := r.IntN(2) == 0, 1+r.IntN(switches)
	for h := range hosts {
		at := r.IntN(racks)
		if inOrder {
			at = h * racks / hosts
		}
		g.Connect(h, hosts+at, units.Gbps, delay())
	}
	return g
}

// Compact routes are those of a plain table: of each switch to each host, all ports on
// minimal paths, and no other.
func TestRoutesOnRandomGraphs(t *testing.T) {
	checkout.SkipSlowRace(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		g := randomGraph(r)
		if err := g.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		routes, adjacency, distance := topologies.NextHops(g), g.Adjacency(), minimal(g)
		for n := g.Hosts(); n < len(g.Nodes); n++ {
			for h := range g.Hosts() {
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
					t.Fatalf("seed %d: %d hosts, %d nodes: %s to h%d: ports %v, want %v", seed, g.Hosts(), len(g.Nodes), g.Nodes[n].Name, h, got, want)
				}
			}
			for _, h := range []int{-1, g.Hosts(), g.Hosts() + 1000} {
				if got := routes[n].To(h); got != nil {
					t.Fatalf("seed %d: %s to host %d of %d: ports %v", seed, g.Nodes[n].Name, h, g.Hosts(), got)
				}
			}
		}
	}
}

// A table that is made by hand is the same table.
func TestNewRoutes(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	sets := [][]uint16{nil, {0}, {7}, {1, 2, 3}, {1, 3}, {5, 6}, {0, 1, 2, 3, 4, 5, 6, 7}}
	for range 100 {
		want := make([][]uint16, r.IntN(3*topologies.HostsPerBlock))
		last := sets[0]
		for h := range want {
			if r.IntN(40) == 0 {
				last = sets[r.IntN(len(sets))]
			}
			want[h] = last
		}
		routes := topologies.NewRoutes(want...)
		for h := range want {
			if got := routes.To(h); !slices.Equal(got, want[h]) {
				t.Fatalf("seed %d: host %d of %d: ports %v, want %v", seed, h, len(want), got, want[h])
			}
		}
	}
}

// Routes that cross a process boundary are the same routes.
func TestRoutesArePlainData(t *testing.T) {
	want := topologies.NextHops(build(t, bundled()))
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(want); err != nil {
		t.Fatal(err)
	}
	var got []topologies.Routes
	if err := gob.NewDecoder(&b).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// The routes of a large fat tree take a few bytes per switch and block of hosts: the
// switches share everything else.
func TestRoutesAreCompact(t *testing.T) {
	g := kary(t, 32) // 8192 hosts, 1280 switches
	routes := topologies.NextHops(g)
	lists, books := map[*topologies.Route]int{}, map[*topologies.RouteBook]bool{}
	entries := 0
	for i := g.Hosts(); i < len(routes); i++ {
		first := &routes[i].Blocks[0]
		if lists[first]++; lists[first] == 1 {
			entries += len(routes[i].Blocks)
		}
		books[routes[i].Book] = true
	}
	book := routes[g.Hosts()].Book
	if len(books) != 1 || len(lists) != 512+32+1 || len(book.Groups) != 1 || len(book.Ports) != 32 {
		t.Errorf("%d books, %d lists of blocks, %d groups, %d ports; want 1, one per tor, pod and for the cores, 1, 32", len(books), len(lists), len(book.Groups), len(book.Ports))
	}
	if bytes := 4 * (entries + topologies.HostsPerBlock*len(book.Blocks)); bytes > 200_000 {
		t.Errorf("the routes take %d bytes; a table per switch took %d", bytes, 2*1280*8192)
	}
}
