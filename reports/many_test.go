package reports_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// "tables of thousands of flows become distributions with the worst ten named with why"
// (issue 11): the report does not grow with the number of flows.
func TestManyFlows(t *testing.T) {
	sizes := map[int][2]int{}
	for _, hosts := range []int{5, 10} {
		m := &readingtest.Many{Leaves: 8, Spines: 16, Hosts: hosts, Seeds: 2, Samples: true, Open: true}
		all := formsOf(t, read(t, m.Folder(t)))
		sizes[hosts] = [2]int{len(all.html), len(all.markdown)}
		for _, want := range []string{`id="slowdown"`, "CSIG names tor0-h2 (90 % of its delay samples)", "phases.parquet", "metrics.parquet"} {
			if !strings.Contains(all.html, want) {
				t.Errorf("%d hosts of a leaf: the page lacks %q", hosts, want)
			}
		}
		checkTables(t, "many", all.markdown)
	}
	for i, form := range []string{"page", "Markdown"} {
		if few, many := sizes[5][i], sizes[10][i]; many > few*11/10 {
			t.Errorf("%s of four times as many flows has %d bytes, that of %d hosts %d", form, many, 40, few)
		}
	}
}

// Few flows have no list of the worst, and no distribution.
func TestFewFlows(t *testing.T) {
	page := formsOf(t, read(t, readingtest.ThreeFlow().Folder(t, nil))).html
	if strings.Contains(page, `id="slowdown"`) || strings.Contains(page, "phases.parquet") {
		t.Error("a run of three flows has distributions, or a list of the worst")
	}
}

// BenchmarkReportOfManyFlows writes the report of 16,256 flows (issue 11: 2 s).
func BenchmarkReportOfManyFlows(b *testing.B) {
	f := (&readingtest.Many{Leaves: 16, Spines: 8, Hosts: 8, Samples: true}).Folder(b)
	for b.Loop() {
		opened, err := runfolder.Open(f.Dir)
		if err != nil {
			b.Fatal(err)
		}
		var page strings.Builder
		if err := read(b, opened).WriteHTML(&page); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(page.Len())/1e6, "MB")
	}
}
