package reading

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// The NIC of a host that is full is a place of congestion, and one that drops packets
// a place of drops.
func TestNIC(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Utilise, e.NIC = 0.5, readingtest.NIC{Utilise: 0.99, QueueBytes: 50_000, Dropped: 2}
	r := surveyed(t, e.Folder(t, nil))
	if p := r.Limits; len(p) != 1 || !p[0].NIC || p[0].From != "h0" || !p[0].Full || p[0].Use[0].MeanQueueBytes < 49_000 {
		t.Fatalf("ports %+v, want the NIC of h0", p)
	}
	want := []Loss{{Place: r.Limits[0].Place, Variants: []LossIn{{"baseline", 640, 0}, {"csig", 640, 0}, {"csig-wide", 640, 0}}}}
	if d := cmp.Diff(r.Losses, want); d != "" {
		t.Errorf("losses (-got +want):\n%s", d)
	}
	if c := r.Crossings; c == nil || !cmp.Equal(c.Some, [][]string{{"0-3", "0-1"}}) {
		t.Errorf("crossings %+v, want the flows from h0", c)
	}
	// A port that carries what the NIC lets through is no bottleneck, and a NIC before
	// which nothing waits comes first where nothing waits anywhere.
	e.Utilise, e.Queues = 1, map[string][2]float64{"baseline": {1, 1}, "csig": {1, 1}, "csig-wide": {1, 1}}
	if p := surveyed(t, e.Folder(t, nil)).Limits; len(p) != 1 || !p[0].NIC {
		t.Errorf("ports %+v, want the NIC of h0 alone", p)
	}
	e.NIC.QueueBytes = 0
	if p := surveyed(t, e.Folder(t, nil)).Limits; len(p) != 2 || !p[0].NIC || p[1].NIC {
		t.Errorf("ports %+v, want the NIC of h0 before a switch port", p)
	}
}
