package utilisation

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// The table says how ports were used at both scales, those of a tier together.
func TestTable(t *testing.T) {
	s := &Section{Utilisation: []Utilisation{{Variant: "run", FineUS: 100, RunMean: true,
		Ports: []Port{{Place: reading.Place{From: "tor0", To: "agg0"}, WindowShares: reading.WindowShares{MeanShare: 0.01, P99: 0.5, Peak: 1, FullShare: 0.25}}},
		Tiers: []Tier{{Tier: "tor", Direction: "up", Ports: 4}}}}}
	table := s.table()
	text := strings.ReplaceAll(sectiontest.Text(&section.Part{Blocks: []section.Block{table}}), "\u00a0", " ")
	for _, want := range []string{"windows of 100 µs: 99th percentile", "run | tor0 → agg0 | 1 % | 50 % | 100 % | 25 %", "run | 4 ports: tor, up | 0 %", "no more than the mean"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if table.Rows[0].Variant != "run" {
		t.Errorf("row of %q", table.Rows[0].Variant)
	}
}

// A port that is full in bursts and idle between stands out; one that is always full does not.
func TestBurstsStandOut(t *testing.T) {
	for _, c := range []struct {
		every int // windows from a full one to the next
		level section.Level
		says  string
		parts int
	}{
		{20, section.Telling, "On average tor0 → agg0 is used to 5 %; 5 % of its windows of 100 µs are full.", 2},
		{1, section.Quiet, "On average tor0 → agg0 is used to 100 %; 100 % of its windows of 100 µs are full.", 1},
	} {
		p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 1, Hosts: 1}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 10_000}
		p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
			for at := 0; at < 100; at += c.every {
				b.Ports = append(b.Ports, p.Window(&m.Ports[readingtest.PortNamed(t, m, "tor0-agg0")], float64(at)*100, 1, 1e5))
			}
		}
		parts := read(t, p).Parts()
		if len(parts) != c.parts || parts[0].ID != "utilisation" || parts[0].Level != c.level || strings.ReplaceAll(parts[0].Says, "\u00a0", " ") != c.says {
			t.Errorf("%d parts, the first of level %d says %q", len(parts), parts[0].Level, parts[0].Says)
		}
		lines := parts[0].Blocks[0].(*chart.Figure).Panels[0].Chart.(*chart.Lines).Lines
		if len(lines) != 2 || len(lines[0].X) != 200 || lines[0].Y[0] != 100 || len(lines[1].X) != 2 || lines[1].X[1] != 10 {
			t.Errorf("lines %+v", lines)
		}
	}
}

// A folder without windows of ports has no part.
func TestNothingToShow(t *testing.T) {
	if parts := (&Section{r: &reading.Reading{}}).Parts(); parts != nil {
		t.Errorf("parts %+v", parts)
	}
}
