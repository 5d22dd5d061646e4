package placement_test

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/placement"
	"github.com/csiglab/csiglab/orchestrator/plan"
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
		got, err := placement.Cut(p, c.parts)
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
