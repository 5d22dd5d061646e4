package queues

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

var approximately = cmp.Comparer(func(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
})

// The queue of a port is the median of the seeds of each variant, with a band from the least to
// the greatest. The deeper queue comes first.
func TestQueuesAreLaidOver(t *testing.T) {
	e := readingtest.ThreeFlow()
	s, _ := sectiontest.Read[*Section](t, e.Folder(t, nil), New)
	parts := s.Parts()
	if len(parts) != 1 || s.Many != nil {
		t.Fatalf("parts %+v", parts)
	}
	figure := parts[0].Blocks[0].(*chart.Figure)
	for index, port := range []struct {
		name       string
		node, port int32
	}{{"s1 → s2", 5, 3}, {"s0 → s1", 4, 1}} {
		values := func(n *metrics.Batch) (values []float64) {
			for _, w := range n.Ports {
				if w.Node == port.node && w.Port == port.port {
					values = append(values, float64(w.QueueByteNS)/1e8)
				}
			}
			return values
		}
		want := sectiontest.OverSeeds(e, values, []string{"baseline", "csig", "csig-wide"})
		panel := figure.Panels[index]
		if d := cmp.Diff(panel.Chart.(*chart.Lines).Lines, want, approximately); d != "" {
			t.Errorf("%s (-got +want):\n%.2000s", port.name, d)
		}
		if panel.Title != port.name || panel.Chart.(*chart.Lines).Name != port.name || !strings.HasPrefix(panel.Subtitle, "baseline mean ") {
			t.Errorf("panel %q, %q, want %s", panel.Title, panel.Subtitle, port.name)
		}
	}
	if figure.Title != "Queue depth of the bottlenecks" || !strings.HasSuffix(figure.Caption, "bands reach from the least to the greatest.") {
		t.Errorf("figure %q, caption %q", figure.Title, figure.Caption)
	}
	if p := parts[0]; p.Level != section.Plain || !strings.HasPrefix(p.Says, "On average 88\u00a0kB (7\u00a0µs) in baseline") || !strings.HasSuffix(p.Says, " wait at s1 → s2.") {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}

// The ports of a large fabric are summed up by class, and the worst are listed.
func TestManyPorts(t *testing.T) {
	checkout.SkipSlowRace(t)
	const hosts = 5
	s, _ := sectiontest.Read[*Section](t, (&readingtest.Many{Leaves: 8, Spines: 16, Hosts: hosts}).Folder(t), New)
	p := sectiontest.Part(s.Parts(), "ports")
	if p == nil || len(p.Blocks) != 2 {
		t.Fatalf("part %+v", p)
	}
	classes, worst := p.Blocks[0].(*section.Table), p.Blocks[1].(*section.Table)
	if len(classes.Rows) != 4 || len(worst.Rows) != reading.MaxWorst || classes.Rows[0].Cells[0].Text != "host" {
		t.Errorf("classes %v, %d worst ports", sectiontest.Rows(classes), len(worst.Rows))
	}
	if !strings.Contains(worst.Note, fmt.Sprintf("The 10 of %d ports", 2*8*(16+hosts))) {
		t.Errorf("note %q", worst.Note)
	}
}

// Losses are told port by port, of each variant where they differ.
func TestLosses(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.NIC.Dropped = 2
	e.Trims = map[string]float64{"baseline": 100, "csig": 7}
	s, r := sectiontest.Read[*Section](t, e.Folder(t, nil), New)
	got := s.Findings()
	if len(got) != 1 || !strings.HasPrefix(got[0], "Packets dropped or trimmed: the NIC of h0 drops ") || !strings.Contains(got[0], "s1 → s2 trims ") || !strings.Contains(got[0], " in baseline, ") {
		t.Errorf("findings %q of %+v", got, r.Losses)
	}
	s, _ = sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	if got := s.Findings(); got != nil {
		t.Errorf("without a loss: %q", got)
	}
}

// The command names a file and columns that there are.
func TestQuery(t *testing.T) { sectiontest.Query(t, queryPorts, "port", "mean_kb") }
