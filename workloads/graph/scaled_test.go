package graph_test

import (
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Both ends of a message agree on its scaled size, also where that is no whole number, and what
// does nothing stays valid.
func TestScaled(t *testing.T) {
	none := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	source := &graph.Static{Count: 1, All: 2, Of: map[int][]graph.Op{
		0: {
			{Kind: graph.Compute, Duration: 10 * units.Microsecond, NotBefore: 3 * units.Microsecond, Tag: none},
			{Kind: graph.Send, Peer: 1, Bytes: 1001, Total: 1001, Deps: []uint32{0}, Tag: none},
			{Kind: graph.Send, Peer: 1, Bytes: 1, Tag: none},
		},
		1: {{Kind: graph.Recv, Peer: 0, Bytes: 1001, Tag: none}, {Kind: graph.Recv, Peer: 0, Bytes: 1, Tag: none}},
	}, Names: graph.Labels{Collectives: []graph.Collective{{Name: "all", Bytes: 1001}}}}
	scaled := graph.NewScaled(source, 0.1)
	if err := graph.Check(scaled, 1); err != nil {
		t.Fatal(err)
	}
	if got := scaled.Labels().Collectives[0].Bytes; got != 101 || source.Names.Collectives[0].Bytes != 1001 {
		t.Errorf("label: %v and %v, want 101 and 1001", got, source.Names.Collectives[0].Bytes)
	}
	var ops [3]graph.Op
	program := scaled.Only([]int{0}).Program(0, 1)
	for i := range ops {
		if !program.Next(&ops[i]) {
			t.Fatalf("%d operations, want 3", i)
		}
	}
	if ops[0].Duration != units.Microsecond || ops[0].NotBefore != 300*units.Nanosecond || ops[1].Bytes != 101 || ops[1].Total != 101 || ops[2].Bytes != 1 {
		t.Errorf("got %+v", ops)
	}
}
