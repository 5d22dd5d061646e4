package parts_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/parts"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

func compile(t *testing.T, name string) *plan.Plan {
	t.Helper()
	set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables(), Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPods: fat trees are cut by pod at the core, a Dragonfly by group.
func TestPods(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts int
		links int // cut
	}{
		{"all-to-all", 2, 8},  // four pods, four cores, each with a link to each pod
		{"all-to-all", 4, 12}, // a core in each part
		{"dragonfly", 3, 3},   // three groups, each pair of which has a link
		{"dragonfly-72", 3, 27},
		{"dragonfly-72", 9, 36},
		{"dragonfly-72", 2, 20}, // five groups and four
	} {
		p := compile(t, c.name)
		got, err := parts.Cut(p, c.parts)
		if err != nil {
			t.Fatal(err)
		}
		part := map[int]int{}
		for node, n := range p.Graph.Nodes {
			if first, ok := part[n.Pod]; n.Pod >= 0 && ok && got.Of[node] != first {
				t.Errorf("%s in %d parts: %s is in part %d, others of pod %d in part %d", c.name, c.parts, n.Name, got.Of[node], n.Pod, first)
			}
			part[n.Pod] = got.Of[node]
		}
		if len(got.Links) != c.links {
			t.Errorf("%s in %d parts: %d links are cut, want %d", c.name, c.parts, len(got.Links), c.links)
		}
	}
}

func TestErrors(t *testing.T) {
	p := compile(t, "dragonfly") // twelve nodes
	instant := *p
	instant.Links = append([]plan.Link(nil), p.Links...)
	for i := range instant.Links[:10] {
		instant.Links[i].Delay = 0
	}
	for _, c := range []struct {
		plan  *plan.Plan
		parts int
		want  string
	}{
		{p, 0, "into 0 parts: want at least 1"},
		{p, -1, "into -1 parts: want at least 1"},
		{p, 13, "into 13 parts: it has 12 nodes, and each part needs one"},
		{&instant, 7, "into 7 parts: link " + p.Links[0].Name + " and 9 others have no delay, and so no lookahead: without cutting one of them there are"},
	} {
		_, err := parts.Cut(c.plan, c.parts)
		if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if got, err := parts.Cut(p, 12); err != nil || len(got.Links) != len(p.Graph.Links) {
		t.Errorf("a part for each node: %v, %+v", err, got)
	}
}

// TestPrediction: three-flow with CSIG, cut between pods at 1 us, was measured with 26,366
// exchanges, which took 1.3 s more than the 3.6 s of one machine (docs/explanation/performance.md).
func TestPrediction(t *testing.T) {
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables(), Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range set.Variants {
		if v.Name != "csig" {
			continue
		}
		p, err := plan.Compile(v.Experiment, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parts.Cut(p, 2)
		if err != nil {
			t.Fatal(err)
		}
		if off := got.Exchanges / 26366; math.Abs(off-1) > 0.1 {
			t.Errorf("%.0f exchanges, want 26,366 within 10 %%", got.Exchanges)
		}
		if got.Slowdown < 1.2 || got.Slowdown > 1.7 || got.Lookahead != units.Microsecond {
			t.Errorf("slowdown %v, lookahead %v", got.Slowdown, got.Lookahead)
		}
		alone, err := parts.Cut(p, 1)
		if err != nil || alone.Slowdown != 1 || alone.Exchanges != 0 || alone.Links != nil {
			t.Errorf("one part: %+v, %v", alone, err)
		}
		return
	}
	t.Fatal("three-flow has no variant csig")
}

// A chain of switches is cut where its links are longest.
func ExampleCutGraph() {
	g := &topologies.Graph{Nodes: []topologies.Node{
		{Name: "h0", Pod: topologies.NoPod}, {Name: "h1", Pod: topologies.NoPod},
		{Name: "s0", Kind: topologies.Switch, Pod: topologies.NoPod}, {Name: "s1", Kind: topologies.Switch, Pod: topologies.NoPod},
	}}
	g.Connect(0, 2, 100*units.Gbps, units.Microsecond)
	g.Connect(1, 3, 100*units.Gbps, units.Microsecond)
	g.Connect(2, 3, 100*units.Gbps, 5*units.Microsecond)
	cut, err := parts.CutGraph(g, 2)
	fmt.Println(cut.Of, g.LinkName(cut.Links[0]), cut.Lookahead, err)
	// Output: [0 1 0 1] s0-s1 5us <nil>
}

// TestEmbedded: every embedded experiment can be cut, alike each time, into parts that are
// not empty.
func TestEmbedded(t *testing.T) {
	for _, name := range experiment.Names() {
		p := compile(t, name)
		for _, n := range []int{2, 3} {
			got, err := parts.Cut(p, n)
			if err != nil {
				t.Errorf("%s in %d parts: %v", name, n, err)
				continue
			}
			again, err := parts.Cut(p, n)
			if diff := cmp.Diff(again, got); err != nil || diff != "" {
				t.Errorf("%s in %d parts: another cut (%v):\n%s", name, n, err, diff)
			}
			load := 0.0
			for i, part := range got.Parts {
				if load += part.Load; part.Hosts+part.Switches == 0 {
					t.Errorf("%s in %d parts: part %d is empty", name, n, i)
				}
			}
			if math.Abs(load-1) > 1e-9 || got.Lookahead <= 0 || len(got.Links)+got.Control == 0 || math.IsNaN(got.Slowdown) || got.Slowdown < 0 {
				t.Errorf("%s in %d parts: load %v, %+v", name, n, load, got)
			}
			t.Logf("%s in %d parts: %+v, lookahead %v, %d links and %d control links cut, %.0f frames cross, %.2f times one machine's time",
				name, n, got.Parts, got.Lookahead, len(got.Links), got.Control, got.Crossing, got.Slowdown)
		}
	}
}
