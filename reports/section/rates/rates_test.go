package rates_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

var approximately = cmp.Comparer(func(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
})

// figures returns the figures of the part.
func figures(t *testing.T, s *rates.Section) (slowest, throughput *chart.Figure) {
	t.Helper()
	parts := s.Parts()
	if len(parts) != 1 || len(parts[0].Blocks) != 2 {
		t.Fatalf("parts %+v", parts)
	}
	return parts[0].Blocks[0].(*chart.Figure), parts[0].Blocks[1].(*chart.Figure)
}

// Each series equals the records of the seed in the middle, whose rates are the medians.
func TestThroughputEqualsTheRecords(t *testing.T) {
	e := readingtest.ThreeFlow()
	s, _ := sectiontest.Read[*rates.Section](t, e.Folder(t, nil), rates.New)
	_, figure := figures(t, s)
	flows := []string{"0-3", "0-1", "2-3"}
	for v, variant := range []string{"baseline", "csig", "csig-wide"} {
		want := make([]chart.Line, 3)
		for f := range 3 {
			want[f] = chart.Line{Name: flows[f], Look: chart.Beside(3, f)}
		}
		for _, w := range e.Results[variant].Flows {
			l := &want[w.Flow]
			l.X, l.Y = append(l.X, units.Duration(w.Start).Microseconds()/1000+0.05), append(l.Y, float64(w.WireBytes)*8/1e9/readingtest.Interval.Seconds())
		}
		panel := figure.Panels[v]
		lines := panel.Chart.(*chart.Lines)
		if d := cmp.Diff(lines.Lines, want, approximately); d != "" {
			t.Errorf("%s: throughput (-got +want):\n%s", variant, d)
		}
		if panel.Title != variant || panel.Variant != variant || lines.Shade != [2]float64{2, 14} || lines.X.Max != 32 || panel.Subtitle != "seed 2, of 3 the nearest to the medians" {
			t.Errorf("%s: panel %q %q, shade %v, x to %v", variant, panel.Title, panel.Subtitle, lines.Shade, lines.X.Max)
		}
	}
	if d := cmp.Diff(figure.Legend, []chart.Key{chart.LineKey("0-3", chart.Beside(3, 0)), chart.LineKey("0-1", chart.Beside(3, 1)), chart.LineKey("2-3", chart.Beside(3, 2))}); d != "" {
		t.Errorf("legend (-got +want):\n%s", d)
	}
}

// The rate of the slowest flow is the median of the seeds of each variant, with a band from the
// least to the greatest.
func TestSlowestIsLaidOver(t *testing.T) {
	e := readingtest.ThreeFlow()
	s, _ := sectiontest.Read[*rates.Section](t, e.Folder(t, nil), rates.New)
	figure, _ := figures(t, s)
	values := func(n *metrics.Batch) (values []float64) {
		for _, w := range n.Flows {
			if w.Flow == 0 {
				values = append(values, float64(w.WireBytes)*8/1e9/readingtest.Interval.Seconds())
			}
		}
		return values
	}
	want := sectiontest.OverSeeds(e, values, []string{"baseline", "csig", "csig-wide"})
	if d := cmp.Diff(figure.Panels[0].Chart.(*chart.Lines).Lines, want, approximately); d != "" {
		t.Errorf("lines (-got +want):\n%.2000s", d)
	}
	if figure.Title != "Rate of flow 0-3, the slowest in baseline" || !strings.HasSuffix(figure.Caption, "bands reach from the least to the greatest.") {
		t.Errorf("figure %q, caption %q", figure.Title, figure.Caption)
	}
}

// The part says how far the slowest flow is from the others, and is closed where they share
// evenly.
func TestSays(t *testing.T) {
	s, _ := sectiontest.Read[*rates.Section](t, readingtest.ThreeFlow().Folder(t, nil), rates.New)
	if p := s.Parts()[0]; p.Level != section.Telling || !strings.HasPrefix(p.Says, "Flow 0-3 gets 18\u00a0Gb/s (others 82\u00a0Gb/s) in baseline, 30\u00a0Gb/s (others 70\u00a0Gb/s) in csig") {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
	e := readingtest.ThreeFlow()
	e.Rates = map[string][3]float64{"baseline": {31, 32, 32}}
	s, _ = sectiontest.Read[*rates.Section](t, e.Folder(t, nil), rates.New)
	if p := s.Parts()[0]; p.Level != section.Quiet || p.Says != "In baseline the slowest of 3 flows gets nearly as much as the fastest." {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}

// A run without a record has no part, and one of a single window has dots.
func TestHardlyAnything(t *testing.T) {
	for windows := range 2 {
		f := tiny(t, windows)
		s, _ := sectiontest.Read[*rates.Section](t, f, rates.New)
		if windows == 0 {
			if parts := s.Parts(); parts != nil || s.First() != nil {
				t.Errorf("of nothing there are %+v", parts)
			}
			continue
		}
		if _, figure := figures(t, s); !strings.Contains(string(figure.SVG(0, chart.Half)), "<circle") {
			t.Error("no dot for the single point")
		}
	}
}

func tiny(t *testing.T, windows int) *runfolder.Folder {
	w, err := runfolder.Create(t.TempDir()+"/run", runfolder.Manifest{
		Name: "tiny", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run"}},
		Nodes: []runfolder.Node{{Node: 0, Name: "h0", Kind: runfolder.KindHost}}, Flows: []runfolder.Flow{{Name: "0-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	node := &metrics.Batch{Flows: []metrics.FlowWindow{{WireBytes: 4150}}[:windows], Totals: []metrics.NodeTotals{{Name: "h0"}}}
	if err := readingtest.AddRun(w, "run", 1, node, runfolder.RunData{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(runfolder.NewSummary("tiny")); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
