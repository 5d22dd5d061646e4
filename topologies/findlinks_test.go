package topologies

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
)

// A link is found by its name, by its ends in the other order, and by one end. Other names
// count only if no link has the name.
func TestFindLinks(t *testing.T) {
	g := &Graph{
		Nodes:      []Node{{Name: "h0"}, {Name: "h1"}, {Name: "s-a", Kind: Switch}, {Name: "s", Kind: Switch}},
		Interfaces: [][]string{{"eth1"}, nil, {"e1-1", "e1-2", "e1-3"}, nil},
	}
	g.Connect(0, 2, units.Gbps, 1)
	g.Connect(1, 3, units.Gbps, 1)
	g.Connect(2, 3, units.Gbps, 1)
	g.Connect(2, 3, units.Gbps, 1)
	for text, want := range map[string][]int{
		"h0-s-a": {0}, "s-a-h0": {0}, "h0:eth1": {0}, "s-a:e1-1": {0}, "h0:p0": {0}, "s:p0": {1}, "s-h1": {1},
		"s-a:1-s": {2}, "s-s-a:1": {2}, "s-a:2-s": {3}, "s-a:e1-3": {3}, "s:p2": {3}, "s:p3": nil, "h1:eth1": nil, "s-s-a": nil, "h0-s": nil,
		"h*-s*": {0, 1}, "s-h*": {1}, "s*-h*": {0, 1}, "*": {0, 1, 2, 3}, "s-a:*": {2, 3},
	} {
		got := g.FindLinks(func(name string) bool { ok, err := path.Match(text, name); return ok && err == nil })
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s: got - want +:\n%s", text, diff)
		}
	}
}
