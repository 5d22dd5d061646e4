package parts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// seed is that of all random fabrics here.
const seed = 20261123

// small returns a random fabric with up to eight nodes: hosts at switches that are joined
// somehow, with delays of 1 to 3 us and random frames.
func smallFabric(r *rand.Rand) *fabric {
	hosts, switches := 1+r.IntN(4), 1+r.IntN(4)
	g := &topologies.Graph{}
	for i := range hosts {
		g.Nodes = append(g.Nodes, topologies.Node{Name: fmt.Sprintf("h%d", i), Pod: topologies.NoPod})
	}
	for i := range switches {
		g.Nodes = append(g.Nodes, topologies.Node{Name: fmt.Sprintf("s%d", i), Kind: topologies.Switch, Pod: topologies.NoPod})
	}
	link := func(a, b int) {
		g.Connect(a, b, 100*units.Gbps, units.Duration(1+r.IntN(3))*units.Microsecond)
	}
	for h := range hosts {
		link(h, hosts+r.IntN(switches))
	}
	for s := 1; s < switches; s++ {
		link(hosts+s, hosts+r.IntN(s))
	}
	for range r.IntN(4) {
		if a, b := r.IntN(switches), r.IntN(switches); a != b {
			link(hosts+a, hosts+b)
		}
	}
	f := &fabric{graph: g, end: units.Never, loads: make([]float64, len(g.Nodes))}
	for _, l := range g.Links {
		f.links = append(f.links, plan.Link{A: l.A, B: l.B, Delay: l.Delay})
		f.frames = append(f.frames, float64(r.IntN(1000)))
	}
	if hosts > 1 && r.IntN(2) == 0 { // a control link
		f.links = append(f.links, plan.Link{A: topologies.End{Node: 0, Port: 1}, B: topologies.End{Node: 1, Port: 1}, Delay: units.Duration(1+r.IntN(3)) * units.Microsecond})
		f.frames = append(f.frames, 1)
	}
	f.share()
	return f
}

// every calls visit with each division of n nodes into parts, none of which is empty.
func every(n, parts int, visit func(of []int)) {
	of := make([]int, n)
	var next func(node, used int)
	next = func(node, used int) {
		if parts-used > n-node {
			return
		}
		if node == n {
			visit(of)
			return
		}
		for part := range min(used+1, parts) {
			of[node] = part
			next(node+1, max(used, part+1))
		}
	}
	next(0, 0)
}

// lookahead returns the smallest delay of a link between parts.
func (f *fabric) lookahead(of []int) units.Duration {
	least := units.Duration(0)
	for _, l := range f.links {
		if of[l.A.Node] != of[l.B.Node] && (least == 0 || l.Delay < least) {
			least = l.Delay
		}
	}
	return least
}

// TestAgainstAllCuts: every node is in one part, no part is empty, the lookahead is the
// largest that any cut has, and hosts stay with their switches where the links between
// switches could have been cut with the same lookahead.
func TestAgainstAllCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 400 {
		f := smallFabric(r)
		parts := 1 + r.IntN(min(4, len(f.loads)))
		got, err := f.cut(parts)
		if err != nil {
			t.Fatalf("fabric %d: %v", i, err)
		}
		if len(got.Of) != len(f.loads) {
			t.Fatalf("fabric %d: %d nodes are placed, want %d", i, len(got.Of), len(f.loads))
		}
		nodes := make([]int, parts)
		for _, part := range got.Of {
			nodes[part]++
		}
		if slices.Contains(nodes, 0) {
			t.Errorf("fabric %d: nodes of the parts: %v", i, nodes)
		}
		var largest units.Duration
		together := false // there is a cut with the largest lookahead that leaves hosts with their switches
		every(len(f.loads), parts, func(of []int) {
			if l := f.lookahead(of); l >= largest {
				if l > largest {
					largest, together = l, false
				}
				together = together || f.together(of)
			}
		})
		if got.Lookahead != largest || got.Lookahead != f.lookahead(got.Of) {
			t.Errorf("fabric %d in %d parts: lookahead %v, which is %v; the largest is %v", i, parts, got.Lookahead, f.lookahead(got.Of), largest)
		}
		if together && !f.together(got.Of) {
			t.Errorf("fabric %d in %d parts: a host is not with its switch: %v", i, parts, got.Of)
		}
		again, err := f.cut(parts)
		if diff := cmp.Diff(again, got); diff != "" || err != nil {
			t.Errorf("fabric %d: another cut (%v):\n%s", i, err, diff)
		}
	}
}

// together reports whether each host is in the part of its switch.
func (f *fabric) together(of []int) bool {
	return !slices.ContainsFunc(f.graph.Links, func(l topologies.Link) bool {
		return l.A.Node < f.graph.Hosts() && of[l.A.Node] != of[l.B.Node]
	})
}

// randomGraph returns pieces that are joined at random.
func randomGraph(r *rand.Rand, pieces int) *graph {
	g := &graph{loads: make([]float64, pieces), adjacent: make([][]edge, pieces), hosts: make([]bool, pieces)}
	sum := 0.0
	for i := range g.loads {
		g.loads[i] = 0.2 + r.Float64()
		g.hosts[i] = r.IntN(3) > 0
		sum += g.loads[i]
	}
	for i := range g.loads {
		g.loads[i] /= sum
	}
	for a := range pieces {
		for b := range a {
			if b == a-1 || r.IntN(4) == 0 {
				weight := float64(1 + r.IntN(1000))
				g.adjacent[a] = append(g.adjacent[a], edge{int32(b), weight})
				g.adjacent[b] = append(g.adjacent[b], edge{int32(a), weight})
			}
		}
	}
	return g
}

func (g *graph) crossing(of []int) (sum float64) {
	for a, edges := range g.adjacent {
		for _, e := range edges {
			if of[a] != of[e.to] {
				sum += e.weight / 2
			}
		}
	}
	return sum
}

// TestDivideAgainstAll: the heaviest part is within the tolerance, or within 4/3 of the
// lightest possible one (Graham's bound), and of the divisions that are no heavier none
// crosses fewer frames, but for few.
func TestDivideAgainstAll(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 2))
	const graphs = 150
	missed := 0
	for i := range graphs {
		parts := 2 + r.IntN(3)
		g := randomGraph(r, parts+r.IntN(9-parts)+1)
		got := g.divide(parts)
		most := slices.Max(g.sums(got, parts))
		lightest, least := 2.0, -1.0
		every(len(g.loads), parts, func(of []int) {
			heaviest := slices.Max(g.sums(of, parts))
			lightest = min(lightest, heaviest)
			if c := g.crossing(of); heaviest <= most+indifferent && (least < 0 || c < least) {
				least = c
			}
		})
		if bound := max((1+tolerance)/float64(parts), 4*lightest/3); most > bound+indifferent {
			t.Errorf("graph %d: the heaviest of %d parts has %.4f; the lightest possible %.4f", i, parts, most, lightest)
		}
		crossing := g.crossing(got)
		if crossing > least*(1+indifferent) {
			missed++
		}
		if crossing > 1.25*least {
			t.Errorf("graph %d: %v frames cross between %d parts, where %v would", i, crossing, parts, least)
		}
	}
	if missed > graphs/20 {
		t.Errorf("%d of %d divisions cross more frames than necessary", missed, graphs)
	}
}

// TestRefinement: what a refinement keeps count of is what the division has.
func TestRefinement(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range 50 {
		g := randomGraph(r, 60)
		ref := newRefinement(g, g.byWeight(4, r), 4, 0.27)
		before := g.crossing(ref.of)
		ref.run()
		after := g.crossing(ref.of)
		if diff := after - ref.crossing; max(diff, -diff) > 1e-6*after {
			t.Errorf("graph %d: %v frames cross, counted are %v", i, after, ref.crossing)
		}
		if after >= before {
			t.Errorf("graph %d: %v frames cross before and %v after", i, before, after)
		}
		for part, sum := range g.sums(ref.of, 4) {
			if d := sum - ref.sums[part]; max(d, -d) > 1e-9 || sum > 0.27+1e-9 {
				t.Errorf("graph %d: part %d has %v, counted %v, at most 0.27", i, part, sum, ref.sums[part])
			}
		}
	}
}

// TestLarge: a fat tree of 8192 hosts is cut in seconds, by pod, and so are racks without
// pods.
func TestLarge(t *testing.T) {
	tree, err := topologies.KAryFatTree(32, 400*units.Gbps, units.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, pods := range []bool{true, false} {
		if !pods {
			for i := range g.Nodes {
				g.Nodes[i].Pod = topologies.NoPod
			}
		}
		start := time.Now()
		got, err := CutGraph(g, 8)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("pods %v: %v, %d of %d links are cut", pods, took, len(got.Links), len(g.Links))
		if took > 20*time.Second {
			t.Errorf("pods %v: it takes %v", pods, took)
		}
		// Four pods of 256 up links in each part; a core has 8 links of 32 to other parts less
		// its own part's four pods.
		const byPod = 256 * 28
		if pods && len(got.Links) != byPod {
			t.Errorf("%d links are cut, want %d", len(got.Links), byPod)
		}
		for i, part := range got.Parts {
			if part.Load > (1+podTolerance)/8 {
				t.Errorf("pods %v: part %d has %.3f of the load", pods, i, part.Load)
			}
		}
	}
}
