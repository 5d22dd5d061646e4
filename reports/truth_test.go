package reports_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// The histogram of errors is a table of the page and of Markdown; a run without truth has
// none.
func TestTruthTable(t *testing.T) {
	r, err := analysis.Read(analysistest.ThreeFlow().Folder(t, nil), measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	write := func() (html, markdown string) {
		var page, text strings.Builder
		if err := reports.WriteHTML(&page, r); err != nil {
			t.Fatal(err)
		}
		if err := reports.WriteMarkdown(&text, r); err != nil {
			t.Fatal(err)
		}
		return page.String(), text.String()
	}
	if html, markdown := write(); strings.Contains(html, `id="truth"`) || strings.Contains(markdown, "Signal truth") {
		t.Error("a run without truth has its table")
	}
	r.Truth = []analysis.Truth{
		{Variant: "csig", Format: "compact", Signal: "abw", RateBPS: 100e9, Samples: 8, Bins: []int64{4, 0, 0, 0, 2, 2}, Median: 125e6, P99: 6.25e9, Outside: 0.5, Missed: 0.125},
	}
	html, markdown := write()
	for _, want := range []string{"| csig | abw | compact | 100 Gb/s | 8 | 1 Gb/s | 50 Gb/s | – | 50 % | 0 % | 0 % | 0 % | 25 % | 25 % | 50 % | 12.5 % |", "## Signal truth"} {
		if !strings.Contains(strings.ReplaceAll(markdown, "\u00a0", " "), want) {
			t.Errorf("Markdown lacks %q:\n%s", want, markdown[max(0, strings.Index(markdown, "## Signal")):])
		}
	}
	for _, want := range []string{`<section id="truth"><h2>Signal truth</h2>`, `data-column="20 % to 50 %">25 %</td>`} {
		if !strings.Contains(strings.ReplaceAll(html, "\u00a0", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
