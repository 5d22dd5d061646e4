package reports

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/google/go-cmp/cmp"
)

// Notes of the configuration and of runs stand at the top of every form of the report,
// before the findings, with the variants and the seeds that they are of.
func TestNotes(t *testing.T) {
	f := analysistest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		for i := range m.Variants {
			m.Variants[i].Notes = append(m.Variants[i].Notes, "all have <this>")
		}
		m.Variants[1].Notes = append(m.Variants[1].Notes, "two have this", "one has this")
		m.Variants[2].Notes = append(m.Variants[2].Notes, "two have this")
	})
	f.Manifest.Runs[0].Notes = []string{"of one run"}
	for _, run := range []int{3, 4, 6} {
		f.Manifest.Runs[run].Notes = []string{"of several runs"}
	}
	r := build(t, f)
	want := []string{
		"all have <this>.", "Variants csig and csig-wide: two have this.", "Variant csig: one has this.", "Variant baseline, seed 1: of one run.",
		"Variant csig, seeds 1 and 2: of several runs.", "Variant csig-wide, seed 1: of several runs.",
	}
	if d := cmp.Diff(r.Notes, want); d != "" {
		t.Errorf("notes (-got +want):\n%s", d)
	}
	var page, markdown, text bytes.Buffer
	if err := WriteHTML(&page, r.numbers); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&markdown, r.numbers); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&text, r.numbers); err != nil {
		t.Fatal(err)
	}
	var numbers analysis.Result
	if err := json.Unmarshal(text.Bytes(), &numbers); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(numbers.Notes, r.numbers.Notes); d != "" || len(numbers.Notes) != len(want) {
		t.Errorf("notes in JSON (-got +want):\n%s", d)
	}
	first := r.Findings[0]
	for _, note := range want {
		for form, show := range map[string]func(string) string{page.String(): html.EscapeString, markdown.String(): func(s string) string { return escape(s) }} {
			at := strings.Index(form, show(note))
			if at < 0 || at > strings.Index(form, show(first)) {
				t.Errorf("note %q at %d, want it before the findings:\n%.2000s", note, at, form)
			}
		}
	}
	page.Reset()
	if err := WriteHTML(&page, build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers); err != nil || strings.Contains(page.String(), `id="notes"`) {
		t.Errorf("%v; a run without notes has a section of them", err)
	}
}
