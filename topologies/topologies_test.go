package topologies_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

const us = units.Microsecond

func kary(t testing.TB, k int) *topologies.Graph {
	t.Helper()
	f, err := topologies.KAryFatTree(k, 100*units.Gbps, us)
	if err != nil {
		t.Fatal(err)
	}
	return build(t, f)
}

func build(t testing.TB, f topologies.FatTree) *topologies.Graph {
	t.Helper()
	g, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// threeFlow is scenarios/three-flow.topo: 16 hosts, one path per pair.
func threeFlow() topologies.FatTree {
	tier := func(down, up, over int) topologies.FatTreeTier {
		return topologies.FatTreeTier{Rate: 100 * units.Gbps, Delay: us, RadixDown: down, RadixUp: up, Oversubscribed: over, Bundle: 1}
	}
	return topologies.FatTree{Name: "three-flow", Hosts: 16, PodSize: 4, Tiers: []topologies.FatTreeTier{tier(2, 1, 2), tier(2, 1, 2), tier(4, 0, 1)}}
}

// bundled has two links per Agg and core, at half the rate.
func bundled() topologies.FatTree {
	tier := func(rate units.Rate, down, up, bundle int) topologies.FatTreeTier {
		return topologies.FatTreeTier{Rate: rate, Delay: us, SwitchDelay: 10 * units.Nanosecond, RadixDown: down, RadixUp: up, Oversubscribed: 1, Bundle: bundle}
	}
	return topologies.FatTree{Name: "bundled", Hosts: 8, PodSize: 4, Tiers: []topologies.FatTreeTier{
		tier(200*units.Gbps, 2, 2, 1), tier(200*units.Gbps, 2, 4, 1), tier(100*units.Gbps, 4, 0, 2)}}
}

// The k-ary fat tree has k pods, k/2 edge and k/2 agg switches per pod, (k/2)^2
// cores, k^3/4 hosts and as many links at each level (docs/reference/references.md#fat-trees).
func TestKAryFatTree(t *testing.T) {
	for _, row := range []struct{ k, edge, agg, core, switches, hosts int }{
		{4, 8, 8, 4, 20, 16}, {6, 18, 18, 9, 45, 54}, {8, 32, 32, 16, 80, 128},
		{16, 128, 128, 64, 320, 1024}, {32, 512, 512, 256, 1280, 8192}, {48, 1152, 1152, 576, 2880, 27648},
		{64, 2048, 2048, 1024, 5120, 65536},
	} {
		g := kary(t, row.k)
		want := topologies.Counts{
			Hosts: row.hosts, Pods: row.k, ToRs: row.edge, Aggs: row.agg, Cores: row.core,
			Links: topologies.LinkCounts{Host: row.hosts, TorAgg: row.hosts, AggCore: row.hosts},
		}
		if diff := cmp.Diff(g.Counts(), want); diff != "" {
			t.Errorf("k=%d: counts (got -, want +):\n%s", row.k, diff)
		}
		if got := len(g.Nodes) - g.Hosts(); got != row.switches {
			t.Errorf("k=%d: %d switches, want %d", row.k, got, row.switches)
		}
		if err := g.Validate(); err != nil {
			t.Errorf("k=%d: %v", row.k, err)
		}
	}
	for _, k := range []int{-2, 0, 3, 1000} {
		if _, err := topologies.KAryFatTree(k, units.Gbps, us); !errors.Is(err, topologies.ErrInvalid) {
			t.Errorf("k=%d: error %v, want ErrInvalid", k, err)
		}
	}
}

// The wiring rules of docs/reference/references.md#fat-trees, checked against the definition.
func TestFatTreeWiring(t *testing.T) {
	g := build(t, bundled())
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, name := range g.LinkNames() {
		if name != g.LinkName(i) {
			t.Errorf("LinkNames()[%d] is %s, LinkName says %s", i, name, g.LinkName(i))
		}
		l := g.Links[i]
		got = append(got, fmt.Sprintf("%s:%d %s:%d %v", g.Nodes[l.A.Node].Name, l.A.Port, g.Nodes[l.B.Node].Name, l.B.Port, l.Rate))
	}
	want := []string{
		"h0:0 tor0:0 200Gbps", "h1:0 tor0:1 200Gbps", "h2:0 tor1:0 200Gbps", "h3:0 tor1:1 200Gbps",
		"h4:0 tor2:0 200Gbps", "h5:0 tor2:1 200Gbps", "h6:0 tor3:0 200Gbps", "h7:0 tor3:1 200Gbps",
		"tor0:2 agg0:0 200Gbps", "tor0:3 agg1:0 200Gbps", "tor1:2 agg0:1 200Gbps", "tor1:3 agg1:1 200Gbps",
		"tor2:2 agg2:0 200Gbps", "tor2:3 agg3:0 200Gbps", "tor3:2 agg2:1 200Gbps", "tor3:3 agg3:1 200Gbps",
		// agg at position p reaches the cores p and p+2, two links each
		"agg0:2 core0:0 100Gbps", "agg0:3 core0:1 100Gbps", "agg0:4 core2:0 100Gbps", "agg0:5 core2:1 100Gbps",
		"agg1:2 core1:0 100Gbps", "agg1:3 core1:1 100Gbps", "agg1:4 core3:0 100Gbps", "agg1:5 core3:1 100Gbps",
		"agg2:2 core0:2 100Gbps", "agg2:3 core0:3 100Gbps", "agg2:4 core2:2 100Gbps", "agg2:5 core2:3 100Gbps",
		"agg3:2 core1:2 100Gbps", "agg3:3 core1:3 100Gbps", "agg3:4 core3:2 100Gbps", "agg3:5 core3:3 100Gbps",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("links (got -, want +):\n%s", diff)
	}
}

// In three-flow the flow 1->10 passes ToR0, Agg0, the core, Agg2 and ToR5
// (docs/reference/references.md#three-flow).
func TestThreeFlowPath(t *testing.T) {
	g := build(t, threeFlow())
	p := topologies.NewPaths(g)
	names := g.LinkNames()
	for _, c := range []struct {
		src, dst int
		want     []string
	}{
		{1, 10, []string{"h1-tor0", "tor0-agg0", "agg0-core0", "agg2-core0", "tor5-agg2", "h10-tor5"}},
		{0, 2, []string{"h0-tor0", "tor0-agg0", "tor1-agg0", "h2-tor1"}},
		{9, 10, []string{"h9-tor4", "tor4-agg2", "tor5-agg2", "h10-tor5"}},
		{4, 5, []string{"h4-tor2", "h5-tor2"}},
	} {
		var got []string
		for _, id := range p.Links(c.src, c.dst) {
			got = append(got, names[id])
		}
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%d->%d (got -, want +):\n%s", c.src, c.dst, diff)
		}
		if links, delay := p.Between(c.src, c.dst); links != len(c.want) || delay != units.Duration(len(c.want))*us {
			t.Errorf("%d->%d: %d links, %v, want %d, %dus", c.src, c.dst, links, delay, len(c.want), len(c.want))
		}
	}
}

func TestFatTreeMisfits(t *testing.T) {
	type edit func(f *topologies.FatTree)
	for _, c := range []struct {
		edit edit
		want string
	}{
		{func(f *topologies.FatTree) { f.PodSize = 3 }, "fat tree: podsize is 3, want a divisor of 16: the fabric has 16 hosts"},
		{func(f *topologies.FatTree) { f.Tiers = f.Tiers[:1] }, "fat tree: tiers is 1, want 2 or 3"},
		{func(f *topologies.FatTree) { f.Hosts = 1 << 21 }, "fat tree: hosts is 2097152, want 2 to 1048576"},
		{func(f *topologies.FatTree) { f.Tiers[0].RadixDown = 3 }, "fat tree: tier 0: radix_down is 3, want a divisor of 4: a pod has 4 hosts"},
		{func(f *topologies.FatTree) { f.Tiers[0].RadixUp = 2 }, "fat tree: tier 0: radix_up is 2, want 1: 2 down links at 100Gbps, up links at 100Gbps, oversubscribed 2"},
		{func(f *topologies.FatTree) { f.Tiers[0].Oversubscribed = 3 }, "fat tree: tier 0: oversubscribed is 3, want 2: 2 down links at 100Gbps, up links at 100Gbps, oversubscribed 3"},
		{func(f *topologies.FatTree) { f.Tiers[1].Rate = 75 * units.Gbps }, "fat tree: tier 0: oversubscribed is 2, want the rate below over the rate above, which is 200Gbps over 75Gbps: 2 down links at 100Gbps, up links at 75Gbps, oversubscribed 2"},
		{func(f *topologies.FatTree) { f.Tiers[0].Bundle = 2 }, "fat tree: tier 0: bundle is 2, want 1: a host has one link"},
		{func(f *topologies.FatTree) { f.Tiers[1].Bundle = 2 }, "fat tree: tier 0: radix_up is 1, want a multiple of 2: up links come in bundles of tier 1"},
		{func(f *topologies.FatTree) { f.Tiers[1].RadixDown, f.Tiers[1].Oversubscribed = 4, 4 }, "fat tree: tier 1: radix_down is 4, want 2: a pod has 2 tors, bundle 1"},
		{func(f *topologies.FatTree) { f.Tiers[2].Bundle = 2 }, "fat tree: tier 1: radix_up is 1, want a multiple of 2: up links come in bundles of tier 2"},
		{func(f *topologies.FatTree) { f.Tiers[2].RadixDown = 8 }, "fat tree: tier 2: radix_down is 8, want 4: a core reaches one agg in each of 4 pods, bundle 1"},
		{func(f *topologies.FatTree) { f.Tiers[2].RadixUp = 1 }, "fat tree: tier 2: radix_up is 1, want 0: the top tier has no up links"},
		{func(f *topologies.FatTree) { f.Tiers[2].Delay = 0 }, "fat tree: tier 2: delay is 0s, want more than 0 and at most 1s: a link without delay has no lookahead"},
		{func(f *topologies.FatTree) { f.Tiers[1].SwitchDelay = -1 }, "fat tree: tier 1: switch_delay is -1ps, want 0 to 1s"},
		{func(f *topologies.FatTree) { f.Tiers[1].Rate = units.Tbps * 1000 }, "fat tree: tier 1: rate is 1000Tbps, want more than 0 and at most 100Tbps"},
		{func(f *topologies.FatTree) {
			f.Tiers = f.Tiers[:2]
			f.Tiers[1].RadixUp = 0
			f.Tiers[1].Oversubscribed = 1
		}, "fat tree: podsize is 4, want 16: a fabric of two tiers is one pod"},
	} {
		f := threeFlow()
		c.edit(&f)
		_, err := f.Build()
		var shape *topologies.ShapeError
		if !errors.As(err, &shape) || !errors.Is(err, topologies.ErrInvalid) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	f := bundled()
	f.Tiers[2].Bundle = 1
	if _, err := f.Build(); err == nil || err.Error() != "fat tree: tier 2: radix_down is 4, want 2: a core reaches one agg in each of 2 pods, bundle 1 (a bundle of 2 would fit)" {
		t.Errorf("missing bundle: %v", err)
	}
}

func TestLeafSpine(t *testing.T) {
	f, err := topologies.LeafSpine(topologies.LeafSpineSpec{
		Leaves: 4, Spines: 2, HostsPerLeaf: 8, Bundle: 2, Rate: 100 * units.Gbps, SpineRate: 400 * units.Gbps, Delay: us,
	})
	if err != nil {
		t.Fatal(err)
	}
	g := build(t, f)
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	want := topologies.Counts{Hosts: 32, Pods: 1, ToRs: 4, Aggs: 2, Links: topologies.LinkCounts{Host: 32, TorAgg: 16}}
	if diff := cmp.Diff(g.Counts(), want); diff != "" {
		t.Errorf("counts (got -, want +):\n%s", diff)
	}
	if _, err := topologies.LeafSpine(topologies.LeafSpineSpec{Leaves: 4, HostsPerLeaf: 8, Rate: units.Gbps, Delay: us}); err == nil {
		t.Error("no spines: no error")
	}
}

// Shortest paths have 2 links under one leaf, 4 in a pod or a leaf-spine fabric
// and 6 between pods (docs/reference/references.md#fat-trees).
func TestLongestPath(t *testing.T) {
	leafSpine, err := topologies.LeafSpine(topologies.LeafSpineSpec{Leaves: 128, Spines: 16, HostsPerLeaf: 64, Rate: 800 * units.Gbps, Delay: us})
	if err != nil {
		t.Fatal(err)
	}
	oneLeaf, err := topologies.LeafSpine(topologies.LeafSpineSpec{Leaves: 1, Spines: 1, HostsPerLeaf: 2, Rate: units.Gbps, Delay: us, SwitchDelay: us / 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		graph *topologies.Graph
		links int
		delay units.Duration
	}{
		{"three-flow", build(t, threeFlow()), 6, 6 * us},
		{"8192 hosts, 2 tiers", build(t, leafSpine), 4, 4 * us},
		{"8192 hosts, 3 tiers", kary(t, 32), 6, 6 * us},
		{"switch delay", build(t, bundled()), 6, 6*us + 50*units.Nanosecond},
		{"one leaf", build(t, oneLeaf), 2, 2*us + us/2},
	} {
		if links, delay := topologies.LongestPath(c.graph); links != c.links || delay != c.delay {
			t.Errorf("%s: %d links, %v, want %d, %v", c.name, links, delay, c.links, c.delay)
		}
	}
}

// Longest and Between are checked against each other, also for each number of links, on a
// fabric where every delay differs, and Links against Between.
func TestPathsOnUnevenFabric(t *testing.T) {
	g := build(t, bundled())
	for i := range g.Links {
		g.Links[i].Delay = units.Duration(1000 + i*i*37%613)
	}
	for i := g.Hosts(); i < len(g.Nodes); i++ {
		g.Nodes[i].Delay = units.Duration(i * 7)
	}
	p := topologies.NewPaths(g)
	var longest units.Duration
	byLinks := make([]units.Duration, 7) // 2, 4 and 6 links
	for src := range g.Hosts() {
		for dst := range g.Hosts() {
			if src == dst {
				continue
			}
			links, delay := p.Between(src, dst)
			longest = max(longest, delay)
			byLinks[links] = max(byLinks[links], delay)
			var sum units.Duration
			at := src
			ids := p.Links(src, dst)
			for _, id := range ids {
				l := g.Links[id]
				if l.A.Node != at && l.B.Node != at {
					t.Fatalf("%d->%d: link %s does not continue the path", src, dst, g.LinkName(id))
				}
				at = l.A.Node + l.B.Node - at
				sum += l.Delay + g.Nodes[at].Delay
			}
			if at != dst || len(ids) != links || sum != delay {
				t.Errorf("%d->%d: path ends at %d after %d links and %v, want %d and %v", src, dst, at, len(ids), sum, links, delay)
			}
		}
	}
	got := p.Longest()
	if got.Delay != longest {
		t.Errorf("longest %v, want %v", got.Delay, longest)
	}
	if !slices.Equal(got.ByLinks, byLinks) {
		t.Errorf("longest by links %v, want %v", got.ByLinks, byLinks)
	}
}

func BenchmarkNextHops8192(b *testing.B) {
	g := kary(b, 32)
	for b.Loop() {
		topologies.NextHops(g)
	}
}

func BenchmarkLongestPath8192(b *testing.B) {
	g := kary(b, 32)
	for b.Loop() {
		topologies.LongestPath(g)
	}
}

func ExampleKAryFatTree() {
	f, err := topologies.KAryFatTree(4, 100*units.Gbps, units.Microsecond)
	if err != nil {
		panic(err)
	}
	g, err := f.Build()
	if err != nil {
		panic(err)
	}
	links, delay := topologies.LongestPath(g)
	fmt.Println(g.Hosts(), "hosts;", links, "links and", delay, "between pods")
	// Output: 16 hosts; 6 links and 6us between pods
}

func ExampleLeafSpine() {
	f, err := topologies.LeafSpine(topologies.LeafSpineSpec{
		Leaves: 4, Spines: 2, HostsPerLeaf: 8, Rate: 100 * units.Gbps, Delay: units.Microsecond,
	})
	if err != nil {
		panic(err)
	}
	g, err := f.Build()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(topologies.NextHops(g)[32].To(31)), "ways from the first leaf to the last host")
	// Output: 2 ways from the first leaf to the last host
}

func TestHosts(t *testing.T) {
	for hosts := range 5 {
		for switches := range 3 {
			var g topologies.Graph
			for i := range hosts + switches {
				kind := topologies.Host
				if i >= hosts {
					kind = topologies.Switch
				}
				g.Nodes = append(g.Nodes, topologies.Node{Kind: kind})
			}
			if got := g.Hosts(); got != hosts {
				t.Errorf("%d hosts and %d switches: Hosts is %d", hosts, switches, got)
			}
		}
	}
}
