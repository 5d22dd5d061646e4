package control

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

var approximately = cmp.Comparer(func(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
})

var variants = []string{"baseline", "csig", "csig-wide"}

// What controllers saw and did equals the records of the seed in the middle, whose rates are
// the medians.
func TestControllersEqualTheRecords(t *testing.T) {
	e := readingtest.ThreeFlow()
	s, _ := sectiontest.Read[*Section](t, e.Folder(t, nil), New)
	parts := s.Parts()
	p := sectiontest.Part(parts, "control")
	if p == nil || len(p.Blocks) != 2 {
		t.Fatalf("parts %+v", parts)
	}
	flows := []string{"0-3", "0-1", "2-3"}
	ms := func(at units.Time) float64 { return units.Duration(at).Microseconds()/1000 + 0.05 }
	for v, variant := range variants {
		delays, shares, acks := make([]chart.Line, 3), [3]map[string]float64{}, [3]float64{}
		for f := range 3 {
			delays[f], shares[f] = chart.Line{Name: flows[f], Look: chart.Beside(3, f)}, map[string]float64{}
		}
		for _, w := range e.Results[variant].CC {
			l := &delays[w.Flow]
			if len(l.X) > 0 && ms(w.Start)-l.X[len(l.X)-1] > 0.15 {
				l.X, l.Y = append(l.X, ms(w.Start)-0.1), append(l.Y, math.NaN())
			}
			l.X, l.Y = append(l.X, ms(w.Start)), append(l.Y, w.Delay.Microseconds()/float64(w.Acks))
			if at := units.Duration(w.Start); at >= 2*units.Millisecond && at < 14*units.Millisecond {
				acks[w.Flow] += float64(w.Acks)
				for _, a := range w.Actions {
					shares[w.Flow][a.Name] += float64(a.Packets)
				}
			}
		}
		got := p.Blocks[0].(*chart.Figure).Panels[v].Chart.(*chart.Lines)
		if d := cmp.Diff(got.Lines, delays, approximately); d != "" {
			t.Errorf("%s: delays (-got +want):\n%s", variant, d)
		}
		if d := cmp.Diff(got.Levels, []chart.LevelMark{{Name: "target 10.52 µs", Y: 10.517}}); d != "" {
			t.Errorf("%s: target (-got +want):\n%s", variant, d)
		}
		var bars []chart.BarRow
		for f := range 3 {
			b := chart.BarRow{Name: flows[f]}
			for _, a := range readingtest.Actions {
				b.Values = append(b.Values, 100*shares[f][a.Name]/acks[f])
			}
			bars = append(bars, b)
		}
		if d := cmp.Diff(p.Blocks[1].(*chart.Figure).Panels[v].Chart.(*chart.Bars).Rows, bars, approximately); d != "" {
			t.Errorf("%s: actions (-got +want):\n%s", variant, d)
		}
	}
	if !strings.HasPrefix(p.Says, "The most frequent action in baseline is ") {
		t.Errorf("says %q", p.Says)
	}
}

// The window of the slowest flow is the median of the seeds of each variant, with a band.
func TestWindowIsLaidOver(t *testing.T) {
	e := readingtest.ThreeFlow()
	s, _ := sectiontest.Read[*Section](t, e.Folder(t, nil), New)
	p := sectiontest.Part(s.Parts(), "windows")
	figure := p.Blocks[0].(*chart.Figure)
	values := func(n *metrics.Batch) (values []float64) {
		for _, w := range n.CC {
			if w.Flow == 0 {
				values = append(values, float64(w.Cwnd)/1000)
			}
		}
		return values
	}
	want := sectiontest.OverSeeds(e, values, variants)
	if d := cmp.Diff(figure.Panels[0].Chart.(*chart.Lines).Lines, want, approximately); d != "" {
		t.Errorf("lines (-got +want):\n%.2000s", d)
	}
	if figure.Title != "Congestion window of flow 0-3, the slowest in baseline" || !strings.HasSuffix(figure.Caption, "bands reach from the least to the greatest.") {
		t.Errorf("figure %q, caption %q", figure.Title, figure.Caption)
	}
	if p.Level != section.Quiet || !strings.HasPrefix(p.Says, "The window of flow 0-3 is on average 65\u00a0kB in baseline") {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}
