package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/google/go-cmp/cmp"
)

// texts returns the cells of a table.
func texts(t *table) (rows [][]string) {
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		rows = append(rows, cells)
	}
	return rows
}

// A report lists the locators that ports share, and shows a share of samples that name
// one as that of one of its ports, also of a folder whose manifest has no locators.
func TestSharedLocators(t *testing.T) {
	shared := &runfolder.LocatorTable{Scheme: "structured", Remedy: "csig.locators: registry", Locators: []runfolder.Locator{
		{Locator: 3, Ports: []string{"s0-s1", "s1-s2"}}, {Locator: 9, Ports: []string{"s1-h1"}},
	}}
	own := &runfolder.LocatorTable{Scheme: "registry", Locators: []runfolder.Locator{{Locator: 1, Ports: []string{"s0-s1"}}, {Locator: 2, Ports: []string{"s1-s2"}}, {Locator: 3, Ports: []string{"s1-h1"}}}}
	e := analysistest.ThreeFlow()
	e.Samples = map[string]map[uint16]int64{"baseline": {3: 750, 9: 245, 0: 5}, "csig": {1: 5, 3: 5}, "csig-wide": {3: 5}}
	r := build(t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[0].Locators, m.Variants[1].Locators = shared, own
	}))
	want := [][]string{
		{"0-3", "delay", "unknown port", "0 %", "0 %", "100 % (600)"}, // no table of locators
		{"0-3", "delay", "one of 2 ports: s0-s1 and s1-s2", "75 % (90\u202f000)", "0 %", "0 %"},
		{"0-3", "delay", "s0-s1", "0 %", "50 % (600)", "0 %"},
		{"0-3", "delay", "s1-h1", "24.5 % (29\u202f400)", "50 % (600)", "0 %"},
	}
	if d := cmp.Diff(texts(&r.Named)[:len(want)], want); d != "" || len(r.Named.Rows) != 3*len(want) {
		t.Errorf("%d rows of named ports, want as many for each of the flows (-got +want):\n%s", len(r.Named.Rows), d)
	}
	var lines []string
	chart := chartOf(t, r, "named")
	for _, l := range chart.Panels[0].Lines {
		lines = append(lines, fmt.Sprintf("%s %.1f", l.Name, l.Y[0]))
	}
	if d := cmp.Diff(lines, []string{"s1-s2 (locator of 2 ports) 75.0", "s1-h1 24.5", "no hop wrote it 0.5"}); d != "" {
		t.Errorf("lines of the first variant (-got +want):\n%s", d)
	}
	if a, b := chart.Panels[0].Lines[1], chart.Panels[1].Lines[1]; a.Name != "s1-h1" || b.Name != "s1-h1" || a.Style != b.Style {
		t.Errorf("a port is drawn as %q %d and %q %d", a.Name, a.Style, b.Name, b.Style)
	}
	if d := cmp.Diff(texts(&r.Locators), [][]string{{"baseline", "3", "2", "s0-s1 and s1-s2"}}); d != "" {
		t.Errorf("shared locators (-got +want):\n%s", d)
	}
	note := "baseline: 3 switch ports have 2 locators; 2 of the ports share theirs with others, and a tag does not say which of them wrote the signal. Each port has a locator of its own with csig.locators: registry."
	if r.Locators.Note != note {
		t.Errorf("note %q, want %q", r.Locators.Note, note)
	}
	var page, markdown bytes.Buffer
	if err := WriteHTML(&page, r.numbers); err != nil || !strings.Contains(page.String(), `<section id="locators"><h2>Shared locators</h2>`) {
		t.Errorf("%v; the page has no shared locators", err)
	}
	if err := WriteMarkdown(&markdown, r.numbers); err != nil || !strings.Contains(markdown.String(), "## Shared locators") {
		t.Errorf("%v; the Markdown has no shared locators", err)
	}
	for _, line := range strings.Split(page.String()+markdown.String(), "\n") {
		if strings.Contains(line, "bottleneck") && strings.Contains(line, "s0-s1+s1-s2") && !strings.Contains(line, "bottleneck_share") {
			t.Errorf("a line shows several ports as one: %.300s", line)
		}
	}
}

// Variants with the same locators are one entry, and a long list is cut.
func TestManySharedLocators(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		for v := range 2 {
			table := &runfolder.LocatorTable{Scheme: "structured"}
			for i := range int32(100) {
				table.Locators = append(table.Locators, runfolder.Locator{Locator: i + 1, Ports: []string{fmt.Sprintf("a%d-b", i), fmt.Sprintf("c%d-d", i)}})
			}
			m.Variants[v+1].Locators = table
		}
	}))
	if len(r.Locators.Rows) != maxLocators || r.Locators.Rows[0][0].Text != "csig and csig-wide" {
		t.Errorf("%d rows, the first %v; want %d", len(r.Locators.Rows), r.Locators.Rows[0], maxLocators)
	}
	if want := "The first 64 of 100 shared locators are shown; the manifest has them all."; !strings.HasSuffix(r.Locators.Note, want) {
		t.Errorf("note %q, want it to end in %q", r.Locators.Note, want)
	}
}
