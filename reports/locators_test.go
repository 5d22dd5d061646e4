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
	r := build(t, analysistest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, s *runfolder.Summary) {
		m.Variants[0].Locators, m.Variants[1].Locators = shared, own
		for variant, shares := range map[string]map[string]float64{
			"baseline":  {"locator-3": 0.75, "s1-h1": 0.25, "none": 0.005},
			"csig":      {"s0-s1": 0.5, "s1-h1": 0.5},
			"csig-wide": {"s1-h1": 0.25, "s0-s1+s1-s2": 0.75}, // as older versions named it
		} {
			for port, share := range shares {
				s.Variants[variant].Metrics["bottleneck_share.0-3.delay."+port] = share
			}
		}
	}))
	want := [][]string{
		{"0-3", "delay", "s0-s1", "–", "50 %", "–"},
		{"0-3", "delay", "one of 2 ports: s0-s1 and s1-s2", "75 %", "–", "75 %"},
		{"0-3", "delay", "s1-h1", "25 %", "50 %", "25 %"},
	}
	if d := cmp.Diff(texts(&r.Named), want); d != "" {
		t.Errorf("named ports (-got +want):\n%s", d)
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
