package node_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/units"
)

func TestTieKey(t *testing.T) {
	if got := node.TieKey(0, 3, 5, 7); got != 0 {
		t.Errorf("TieKey with seed 0 = %d, want 0", got)
	}
	if a, b := node.TieKey(9, 3, 5, 7), node.TieKey(9, 3, 5, 7); a != b {
		t.Errorf("TieKey differs between calls: %d, %d", a, b)
	}
	// Over many instants each of two ports must come first about half the time.
	first := 0
	const instants = 2000
	for i := range instants {
		if node.TieKey(1, 3, units.Time(i*1000), 0) < node.TieKey(1, 3, units.Time(i*1000), 1) {
			first++
		}
	}
	if first < instants*2/5 || first > instants*3/5 {
		t.Errorf("port 0 came first at %d of %d instants, want about half", first, instants)
	}
}
