package topologies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// Where paths are taken from the routes, they are those that the search from the source
// finds: the same links, and the same delay.
func TestPathsFromRoutes(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for trial := range 60 {
		tier := func(down, up, bundle int) FatTreeTier {
			return FatTreeTier{Rate: units.Gbps, Delay: units.Duration(1 + r.IntN(5)), SwitchDelay: units.Duration(r.IntN(2)), RadixDown: down, RadixUp: up, Bundle: bundle}
		}
		pods, tors, aggs, cores, b1, b2 := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
		down := 1 + r.IntN(4)
		g, err := FatTree{Name: "random", Hosts: pods * tors * down, PodSize: tors * down, Tiers: []FatTreeTier{
			tier(down, aggs*b1, 0), tier(tors*b1, cores*b2, b1), tier(pods*b2, 0, b2),
		}}.Build()
		if err != nil || g.Hosts() < 2 {
			continue
		}
		if trial%3 == 0 { // some path is longer than others
			g.Links[r.IntN(len(g.Links))].Delay++
		}
		routed, searched := NewPaths(g), NewPaths(g)
		searched.prepared = true
		routed.prepare()
		if routed.routes != nil {
			compared++
		}
		var longest units.Duration
		for src := range g.Hosts() {
			for dst := range g.Hosts() {
				if src == dst {
					continue
				}
				links, delay := routed.Between(src, dst)
				wantLinks, want := searched.Between(src, dst)
				longest = max(longest, want)
				if links != wantLinks || delay != want || !slices.Equal(routed.Links(src, dst), searched.Links(src, dst)) {
					t.Fatalf("seed %d, %s: from %d to %d: links %v, %v; want %v, %v", seed, fmt.Sprint(g.Counts()), src, dst,
						routed.Links(src, dst), delay, searched.Links(src, dst), want)
				}
			}
		}
		if got := routed.Longest().Delay; got != longest {
			t.Fatalf("seed %d: longest %v, want %v", seed, got, longest)
		}
	}
	if compared < 10 {
		t.Errorf("seed %d: only %d fabrics had paths from routes", seed, compared)
	}
}
