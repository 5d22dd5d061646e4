package reports

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"
)

// A line of many points keeps its bursts, and no more than four points in a column.
func TestThinned(t *testing.T) {
	var points plotter.XYs
	for i := range 100_000 {
		points = append(points, plotter.XY{X: float64(i) / 1000, Y: 5 + math.Sin(float64(i))})
	}
	points[33_333].Y, points[77_777].Y = 100, -100
	got := thinned(points, 0.25) // 400 columns
	if len(got) > 4*400+4 || len(got) < 400 {
		t.Errorf("%d points are left", len(got))
	}
	burst, gap := false, false
	for i, p := range got {
		burst, gap = burst || p.Y == 100, gap || p.Y == -100
		if i > 0 && p.X <= got[i-1].X {
			t.Fatalf("point %d is at %g after %g", i, p.X, got[i-1].X)
		}
	}
	if !burst || !gap || got[0] != points[0] || got[len(got)-1] != points[len(points)-1] {
		t.Errorf("burst %v, gap %v, from %v to %v", burst, gap, got[0], got[len(got)-1])
	}
	if few := points[:50:50]; !cmp.Equal(thinned(few, 0.001), few) {
		t.Error("few points are not all kept")
	}
}
