package named

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// A report lists the locators that ports share, and shows a share of samples that name
// one as that of one of its ports, also of a folder whose manifest has no locators.
func TestSharedLocators(t *testing.T) {
	shared := &runfolder.LocatorTable{Scheme: "structured", Remedy: "csig.locators: registry", Locators: []runfolder.Locator{
		{Locator: 3, Ports: []string{"s0-s1", "s1-s2"}}, {Locator: 9, Ports: []string{"s1-h1"}},
	}}
	own := &runfolder.LocatorTable{Scheme: "registry", Locators: []runfolder.Locator{{Locator: 1, Ports: []string{"s0-s1"}}, {Locator: 2, Ports: []string{"s1-s2"}}, {Locator: 3, Ports: []string{"s1-h1"}}}}
	e := readingtest.ThreeFlow()
	e.Samples = map[string]map[uint16]int64{"baseline": {3: 750, 9: 245, 0: 5}, "csig": {1: 5, 3: 5}, "csig-wide": {3: 5}}
	s, _ := sectiontest.Read[*Section](t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[0].Locators, m.Variants[1].Locators = shared, own
	}), New)
	parts := s.Parts()
	want := [][]string{
		{"0-3", "delay", "unknown port", "0 %", "0 %", "100 % (600)"}, // no table of locators
		{"0-3", "delay", "one of 2 ports: s0-s1 and s1-s2", "75 % (90\u202f000)", "0 %", "0 %"},
		{"0-3", "delay", "s0-s1", "0 %", "50 % (600)", "0 %"},
		{"0-3", "delay", "s1-h1", "24.5 % (29\u202f400)", "50 % (600)", "0 %"},
	}
	rows := sectiontest.Rows(sectiontest.Part(parts, "named-ports").Blocks[0].(*section.Table))
	if d := cmp.Diff(rows[:len(want)], want); d != "" || len(rows) != 3*len(want) {
		t.Errorf("%d rows of named ports, want as many for each of the flows (-got +want):\n%s", len(rows), d)
	}
	part := sectiontest.Part(parts, "bottlenecks")
	panels := part.Blocks[0].(*chart.Figure).Panels
	first, second := panels[0].Chart.(*chart.Lines), panels[1].Chart.(*chart.Lines)
	var lines []string
	for _, l := range first.Lines {
		lines = append(lines, fmt.Sprintf("%s %.1f", l.Name, l.Y[0]))
	}
	if d := cmp.Diff(lines, []string{"one of 2 ports that share a locator (s1-s2, …) 75.0", "s1-h1 24.5", "no hop wrote it 0.5"}); d != "" {
		t.Errorf("lines of the first variant (-got +want):\n%s", d)
	}
	if a, b := first.Lines[1], second.Lines[1]; a.Name != "s1-h1" || b.Name != "s1-h1" || !cmp.Equal(a.Look, b.Look) || first.Y.Max != 100 {
		t.Errorf("a port is drawn as %q %+v and %q %+v", a.Name, a.Look, b.Name, b.Look)
	}
	if want := "75 % of the delay samples of flow 0-3 name one of 2 ports that share a locator (s1 → s2, …) in baseline."; part.Says != want {
		t.Errorf("says %q, want %q", part.Says, want)
	}
	locators := sectiontest.Part(parts, "locators")
	table := locators.Blocks[0].(*section.Table)
	if d := cmp.Diff(sectiontest.Rows(table), [][]string{{"baseline", "3", "2", "s0-s1 and s1-s2"}}); d != "" {
		t.Errorf("shared locators (-got +want):\n%s", d)
	}
	note := "baseline: 3 switch ports have 2 locators; 2 of the ports share theirs with others, and a tag does not say which of them wrote the signal. Each port has a locator of its own with csig.locators: registry."
	if table.Note != note || locators.Says != "2 of 3 switch ports share their locators with others." {
		t.Errorf("note %q, want %q; says %q", table.Note, note, locators.Says)
	}
}

// The ports of a slowed link have lines of their own, which stand out and come first, however few
// samples name them; the caption says what is counted.
func TestSlowedPortsHaveLines(t *testing.T) {
	for _, kind := range []string{"rate", "loss"} {
		p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 8, Hosts: 1}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 100,
			Faults: []runfolder.Fault{{Name: "slow", Kind: kind, Where: []string{"tor0-agg7"}, Happened: true}}}
		p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
			for spine := range 8 {
				readingtest.PlantSamples(b, 0, 2, readingtest.PortNamed(t, m, fmt.Sprintf("tor0-agg%d", spine))+1, 0, int64(100-10*spine), 1)
			}
		}
		s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
		f := sectiontest.Part(s.Parts(), "bottlenecks").Blocks[0].(*chart.Figure)
		var got []string
		for i, l := range f.Panels[0].Chart.(*chart.Lines).Lines {
			got = append(got, fmt.Sprintf("%s %.1f %t", l.Name, l.Y[0], l.Look.Paint == chart.Target))
			if f.Legend[i].Name != l.Name {
				t.Errorf("legend %d is %q, want %q", i, f.Legend[i].Name, l.Name)
			}
		}
		want := []string{"tor0-agg7, slowed 5.8 true", "agg7-tor0, slowed 0.0 true", "tor0-agg0 19.2 false", "tor0-agg1 17.3 false", "tor0-agg2 15.4 false", "tor0-agg3 13.5 false", "tor0-agg4 11.5 false", "other ports 17.3 false"}
		if kind != "rate" {
			want = append(want[2:len(want)-1:len(want)-1], "other ports 23.1 false")
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("lines under a fault of kind %s (-got +want):\n%s", kind, d)
		}
		if strings.Contains(f.Caption, "Counted are samples.") != (kind == "rate") {
			t.Errorf("caption under a fault of kind %s: %s", kind, f.Caption)
		}
	}
}

// Variants with the same locators are one entry, and a long list is cut.
func TestManySharedLocators(t *testing.T) {
	s, _ := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		for v := range 2 {
			table := &runfolder.LocatorTable{Scheme: "structured"}
			for i := range int32(100) {
				table.Locators = append(table.Locators, runfolder.Locator{Locator: i + 1, Ports: []string{fmt.Sprintf("a%d-b", i), fmt.Sprintf("c%d-d", i)}})
			}
			m.Variants[v+1].Locators = table
		}
	}), New)
	parts := s.Parts()
	if len(parts) != 1 || parts[0].ID != "locators" || parts[0].Level != section.Quiet {
		t.Fatalf("without samples: %+v", parts)
	}
	table := parts[0].Blocks[0].(*section.Table)
	if len(table.Rows) != maxLocators || table.Rows[0].Cells[0].Text != "csig and csig-wide" {
		t.Errorf("%d rows, the first %v; want %d", len(table.Rows), table.Rows[0], maxLocators)
	}
	if want := "The first 64 of 100 shared locators are shown; the manifest has them all."; !strings.HasSuffix(table.Note, want) {
		t.Errorf("note %q, want it to end in %q", table.Note, want)
	}
}

// The command names a file and columns that there are.
func TestQuery(t *testing.T) { sectiontest.Query(t, queryNamed, "samples") }
