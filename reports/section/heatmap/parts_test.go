package heatmap

import (
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// The part names the port that most samples of heavily loaded ports name. A place has in the
// legend the colour and the letter that it has in the cells.
func TestPart(t *testing.T) {
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 4, Spines: 1, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 1000}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		for _, f := range m.Flows {
			name := []string{"tor0-agg0", "tor1-agg0", "tor2-agg0", "tor3-agg0"}[f.Src/2]
			readingtest.PlantSamples(b, f.Flow, 1, readingtest.PortNamed(t, m, name)+1, 200, 20+int64(f.Src/2), 100_000)
			readingtest.PlantSamples(b, f.Flow, 1, readingtest.PortNamed(t, m, "agg0-tor0")+1, 300, 10, 900_000)
		}
	}
	s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
	parts := s.Parts()
	if len(parts) != 1 || parts[0].ID != "heatmap" || parts[0].Level != section.Plain || !strings.Contains(parts[0].Says, "of these name tor3 → agg0") {
		t.Fatalf("parts %+v", parts)
	}
	f := parts[0].Blocks[0].(*chart.Figure)
	if !strings.HasPrefix(f.Title, "Between racks: CSIG's available bandwidth, as a share") || len(f.Panels) != 2 || !strings.Contains(f.Caption, "at most a quarter of the rate is available") {
		t.Errorf("figure %+v", f)
	}
	mean, modal := f.Panels[0].Chart.(*chart.Matrix), f.Panels[1].Chart.(*chart.Matrix)
	if c := mean.Cell(3, 0); c.Paint == chart.None || c.Text == "" || mean.Value.Max != 100 {
		t.Errorf("a mean %+v", c)
	}
	for src := range 4 {
		c := modal.Cell(src, (src+1)%4)
		port := modal.Values[int(c.Value)]
		if want := c.Text + " tor" + string(rune('0'+src)) + "-agg0"; port != want {
			t.Errorf("from block %d: %q, want %q", src, port, want)
		}
		at := slices.IndexFunc(f.Legend, func(k chart.Key) bool { return k.Text == c.Text })
		if at < 0 || f.Legend[at].Fills[0] != c.Paint || !strings.Contains(f.Legend[at].Name, port[2:]+" (ToR ↑), ") {
			t.Errorf("place %s has another colour in the legend: %+v", port, f.Legend)
		}
	}
}
