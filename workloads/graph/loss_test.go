package graph

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoss(t *testing.T) {
	var l Loss
	if got := l.String(); got != "" || !l.Empty() {
		t.Errorf("the zero value says %q", got)
	}
	l.Add("nodes of type METADATA", "a.et:3")
	l.AddN("dependencies on nodes that are not in the trace", "a.et:9", 4)
	l.Add("nodes of type METADATA", "a.et:70")
	l.AddN("unheard of", "a.et:80", 0)
	want := []Lost{
		{What: "nodes of type METADATA", Count: 2, First: "a.et:3"},
		{What: "dependencies on nodes that are not in the trace", Count: 4, First: "a.et:9"},
	}
	if diff := cmp.Diff(want, l.Items()); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if got, want := l.String(), "2 nodes of type METADATA, the first at a.et:3\n4 dependencies on nodes that are not in the trace, the first at a.et:9"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !(*Loss)(nil).Empty() {
		t.Error("a nil report is not empty")
	}
}

// TestLossIsBounded fills a report with what a hostile file may name.
func TestLossIsBounded(t *testing.T) {
	var l Loss
	for i := range 1000 {
		l.Add(fmt.Sprintf("attributes x%d", i), "f")
	}
	sum := 0
	for _, lost := range l.Items() {
		sum += lost.Count
	}
	if got := len(l.Items()); got != maxLost+1 || sum != 1000 {
		t.Errorf("%d items that count %d, want %d and 1000", got, sum, maxLost+1)
	}
}
