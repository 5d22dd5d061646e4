package nics

import (
	"fmt"
	"math"
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

// planted is a run in which the NICs of servers send for a share of the time, by name of the NIC.
func planted(t *testing.T, leaves int, name func(host int) string, share func(name string) float64) *Section {
	t.Helper()
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: leaves, Spines: 1, Hosts: 2}, Variants: []string{"one"}, EndUS: 1000, Interval: 100 * units.Microsecond}
	p.Change = func(m *runfolder.Manifest) {
		for i := range m.Nodes {
			if m.Nodes[i].Kind == runfolder.KindHost {
				m.Nodes[i].Name = name(i)
			}
		}
	}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		for i := range m.Ports {
			if node := &m.Nodes[m.Ports[i].Node]; node.Kind == runfolder.KindHost {
				b.Ports = append(b.Ports, p.Window(&m.Ports[i], 0, share(node.Name), 0))
			}
		}
	}
	s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
	return s
}

// NICs are in the row of their server and the column of their name, and what is said counts those that
// carry traffic.
func TestNICs(t *testing.T) {
	s := planted(t, 3, func(host int) string { return fmt.Sprintf("s%d.r%d", host/2, host%2) }, func(name string) float64 {
		return map[string]float64{"s0.r0": 1, "s1.r0": 0.5, "s2.r0": 0.25, "s2.r1": 0.01}[name]
	})
	sectiontest.Survives(t, s.NICs)
	if len(s.NICs) != 1 || strings.Join(s.NICs[0].Servers, " ") != "s0 s1 s2" || strings.Join(s.NICs[0].Names, " ") != "r0 r1" || s.NICs[0].All != 3 {
		t.Fatalf("got %+v", s.NICs)
	}
	use := s.NICs[0].Use
	if rest := use[0][1]; use[0][0] != 2*use[1][0] || use[1][0] != 2*use[2][0] || use[0][0] <= 0 || rest != 0 || use[2][1] <= 0 {
		t.Errorf("use %v", use)
	}
	part := s.Parts()[0]
	if part.Level != section.Plain || !strings.Contains(part.Says, "Of the 2 NICs of a server at most 1 carry traffic") {
		t.Errorf("level %v: %s", part.Level, part.Says)
	}
	m := part.Blocks[0].(*chart.Figure).Panels[0].Chart.(*chart.Matrix)
	if c := m.Cell(2, 0); math.Abs(c.Value-100*use[2][0]) > 1e-9 || c.Text != fmt.Sprintf("%.0f", c.Value) || len(m.Columns) != 2 || len(m.Names) != 3 {
		t.Errorf("cell %+v of %d rows and %d columns", c, len(m.Names), len(m.Columns))
	}
}

// Hosts that are no NICs of servers have no such figure, and of very many servers the first are drawn.
func TestOtherHosts(t *testing.T) {
	busy := func(string) float64 { return 0.5 }
	for _, name := range []func(host int) string{
		func(host int) string { return fmt.Sprintf("h%d", host) },
		func(host int) string { return fmt.Sprintf("s%d.r0", host) }, // one each
	} {
		if s := planted(t, 2, name, busy); len(s.NICs) != 0 || s.Parts() != nil || s.Numbers() != nil {
			t.Errorf("%s: %+v", name(1), s.NICs)
		}
	}
	s := planted(t, mostServers+2, func(host int) string { return fmt.Sprintf("s%d.r%d", host/2, host%2) }, busy)
	if n := &s.NICs[0]; len(n.Servers) != mostServers || n.All != mostServers+2 || !strings.Contains(s.Parts()[0].Blocks[0].(*chart.Figure).Caption, "the first 128 of 130 servers") {
		t.Errorf("%d of %d servers", len(n.Servers), n.All)
	}
	if part := s.Parts()[0]; part.Level != section.Quiet || !strings.Contains(part.Says, "All 2 NICs of a server carry traffic") {
		t.Errorf("%v: %s", part.Level, part.Says)
	}
}
